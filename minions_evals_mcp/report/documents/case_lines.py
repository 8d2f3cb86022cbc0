"""Cases as lines that a report's own script reads: in brief for the list, then JSON for when one is opened, cut to fit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from minions_evals_mcp.engine.answers.report_lines import TrialLine
from minions_evals_mcp.report.plain import HIDDEN, printable
from minions_evals_mcp.report.sentences import change_words

ROOM = 40_000_000
"""Characters of texts in one file until they are cut short."""
LONG, SHORT = 20_000, 600
"""A text is cut at so many characters; once the room is used up, at fewer."""


@dataclass(slots=True, eq=False)
class Room:
    """The room that a file still has for text."""

    left: int = ROOM

    def fitted(self, text: str) -> str:
        """The JSON with its long texts cut, each saying how much of it is not there."""
        limit = LONG if self.left > 0 else SHORT
        if len(text) > limit:
            text = to_json(_cut(from_json(text), limit)).decode()
        self.left -= len(text)
        return text


def _cut(value: JsonValue, limit: int) -> JsonValue:
    match value:
        case str() if len(value) > limit:
            return f"{value[:limit]}\n… {len(value) - limit} more characters: a .json report has all of them."
        case list():
            return [_cut(item, limit) for item in value]
        case dict():
            return {name[:limit]: _cut(item, limit) for name, item in value.items()}
        case _:
            return value


def case_line(case: TrialLine, room: Room) -> str:
    """The case in brief, what was asked, and what came of it: JSON between tabs, safe inside a script element."""
    shown, before, change = case.either_trial, case.before, case.change
    brief: list[JsonValue] = [
        shown.case_id,
        printable(shown.title, 200),
        shown.trial,
        case.status,
        shown.fraction,
        None if before is None or change is None else before.fraction,
        shown.failure_type or ("" if shown.passed is not None else shown.outcome),
        "" if change is None else change.kind,
        "" if change is None else change_words(change),
    ]
    lines = [to_json(brief).decode(), room.fitted(shown.case)]
    lines += ["null" if unit is None else room.fitted(unit.tried) for unit in (case.tried, before)]
    return embedded("\t".join(lines))


def embedded(text: str) -> str:
    """JSON in which no HTML parser can see an end tag, a comment or an entity, and that hides no character."""
    if not text.isascii() or "\x7f" in text:
        text = HIDDEN.sub(_escaped, text)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
