"""A conversation as a person reads it in a terminal: a line for each message, by turn and speaker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from minions_evals_mcp.domain.conversations import AGENTS, USERS, content_text
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.report.screen import WIDEST

LONGEST_MESSAGE = 1200
NAMES = {**dict.fromkeys(USERS, "user"), **dict.fromkeys(AGENTS, "agent")}


def chat_lines(messages: Sequence[Json], width: int, indent: str = "  ") -> Iterator[str]:
    """The messages in order; each begins with the number of its turn where the user speaks."""
    turn = 0
    for one in messages:
        role = str(one.get("role"))
        turn += role in USERS
        head = f"{turn:>2} " if role in USERS else "   "
        yield from _message(f"{indent}{head}{NAMES.get(role, role):<5}  ", content_text(one.get("content")), width)


def _message(head: str, text: str, width: int) -> Iterator[str]:
    room = max(20, min(width, WIDEST) - len(head))
    lines = wrap(printable(text, LONGEST_MESSAGE), room, break_long_words=False, break_on_hyphens=False) or [
        "(nothing)"
    ]
    yield head + lines[0]
    yield from (" " * len(head) + line for line in lines[1:])
