"""The limits of a snippet, and what it may give back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.checks import Ran, SnippetError

LONGEST_CODE = 100_000
DEEPEST_RESULT = 100
LARGEST_BITS = 1024
MOST_SHOWN = 500


@frozen_type
class Limits:
    """Seconds of computing and bytes of one snippet; `output_bytes` bounds what it prints and what it returns.

    `wall_seconds` end one that does not compute (it sleeps): on a machine under load a second of computing takes many.
    """

    seconds: float = 5.0
    wall_seconds: float = 120.0
    memory_bytes: int = 256 << 20
    output_bytes: int = 1 << 20

    def exceeded(self, kind: str, message: str = "") -> SnippetError:
        """The failure that names the limit."""
        match kind:
            case "time-limit":
                return SnippetError("time-limit", f"the time limit of {self.seconds:g} s was exceeded")
            case "wall-limit":
                return SnippetError("time-limit", f"it had not ended after {self.wall_seconds:g} s")
            case "memory-limit":
                return SnippetError(
                    "memory-limit", f"the memory limit of {self.memory_bytes / (1 << 20):g} MB was exceeded"
                )
            case _:
                limit = f"the output limit of {self.output_bytes:,} characters was exceeded"
                return SnippetError("output-limit", f"{limit}: {message}" if message else limit)


class _TooLargeError(Exception):
    """The result is larger than the output limit."""


class _NoJsonError(Exception):
    """The result is nothing that JSON has."""


def returned(value: object, limits: Limits) -> Ran | SnippetError:
    """The value as JSON has it; refused where it is too large, too deep, or no JSON (a set, NaN, a function)."""
    walk = _Walk(limits.output_bytes)
    try:
        return Ran(walk.json(value, 0))
    except _TooLargeError:
        return limits.exceeded("output-limit", "the result is too large")
    except _NoJsonError as error:
        return SnippetError("raised", f"the result holds {error}, which JSON has not")


@dataclass(slots=True)
class _Walk:
    """Counts as it goes: a value may hold itself, or one list a million times."""

    left: int

    def json(self, value: object, depth: int) -> JsonValue:
        self._take(1)
        if depth > DEEPEST_RESULT:
            raise _NoJsonError(f"more than {DEEPEST_RESULT} levels")
        match value:
            case None | bool():
                return value
            case int() | float():
                return _number(value)
            case str():
                self._take(len(value))
                return _text(value)
            case list() | tuple():
                return [self.json(item, depth + 1) for item in cast("Sequence[object]", value)]
            case dict():
                pairs = cast("Mapping[object, object]", value).items()
                return {self._key(key): self.json(item, depth + 1) for key, item in pairs}
            case _:
                raise _NoJsonError(f"a {type(value).__name__}")

    def _key(self, key: object) -> str:
        if not isinstance(key, str | int | float) or isinstance(key, bool):
            raise _NoJsonError(f"a {type(key).__name__} as a key")
        text = key if isinstance(key, str) else str(_number(key))
        self._take(len(text))
        return _text(text)

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise _TooLargeError


def _number(value: float) -> int | float:
    if isinstance(value, int):
        if value.bit_length() > LARGEST_BITS:
            raise _NoJsonError(f"a number of more than {LARGEST_BITS} bits")
        return value
    if not math.isfinite(value):
        raise _NoJsonError(f"{value}")
    return value


def _text(text: str) -> str:
    """The text with a question mark for each half of a character."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def short_error(error: str) -> str:
    """An error that fits into a reason."""
    return error if len(error) <= MOST_SHOWN else error[: MOST_SHOWN - 1] + "…"
