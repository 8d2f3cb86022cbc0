"""Advice as data: the operation that helps, its arguments and what it does. Each interface renders it in its own terms.

A `Next` in an f-string becomes a reference within the text, and so does `argument(…)`. `parts` reads them back exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Union, cast

from minions_evals_mcp.frozen_types import frozen_type

Value = Union[str, int, float, bool, list["Value"], dict[str, "Value"]]  # noqa: UP007  a name within itself is a string
_OPERATION, _ARGUMENT, _SPLIT, _END = "\ue000", "\ue001", "\ue002", "\ue003"
"""Characters of the private use area: text from outside loses them before it is shown."""


@frozen_type
class Next:
    """The next step: an operation, its arguments by name, and what it does, as a verb and its object ("lists the runs").

    Operations and arguments are named as in `presentation/operations_table.py`. An argument in capitals is for the reader to fill in.
    """

    operation: str
    arguments: Mapping[str, Value] = field(default_factory=dict[str, Value])
    reason: str = ""

    def __str__(self) -> str:
        arguments = json.dumps(self.arguments, ensure_ascii=False)
        return f"{_OPERATION}{self.operation} {_SPLIT}{arguments}{_SPLIT} {self.reason}{_END}"


SET_KEY = Next("set-variable", {"names": ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]})
"""A key of a provider whose model can judge."""
WORKS = Next("doctor", {"ping": True}, "shows which keys and services work")
"""The step after a service failed."""
SAVE_OUTPUTS = Next("import", {"file": "FILE", "as_": "agent-run"}, "saves recorded outputs")
"""The step where outputs are missing."""


@frozen_type
class Argument:
    """An argument that a sentence names, with a value where the sentence gives one."""

    name: str
    value: Value | None = None

    def __str__(self) -> str:
        return f"{_ARGUMENT}{self.name} {_SPLIT}{json.dumps(self.value, ensure_ascii=False)}{_END}"


def argument(name: str, value: Value | None = None) -> Argument:
    """The argument of that name, for a sentence: `f"Use another {argument('key')}."`."""
    return Argument(name, value)


def list_them(kind: str) -> str:
    """The sentence that says how records of that type are listed."""
    return f"{Next('list', {'type': kind}, 'lists them')}."


def parts(text: str) -> Iterator[str | Next | Argument]:
    """The text in its parts: words, next steps and arguments in their order."""
    while text:
        place = min((at for sign in (_OPERATION, _ARGUMENT) if (at := text.find(sign)) >= 0), default=-1)
        end = text.find(_END, place)
        if place < 0 or end < 0:
            yield text
            return
        if place:
            yield text[:place]
        yield _reference(text[place], text[place + 1 : end])
        text = text[end + 1 :]


def next_in(text: str) -> tuple[Next, ...]:
    """The next steps in a text."""
    return tuple(part for part in parts(text) if isinstance(part, Next))


def plain(text: str) -> str:
    """The text with its references in words that no interface owns: for logs, and for reasons that are stored."""
    return "".join(part if isinstance(part, str) else _plain(part) for part in parts(text))


def is_rendered(text: str) -> bool:
    """Whether the text, or the JSON in it, is free of references that an interface has still to render."""
    return not any(sign in text or json.dumps(sign)[1:-1] in text for sign in (_OPERATION, _ARGUMENT))


def _reference(sign: str, inner: str) -> Next | Argument:
    name, arguments, *reason = inner.split(_SPLIT)
    if sign == _ARGUMENT:
        return Argument(name.rstrip(), json.loads(arguments))
    return Next(name.rstrip(), cast("dict[str, Value]", json.loads(arguments)), reason[0].lstrip())


def _plain(part: Next | Argument) -> str:
    if isinstance(part, Argument):
        words = part.name.strip("_").replace("_", "-")
        return words if part.value is None or part.value is True else f"{words} {part.value}"
    if part.operation == SET_KEY.operation:
        return f"set {' or '.join(cast('list[str]', part.arguments['names']))}"
    given = ", ".join(f"{name}={value}" for name, value in part.arguments.items())
    return f"{part.operation}{f' ({given})' if given else ''} {part.reason}".rstrip()
