"""The exchange with an application of the user's: the JSON that it is sent, and what is read from its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar, cast

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult
from pydantic import AfterValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.neighbours import PromptVersion, ToolCall, tool_calls_of
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text, told_cost, value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Count, Value
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text

PLACE = re.compile(r"\{\{\s*([^{}\s]+)\s*\}\}")
VERSION_NAMES = frozenset({"prompt", "promptVersion"})
SHOWN = 200
HostStream = Literal["claude-stream", "codex-exec", "gemini-json", "opencode-run"]
"""`claude -p --output-format stream-json --verbose`, `codex exec --json`, `gemini --output-format stream-json` and
`opencode run --format json`; Claude's and Gemini's `--output-format json`, too."""
N = TypeVar("N", int, float)


@cache
def _compiled(selector: str) -> ParsedResult:
    return jmespath.compile(selector)


def _parses(selector: str) -> str:
    try:
        _compiled(selector)
    except JMESPathError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{selector!r} is not a JMESPath expression ({reason})") from None
    return selector


Selector = Annotated[str, AfterValidator(_parses)]
"""A JMESPath expression: which part of an answer is meant."""


class UsageSelectors(Value):
    """The places of an answer that tell its cost."""

    input_tokens: Selector | None = None
    output_tokens: Selector | None = None
    cost_usd: Selector | None = None


class TargetExchange(Value):
    """The request to an application and the reading of its answer.

    In `input`, `{{name}}` stands for that input, `{{inputs}}` for all of them, `{{prompt}}` for the rendered prompt
    version and `{{promptVersion}}` for its id. Without it the inputs are sent, and with them `prompt` and
    `promptVersion` where a version is asked for.
    """

    input: JsonValue = None
    output: Selector | None = None
    tool_calls: Selector | None = None
    usage: UsageSelectors = Field(default_factory=UsageSelectors)
    timeout_seconds: Annotated[float, Field(gt=0, le=3600, strict=False)] | None = None


class AnswerError(Exception):
    """An answer in which what was asked for does not stand."""


_LATE = ConfigDict(defer_build=True)
_TOKENS: TypeAdapter[int] = TypeAdapter(Count, config=_LATE)
_COST: TypeAdapter[float] = TypeAdapter(Annotated[float, Field(ge=0, allow_inf_nan=False)], config=_LATE)


def tells_version(template: JsonValue) -> bool:
    """Returns whether what is sent tells the application of the prompt version."""
    return template is None or bool(VERSION_NAMES & names_in(template))


def vet_version(template: JsonValue, version: Record[PromptVersion] | None) -> None:
    """Raises `BadInputError` where a version is asked for of which the application would be told nothing."""
    if version is not None and not tells_version(template):
        raise BadInputError(
            f"the target does not receive the prompt version {version.id}: its input has no {{{{prompt}}}}.",
            remedy=f"Put {{{{prompt}}}} or {{{{promptVersion}}}} into it, or leave {argument('prompt_version_ref')} out.",
        )


def names_in(template: JsonValue) -> frozenset[str]:
    """The names that stand in a template."""
    return frozenset(name.partition(".")[0] for name in PLACE.findall(canonical(template)))


def sent(
    template: JsonValue,
    inputs: Json,
    version: Record[PromptVersion] | None,
    more: Mapping[str, JsonValue] = MappingProxyType({}),
) -> JsonValue:
    """The JSON that the application is sent; raises `BadInputError` for a name that the case lacks.

    `more` are names that a template may hold besides, before those of the case.
    """
    if template is None:
        return inputs if version is None else inputs | _of_version(version, inputs)
    return _filled(template, {**names_of(inputs, version), **more})


def names_of(inputs: Json, version: Record[PromptVersion] | None) -> Json:
    """Returns what the names in a template stand for."""
    if version is None:
        return {"prompt": output_text(inputs), **inputs, "inputs": inputs}
    return {**inputs, "inputs": inputs, **_of_version(version, inputs)}


def _of_version(version: Record[PromptVersion], inputs: Json) -> Json:
    return {"prompt": version_text(version.fields, inputs), "promptVersion": version.id}


def _filled(template: JsonValue, names: Json) -> JsonValue:
    """The template with its places filled; one that is the whole string keeps its value's type."""
    if isinstance(template, dict):
        return {key: _filled(value, names) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, names) for value in template]
    if not isinstance(template, str):
        return template
    whole = PLACE.fullmatch(template)
    if whole is not None:
        return looked_up(whole.group(1), names)
    return PLACE.sub(lambda place: value_text(looked_up(place.group(1), names)), template)


def looked_up(name: str, names: Json) -> JsonValue:
    """Returns what a (dotted) name stands for; raises `BadInputError` where nothing bears it."""
    value: JsonValue = names
    for part in [name] if name in names else name.split("."):
        if not isinstance(value, dict) or part not in value:
            raise BadInputError(f"the target's {{{{{name}}}}} has no value in this case.")
        value = value[part]
    return value


