"""The user of a conversation in words, for whoever plays it. Pure."""

from __future__ import annotations

from minions_evals_mcp.domain.conversations import Conversation


def instructions_of(setup: Conversation) -> str:
    """The person of a conversation, in words for the model that plays it."""
    parts = [f"Goal: {setup.goal.strip()}"]
    if setup.persona.strip():
        parts.append(f"Who they are: {setup.persona.strip()}")
    if setup.language is not None:
        parts.append(f"They write in the language with the code {setup.language}, and in no other.")
    if setup.knows:
        facts = "\n".join(f"- {name}: {value}" for name, value in setup.knows.items())
        parts.append(f"What they know, and tell when they are asked for it:\n{facts}")
    if setup.withholds:
        facts = "\n".join(f"- {one.fact}{_revealed_by(one.when)}" for one in setup.withholds)
        parts.append(f"What they do not tell by themselves:\n{facts}")
    return "\n".join(parts)


def _revealed_by(when: str | None) -> str:
    return " (never)" if when is None else f" (only once the assistant has said: {when.strip('/')})"
