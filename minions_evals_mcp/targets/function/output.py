"""The values that a task may return beside a text or a mapping: an output with the tool calls that led to it and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.targets.function.messages import Transcript, are_messages, calls_given, plain_json, transcript


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an output took; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Output(str):  # noqa: SLOT000  a text cannot have slots beside its own
    """A text with what is known of how it came about; checks get one, too.

    `tool_calls` is None where nobody recorded them, and empty where it is known that none was made. A value that is no
    text is kept in `value`; as a text it is its JSON.
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
        """An output; raises `InvalidRecordError` for tool calls of no known shape, `ValueError` for what is no JSON."""
        value = plain_json(text)
        made = super().__new__(cls, value_text(value))
        made.value = value
        made.tool_calls = None if tool_calls is None else calls_given(tool_calls)
        made.usage = usage_of(usage)
        made.cost_usd = cost_usd
        return made

    @property
    def text(self) -> str:
        """The text itself."""
        return str(self)


def usage_of(given: object) -> Usage:
    """The tokens in a mapping or an SDK's object, by the names of Anthropic or of OpenAI."""
    if given is None or isinstance(given, Usage):
        return given or Usage()
    held = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else vars(given)
    return Usage(_count(held, "input_tokens", "prompt_tokens"), _count(held, "output_tokens", "completion_tokens"))


def _count(held: Mapping[str, object], *names: str) -> int | None:
    return next((value for name in names if isinstance(value := held.get(name), int)), None)


def observed(returned: object) -> Observed:
    """Returns what a task's return value is as an output; raises `ValueError` saying why it is none."""
    if returned is None:
        raise ValueError("it returned nothing")
    if isinstance(returned, Output):
        return _observed(returned.value, returned.tool_calls, returned.usage, returned.cost_usd)
    if isinstance(returned, str):
        return Observed.trusted(output={"output": plain_json(returned)})
    value = plain_json(returned)
    if are_messages(value):
        spoken: Transcript = transcript(value)
        return _observed(spoken.text, spoken.tool_calls, Usage(), None)
    return _observed(value, None, Usage(), None)


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