@frozen_type
class TargetQuestion:
    """One question to an application: who is asked, for which version, and how long it may take."""

    name: str
    version_ref: str | None
    timeout_ms: int | None
    limit_s: float

    def too_late(self, latency_ms: float) -> Observed | TargetErrored:
        """The outcome where no answer came in time: the case's own limit is the application's failure, ours is not."""
        if self.timeout_ms is None:
            return TargetErrored(f"{self.name} did not answer within {self.limit_s:g} s", unanswered=True)
        return Observed(
            output={}, prompt_version_ref=self.version_ref, produced_by=self.name, latency_ms=latency_ms, timed_out=True
        )

    def answered(self, body: bytes, exchange: TargetExchange, *, latency_ms: float) -> Observed | TargetErrored:
        """Returns what was read from the answer; where that cannot be done, the target's error."""
        try:
            observed = _read(body, exchange)
        except AnswerError as error:
            return TargetErrored(f"{self.name}: {error}")
        return self.seen(observed, latency_ms=latency_ms)

    def seen(self, observed: Observed | TargetErrored, *, latency_ms: float) -> Observed | TargetErrored:
        """What was read, as an output of this target."""
        if isinstance(observed, TargetErrored):
            return replace(observed, reason=f"{self.name}: {observed.reason}")
        if says_nothing(observed):
            return TargetErrored(f"{self.name} {NOTHING}", unanswered=True)
        return observed.model_copy(
            update={
                "prompt_version_ref": self.version_ref,
                "produced_by": self.name,
                "latency_ms": latency_ms,
                "timed_out": self.timeout_ms is not None and latency_ms > self.timeout_ms,
            }
        )


NOTHING = "returned no text and 0 output tokens"


def says_nothing(seen: Observed) -> bool:
    """Returns whether the application itself says that its model made nothing: what it does not count is not 0."""
    return seen.output_tokens == 0 and not seen.tool_calls and not output_text(seen.output).strip()


def asking(
    name: str, version: Record[PromptVersion] | None, *, timeout_ms: int | None, deadline_s: float
) -> TargetQuestion:
    """The question to that application: the case's time limit, else the target's."""
    limit = deadline_s if timeout_ms is None else timeout_ms / 1000
    return TargetQuestion(name, None if version is None else version.id, timeout_ms, limit)


def _read(body: bytes, exchange: TargetExchange) -> Observed:
    answer = _json(body)
    selects = (exchange.output, exchange.tool_calls, *exchange.usage.model_dump(by_alias=False).values())
    if answer is None:
        if any(selects):
            raise AnswerError(f"its answer is not JSON: {_excerpt(body)}")
        return Observed(output={"output": body.decode("utf-8", "replace").rstrip("\r\n")})
    value = answer[0] if exchange.output is None else _selected(answer[0], exchange.output)
    if value is None:
        raise AnswerError(f"its answer has no {exchange.output or 'output'}: {_excerpt(body)}")
    log = None if exchange.tool_calls is None else _tool_calls(_selected(answer[0], exchange.tool_calls))
    return Observed(
        output=value if isinstance(value, dict) else {"output": value},
        tool_calls=log,
        input_tokens=_number(answer[0], exchange.usage.input_tokens, _TOKENS),
        output_tokens=_number(answer[0], exchange.usage.output_tokens, _TOKENS),
        cost_usd=_told_cost(answer[0])
        if exchange.usage.cost_usd is None
        else _number(answer[0], exchange.usage.cost_usd, _COST),
    )


def _json(body: bytes) -> tuple[JsonValue] | None:
    """The answer as JSON in a tuple of one, for it may be null; none where it is no JSON."""
    try:
        value = cast("JsonValue", from_json(body, allow_inf_nan=False))
        canonical(value).encode()  # lone surrogates stand in no record
    except ValueError:
        return None
    return (value,)


def _selected(answer: JsonValue, selector: str) -> JsonValue:
    try:
        return cast("JsonValue", _compiled(selector).search(answer))
    except JMESPathError as error:
        raise AnswerError(f"{selector} cannot be read from its answer: {' '.join(str(error).split())}") from None


def _tool_calls(value: JsonValue) -> tuple[ToolCall, ...]:
    try:
        return tool_calls_of(value or [])
    except InvalidRecordError as error:
        raise AnswerError(f"its {error.reason}") from None


def _told_cost(answer: JsonValue) -> float | None:
    try:
        return told_cost(answer)
    except ValueError as error:
        raise AnswerError(str(error)) from None


def _number(answer: JsonValue, selector: str | None, kind: TypeAdapter[N]) -> N | None:
    value = None if selector is None else _selected(answer, selector)
    if value is None:
        return None
    try:
        return kind.validate_python(value)
    except ValidationError:
        raise AnswerError(f"{selector} is {_excerpt(canonical(value).encode())}, not a number from 0") from None


def _excerpt(body: bytes) -> str:
    text = " ".join(masked(body.decode("utf-8", "replace"))[: 4 * SHOWN].split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
