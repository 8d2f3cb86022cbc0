"""Configs of promptfoo (`promptfooconfig.yaml`), as far as they are carried out; what is not is refused by name."""
