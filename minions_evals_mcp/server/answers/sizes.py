"""Answers that fit a context window: the summary first, then as much as the budget holds, and the cursor to go on from."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from mcp_types import CallToolResult, InputRequiredResult, TextContent
from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.server.edge.answer import ToolAnswer
from minions_evals_mcp.server.edge.argument_types import Detail

Json = dict[str, JsonValue]
DEEPEST = 12
KEYS, FEWEST_KEYS = 4, 24
"""An object may have so many times as many keys as a list entries, and never fewer than that: a record is one thing."""
LONGEST_NAME = 200
KEPT = frozenset({"summary", "truncated", "nextCursor", "next"})
"""What every answer says, whichever fields are asked for."""

SPARED = ("summary", "next")
"""Their texts are not cut to a page's measure: a verdict that breaks off says nothing, and a call cannot be made."""
LONGEST_SPARED = 1_200


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The size that an answer may have: bytes of its text as it stands on the wire, characters of one string, entries of one list.

    The structured content says the same once more, so a whole result has at most twice as many characters.
    """

    size: int
    text: int
    entries: int


BUDGETS: dict[Detail, SizeLimits] = {"summary": SizeLimits(4_600, 300, 12), "full": SizeLimits(18_000, 6_000, 200)}
WHOLE = BUDGETS["full"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The part of an answer that is shown: how much, which fields, and from where in its lists on."""

    detail: Detail = "summary"
    fields: tuple[str, ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Pages:
    """The lists of an answer that are shown a page at a time, and whether there is more than what is at hand."""

    names: tuple[str, ...] = ()
    more: bool = False


SHORT = Shape()
UNPAGED = Pages()


def answered(answer: ToolAnswer, *, shape: Shape = SHORT, pages: Pages = UNPAGED) -> CallToolResult:
    """The result that says the answer, its summary first: as compact text and structured, each complete."""
    vet_fields(shape.fields, [str(info.alias) for info in type(answer).model_fields.values()], "this answer")
    chosen = {
        name: value for name, value in answer.wire().items() if not shape.fields or name in shape.fields or name in KEPT
    }
    held = tuple(name for name in pages.names if chosen.get(name))
    paged = Pages(held, bool(held) and pages.more)
    shown, text = _fitted(chosen, BUDGETS[shape.detail], offset=shape.offset, pages=paged)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=shown)


def text_of(wire: Json) -> str:
    """The summary on a line of its own, then the rest as compact JSON."""
    rest = {name: value for name, value in wire.items() if name != "summary"}
    return (
        f"{printable(str(wire['summary']), LONGEST_SPARED)}\n{to_json(rest).decode()}" if rest else str(wire["summary"])
    )


def fitted(wire: Json, budget: SizeLimits, *, offset: int = 0, pages: Pages = UNPAGED) -> Json:
    """As much of it as the budget holds: shorter pages first, then shorter texts. What is left out is said."""
    return _fitted(wire, budget, offset=offset, pages=pages)[0]


