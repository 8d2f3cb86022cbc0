"""Where the output of a test case comes from: a recorded run, a live target, or none; and its trials."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, InstrumentError, NotFoundError
from tests.workshop import (
    Json,
    all_of,
    answer,
    case,
    failure_of,
    found,
    judged_case,
    judgments,
    minion,
    rubric,
    save,
    says,
    try_case,
)

# Where the output comes from


def ran(at: int) -> Json:
    """When an agent-run was made, in seconds of one minute."""
    return {"triggeredAt": f"2026-11-20T09:00:{at:02}Z", "completedAt": f"2026-11-20T09:00:{at + 1:02}Z"}


WANTS_GOOD: Json = {"output": "good"}


async def test_the_agent_run_that_is_named_comes_before_the_newest(engine: Engine) -> None:
    batch = [answer("old", "c", "good", **ran(1)), answer("new", "c", "bad", **ran(2))]
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), batch)
    assert (await judged_case(engine, "c", agent_run_id="old")).fields.agent_run_id == "old"


async def test_the_newest_recorded_run_with_equal_inputs_is_judged_whenever_it_was_imported(engine: Engine) -> None:
    batch = [
        answer("newest", "c", "good", **ran(9)),
        answer("older", "c", "bad", **ran(5)),
        answer("other-inputs", "d", "bad", **ran(20)),
    ]
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), batch)
    assert (await judged_case(engine, "c")).fields.agent_run_id == "newest"


async def test_inputs_are_equal_whatever_the_order_of_their_keys(engine: Engine) -> None:
    asked = minion("c", "test-case", name="c", inputs={"a": 1, "b": [2]}, expectedOutputs=WANTS_GOOD)
    recorded = minion("a", "agent-run", agentId="agent", inputs={"b": [2], "a": 1}, outputs=WANTS_GOOD)
    await save(engine, asked, recorded)
    assert (await judged_case(engine, "c")).fields.agent_run_id == "a"


async def test_a_version_that_is_asked_for_chooses_among_the_runs_whoever_the_agent_is(engine: Engine) -> None:
    batch = [
        answer("one", "c", "good", promptVersionRef="v1", agentId="other", **ran(1)),
        answer("two", "c", "good", promptVersionRef="v2", agentId="agent", **ran(2)),
        answer("none", "c", "good", agentId="agent", **ran(3)),
    ]
    own = case("c", expectedOutputs=WANTS_GOOD, agentId="agent", promptVersionRef="v1")
    await save(engine, own, batch)
    assert (await judged_case(engine, "c")).fields.agent_run_id == "one"
    asked = await try_case(engine, "c", prompt_version_ref="v2")
    assert (await found(engine, f"{asked.id}:1.1", TestRun)).fields.agent_run_id == "two"


async def test_without_a_version_the_runs_of_the_cases_agent_count(engine: Engine) -> None:
    batch = [answer("own", "c", "good", **ran(1)), answer("other", "c", "good", agentId="other", **ran(2))]
    await save(engine, case("c", expectedOutputs=WANTS_GOOD, agentId="agent"), batch)
    assert (await judged_case(engine, "c")).fields.agent_run_id == "own"


async def test_a_live_target_makes_the_output_where_none_is_recorded(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "asked: c"}))
    run = (await judged_case(engine, "c", target="python:tests.workshop:echoed")).fields
    assert run.actual_output == {"output": "asked: c"}
    assert (run.passed, run.agent_run_id, run.produced_by) == (True, None, "python:tests.workshop:echoed")
    assert run.digests.target is not None


async def test_a_named_target_makes_the_output_and_a_recorded_run_comes_first_when_asked_for(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), answer("a", "c", "good"))
    made = (await judged_case(engine, "c", target="python:tests.workshop:echoed")).fields
    assert made.agent_run_id is None
    run = (await judged_case(engine, "c", target="python:tests.workshop:raising", recorded=True)).fields
    assert run.agent_run_id == "a"


async def test_a_targets_mapping_is_the_output_itself(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"text": "mapped"}))
    run = (await judged_case(engine, "c", target="python:tests.workshop:mapped")).fields
    assert run.actual_output == {"text": "mapped", "of": {"q": "c"}}


async def test_without_any_output_the_case_is_skipped_with_what_is_missing(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD, agentId="agent"))
    with pytest.raises(BadInputError, match="no recorded agent-run by agent with these inputs, and no target"):
        await try_case(engine, "c", key="k")
    await save(engine, answer("elsewhere", "d", "good", promptVersionRef="v7"))
    with pytest.raises(BadInputError, match="no recorded agent-run of v7"):
        await try_case(engine, "c", prompt_version_ref="v7")
    summary = await summarize(engine, "k")
    assert (summary.state, summary.outcomes) == ("failed", {"skipped": 1})
    assert not await all_of(engine, TestRun)


@pytest.mark.parametrize("status", ["running", "pending-approval"])
async def test_an_agent_run_that_is_not_complete_is_skipped_until_it_is(engine: Engine, status: str) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), answer("a", "c", "good", status=status))
    with pytest.raises(BadInputError, match=f"agent-run a is {status}"):
        await try_case(engine, "c", key="k")
    await save(engine, answer("a", "c", "good", status="success"))
    job = await try_case(engine, "c", key="k")
    assert (await found(engine, f"{job.id}:1.1", TestRun)).fields.passed


async def test_a_failed_agent_run_is_a_failed_test_run_with_a_judgment_at_the_minimum_for_each_criterion(
    engine: Engine,
) -> None:
    criteria = rubric("r", 0.1, a=says("x", minScore=0.2), b={"judgeType": "llm", "minScore": -1, "maxScore": 2})
    failed = answer("a", "c", {}, status="failed", errorMessage="KeyError: 'order'")
    await save(engine, criteria, case("c", rubricId="r"), failed)
    run = await judged_case(engine, "c")
    made = await judgments(engine, run.id)
    assert [made["r/a"].score, made["r/b"].score] == [0.2, -1]
    for one in made.values():
        assert one.rationale == "no output: the agent failed: KeyError: 'order'"
        assert (one.judged_by_type, one.confidence) == ("heuristic", 1)
    assert (run.fields.passed, run.fields.outcome) == (False, "scored")


async def test_a_failed_agent_run_fails_even_where_the_minimum_would_reach_the_threshold(engine: Engine) -> None:
    criteria = rubric("r", 0.5, a=says("x", minScore=0.6))
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", {}, status="failed"))
    run = await judged_case(engine, "c")
    assert not run.fields.passed
    assert (await failure_of(engine, run.id)).severity == "critical"


@pytest.mark.parametrize(
    "message",
    [
        "429 Too Many Requests", "HTTP 503 from the provider", "status code: 502", "Error 529: overloaded",
        "openai.APIConnectionError: Connection error.", "connection reset by peer", "network is unreachable",
        "rate limit exceeded", "Error code: 500 - internal",
    ],
)  # fmt: skip
async def test_an_agent_run_that_failed_by_an_outage_is_the_targets_error_not_a_failed_test(
    engine: Engine, message: str
) -> None:
    failed = answer("a", "c", {}, status="failed", errorMessage=message)
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), failed)
    with pytest.raises(InstrumentError, match="target-error"):
        await try_case(engine, "c", key="k")
    assert (await summarize(engine, "k")).outcomes == {"target-error": 1}
    assert not await all_of(engine, TestRun)


@pytest.mark.parametrize(
    "message", ["no order 512 was found", "ValueError: got 500 rows, wanted 1", "the tool refused", ""]
)
async def test_an_agents_own_failure_is_no_outage_whatever_figures_it_names(engine: Engine, message: str) -> None:
    failed = answer("a", "c", {}, status="failed", errorMessage=message)
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), failed)
    assert not (await judged_case(engine, "c")).fields.passed


@pytest.mark.parametrize(("seconds", "timed_out"), [(3, False), (4, True)])
async def test_an_output_that_came_after_the_time_limit_is_a_failed_run_of_type_timeout(
    engine: Engine, seconds: int, timed_out: bool
) -> None:
    times: Json = {"triggeredAt": "2026-11-20T09:00:00Z", "completedAt": f"2026-11-20T09:00:0{seconds}Z"}
    await save(engine, case("c", expectedOutputs=WANTS_GOOD, timeoutMs=3000), answer("a", "c", "good", **times))
    run = await judged_case(engine, "c")
    assert (run.fields.passed, run.fields.outcome) == ((False, "timed-out") if timed_out else (True, "scored"))
    if timed_out:
        assert (await failure_of(engine, run.id)).failure_type == "timeout"
        (verdict,) = (await judgments(engine, run.id)).values()
        assert verdict.rationale == "no output: the time limit of 3000 ms was exceeded"


async def test_a_live_target_over_the_cases_limit_times_out_and_the_run_counts(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD, timeoutMs=20))
    run = await judged_case(engine, "c", target="python:tests.workshop:endless")
    assert (run.fields.outcome, run.fields.passed, run.fields.actual_output) == ("timed-out", False, {})


@pytest.mark.parametrize(
    ("name", "said"), [("raising", "RuntimeError: no answer to c"), ("silent", "it returned nothing")]
)
async def test_a_target_that_fails_is_an_error_and_no_score_is_invented(engine: Engine, name: str, said: str) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD))
    with pytest.raises(InstrumentError, match=said):
        await try_case(engine, "c", target=f"python:tests.workshop:{name}")
    assert not await all_of(engine, TestRun)


@pytest.mark.parametrize(
    "target", ["python:tests.workshop:nothing", "python:no.such.module:f", "command:", "command:no-such-program", "x:y"]
)
async def test_a_target_that_cannot_be_had_is_refused_before_anything_runs(engine: Engine, target: str) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD))
    with pytest.raises(BadInputError):
        await try_case(engine, "c", target=target, key="k")
    with pytest.raises(NotFoundError):
        await summarize(engine, "k")


async def test_an_unknown_case_or_agent_run_is_refused_by_name(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), answer("a", "c", "good"))
    with pytest.raises(NotFoundError, match="'nowhere'"):
        await try_case(engine, "nowhere")
    with pytest.raises(NotFoundError, match="agent-run with the id 'c'"):
        await try_case(engine, "c", agent_run_id="c")


# Trials


async def test_trials_take_the_recorded_runs_newest_first_and_then_are_skipped(engine: Engine) -> None:
    batch = [answer("old", "c", "good", **ran(1)), answer("new", "c", "bad", **ran(2))]
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), batch)
    job = await try_case(engine, "c", trials=3)
    runs = [one.fields for one in await all_of(engine, TestRun)]
    assert sorted((one.trial, one.agent_run_id) for one in runs) == [(1, "new"), (2, "old")]
    summary = await summarize(engine, job.id)
    assert (summary.units, summary.outcomes) == (3, {"scored": 2, "skipped": 1})
    (line,) = summary.unscored
    assert (line.trial, line.outcome) == (3, "skipped")
    assert "for trial 3" in line.reason


async def test_a_live_target_fills_the_trials_that_no_recorded_run_does(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "c"}), answer("only", "c", "c"))
    await try_case(engine, "c", trials=3, target="python:tests.workshop:echoed", recorded=True)
    runs = sorted((one.fields.trial, one.fields.agent_run_id) for one in await all_of(engine, TestRun))
    assert runs == [(1, "only"), (2, None), (3, None)]
