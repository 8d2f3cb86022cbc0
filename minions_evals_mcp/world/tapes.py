"""Tapes: the calls of one server as they were recorded, a line of JSON each, after a line that says what was recorded."""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.domain.values import Json, Text, Timestamp, Value
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type, once
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.world.calls import WorldCall, canonical_arguments, leaves, plain_numbers

V = TypeVar("V", bound=Value)
SHOWN = 3
"""How many differing arguments a miss names."""


_BLOCKS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("name", "uri"),
}
"""The kinds of blocks in a tool's result, with the texts that each has."""


def _vet_tools(tools: tuple[Json, ...]) -> tuple[Json, ...]:
    if not all(isinstance(tool.get("name"), str) and isinstance(tool.get("inputSchema"), dict) for tool in tools):
        raise ValueError("each tool needs a name and an inputSchema, as MCP writes them")
    return tools


def _vet_result(result: Json | None) -> Json | None:
    if result is None:
        return None
    content, structured = result.get("content"), result.get("structuredContent")
    is_plain = isinstance(result.get("isError", False), bool) and isinstance(structured, dict | None)
    if not isinstance(content, list) or not all(map(_is_block, content)):
        raise ValueError('content must be a list of blocks as MCP writes them, such as {"type": "text", "text": "…"}')
    if not is_plain:
        raise ValueError("isError must be true or false, and structuredContent an object")
    return result


def _is_block(block: JsonValue) -> bool:
    if not isinstance(block, dict):
        return False
    held = block.get("resource")
    if block.get("type") == "resource":
        return isinstance(held, dict) and all(isinstance(part, str) for part in (held.get("uri"), _content(held)))
    needed = _BLOCKS.get(str(block.get("type")))
    return needed is not None and all(isinstance(block.get(key), str) for key in needed)


def _content(resource: Json) -> JsonValue:
    return resource.get("text", resource.get("blob"))


class TapeHead(Value):
    """The first line of a tape: the server that was recorded, its version, and its `tools/list`."""

    tape: Literal[1]
    server: Text
    name: str = ""
    version: str = ""
    protocol: str = ""
    recorded_at: Annotated[Timestamp | None, Field(strict=False)] = None
    tools: Annotated[tuple[Json, ...], Field(strict=False), AfterValidator(_vet_tools)] = ()

    @property
    def tools_digest(self) -> str:
        """The digest of the tools: it changes where a name, a description or a schema does."""
        return digest([*self.tools])


class TapedCall(Value):
    """A recorded call with its answer: the `result` as MCP writes it, or the error of the protocol."""

    tool: Text
    arguments: Json = {}
    result: Annotated[Json | None, AfterValidator(_vet_result)] = None
    protocol_error: str | None = None
    duration_ms: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _has_one_answer(self) -> Self:
        if (self.result is None) == (self.protocol_error is None):
            raise ValueError("give either result or protocolError")
        return self


def head_line(head: TapeHead) -> bytes:
    """The first line of a tape."""
    return _line(head)


def call_line(call: TapedCall) -> bytes:
    """The line of a call; known secrets are replaced by their marks."""
    return _line(call)


def _line(value: Value) -> bytes:
    return masked(canonical(value.model_dump(mode="json", exclude_none=True))).encode() + b"\n"


@frozen_type
class Miss:
    """A call that is not on the tape: why, and the recorded call that comes nearest to it, if any."""

    reason: str
    nearest: TapedCall | None = None


@frozen_type
class Tape:
    """A tape in memory. `is_cut`: its last line is not whole, because the recording was killed while it was written."""

    head: TapeHead
    calls: tuple[TapedCall, ...]
    is_cut: bool = False

    @once
    def _indexes(self) -> dict[tuple[str, ...], dict[tuple[str, str], list[int]]]:
        return {}

    def _index(self, ignored: tuple[str, ...]) -> dict[tuple[str, str], list[int]]:
        if ignored not in self._indexes:
            index: dict[tuple[str, str], list[int]] = {}
            for place, call in enumerate(self.calls):
                index.setdefault((call.tool, canonical_arguments(call.arguments, ignored)), []).append(place)
            self._indexes[ignored] = index
        return self._indexes[ignored]

    def find(self, call: WorldCall, ignored: tuple[str, ...], before: int) -> TapedCall | Miss:
        """The recorded call that is the same, after `before` equal ones were answered: repeats come in their recorded order."""
        places = self._index(ignored).get((call.tool, canonical_arguments(call.arguments, ignored)), ())
        if before < len(places):
            return self.calls[places[before]]
        if places:
            times = f"{len(places)} time{'' if len(places) == 1 else 's'}"
            return Miss(
                f"{call.tool} was recorded {times} with these arguments, and was called once more",
                self.calls[places[-1]],
            )
        return self._missed(call)

    def _missed(self, call: WorldCall) -> Miss:
        same_tool = [taped for taped in self.calls if taped.tool == call.tool]
        if not same_tool:
            near = difflib.get_close_matches(call.tool, sorted({taped.tool for taped in self.calls}), 1)
            other = f"; the nearest recorded tool is {near[0]}" if near else ""
            return Miss(f"no call of {call.tool} was recorded{other}")
        nearest = min(same_tool, key=lambda taped: len(differences(call.arguments, taped.arguments)))
        differing = differences(call.arguments, nearest.arguments)
        shown = "; ".join(differing[:SHOWN]) + (
            f"; and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
        )
        return Miss(f"no call of {call.tool} with these arguments was recorded. Nearest call: {shown}", nearest)


def differences(given: Json, recorded: Json) -> list[str]:
    """The arguments in which two calls differ, each with both values."""
    here, there = dict(leaves(plain_numbers(given))), dict(leaves(plain_numbers(recorded)))
    paths = [*here, *(path for path in there if path not in here)]
    return [
        f"{path or 'arguments'} is {_shown(here, path)}, recorded {_shown(there, path)}"
        for path in paths
        if path not in here or path not in there or canonical(here[path]) != canonical(there[path])
    ]


def _shown(values: dict[str, JsonValue], path: str) -> str:
    if path not in values:
        return "absent"
    text = json.dumps(values[path], ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def read_tape(content: bytes, where: str) -> Tape:
    """The tape in the content of a file. A last line that is not whole is left out; raises `BadInputError` for any other."""
    lines = content.split(b"\n")
    is_cut = bool(lines.pop())
    if not lines:
        raise BadInputError(f"{where} is not a tape: it has no complete line.", remedy="Record it again.")
    head = _read(TapeHead, lines[0], f"{where}:1")
    calls = [_read(TapedCall, line, f"{where}:{number}") for number, line in enumerate(lines[1:], 2) if line.strip()]
    return Tape(head, tuple(calls), is_cut)


def _read(kind: type[V], line: bytes, where: str) -> V:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInputError(
            f"{where} is not a line of a tape: {place + ': ' if place else ''}{first['msg']}.",
            remedy="Record the tape again.",
        ) from None
