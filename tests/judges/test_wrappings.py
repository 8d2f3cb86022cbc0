"""A judge's verdict counts however it is wrapped and whatever the endpoint refuses, at every provider, for one paid call."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Grader
from minions_evals_mcp.domain.outcomes import JudgeErrored, Verdict
from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.judges.grading import grade, grade_of
from minions_evals_mcp.judges.llm import LlmJudge
from minions_evals_mcp.scoring.checks import GradeNeed
from tests.hang import HANG_S
from tests.judges.workpieces import criterion, work
from tests.shared.fakes.llm_answers import Object, obj
from tests.shared.models.asking import QUICK, client_and_server

pytestmark = pytest.mark.anyio
MARK = "=====OUTPUT-0123456789abcdef====="
TEXT = "The refund is on its way."
NEED = GradeNeed("llm-rubric", "is polite", TEXT)
GIVEN = {"reason": 'It says "thank you", in {kind} words.', "pass": True, "score": 0.75}
SAID = json.dumps(GIVEN)
Message = Callable[[str], JsonValue]
"""The message of a reply, for the provider."""


def _text(text: str) -> Message:
    return lambda provider: [{"type": "text", "text": text}] if provider == "anthropic" else text


def _parts(provider: str) -> JsonValue:
    thought: Object = {"type": "thinking", "thinking": "Is it kind?", "signature": "x"}
    return [thought, {"type": "text", "text": SAID[:20]}, {"type": "text", "text": SAID[20:]}] if provider else None


def _called(provider: str) -> JsonValue:
    if provider == "anthropic":
        return [{"type": "tool_use", "id": "t", "name": "answer", "input": {**GIVEN}}]
    function: Object = {"name": "answer", "arguments": SAID}
    return {"tool_calls": [{"id": "t", "type": "function", "function": function}]}


WRAPPINGS: dict[str, Message] = {
    "plain": _text(SAID),
    "fenced as json": _text(f"```json\n{json.dumps(GIVEN, indent=2)}\n```"),
    "fenced, with prose around": _text(
        f"Here is my verdict:\n```\n{SAID}\n```\nLet me know if {{anything}} is unclear."
    ),
    "prose before": _text(f"The output {{as given}} is {{'tone': 'kind'}}. So: {SAID}"),
    "thoughts before": _text(f'<think>Maybe {{"reason": "no", "pass": false, "score": 0}}?</think>\n{SAID}'),
    "the end of thoughts alone": _text(f'A draft: {{"pass": false}} no.\n</think>\n\n{SAID}'),
    "content parts": _parts,
    "a tool's arguments": _called,
    "an object around": _text(json.dumps({"answer": GIVEN})),
    "single quotes and a comma too many": _text("{'reason': 'It says thank you.', 'pass': True, 'score': 0.75,}"),
    "text in place of values": _text(json.dumps({**GIVEN, "pass": "true", "score": "0.75", "confidence": "high"})),
    "given twice": _text(f"{SAID}\n\nFinal answer:\n{SAID}"),
}


def _refusing(name: str, why: str) -> Callable[[Object], str]:
    return lambda request: why if name in request else ""


def _no_form(request: Object) -> str:
    config = obj(request.get("output_config"))
    asked = "response_format" in request or "format" in config
    return "This response_format type (output_config.format: json_schema) is unavailable now" if asked else ""


def _no_system(request: Object) -> str:
    messages = request.get("messages")
    turns = [obj(turn) for turn in messages] if isinstance(messages, list) else []
    asked = "system" in request or any(turn.get("role") == "system" for turn in turns)
    return "System role not supported" if asked else ""


def _several(request: Object) -> str:
    return _no_form(request) or _no_system(request) or HABITS["takes no temperature"](request)


NEW_LIMIT = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
NO_HEAT = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)
HABITS: dict[str, Callable[[Object], str]] = {
    "takes all": lambda _: "",
    "takes no form": _no_form,
    "has another name for the limit": _refusing("max_tokens", NEW_LIMIT),
    "takes no temperature": _refusing("temperature", NO_HEAT),
    "takes no system text": _no_system,
    "takes nearly nothing": _several,
}


def _body(provider: str, message: JsonValue) -> bytes:
    if provider == "anthropic":
        whole: Object = {
            "model": "m", "content": message, "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 9}
        }  # fmt: skip
    else:
        said: JsonValue = {"content": None, **message} if isinstance(message, dict) else {"content": message}
        whole = {"model": "m", "choices": [{"message": said, "finish_reason": "stop"}]}
    return json.dumps(whole).encode()


@pytest.mark.parametrize(("wrapping", "habit"), [*product(WRAPPINGS, HABITS)])
@pytest.mark.parametrize("provider", list(PROVIDERS))
async def test_a_verdict_is_read_for_one_paid_call_and_what_was_refused_once_is_not_sent_again(
    provider: str, wrapping: str, habit: str
) -> None:
    if provider == "anthropic" and "limit" in habit:
        pytest.skip("its interface has one name for the limit")
    async with client_and_server(provider, settings=QUICK) as (client, server):
        grader = Grader(model=f"{provider}:m", params={"temperature": 0})
        judge = LlmJudge(client, "m", lambda: MARK, HANG_S, own=grader)
        server.canned, server.habit = _body(provider, WRAPPINGS[wrapping](provider)), HABITS[habit]
        with anyio.fail_after(HANG_S):
            first = await grade(judge, NEED, work(TEXT))
            refused = server.refused
            second = await grade(judge, NEED, work(TEXT))
    for verdict in (first, second):
        assert isinstance(verdict, Verdict), verdict
        assert (grade_of(verdict).passed, verdict.score) == (True, 0.75)
        assert "thank you" in verdict.rationale
    assert server.requests - server.refused == 2
    assert server.refused == refused == {"takes all": 0, "takes nearly nothing": 3}.get(habit, 1)


NO_VERDICTS = {
    "nothing": "",
    "prose": "It is polite, so it passes with 0.75.",
    "cut off": SAID[:-4],
    "cut off within its object, with one in it": '{"draft": {"reason": "r", "pass": true, "score": 0.5}, "rea',
    "thoughts without an end": f"<think>perhaps {SAID}",
    "thoughts alone": f"<think>{SAID}</think>",
    "two that differ": f'{{"reason": "rude", "pass": false, "score": 0}} or {SAID}',
    "two in a list that differ": json.dumps([GIVEN, {**GIVEN, "score": 0.2}]),
    "a member twice": '{"reason": "r", "pass": true, "score": 0.5, "pass": false}',
    "a member twice, loosely": "{'reason': 'r', 'pass': True, 'score': 0.5, 'pass': False}",
    "pass with the lowest score": '{"reason": "It is rude.", "pass": true, "score": 0}',
    "fail with the highest score": '{"reason": "It is kind.", "pass": false, "score": 1}',
    "no reason": '{"pass": true, "score": 1}',
    "a score on another scale": '{"reason": "r", "pass": true, "score": 8}',
    "no number": '{"reason": "r", "pass": true, "score": NaN}',
    "a word for pass": '{"reason": "r", "pass": "probably", "score": 0.5}',
    "null": '{"reason": "r", "pass": null, "score": null}',
}


@pytest.mark.parametrize("name", NO_VERDICTS)
@pytest.mark.parametrize("provider", list(PROVIDERS))
async def test_what_a_careful_reader_would_not_take_for_a_verdict_is_asked_for_once_more_and_then_is_none(
    provider: str, name: str
) -> None:
    async with client_and_server(provider, settings=QUICK) as (client, server):
        judge = LlmJudge(client, "m", lambda: MARK, HANG_S)
        server.canned = _body(provider, _text(NO_VERDICTS[name])(provider))
        with anyio.fail_after(HANG_S):
            found = await grade(judge, NEED, work(TEXT))
    assert isinstance(found, JudgeErrored), found
    assert server.requests == 2


@pytest.mark.parametrize("provider", list(PROVIDERS))
async def test_a_criterion_is_scored_from_a_reply_in_a_fence_where_the_server_takes_no_form(provider: str) -> None:
    said = '```json\n{"rationale": "It greets the customer with kind words.", "verdict": "scored", "score": 3, "confidence": 0.8}\n```'
    async with client_and_server(provider, settings=QUICK) as (client, server):
        judge = LlmJudge(client, "m", lambda: MARK, HANG_S)
        server.canned, server.habit = _body(provider, _text(said)(provider)), _no_form
        (found,) = await judge.judge([criterion("fair", low=0, high=4)], work(TEXT))
        asked = server.last_body.decode()
    assert isinstance(found, Verdict)
    assert found.score == 3
    assert "It must fit this JSON schema" in asked
    assert server.requests == 2


async def test_calls_that_are_refused_together_are_each_sent_once_more() -> None:
    async with client_and_server("openai", settings=QUICK) as (client, server):
        judge = LlmJudge(client, "m", lambda: MARK, HANG_S)
        server.canned, server.habit = _body("openai", SAID), _no_form
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(grade, judge, NEED, work(TEXT))
    assert server.requests - server.refused == 8


async def test_a_refusal_that_names_nothing_we_can_leave_out_is_the_judges_error_at_once() -> None:
    async with client_and_server("openai", settings=QUICK) as (client, server):
        judge = LlmJudge(client, "m", lambda: MARK, HANG_S)
        server.habit = lambda _: "max_tokens is too large: 1024"
        found = await grade(judge, NEED, work(TEXT))
    assert isinstance(found, JudgeErrored)
    assert "max_tokens is too large" in found.reason
    assert server.requests == 1
