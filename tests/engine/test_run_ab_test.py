"""A/B tests through the engine, against servers that speak both wire forms."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.providers import NO_ACCESS
from minions_evals_mcp.domain.results import Outcome, TestBranchExecution
from minions_evals_mcp.engine.ab_test.results import ab_test_result
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, run_ab_test, start_ab_test
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.errors import (
    BadInputError,
    ConflictError,
    InstrumentError,
    InvalidRecordError,
    NotFoundError,
    StoppedError,
)
from minions_evals_mcp.store.check import check_store
from tests.engine.ab_workshop import (
    ANSWER,
    ANTHROPIC,
    GEMINI,
    OPENAI,
    Words,
    ab,
    branch,
    executions,
    laboratory,
    prepared,
    says,
)
from tests.fakes.llm_server import FakeSettings, Server, serving
from tests.hang import HANG_S
from tests.workshop import Json, counts, minion, save


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    async with serving() as running:
        yield running


@pytest.fixture
async def lab(tmp_path: Path, server: Server) -> AsyncGenerator[Engine]:
    async with laboratory(tmp_path, server) as engine:
        yield engine


async def events_of(engine: Engine, kind: str) -> list[Json]:
    rows = await engine.store.read(
        lambda db: db.execute("SELECT detail FROM event WHERE type = ? ORDER BY seq", (kind,)).fetchall()
    )
    return [json.loads(row[0]) for row in rows]


async def test_an_ab_test_shows_every_branch_with_its_execution_the_winner_and_the_criterion(lab: Engine) -> None:
    await prepared(lab, branch("a"), branch("b", ANTHROPIC), branch("c", GEMINI))
    found = await ab(lab, "a", "b", "c")
    assert (found.criteria, found.prompt_version, found.state) == ("best_quality", 2, "completed")
    wire = found.model_dump(mode="json")
    for one in wire["branches"]:
        assert one.keys() >= {
            "branchId", "branchName", "model", "execution", "qualityScore", "latencyMs", "estimatedCost",
            "tokensPerSecond", "rank",
        }  # fmt: skip
        assert one["execution"]["output"] == ANSWER
        assert one["execution"]["status"] == "success"
    assert wire["winner"].keys() == {
        "branchId", "branchName", "model", "qualityScore", "latencyMs", "estimatedCost",
    }  # fmt: skip
    assert [one.rank for one in found.branches] == [1, 2, 3]


async def test_an_execution_is_kept_with_every_figure_of_the_seed(lab: Engine) -> None:
    await prepared(lab)
    found = await ab(lab)
    (a, b) = (one.fields for one in sorted(await executions(lab), key=lambda one: one.id))
    for one, model in ((a, OPENAI), (b, ANTHROPIC)):
        assert (one.output, one.status, one.error, one.prompt_version) == (ANSWER, "success", None, 2)
        assert one.time_to_first_token is not None
        assert 0 < one.time_to_first_token <= one.latency_ms
        assert one.total_tokens == one.input_tokens + one.output_tokens > 0
        assert one.tokens_per_second == pytest.approx(1000 * one.output_tokens / one.latency_ms)
        assert one.estimated_cost is not None, f"the price of {model} is known"
        assert one.estimated_cost > 0
        assert (one.quality_score, one.similarity_score) == (1.0, 1.0)
        assert one.clarity_score is not None
        assert one.valid_json is False
        assert one.consistency_hash == a.consistency_hash
        assert one.execution_id == found.run_id


async def test_the_version_that_is_asked_for_is_run_and_the_latest_without_one(lab: Engine, server: Server) -> None:
    await prepared(lab)
    assert (await ab(lab, prompt_version=1)).prompt_version == 1
    assert "Be brief. I am happy" in server.last_body.decode()
    assert (await ab(lab)).prompt_version == 2
    assert "Say how you feel: I am happy" in server.last_body.decode()
    with pytest.raises(NotFoundError, match=r"mood@3.*versions are 1, 2"):
        await ab(lab, prompt_version=3)


async def test_a_case_without_a_prompt_sends_its_input_and_has_no_version(lab: Engine, server: Server) -> None:
    await prepared(lab, promptId=None)
    found = await ab(lab, winner_criteria="fastest")
    assert found.prompt_version is None
    assert '"I am happy"' in server.last_body.decode()
    with pytest.raises(BadInputError, match="of which prompt is not known"):
        await ab(lab, prompt_version=1)


async def test_branches_run_in_parallel(tmp_path: Path) -> None:
    async with serving() as server, laboratory(tmp_path, server) as lab:
        server.hold(crowd=3)
        await prepared(lab, branch("a"), branch("b", ANTHROPIC), branch("c", GEMINI))
        await ab(lab, "a", "b", "c")
        assert server.max_in_flight == 3


async def test_the_fastest_branch_is_the_one_whose_provider_answers_first(tmp_path: Path) -> None:
    async with (
        serving() as slow,
        serving() as quick,
        laboratory(tmp_path, openai=slow, anthropic=quick) as lab,
    ):
        await prepared(lab)
        slow.hold()

        async def first_is_there(_: Outcome) -> None:
            slow.release()

        asked = AbTestRequest(test_case_id="case", branch_ids=("a", "b"), winner_criteria="fastest")
        found = await run_ab_test(lab, asked, progress=first_is_there)
        assert found.winner is not None
        assert found.winner.branch_id == "b"
        again = await ab(lab, winner_criteria="cheapest")
        assert again.winner is not None
        assert again.winner.branch_id == "a", "gpt-4o costs less than opus"


async def test_quality_is_the_likeness_to_the_expected_output(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"), expectedOutputs={"output": "am happy"})
    says(server, "am sad")
    found = await ab(lab)
    assert found.branches[0].quality_score == pytest.approx(0.5), "one of two words"
    says(server, " am happy\n")
    found = await ab(lab)
    assert found.branches[0].quality_score == 1.0


@pytest.mark.parametrize("criterion", ["best_quality", "best_value", "balanced"])
async def test_a_criterion_that_needs_quality_is_refused_by_name_where_nothing_is_expected(
    lab: Engine, server: Server, criterion: str
) -> None:
    await prepared(lab, expectedOutputs=None)
    with pytest.raises(BadInputError, match=f"{criterion} needs quality"):
        await ab(lab, winner_criteria=criterion)
    assert server.requests == 0
    found = await ab(lab, winner_criteria="cheapest")
    assert found.winner is not None
    assert found.branches[0].quality_score is None


async def test_json_answers_are_told_from_others(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"), expectedOutputs={"output": '{"mood": "happy"}'})
    says(server, '{"mood": "happy"}')
    await ab(lab)
    (one, _) = (one.fields for one in await executions(lab))
    assert (one.valid_json, one.clarity_score) == (True, None)


async def test_repeated_tests_have_a_winner_distribution_and_mean_figures(lab: Engine) -> None:
    await prepared(lab)
    found = await ab(lab, winner_criteria="cheapest", iterations=6)
    assert found.completed_iterations == 6
    assert [(one.branch_id, one.wins, one.win_share) for one in found.branches] == [("a", 6, 1.0), ("b", 0, 0.0)]
    made = [one.fields for one in await executions(lab) if one.fields.branch_id == "a"]
    first = found.branches[0]
    assert len(made) == first.runs == 6
    assert first.latency_ms == pytest.approx(sum(one.latency_ms for one in made) / 6)
    assert first.total_cost == pytest.approx(sum(one.estimated_cost or 0 for one in made))
    assert (found.evidence, found.p_value) == ("supported", pytest.approx(2 / 2**6))
    assert found.ties == 0


async def test_ties_are_no_evidence_and_five_iterations_cannot_decide(lab: Engine) -> None:
    await prepared(lab)
    tied = await ab(lab, iterations=6)
    assert tied.winner is not None
    assert (tied.winner.branch_id, tied.ties, tied.evidence) == ("a", 6, "undecidable")
    assert "6 of 6 iterations tied" in tied.note
    five = await ab(lab, winner_criteria="cheapest", iterations=5)
    assert (five.branches[0].wins, five.evidence) == (5, "undecidable")


async def test_one_iteration_says_that_it_says_nothing_about_how_sure_it_is(lab: Engine) -> None:
    await prepared(lab)
    found = await ab(lab, winner_criteria="cheapest")
    assert (found.evidence, found.p_value) == (None, None)
    assert "one iteration says nothing about how sure this is" in found.note


async def test_a_failed_branch_is_shown_ranked_last_and_never_wins(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(p500=1)) as broken,
        serving() as well,
        laboratory(tmp_path, openai=broken, anthropic=well) as lab,
    ):
        await prepared(lab, branch("a", isControl=True), branch("b", ANTHROPIC))
        found = await ab(lab, winner_criteria="fastest")
        assert [one.branch_id for one in found.branches] == ["b", "a"]
        last = found.branches[1]
        assert last.execution is not None
        assert (last.execution["status"], last.failures, last.quality_score) == ("error", 1, None)
        assert last.execution["error"] == "transient: HTTP 500: internal error (after 2 attempts: 2 transient)"
        summary = await summarize(lab, found.run_id)
        assert (summary.outcomes, summary.open) == ({"target-error": 1, "scored": 1}, 0)


async def test_where_every_branch_fails_nobody_wins(tmp_path: Path) -> None:
    async with serving(FakeSettings(p500=1)) as broken, laboratory(tmp_path, broken) as lab:
        await prepared(lab)
        found = await ab(lab)
    assert found.winner is None
    assert "every execution failed" in found.note


@pytest.mark.parametrize(("fault", "error"), [("prefusal", "refused: I cannot"), ("pmaxtokens", "cut off: length")])
async def test_a_refusal_or_a_cut_off_answer_cannot_win_by_being_quick(tmp_path: Path, fault: str, error: str) -> None:
    async with (
        serving(FakeSettings(**{fault: 1})) as cheap,
        serving() as well,
        laboratory(tmp_path, openai=cheap, anthropic=well) as lab,
    ):
        await prepared(lab)
        found = await ab(lab, winner_criteria="fastest")
        assert found.winner is not None
        assert found.winner.branch_id == "b"
        (one,) = (one.fields for one in await executions(lab) if one.fields.branch_id == "a")
    assert one.error is not None
    assert one.error.startswith(error)
    assert one.estimated_cost is not None, "it was billed"
    assert one.quality_score == (0.0 if fault == "prefusal" else 1.0), "it counts against the branch's pass rate"


async def test_an_answer_over_the_cases_time_limit_is_a_failure_of_the_branch(tmp_path: Path) -> None:
    async with serving(FakeSettings(latency_ms=80)) as server, laboratory(tmp_path, server) as lab:
        await prepared(lab, timeoutMs=20)
        found = await ab(lab)
        (one, _) = (one.fields for one in await executions(lab))
    assert found.winner is None
    assert one.status == "error"
    assert one.error is not None
    assert "the test case allows 20 ms" in one.error
    assert one.output == ANSWER


async def test_only_what_a_branch_gives_is_sent_and_the_defaults_are_recorded_as_not_sent(
    lab: Engine, server: Server
) -> None:
    server.heard = []
    await prepared(
        lab,
        branch("a", temperature=0.9, topP=0.95, maxTokens=1000, otherParams={"seed": 7}),
        branch("b", ANTHROPIC, otherParams={"temperature": 0.3}),
    )
    found = await ab(lab)
    sent = {one["model"]: one for one in map(json.loads, server.heard)}
    plain = {"model", "messages", "stream", "stream_options", "max_tokens"}
    assert sent[OPENAI].keys() - plain == {"temperature", "top_p", "seed"}
    assert (sent[OPENAI]["temperature"], sent[OPENAI]["top_p"], sent[OPENAI]["max_tokens"]) == (0.9, 0.95, 1000)
    assert sent[ANTHROPIC].keys() - plain == {"temperature"}
    assert (sent[ANTHROPIC]["temperature"], sent[ANTHROPIC]["max_tokens"]) == (0.3, 2048)
    assert {one.branch_id: one.not_sent for one in found.branches} == {"a": [], "b": ["topP 1"]}
    told = {str(one["branchId"]): one for one in await events_of(lab, "test-branch-executed")}
    assert told["b"]["notSent"] == ["topP 1"]
    assert told["b"]["sent"] == {"maxTokens": 2048, "temperature": 0.3}


async def test_what_a_branch_gives_is_sent_to_anthropic_too(lab: Engine, server: Server) -> None:
    server.heard = []
    await prepared(lab, branch("a"), branch("b", ANTHROPIC, temperature=0.7, topP=0.5, otherParams={"top_k": 5}))
    await ab(lab)
    sent = [body for body in map(json.loads, server.heard) if body["model"] == ANTHROPIC]
    assert [(one["temperature"], one["top_p"], one["top_k"]) for one in sent] == [(0.7, 0.5, 5)]


@pytest.mark.parametrize("name", ["model", "messages", "stream", "n", "max_tokens", "max_completion_tokens", "system"])
async def test_other_params_cannot_change_what_the_test_compares(lab: Engine, name: str) -> None:
    with pytest.raises(InvalidRecordError, match=f"fields.otherParams.{name}"):
        await prepared(lab, branch("a", otherParams={name: 1}))


async def test_a_parameter_that_is_given_twice_and_differently_is_refused(lab: Engine) -> None:
    with pytest.raises(InvalidRecordError, match=r"is 0.7, but otherParams.temperature is 0.2"):
        await prepared(lab, branch("a", temperature=0.7, otherParams={"temperature": 0.2}))
    await prepared(lab, branch("a", ANTHROPIC, temperature=0.7, otherParams={"temperature": 0.7}))


async def test_a_resumed_key_pays_for_nothing_twice(lab: Engine, server: Server) -> None:
    await prepared(lab)
    first = await ab(lab, key="k", iterations=2)
    assert server.requests == 4
    assert await ab(lab, key="k", iterations=2) == first
    assert server.requests == 4
    assert (await ab_test_result(lab, "k")).branches == first.branches


async def test_a_test_that_a_cap_stopped_goes_on_under_its_key(lab: Engine, server: Server) -> None:
    await prepared(lab)
    with pytest.raises(StoppedError, match="might exceed the cost cap") as stopped:
        await ab(lab, key="k", iterations=3, max_cost_usd=0.0527)
    made = server.requests
    assert made == 3, "a second call to opus might cost more than is left"
    assert "--key k" in stopped.value.remedy
    part = await ab_test_result(lab, "k")
    assert (part.state, part.completed_iterations) == ("stopped", made // 2)
    found = await ab(lab, key="k", iterations=3, max_cost_usd=5)
    assert (found.state, found.completed_iterations, server.requests) == ("completed", 3, 6)
    assert len({one.id for one in await executions(lab)}) == 6
    assert found.spent["calls"] == 6


async def test_a_test_that_is_cancelled_keeps_what_was_paid_for(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(phang=1)) as hanging,
        serving() as quick,
        laboratory(tmp_path, openai=hanging, anthropic=quick) as lab,
    ):
        await prepared(lab)
        asked = AbTestRequest(test_case_id="case", branch_ids=("a", "b"), key="k")
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:

                async def stop(outcome: Outcome) -> None:
                    assert outcome == "scored"
                    tasks.cancel_scope.cancel()

                await run_ab_test(lab, asked, progress=stop)
        (kept,) = await executions(lab)
        assert kept.fields.branch_id == "b"
        job = await get_job(lab, "k")
        assert (job.state, job.reason) == ("stopped", "interrupted")
        hanging.configure(FakeSettings())
        found = await ab(lab, key="k")
        assert found.state == "completed"
        assert quick.requests == 1, "what was paid for is not asked for again"


async def test_a_key_belongs_to_the_test_as_it_was_asked_for_and_measured(lab: Engine) -> None:
    await prepared(lab)
    await ab(lab, key="k")
    with pytest.raises(ConflictError, match="iterations differ"):
        await ab(lab, key="k", iterations=2)
    await save(lab, branch("a", temperature=0.1))
    with pytest.raises(ConflictError, match="branch a differ"):
        await ab(lab, key="k")


async def test_a_renamed_branch_is_still_the_same_branch(lab: Engine) -> None:
    await prepared(lab)
    await ab(lab, key="k")
    await save(lab, branch("a", name="A better name"))
    found = await ab(lab, key="k")
    assert found.branches[0].branch_name == "A better name"


async def test_branches_that_cannot_run_are_refused_by_name_before_anything_runs(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"), branch("off", isActive=False))
    await save(lab, minion("elsewhere", "test-case", name="elsewhere"), branch("x", testCaseId="elsewhere"))
    refused = (
        (("a", "nobody"), "no test-branch with the id 'nobody'"),
        (("a", "off"), "off is not active"),
    )
    for ids, told in refused:
        with pytest.raises(BadInputError, match=told):
            await ab(lab, *ids)
    with pytest.raises(NotFoundError, match="no test-case"):
        await ab(lab, test_case_id="nothing")
    assert server.requests == 0


async def test_a_missing_key_of_any_provider_stops_the_test_before_it_runs(tmp_path: Path, server: Server) -> None:
    async with laboratory(tmp_path, server) as lab:
        lab.models.settings = replace(lab.models.settings, access={**lab.models.settings.access, "gemini": NO_ACCESS})
        await prepared(lab, branch("a"), branch("b", GEMINI))
        with pytest.raises(BadInputError, match="no key for gemini is set"):
            await ab(lab)
    assert server.requests == 0


async def test_a_cap_that_cannot_be_held_is_refused(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b", "nobodys-model"))
    with pytest.raises(BadInputError, match="price of openai:nobodys-model is unknown"):
        await ab(lab, max_cost_usd=1)
    found = await ab(lab, winner_criteria="cheapest")
    assert [(one.branch_id, one.estimated_cost is None) for one in found.branches] == [("a", False), ("b", True)]
    assert "the cost of 1 of 2 executions is unknown" in found.note
    assert server.requests == 2


async def test_where_no_cost_is_known_nobody_is_the_cheapest(lab: Engine) -> None:
    await prepared(lab, branch("a", "mine"), branch("b", "yours"))
    found = await ab(lab, winner_criteria="cheapest")
    assert found.winner is None
    assert "no cost is known, so nobody wins by cheapest" in found.note


async def test_an_embedder_that_fails_is_told_before_anything_is_paid(lab: Engine, server: Server) -> None:
    await prepared(lab)
    assert isinstance(lab.opened_embedder, Words)
    lab.opened_embedder.broken = True
    with pytest.raises(InstrumentError, match="the embedder words failed"):
        await ab(lab)
    assert server.requests == 0


@pytest.mark.parametrize("ids", [("a",), ("a", "a"), ("a", "b", "c", "d", "e", "f")])
def test_two_to_five_different_branches_make_a_test(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        AbTestRequest(test_case_id="case", branch_ids=ids)


async def test_an_execution_its_event_and_its_unit_are_one_transaction(lab: Engine) -> None:
    await prepared(lab)
    before = await counts(lab)
    await ab(lab)
    after = await counts(lab)
    assert (after["event"] - before["event"], after["unit"] - before["unit"]) == (2, 2)
    report = await check_store(lab.config.db)
    assert report.problems == ()


async def test_a_started_test_is_written_down_before_it_runs(lab: Engine, server: Server) -> None:
    await prepared(lab)
    started = await start_ab_test(lab, AbTestRequest(test_case_id="case", branch_ids=("a", "b"), key="k"))
    assert (started.job.kind, started.job.total, server.requests) == ("ab-test", 2, 0)
    nothing = await ab_test_result(lab, "k")
    assert (nothing.completed_iterations, nothing.winner) == (0, None)
    with pytest.raises(NotFoundError, match="no run"):
        await ab_test_result(lab, "another")


async def test_max_score_tells_which_branch_the_assertions_would_select(lab: Engine) -> None:
    checks: JsonValue = [
        {"type": "contains", "value": "happy"},
        {"type": "regex", "value": r"(?<!un)happy"},
    ]
    await prepared(lab, branch("a", "judge-of-mine"), branch("b", ANTHROPIC), assertions=checks)
    found = await ab(lab)
    assert found.max_score is not None
    assert (found.max_score.selected, found.max_score.scores) == ("b", {"a": 0.0, "b": 1.0})


async def test_members_of_a_set_count_each_when_max_score_selects_a_branch(lab: Engine) -> None:
    members: JsonValue = [{"type": "contains", "value": "happy"}, {"type": "contains", "value": "a"}]
    checks: JsonValue = [{"type": "assert-set", "assert": members}, {"type": "contains", "value": "happy"}]
    await prepared(lab, branch("a", "judge-of-mine"), branch("b", ANTHROPIC), assertions=checks)
    found = (await ab(lab)).max_score
    assert found is not None
    assert found.scores == {"a": pytest.approx(1 / 3), "b": 1.0}, "of three assertions, not of two"


async def test_without_two_outputs_max_score_says_that_it_has_nothing_to_choose_from(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(p500=1)) as broken,
        serving() as well,
        laboratory(tmp_path, openai=broken, anthropic=well) as lab,
    ):
        await prepared(lab, assertions=[{"type": "contains", "value": "happy"}])
        found = await ab(lab)
    assert found.max_score is not None
    assert found.max_score.selected is None
    assert "at least two outputs" in found.max_score.problem


async def test_tokens_are_estimated_where_the_provider_counts_none(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"))
    says(server, "I am happy")
    server.canned = server.canned.replace(b'"usage"', b'"unread"')
    await ab(lab)
    (one, _) = (one.fields for one in await executions(lab))
    assert one.output_tokens == 3
    assert one.estimated_cost is None
    assert [event["tokens"] for event in await events_of(lab, "test-branch-executed")] == ["estimated"] * 2


def test_every_field_of_the_seeds_execution_is_there() -> None:
    assert TestBranchExecution.model_fields.keys() >= {
        "branch_id", "execution_id", "output", "error", "status", "latency_ms", "time_to_first_token",
        "tokens_per_second", "input_tokens", "output_tokens", "total_tokens", "estimated_cost", "quality_score",
        "similarity_score", "clarity_score", "valid_json", "consistency_hash", "prompt_version",
    }  # fmt: skip
