"""promptfoo's ids of coding agents."""

from __future__ import annotations

AGENTS = {
    "anthropic:claude-agent-sdk": "claude", "anthropic:claude-code": "claude", "openai:codex-sdk": "codex",
    "openai:codex": "codex", "opencode:sdk": "opencode", "opencode": "opencode",
}  # fmt: skip
"""promptfoo's ids of coding agents, with the program that each is."""


def agent_of(ident: str) -> str:
    """The program of the coding agent that promptfoo knows under that id; empty for any other provider."""
    return AGENTS.get(":".join(ident.split(":")[:2]), "")
