"""What a config is written in: files, references, environment, code and media, and the refusal of what cannot be read."""
