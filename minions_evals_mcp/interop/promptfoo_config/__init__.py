"""Configs of promptfoo (`promptfooconfig.yaml`), as far as they are carried out; what is not is refused by name."""

from minions_evals_mcp.interop.promptfoo_config.config import Given, read_config

__all__ = ["Given", "read_config"]
