"""A tool of a neighbour's MCP server, by which it is told or read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from mcp_types import CallToolResult, TextContent
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.ports import Arrived
from minions_evals_mcp.toolboxes.mcp_line import MOST_PAGES, McpLine
from minions_evals_mcp.toolboxes.patience import Patience

SHOWN = 500
USUAL: Json = {"idempotencyKey": "$key", "addressee": "$addressee", "record": "$record"}
"""What a tool is called with where the operator says nothing else."""


class McpNeighbour:
    """Tells every record by one call of the tool, its arguments made of the record.

    A tool's own error may mean that it is down or that it will never take the record, and nothing tells which: the
    record is tried again, and refused for good at the `patience`-th error in a row.
    """

    def __init__(self, line: McpLine, tool: str, arguments: Json | None = None, *, patience: int = 100) -> None:
        self._line = line
        self._tool = tool
        self._arguments = USUAL if arguments is None else arguments
        self._patience = Patience(patience)

    async def tell(self, record: Record[Fields], *, key: str, addressee: str) -> None:
        """Calls the tool; raises `InstrumentError`, or `BadInputError` once its errors have used the patience up."""
        wire = record.wire()
        letter: Json = {**wire, "key": key, "addressee": addressee, "record": wire}
        answer = await self._line.call(
            self._tool, {name: filled(value, letter) for name, value in self._arguments.items()}
        )
        if not answer.is_error:
            self._patience.taken(key)
            return
        raise self._patience.refused(key, f"{self._line.name}/{self._tool}: {_complaint(answer)}")


def filled(value: JsonValue, values: Json) -> JsonValue:
    """The value with every `$a.b` in it replaced by what stands there, null where nothing does; `$$` begins a plain `$`."""
    match value:
        case str() if value.startswith("$$"):
            return value[1:]
        case str() if value.startswith("$"):
            return _at(value[1:], values)
        case dict():
            return {name: filled(item, values) for name, item in value.items()}
        case list():
            return [filled(item, values) for item in value]
        case _:
            return value


def _at(path: str, value: JsonValue) -> JsonValue:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


class McpSource:
    """Reads all that the tool has, page by page where it names a `nextCursor`; the same records come with every read."""

    def __init__(self, line: McpLine, tool: str, arguments: Json | None = None) -> None:
        self._line = line
        self._tool = tool
        self._arguments = arguments or {}

    async def read(self) -> Sequence[Arrived]:
        """Every record as JSON text; raises `InstrumentError` for a tool's error, or an answer that holds no records."""
        arrived: list[Arrived] = []
        cursor: JsonValue = None
        for _ in range(MOST_PAGES):
            arguments = self._arguments if cursor is None else {**self._arguments, "cursor": cursor}
            records, cursor = await self._page(arguments)
            arrived += [Arrived(json.dumps(record), f"{self._line.name}/{self._tool}") for record in records]
            if cursor is None:
                return arrived
        raise InstrumentError(f"{self._line.name}/{self._tool}: more than {MOST_PAGES} pages.")

    async def _page(self, arguments: Json) -> tuple[list[JsonValue], JsonValue]:
        answer = await self._line.call(self._tool, arguments)
        name = f"{self._line.name}/{self._tool}"
        if answer.is_error:
            raise InstrumentError(f"{name}: {_complaint(answer)}")
        value = _value(answer, name)
        if isinstance(value, dict):
            value = _unwrapped(value)
        if isinstance(value, list):
            return value, None
        records = next((value[key] for key in ("records", "items", "result") if isinstance(value.get(key), list)), None)
        if not isinstance(records, list):
            raise InstrumentError(f"{name}: the answer has no list under records, items or result.")
        return records, value.get("nextCursor")


def _value(answer: CallToolResult, name: str) -> Json | list[JsonValue]:
    if answer.structured_content is not None:
        return cast("Json", answer.structured_content)
    try:
        value: JsonValue = json.loads(_text(answer))
    except ValueError:
        raise InstrumentError(f"{name}: the answer is not JSON.") from None
    if not isinstance(value, dict | list):
        raise InstrumentError(f"{name}: the answer is neither an object nor a list.")
    return value


def _unwrapped(answer: Json) -> Json | list[JsonValue]:
    """The answer of a tool that gives JSON as a text: its server wraps that as {"result": TEXT}."""
    inner = answer.get("result")
    if not isinstance(inner, str):
        return answer
    try:
        value: JsonValue = json.loads(inner)
    except ValueError:
        return answer
    return value if isinstance(value, dict | list) else answer


def _text(answer: CallToolResult) -> str:
    return "\n".join(part.text for part in answer.content if isinstance(part, TextContent))


def _complaint(answer: CallToolResult) -> str:
    """Returns what a tool says of its own error."""
    return masked(_text(answer))[:SHOWN]