def _fitted(answer_wire: Json, budget: SizeLimits, *, offset: int, pages: Pages) -> tuple[Json, str]:
    """Returns what fits, and its text, which is how that is known."""
    size = max((len(_listed(answer_wire, name)) for name in pages.names), default=0)
    longest = size
    text, entries = budget.text, budget.entries
    while True:
        page: Json = {
            name: _listed(answer_wire, name)[:size] if name in pages.names else value
            for name, value in answer_wire.items()
        }
        shown = {
            name: _value(value, name in pages.names, LONGEST_SPARED if name in SPARED else text, entries)
            for name, value in page.items()
        }
        if size < longest or pages.more:
            shown["nextCursor"] = str(offset + size)
        if shown != page and (_cut(shown, page) or size < longest):
            shown["truncated"] = True
        wire = text_of(shown)
        if len(to_json(wire)) <= budget.size:
            return shown, wire
        if size > 1:
            size -= max(1, size // 3)
        else:
            text, entries = max(text * 2 // 3, 24), max(entries * 2 // 3, 2)
            if text == 24:
                barest = _barest(shown)
                return barest, text_of(barest)


def _listed(wire: Json, name: str) -> list[JsonValue]:
    entries_listed = wire[name]
    assert isinstance(entries_listed, list), name
    return entries_listed


def _value(value: JsonValue, paged: bool, text: int, entries: int) -> JsonValue:  # noqa: FBT001  said of each part
    """The part of an answer, shortened; a list of it has entries of one kind, so that none says what is missing."""
    if isinstance(value, list):
        return [clipped(item, text, entries, depth=1) for item in (value if paged else value[:entries])]
    return clipped(value, text, entries)


def _cut(shown: Json, page: Json) -> bool:
    return any(shown.get(name) != value for name, value in page.items())


def _barest(shown: Json) -> Json:
    """Returns what is left where a record of very many keys fits in no other way."""
    return {
        "summary": clipped(shown["summary"], 200, 2),
        "truncated": True,
        "next": clipped(shown.get("next", []), 200, 2),
    }


def clipped(value: JsonValue, text: int, entries: int, *, depth: int = 0) -> JsonValue:
    """The value with long texts cut, long lists and objects shortened and what is nested too deeply left out, each saying so."""
    # By isinstance, the commonest first: every part of every answer passes here, and a match takes twice as long.
    if isinstance(value, str):
        return value if len(value) <= text else _shortened(value, text)
    if isinstance(value, dict):
        return _too_deep(value) if depth >= DEEPEST else _clipped_object(value, text, entries, depth + 1)
    if isinstance(value, list):
        return _too_deep(value) if depth >= DEEPEST else _clipped_list(value, text, entries, depth + 1)
    return value


def _clipped_object(value: Json, text: int, entries: int, depth: int) -> Json:
    most = max(FEWEST_KEYS, entries * KEYS)
    left = len(value) - most
    shown = value.items() if left <= 0 else islice(value.items(), most)
    fields = {
        _shortened(name, LONGEST_NAME): item
        if isinstance(item, str) and len(item) <= text
        else clipped(item, text, entries, depth=depth)
        for name, item in shown
    }
    return fields if left <= 0 else {**fields, "…": f"+{left} more"}


def _clipped_list(value: list[JsonValue], text: int, entries: int, depth: int) -> list[JsonValue]:
    items = [clipped(item, text, entries, depth=depth) for item in value[:entries]]
    return items if len(value) <= entries else [*items, f"… (+{len(value) - entries} more)"]


def _too_deep(value: Json | list[JsonValue]) -> str:
    return f"… ({len(value)} entries)"


def _shortened(text: str, most: int) -> str:
    cut = f"{text[:most]}… (+{len(text) - most} characters)"
    return text if len(text) <= len(cut) else cut


def readable_in_parts(answer: ToolAnswer, detail: Detail) -> CallToolResult:
    """The answer; where it was shortened it says that the whole can be read from its first character on."""
    result = answered(answer, shape=Shape(detail))
    if (result.structured_content or {}).get("truncated"):
        return answered(answer.model_copy(update={"next_cursor": "0"}), shape=Shape(detail))
    return result


def part_of(whole: JsonValue, cursor: int, *, about: Json) -> CallToolResult:
    """A stretch of a value's JSON text, for what no page can hold; the next one begins at `nextCursor`."""
    text = json.dumps(whole, ensure_ascii=False)
    size = WHOLE.size
    while True:
        end = min(len(text), cursor + size)
        part: Json = {
            "summary": f"characters {cursor} to {end} of {len(text)}, as JSON text", **about, "part": text[cursor:end],
        }  # fmt: skip
        if end < len(text):
            part["nextCursor"] = str(end)
        if len(to_json(text_of(part))) <= WHOLE.size:
            return CallToolResult(content=[TextContent(type="text", text=text_of(part))], structured_content=part)
        size = size * 3 // 4


def cursor_of(cursor: str | None) -> int:
    """Returns where a cursor points; its form is vetted with the arguments."""
    return int(cursor or 0)


def going_on_from(result: CallToolResult, name: str, numbers: Sequence[int], *, of_all: str = "") -> CallToolResult:
    """The page with its own number, and the store's cursor, which is the number of the last row shown: what fits is known only now."""
    shown: Json = result.structured_content or {}
    if "nextCursor" not in shown:
        return result
    rows = len(_listed(shown, name))
    counted: Json = {"summary": f"{rows} {of_all}"} if of_all else {}
    page: Json = {**shown, **counted, "nextCursor": str(numbers[rows - 1])}
    return CallToolResult(content=[TextContent(type="text", text=text_of(page))], structured_content=page)


def vet_fields(names: Sequence[str], known: Collection[str], what: str) -> None:
    """Raises `BadInputError` for a name that nothing has, with the nearest one: an answer without it would say that it is empty."""
    unknown = next((name for name in names if name not in known), None)
    if unknown is None:
        return
    near = difflib.get_close_matches(unknown, [*known], 1, 0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise BadInputError(f"fields: {what} has no {unknown!r}{hint}", remedy=known_names(unknown, known, are="It has"))


def selected(rows: Sequence[Json], fields: Sequence[str]) -> list[Json]:
    """The rows with those keys only, and always their id; whole where no key is named."""
    if not fields:
        return [*rows]
    return [{name: value for name, value in row.items() if name in fields or name == "id"} for row in rows]


def said_first(result: CallToolResult | InputRequiredResult, sentence: str) -> CallToolResult | InputRequiredResult:
    """The answer with the sentence in front of its summary, in both forms."""
    if isinstance(result, InputRequiredResult):
        return result
    wire: Json = result.structured_content or {}
    said: Json = {**wire, "summary": f"{sentence}. {wire.get('summary', '')}"}
    return result.model_copy(
        update={"content": [TextContent(type="text", text=text_of(said))], "structured_content": said}
    )
