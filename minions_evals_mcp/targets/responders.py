"""The responders to a config's prompts: a model, a Python file, a program."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import anyio
from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outcomes import AnswerFacts, Observed, TargetErrored
from minions_evals_mcp.domain.outputs import reported
from minions_evals_mcp.domain.providers import LIMITS, PROVIDERS
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.replies import FailedReply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.scoring.values import js_json
from minions_evals_mcp.targets.command import Finished, beside, finished
from minions_evals_mcp.targets.conversation import PromptTurns, chat_request, takes_calls, turns
from minions_evals_mcp.targets.exchange import NOTHING, TargetQuestion, says_nothing
from minions_evals_mcp.targets.live import seen_in
from minions_evals_mcp.targets.prompted import RenderedPrompt
from minions_evals_mcp.targets.python_file import function_in, result_of

T = TypeVar("T")
FORM = "response_format"
OFFERED = ("tools", "functions")
STOPS = {
    "function_call": "tool_calls", "tool_use": "tool_calls", "end_turn": "stop", "stop_sequence": "stop",
    "max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter",
}  # fmt: skip
"""Why a model stopped, in promptfoo's words."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True, slots=True)
class ModelResponder:
    """A model at its provider; `params` join the request as they are."""

    client: ModelClient
    model: str
    name: str
    max_tokens: int
    params: Json
    deadline_s: float
    as_text: bool = False
    """Whether a reply by the schema of those parameters stays a text."""

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """The model's reply."""
        messages = turns(prompt.text, calls=takes_calls(self.client.provider, self.model))
        if messages is None:
            return TargetErrored(f"{self.name}: prompts with parts that are not text are not supported")
        strange = sorted(prompt.config.keys() - {*PROVIDERS[self.client.provider].options})
        if strange:
            return TargetErrored(f"{self.name}: the prompt's config {', '.join(strange)} is not supported")
        # Longer than the test's own limit, so that a slow answer is seen to be slow instead of given up.
        deadline_s = max(self.deadline_s, 2 * (question.timeout_ms or 0) / 1000)
        params = _filled(self.params | prompt.config, prompt.variables)
        reply = await self.client.complete(self._request(messages, params), deadline_s=deadline_s)
        seen = seen_in(reply, self.name, question.version_ref, timeout_ms=question.timeout_ms)
        if isinstance(seen, TargetErrored) or isinstance(reply, FailedReply):
            return seen
        stopped = reply.stop_reason.strip().lower()
        as_text = self.as_text and FORM not in prompt.config
        offered = {name: value for name, value in _filled(self.params, prompt.variables).items() if name in OFFERED}
        return _with_offer(seen, params, offered, as_text=as_text).model_copy(
            update={"finish_reason": STOPS.get(stopped, stopped)}
        )

    def _request(self, conversation: PromptTurns, parameters: Json) -> ModelRequest:
        """The turns as this provider takes them, with those parameters."""
        params = dict(parameters)
        limits = [params.pop(name, None) for name in LIMITS]
        limit = next((limit for limit in limits if isinstance(limit, int)), self.max_tokens)
        return chat_request(self.client.provider, self.model, conversation, limit, params)


def _filled(params: Json, variables: Json) -> Json:
    """The parameters with the test's variables in their templates."""
    if "{{" not in canonical(params):
        return params
    from minions_evals_mcp.scoring.nunjucks.templates import rendered_within  # noqa: PLC0415  jinja2 costs what few runs need

    filled = rendered_within(params, variables)
    assert isinstance(filled, dict), "it is a mapping that was filled"
    return filled


def _with_offer(seen: Observed, params: Json, offered: Json, *, as_text: bool) -> Observed:
    """The answer with the tools that its provider's config offers, by which calls are checked, as in promptfoo: not with those that
    a prompt or a test asks for; JSON by a schema that it was asked for is read.
    """
    form = None if as_text else params.get(FORM)
    output = seen.output
    if isinstance(form, dict) and form.get("type") == "json_schema" and isinstance(output.get("output"), str):
        with suppress(ValueError):
            output = {"output": from_json(str(output["output"]), allow_inf_nan=False)}
    about = (seen.told or AnswerFacts()).model_copy(update={"offered": offered})
    return seen.model_copy(update={"output": output, "told": about})


