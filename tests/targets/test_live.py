"""Outputs made now: by a model at the fake server, or by a Python function."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.models.prices import cost_usd
from minions_evals_mcp.models.registry import Provider
from minions_evals_mcp.models.replies import TokenUsage
from minions_evals_mcp.targets.function.task import FunctionTask, python_target
from minions_evals_mcp.targets.live import MAX_TOKENS, ModelTarget
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, Server
from tests.shared.models.asking import QUICK, client_and_server
from tests.targets import callables

Json = dict[str, JsonValue]
AT = datetime(2026, 3, 1, tzinfo=UTC)
INPUTS: Json = {"question": "Where is REF-000007?"}


def version(content: str) -> Record[PromptVersion]:
    return Record("refund@3", PromptVersion(content=content, version_number=3), "v3", AT, AT)


@asynccontextmanager
async def model(
    faults: FakeSettings | None = None, *, provider: Provider = "anthropic", name: str = "fake-target",
    deadline_s: float = HANG_S, key: str = "test",
) -> AsyncGenerator[tuple[ModelTarget, Server]]:  # fmt: skip
    quick = replace(QUICK, attempts=2)
    async with client_and_server(provider, faults, quick, key=key) as (client, server):
        yield ModelTarget(client, name, deadline_s), server


async def produced(
    target: ModelTarget | FunctionTask,
    inputs: Json = INPUTS,
    content: str | None = None,
    *,
    timeout_ms: int | None = None,
) -> Observed | TargetErrored:
    with anyio.fail_after(HANG_S):
        return await target.produce(inputs, None if content is None else version(content), timeout_ms=timeout_ms)


async def observed(
    target: ModelTarget | FunctionTask,
    inputs: Json = INPUTS,
    content: str | None = None,
    *,
    timeout_ms: int | None = None,
) -> Observed:
    found = await produced(target, inputs, content, timeout_ms=timeout_ms)
    assert isinstance(found, Observed), found
    return found


async def errored(target: ModelTarget | FunctionTask, *, timeout_ms: int | None = None) -> TargetErrored:
    found = await produced(target, timeout_ms=timeout_ms)
    assert isinstance(found, TargetErrored), found
    return found


def asked(server: Server) -> Json:
    return json.loads(server.last_body)


async def test_a_prompt_version_is_rendered_with_the_inputs_and_sent() -> None:
    async with model() as (target, server):
        found = await observed(target, INPUTS, "Ticket: {{question}}\nAnswer shortly.")
        sent = asked(server)
    assert sent["messages"] == [{"role": "user", "content": "Ticket: Where is REF-000007?\nAnswer shortly."}]
    assert (sent["model"], sent["max_tokens"], "system" in sent) == ("fake-target", MAX_TOKENS, False)
    assert str(found.output["output"]).startswith("Ticket REF-000007 state=resolved.")
    assert (found.prompt_version_ref, found.produced_by) == ("refund@3", "anthropic:fake-target")
    assert (found.finish_reason, found.timed_out, found.agent_run_id) == ("end_turn", False, None)


@pytest.mark.parametrize(
    ("inputs", "prompt"),
    [({"question": "Why?"}, "Why?"), ({"a": "x", "b": 1}, "x"), ({"a": 1, "b": 2}, '{"a":1,"b":2}')],
)
async def test_without_a_version_the_inputs_text_is_sent_as_it_is(inputs: Json, prompt: str) -> None:
    async with model() as (target, server):
        found = await observed(target, inputs)
        assert asked(server)["messages"] == [{"role": "user", "content": prompt}]
    assert found.prompt_version_ref is None


async def test_inputs_are_data_and_are_never_rendered_as_a_template() -> None:
    async with model() as (target, server):
        await observed(target, {"question": "{{secret}}", "secret": "S"}, "{{question}}")
        assert asked(server)["messages"] == [{"role": "user", "content": "{{secret}}"}]


async def test_a_variable_that_the_case_lacks_is_refused_by_name_and_nothing_is_sent() -> None:
    async with model() as (target, server):
        with pytest.raises(BadInputError, match="'name'"):
            await target.produce(INPUTS, version("Dear {{name}}"), timeout_ms=None)
        assert server.requests == 0


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
async def test_tokens_latency_and_cost_are_observed(provider: Provider) -> None:
    async with model(FakeSettings(latency_ms=20), provider=provider, name="claude-haiku-4-5") as (target, _):
        found = await observed(target)
    text = str(found.output["output"])
    assert (found.input_tokens, found.output_tokens) == (len("Where is REF-000007?") // 4 + 8, len(text) // 4 + 4)
    assert found.latency_ms is not None
    assert found.latency_ms >= 20
    usage = TokenUsage(found.input_tokens or 0, found.output_tokens or 0)
    assert found.cost_usd == cost_usd(provider, "claude-haiku-4-5", usage)
    assert found.cost_usd or provider != "anthropic"
    assert found.produced_by == f"{provider}:claude-haiku-4-5"


async def test_a_reply_without_a_token_count_leaves_tokens_and_cost_unknown() -> None:
    async with model() as (target, server):
        server.canned = b'{"model": "m", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}'
        found = await observed(target)
    assert (found.output, found.input_tokens, found.output_tokens, found.cost_usd) == (
        {"output": "Hi"},
        None,
        None,
        None,
    )


async def test_a_reply_that_was_cut_off_is_an_output_that_says_so() -> None:
    async with model(FakeSettings(pmaxtokens=1)) as (target, _):
        found = await observed(target)
    assert found.finish_reason == "max_tokens"
    assert str(found.output["output"]).startswith("Ticket REF-000007")


async def test_a_refusal_is_an_output_that_says_so() -> None:
    async with model(FakeSettings(prefusal=1)) as (target, _):
        found = await observed(target)
    assert (found.finish_reason, found.output) == ("refusal", {"output": ""})


@pytest.mark.parametrize(
    ("faults", "reason", "fatal"),
    [
        (FakeSettings(p500=1), "transient: HTTP 500", False),
        (FakeSettings(p429=1, retry_after_s=0), "rate-limited: HTTP 429", False),
        (FakeSettings(pmalformed=1), "malformed: ", False),
        (FakeSettings(preset=1), "transient: no connection", False),
        (FakeSettings(p401=1), "permanent: HTTP 401", True),
        (FakeSettings(pquota=1), "permanent: HTTP 429", True),
    ],
)
async def test_an_instrument_that_fails_is_a_target_error_never_an_output(
    faults: FakeSettings, reason: str, fatal: bool
) -> None:
    async with model(faults) as (target, _):
        found = await errored(target, timeout_ms=60_000)
    assert found.reason.startswith(f"anthropic:fake-target: {reason}")
    assert found.fatal is fatal


async def test_a_hang_is_the_instruments_error() -> None:
    async with model(FakeSettings(phang=1), deadline_s=0.05) as (target, _):
        found = await errored(target, timeout_ms=10)
    assert "deadline: no complete reply within 0.05 s" in found.reason


async def test_an_answer_slower_than_the_cases_limit_is_timed_out_with_what_it_said() -> None:
    async with model(FakeSettings(latency_ms=60)) as (target, _):
        slow = await observed(target, timeout_ms=20)
        in_time = await observed(target, timeout_ms=HANG_S * 1000)
    assert (slow.timed_out, in_time.timed_out) == (True, False)
    assert slow.output == in_time.output


async def test_a_case_may_take_longer_than_the_deadline_where_it_says_so() -> None:
    async with model(FakeSettings(latency_ms=100), deadline_s=0.02) as (target, _):
        assert not (await observed(target, timeout_ms=HANG_S * 1000)).timed_out
        assert isinstance(await produced(target), TargetErrored)


async def test_the_digest_of_a_model_target_is_its_provider_model_and_parameters() -> None:
    async with model() as (one, _), model(provider="openai") as (other, _):
        assert replace(one, deadline_s=1).digest() == one.digest()
        assert len({one.digest(), replace(one, model="x").digest(), other.digest()}) == 3


def function(name: str, *, deadline_s: float = HANG_S, width: int = 1) -> FunctionTask:
    return python_target(f"tests.targets.callables:{name}", deadline_s=deadline_s, width=width)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("echo", "You asked: Where is REF-000007?"),
        ("echo_later", "Later: Where is REF-000007?"),
        ("caller", "Object: Where is REF-000007?"),
        ("wrapped", "Later: Where is REF-000007?"),
    ],
)
async def test_a_function_sync_or_async_that_returns_a_string_gives_an_output(name: str, text: str) -> None:
    found = await observed(function(name), INPUTS, "unused")
    assert found.output == {"output": text}
    assert (found.produced_by, found.prompt_version_ref) == (f"python:tests.targets.callables:{name}", "refund@3")
    assert found.latency_ms is not None
    assert found.latency_ms > 0
    assert (found.cost_usd, found.input_tokens, found.timed_out) == (None, None, False)


async def test_as_many_calls_of_a_function_are_under_way_at_once_as_were_set_and_no_more() -> None:
    asked = function("meeting", width=callables.MEETING)
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(2 * callables.MEETING):
                tasks.start_soon(observed, asked)
    assert callables.meeting.most == callables.MEETING


async def test_a_function_that_returns_a_mapping_gives_the_output_itself() -> None:
    assert (await observed(function("record"))).output == {"answer": "yes", "asked": INPUTS, "nothing": None}


@pytest.mark.parametrize(
    ("name", "inputs", "text"),
    [
        ("by_name", INPUTS, "By name: Where is REF-000007?"),
        ("by_name", {"input": "Plain?"}, "By name: Plain?"),
        ("both", {"question": "Q", "tone": "dry"}, "Q, dry"),
        ("echo", {"question": "Q", "tone": "dry"}, "You asked: Q"),
        ("asked_all", {"inputs": "Q"}, "All: Q"),
        ("asked_all", {"input": "Q"}, "All: Q"),
        ("asked_any", INPUTS, "1 argument"),
    ],
)
async def test_a_function_is_called_by_its_signature_as_evaluate_calls_it(name: str, inputs: Json, text: str) -> None:
    assert (await observed(function(name), inputs)).output == {"output": text}


async def test_inputs_that_a_function_does_not_take_are_a_target_error_that_names_the_parameter() -> None:
    found = await produced(function("both"))
    assert isinstance(found, TargetErrored)
    said = "does not take the case's inputs: missing a required argument: 'tone'"
    assert found.reason == f"python:tests.targets.callables:both {said}"


async def test_calls_of_tools_and_what_it_cost_come_with_the_output_of_a_function() -> None:
    found = await observed(function("with_tools"), {"n": 2})
    assert found.output == {"output": "two"}
    assert [call.tool for call in found.tool_calls or ()] == ["look_up"]
    assert (found.cost_usd, found.input_tokens) == (0.5, 3)
    assert (await observed(function("by_name"))).tool_calls is None, "not recorded is not none"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "it returned nothing"),
        ("an_object", "is neither text nor JSON"),
        ("not_a_number", "is neither text nor JSON"),
        ("no_unicode", "is neither text nor JSON"),
    ],
)
async def test_what_is_no_output_is_a_target_error_that_says_why(name: str, why: str) -> None:
    found = await errored(function(name))
    assert found.reason.startswith(f"python:tests.targets.callables:{name}: ")
    assert why in found.reason
    assert not found.fatal


async def test_a_number_or_a_list_is_an_output_as_it_is_to_evaluate() -> None:
    assert (await observed(function("number"))).output == {"output": 4}
    assert (await observed(function("a_list"))).output == {"output": ["a"]}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raising", "raised KeyError: 'no answer to 1 inputs'"),
        ("raising_later", "raised TimeoutError: upstream"),
        ("leaving", "raised SystemExit: 3"),
    ],
)
async def test_a_function_that_raises_is_a_target_error_with_what_it_raised(name: str, said: str) -> None:
    for timeout_ms in (None, HANG_S * 1000):
        assert said in (await errored(function(name), timeout_ms=timeout_ms)).reason


async def test_a_function_over_the_cases_limit_is_timed_out_without_an_output() -> None:
    found = await observed(function("endless"), INPUTS, "unused", timeout_ms=20)
    assert (found.timed_out, found.output, found.prompt_version_ref) == (True, {}, "refund@3")
    assert found.latency_ms is not None
    assert found.latency_ms >= 20


async def test_a_function_over_the_deadline_is_a_target_error_where_the_case_has_no_limit() -> None:
    found = await errored(function("endless", deadline_s=0.02))
    assert found.reason == "python:tests.targets.callables:endless did not answer within 0.02 s"


async def test_a_sync_function_that_is_stuck_holds_nobody_up() -> None:
    try:
        with anyio.fail_after(HANG_S):
            assert (await observed(function("stuck"), timeout_ms=20)).timed_out
    finally:
        callables.RELEASED.set()


async def test_a_function_that_answers_after_its_time_is_timed_out_whatever_it_says() -> None:
    found = await observed(function("stubborn"), timeout_ms=20)
    assert found.timed_out


async def test_an_outer_cancellation_is_not_taken_for_the_functions_failure() -> None:
    with anyio.move_on_after(0.05) as scope:
        await function("endless").produce(INPUTS, None, timeout_ms=None)
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("tests.targets.callables:absent", "cannot be loaded: .*absent"),
        ("tests.targets.no_such_module:echo", "cannot be loaded: No module named"),
        ("tests.targets.callables", "cannot be loaded"),
        ("tests.targets.callables:", "cannot be loaded"),
        (":echo", "cannot be loaded"),
        ("", "cannot be loaded"),
        (".callables:echo", "cannot be loaded"),
        ("tests.targets.broken_module:echo", "cannot be loaded: it never worked"),
        ("tests.targets.callables:A_NUMBER", "is not a function"),
    ],
)
def test_a_name_under_which_there_is_no_function_is_refused(ref: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words) as refused:
        python_target(ref, deadline_s=1, width=1)
    assert f"target python:{ref}" in str(refused.value)


def test_the_digest_of_a_function_is_that_of_its_name() -> None:
    assert function("echo").digest() == function("echo", deadline_s=1).digest()
    assert function("echo").digest() != function("record").digest()
