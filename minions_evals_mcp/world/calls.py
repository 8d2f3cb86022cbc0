"""Calls of tools and their answers, as a world sees them, and the canonical form in which calls are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import Json, Value
from minions_evals_mcp.frozen_types import frozen_type


class SqlRun(Value):
    """A statement that changed the database of a world, with the values of its names."""

    statement: str
    values: Json = {}


Source = Literal["mock", "tape", "real", "nearest", "fault", "honeypot", "none"]
"""Where an answer came from; `nearest` and `none` are misses."""


class ToolError(Exception):
    """The error that a world's tool answered with."""


@frozen_type
class WorldCall:
    """A call of a tool, as it arrived."""

    server: str
    tool: str
    arguments: Json


class CallAnswer(Value):
    """The answer to a call: the `result` of `tools/call` as MCP writes it, or the error of the protocol in its place.

    `state` is the world's state afterwards, where the call changed it. `miss` says why no answer was at hand, with the nearest
    recorded call. `notes` are for the reader of the trajectory. `sql` is what it changed in the world's database, and `files` what
    files in its folder hold afterwards, null where they are removed.
    """

    source: Source
    result: Json | None = None
    protocol_error: str | None = None
    state: Annotated[Json | None, Field(exclude_if=lambda state: state is None)] = None
    miss: Annotated[str | None, Field(exclude_if=lambda miss: miss is None)] = None
    delay_ms: Annotated[float, Field(exclude_if=lambda delay: not delay)] = 0.0
    notes: Annotated[Json, Field(exclude_if=lambda notes: not notes)] = {}
    sql: Annotated[tuple[SqlRun, ...], Field(strict=False, exclude_if=lambda runs: not runs)] = ()
    files: Annotated[dict[str, str | None], Field(exclude_if=lambda files: not files)] = {}

    @property
    def error(self) -> str | None:
        """The error that the agent was given, of the tool or of the protocol."""
        if self.protocol_error is not None:
            return self.protocol_error
        return result_text(self.result) if self.result is not None and self.result.get("isError") else None

    @property
    def value(self) -> JsonValue:
        """The result as the trajectory shows it: what is structured, else the text."""
        if self.result is None:
            return None
        structured = self.result.get("structuredContent")
        return result_text(self.result) if structured is None else structured


def result_text(result: Json) -> str:
    """The text of a tool's result, that of documents in it, too. What is no text is named in brackets."""
    texts = [(_text(block), block) for block in _blocks(result)]
    return "\n".join(_named(block) if text is None else text for text, block in texts)


def texts_in(result: Json) -> list[str]:
    """The texts and the documents in a tool's result."""
    return [text for block in _blocks(result) if (text := _text(block)) is not None]


def _blocks(result: Json) -> list[Json]:
    content = result.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _held(block: Json) -> Json:
    """What the block holds: a resource within it, else the block itself."""
    resource = block.get("resource")
    return resource if isinstance(resource, dict) else block


def _text(block: Json) -> str | None:
    text = _held(block).get("text")
    return text if isinstance(text, str) else None


def _named(block: Json) -> str:
    """A block that is no text, such as `[image, image/png, 3012 bytes]`."""
    held = _held(block)
    content = held.get("data", held.get("blob"))
    known = [block.get("type"), *(held.get(key) for key in ("name", "uri", "mimeType"))]
    size = [f"{len(content.rstrip('=')) * 3 // 4} bytes"] if isinstance(content, str) else []
    return f"[{', '.join([*(part for part in known if isinstance(part, str)), *size])}]"


def tool_result(value: JsonValue, *, is_error: bool = False) -> Json:
    """A value as the result of a tool: text as it is, else JSON, and an object as structured content besides."""
    text = value if isinstance(value, str) else "" if value is None else canonical(value)
    result: Json = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return {**result, "structuredContent": value} if isinstance(value, dict) and not is_error else result


def canonical_arguments(arguments: Json, ignored: Sequence[str] = ()) -> str:
    """The arguments as one text: whatever the order of keys and the spelling of numbers, without the paths that are ignored."""
    plain = plain_numbers(arguments)
    for pointer in ignored:
        plain = _without(plain, pointer[1:].split("/"))
    return canonical(plain)


def plain_numbers(value: JsonValue) -> JsonValue:
    """The value with whole numbers as such: 1.0 is 1."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [plain_numbers(inner) for inner in value]
        case dict():
            return {key: plain_numbers(inner) for key, inner in value.items()}
        case _:
            return value


def _without(value: JsonValue, path: Sequence[str]) -> JsonValue:
    """The value without what stands at the path, of which `*` is any key or index."""
    name, rest = path[0].replace("~1", "/").replace("~0", "~"), path[1:]
    match value:
        case dict():
            kept = {key: inner for key, inner in value.items() if rest or name not in ("*", key)}
            return {key: _without(inner, rest) if name in ("*", key) else inner for key, inner in kept.items()}
        case list():
            kept = [(at, inner) for at, inner in enumerate(value) if rest or name not in ("*", str(at))]
            return [_without(inner, rest) if name in ("*", str(at)) else inner for at, inner in kept]
        case _:
            return value


def leaves(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yields the values that are no containers, or empty ones, by their JSON Pointers."""
    match value:
        case dict() if value:
            for key, inner in value.items():
                yield from leaves(inner, f"{path}/{key.replace('~', '~0').replace('/', '~1')}")
        case list() if value:
            for number, inner in enumerate(value):
                yield from leaves(inner, f"{path}/{number}")
        case _:
            yield path, value