async def in_time(question: TargetQuestion, work: Callable[[], Awaitable[T]]) -> tuple[T | None, float]:
    """Returns what the work gave within the limit, and the milliseconds it took."""
    result: T | None = None
    started = time.perf_counter()
    with anyio.move_on_after(question.limit_s):
        result = await work()
    return result, (time.perf_counter() - started) * 1000


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A function in a Python file of the user's: `call_api(prompt, options, context)` gives {output, error, tokenUsage, cost}."""

    name: str
    function: Callable[..., object]
    options: Json
    offered: Json

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """Returns what the function returned."""
        call = partial(result_of, self.function, prompt.text, self.options, prompt.context())
        try:
            answer, latency_ms = await in_time(question, call)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything; it is the target's error
            return TargetErrored(f"{self.name} raised {type(error).__name__}: {error}")
        if answer is None:
            return question.too_late(latency_ms)
        return returned(_fresh(answer), question, latency_ms, self.offered)


def _fresh(answer: object) -> object:
    """The answer as promptfoo takes it from Python: it was asked for just now, whatever it says of itself."""
    return {**cast("dict[object, object]", answer), "cached": False} if isinstance(answer, dict) else answer


def returned(
    answer_given: object, question: TargetQuestion, latency_ms: float, offered: Json
) -> Observed | TargetErrored:
    """Returns what a function gave, which was offered those tools: {output, error, tokenUsage, cost}; promptfoo takes no bare text."""
    try:
        cost, read, written = _figures(answer_given)
    except ValueError as error:
        return TargetErrored(f"{question.name}: {error}")
    try:
        value = _JSON.validate_python(answer_given)
        canonical(value).encode()  # NaN and lone surrogates stand in no record
    except ValueError:
        return TargetErrored(f"{question.name} returned {type(answer_given).__name__}, which is not JSON")
    if not isinstance(value, dict):
        return TargetErrored(f"{question.name} returned {type(answer_given).__name__}; return {{'output': …}}")
    if value.get("error"):
        return TargetErrored(f"{question.name}: {value['error']}")
    if value.get("output") is None:
        return TargetErrored(f"{question.name} returned no output")
    stopped = value.get("finishReason")
    seen = Observed(
        output={"output": value["output"]},
        finish_reason=stopped if isinstance(stopped, str) and stopped else None,
        latency_ms=latency_ms,
        input_tokens=_whole(read),
        output_tokens=_whole(written),
        cost_usd=cost,
        told=AnswerFacts(
            response={name: value for name, value in value.items() if name != "output"}, whole=True, offered=offered
        ),
    )
    return TargetErrored(f"{question.name} {NOTHING}", unanswered=True) if says_nothing(seen) else seen


def _figures(answer: object) -> tuple[float | None, float | None, float | None]:
    """The cost, the prompt's tokens and the completion's, as the function reports them; raises `ValueError` where one can be none."""
    given = cast("dict[object, object]", answer) if isinstance(answer, dict) else {}
    usage = given.get("tokenUsage")
    tokens = cast("dict[object, object]", usage) if isinstance(usage, dict) else {}
    return (
        reported("cost", given.get("cost")),
        reported("prompt token count", tokens.get("prompt")),
        reported("completion token count", tokens.get("completion")),
    )


def _whole(count: float | None) -> int | None:
    return int(count) if count is not None and count.is_integer() else None


def python_file(path: Path, function: str, *, name: str, options: Json, offered: Json) -> PythonFile:
    """The provider that is that function in that file; raises `BadInputError` where there is none."""
    return PythonFile(name, function_in(path, function, called_with="prompt, options, context"), options, offered)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is given the prompt, its options and the context as arguments, and writes the answer."""

    name: str
    command: tuple[str, ...]
    options: Json
    folder: str = ""

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """Returns what the program wrote; at the limit it is killed with its children."""
        errors = bytearray()
        beside_it = map(js_json, (self.options, prompt.context()))
        arguments = (prompt.text, *beside_it)  # keys in the order in which they stand
        if any("\0" in argument for argument in arguments):
            return TargetErrored(f"{self.name}: the prompt holds a NUL, which no argument can")
        command, folder = [*self.command, *arguments], Path(self.folder) if self.folder else None
        answer, latency_ms = await in_time(question, lambda: finished(command, b"", errors=errors, cwd=folder))
        errors_beside = beside(errors)
        match answer:
            case None:
                return question.too_late(latency_ms)
            case TargetErrored():
                return replace(answer, reason=f"{self.name}: {answer.reason}")
            case Finished(code=0):
                text = answer.out.decode("utf-8", "replace").strip()
                return Observed(output={"output": text}, latency_ms=latency_ms, stderr=errors_beside)
            case Finished():
                return TargetErrored(f"{self.name} ended with code {answer.code}: {errors_beside[-600:]}")
