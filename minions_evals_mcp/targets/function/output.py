"""The values that a task may return beside a text or a mapping: an output with the tool calls that led to it and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, SupportsFloat, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.outputs import told_cost, value_text
from minions_evals_mcp.targets.function.messages import Transcript, are_messages, calls_given, plain_json, transcript

_INPUT = ("input_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an output took; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Output(str):  # noqa: SLOT000  a text cannot have slots beside its own
    """What your task answered, and how it came about: return one from a task; your own checks are given one, too.

    `text`: what the task said, or a value (a mapping, a list) that is kept as `value` and reads as its JSON.
    `tool_calls`: the calls that led to it, each `{"tool": "search", "arguments": {"q": "x"}, "result": "found"}`, or as Anthropic
    or OpenAI return them; leave it out where nobody recorded them, give `[]` where none was made.
    `usage`: the tokens, `{"input_tokens": 12, "output_tokens": 3}` or what the SDK returned.
    `cost_usd`: US dollars, from 0; leave it out where it is not known.
    Example: `Output("It is Paris.", tool_calls=[{"tool": "search", "arguments": {"q": "France"}}], cost_usd=0.002)`
    """

    value: JsonValue
    tool_calls: tuple[ToolCall, ...] | None
    usage: Usage
    cost_usd: float | None

    def __new__(
        cls,
        text: object = "",
        *,
        tool_calls: Iterable[object] | None = None,
        usage: object = None,
        cost_usd: float | None = None,
    ) -> Self:
        """An output; raises `InvalidRecordError` for tool calls of no known shape, `ValueError` for another argument that does not fit."""
        value = plain_json(text)
        made = super().__new__(cls, value_text(value))
        made.value = value
        made.tool_calls = None if tool_calls is None else calls_given(tool_calls)
        made.usage = usage_of(usage)
        made.cost_usd = _cost(cost_usd)
        return made

    @property
    def text(self) -> str:
        """The text itself."""
        return str(self)


def usage_of(usage: object) -> Usage:
    """The tokens in a mapping or an SDK's object, by the names of Anthropic or of OpenAI; raises `ValueError` for what is neither."""
    if usage is None:
        return Usage()
    if isinstance(usage, Mapping):
        held = cast("Mapping[str, object]", usage)
    else:
        held = {name: getattr(usage, name) for name in (*_INPUT, *_OUTPUT) if hasattr(usage, name)}
        if not held:
            raise ValueError(
                f'usage is {usage!r}; give {{"input_tokens": 12, "output_tokens": 3}} or what the SDK returned'
            )
    return Usage(_count(held, _INPUT), _count(held, _OUTPUT))


def _count(held: Mapping[str, object], names: Sequence[str]) -> int | None:
    name = next((name for name in names if held.get(name) is not None), None)
    value = None if name is None else held[name]
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"usage: {name} is {value!r}; give a whole number from 0")


def _cost(cost: object) -> float | None:
    if cost is None:
        return None
    if isinstance(cost, SupportsFloat) and not isinstance(cost, bool) and 0 <= float(cost) < math.inf:
        return float(cost)
    raise ValueError(f"cost_usd is {cost!r}; give US dollars as a number from 0, or None if unknown")


def observed(returned: object) -> Observed:
    """Returns what a task's return value is as an output; raises `ValueError` saying why it is none."""
    if returned is None:
        raise ValueError("it returned nothing")
    if isinstance(returned, Output):
        return _observed(returned.value, returned.tool_calls, usage_of(returned.usage), _cost(returned.cost_usd))
    if isinstance(returned, str):
        return Observed.trusted(output={"output": plain_json(returned)})
    value = plain_json(returned)
    if are_messages(value):
        spoken: Transcript = transcript(value)
        return _observed(spoken.text, spoken.tool_calls, Usage(), None)
    return _observed(value, None, Usage(), told_cost(value))


def _observed(
    value: JsonValue, calls: tuple[ToolCall, ...] | None, usage: Usage, cost_usd: float | None
) -> Observed:  # fmt: skip
    return Observed(
        output=value if isinstance(value, dict) else {"output": value},
        tool_calls=calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=cost_usd,
    )


def output_of(seen: Observed) -> Output | dict[str, JsonValue]:
    """The output as a check gets it: a text, or the mapping that it is."""
    if seen.output.keys() != {"output"}:
        return seen.output
    usage = Usage(seen.input_tokens, seen.output_tokens)
    return Output(seen.output["output"], tool_calls=seen.tool_calls, usage=usage, cost_usd=seen.cost_usd)
