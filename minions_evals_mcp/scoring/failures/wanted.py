"""The wanted content by the checks of a case: tools, their arguments, and words of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json

_TOOLS = frozenset(
    (
        "trajectory:tool-used",
        "trajectory:tool-sequence",
        "trajectory:tool-args-match",
        "trajectory:match",
        "tool-call-f1",
    )
)
_WORDS = frozenset(
    ("equals", "contains", "icontains", "contains-all", "icontains-all", "contains-any", "icontains-any")
)


def wanted_tools(checks: Sequence[Assertion]) -> tuple[str, ...]:
    """The tools that an expected trajectory names, in its order; patterns are left out."""
    names = (name for check in flattened(checks) if check.type in _TOOLS for name in _names(check.value))
    return tuple(dict.fromkeys(name for name in names if name and not set(name) & set("*?^$|[")))


def wanted_arguments(checks: Sequence[Assertion]) -> tuple[tuple[str, Json], ...]:
    """The arguments that calls must have, by tool."""
    return tuple(
        argument for check in flattened(checks) if check.type in _TOOLS for argument in _arguments(check.value)
    )


def wanted_words(checks: Sequence[Assertion]) -> Json:
    """The words that the answer must have, as the assertions give them."""
    return {str(number): check.value for number, check in enumerate(flattened(checks)) if check.type in _WORDS}


def flattened(checks: Sequence[Assertion]) -> Iterator[Assertion]:
    """The checks, with those that sets hold in their place."""
    for check in checks:
        yield from flattened(check.assertions) if check.assertions else (check,)


def _names(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for inner in value:
                yield from _names(inner)
        case dict():
            if (
                isinstance(name := value.get("name") or value.get("pattern"), str)
                and value.get("max") != 0
                and not value.get("optional")
            ):
                yield name
            yield from _names(value.get("steps") or value.get("unordered") or [])
        case _:
            return


def _arguments(value: JsonValue) -> Iterator[tuple[str, Json]]:
    match value:
        case list():
            for inner in value:
                yield from _arguments(inner)
        case dict():
            arguments = value.get("args") or value.get("arguments")
            if isinstance(name := value.get("name"), str) and isinstance(arguments, dict):
                yield name, arguments
            yield from _arguments(value.get("steps") or value.get("unordered") or [])
        case _:
            return
