"""The user of a conversation: what a script says next, and what a player did wrong."""
