"""The text of an output, and what a unit of work saw."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import Json

NO_FINAL_ANSWER = "no final answer"
"""The stop reason of a run that ends before the agent answered: its program still runs, or was ended."""
NOT_RECORDED = "content not recorded"
"""The stop reason of a run that ended well, of which nobody recorded what came of it."""
CAPTURE = "switch on the capture of content in its instrumentation"
"""What makes such a run judgeable."""
ERASED = "forgotten"
"""The key that stands in place of inputs and expected outputs whose content was erased."""
TOMBSTONE = re.compile(rf"{ERASED}@\d{{4}}-\d\d-\d\d")
"""What stands in place of an erased text: the day of it."""
TEXT_KEYS = ("output", "text", "content", "response")


_TEXT_KEYS = frozenset(TEXT_KEYS)
_BESIDE = frozenset({
    "cost", "costUsd", "finishReason", "inputTokens", "latencyMs", "metadata", "outputTokens", "tokenUsage", "toolCalls",
    "usage",
})  # fmt: skip
"""What an answer says beside its text of how it came about."""


def json_texts(value: JsonValue) -> Iterator[str]:
    """Yields every string in a JSON value; the keys of objects are none."""
    match value:
        case str():
            yield value
        case list():
            for inner in value:
                yield from json_texts(inner)
        case dict():
            for inner in value.values():
                yield from json_texts(inner)
        case _:
            return


def tombstone_of(at: datetime) -> str:
    """What stands in place of a text that is erased then."""
    return f"{ERASED}@{at.date()}"


def is_erased(value: JsonValue) -> bool:
    """Whether a text in the value was erased, so that nothing can be said of the whole."""
    return any(TOMBSTONE.fullmatch(text) for text in json_texts(value))


def value_text(value: JsonValue) -> str:
    """The text of one JSON value: itself if it is a string, else canonical JSON."""
    return value if isinstance(value, str) else canonical(value)


def output_value(output: Json) -> JsonValue:
    """Returns what an output says: its `output`, else `text`, `content` or `response`, else its only string, else all of it."""
    for key in TEXT_KEYS:
        if key in output:
            return output[key]
    strings = [value for value in output.values() if isinstance(value, str)]
    return strings[0] if len(strings) == 1 else output


def answered_record(output: Json) -> Json | None:
    """The record that a program answered with; None where it is a bare text or value, which we keep under `output`."""
    return None if output.keys() == {"output"} else output


def answer_given(output: Json) -> JsonValue:
    """Returns what a program answered: a record as it is, else the bare text or value."""
    return output["output"] if output.keys() == {"output"} else output


def is_envelope(record: Json) -> bool:
    """Returns whether a record only wraps a text: one of `TEXT_KEYS`, and beside it nothing but how it came about."""
    return len(record.keys() & _TEXT_KEYS) == 1 and record.keys() <= _TEXT_KEYS | _BESIDE


def told_cost(answer: JsonValue) -> float | None:
    """What a program's answer says in `costUsd` that it cost; None where it gives no number. Raises as `reported` does."""
    return reported("cost", answer.get("costUsd") if isinstance(answer, dict) else None)


def reported(name: str, figure: object) -> float | None:
    """A cost or count that a target reports; None where it is no number. Raises `ValueError` for a negative or infinite one."""
    if isinstance(figure, bool) or not isinstance(figure, int | float):
        return None
    if not 0 <= figure < sys.float_info.max:
        raise ValueError(
            f"it reported a {name} of {figure}, and a {name} is a number from 0; leave it out if it is unknown"
        )
    return float(figure)


def output_text(output: Json) -> str:
    """The text of what an output says."""
    return value_text(output_value(output))
