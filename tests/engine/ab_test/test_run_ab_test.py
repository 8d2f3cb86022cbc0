"""A/B tests through the engine, against servers that speak both wire forms: figures, winners, ties, max-score."""

from __future__ import annotations

import json
import time
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.results import Outcome, TestBranchExecution
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import (
    BadInputError,
    NotFoundError,
)
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.late_client import LateClient
from minions_evals_mcp.models.replies import Reply
from minions_evals_mcp.models.request import ModelRequest
from tests.shared.engine.ab_workshop import (
    ANSWER,
    ANTHROPIC,
    GEMINI,
    OPENAI,
    ab,
    branch,
    executions,
    laboratory,
    prepared,
    says,
)
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.workshop import Json


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
    with pytest.raises(BadInputError, match="needs its prompt"):
        await ab(lab, prompt_version=1)


async def test_no_client_is_made_beside_a_measured_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    make, complete = LateClient._ready, LateClient.complete  # pyright: ignore[reportPrivateUsage]  the costly step

    def making(late: LateClient) -> ModelClient:
        time.sleep(0.1)
        events.append("made")
        return make(late)

    async def asking(late: LateClient, request: ModelRequest, *, deadline_s: float) -> Reply:
        events.append("asked")
        return await complete(late, request, deadline_s=deadline_s)

    monkeypatch.setattr(LateClient, "_ready", making)
    monkeypatch.setattr(LateClient, "complete", asking)
    async with serving() as server, laboratory(tmp_path, server) as lab:
        await prepared(lab)
        await ab(lab)
    assert sorted(events, reverse=True) == events
    assert events.count("made") == 2


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
        began = time.perf_counter()

        async def first_is_there(_: Outcome) -> None:
            while slow.held == []:  # noqa: ASYNC110  the fake server wakes nobody; a machine under load may ask it last
                await anyio.sleep(0.005)
            if slow.held:
                await anyio.sleep(time.perf_counter() - began)  # longer than the other's whole call
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
    assert "one iteration shows no uncertainty" in found.note


async def test_where_no_cost_is_known_nobody_is_the_cheapest(lab: Engine) -> None:
    await prepared(lab, branch("a", "mine"), branch("b", "yours"))
    found = await ab(lab, winner_criteria="cheapest")
    assert found.winner is None
    assert "cost is unknown, so cheapest has no winner" in found.note


@pytest.mark.parametrize("ids", [("a",), ("a", "a"), ("a", "b", "c", "d", "e", "f")])
def test_two_to_five_different_branches_make_a_test(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        AbTestRequest(test_case_id="case", branch_ids=ids)


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


async def test_a_winner_of_poor_quality_is_told_with_the_branch_that_is_better(tmp_path: Path) -> None:
    async with serving() as poor, serving() as good, laboratory(tmp_path, openai=poor, anthropic=good) as lab:
        await prepared(lab)
        says(poor, "not sad")
        poor_won = await ab(lab, winner_criteria="cheapest")
        assert poor_won.winner is not None
        best = max(poor_won.branches, key=lambda branch: branch.quality_score or 0)
        quality = poor_won.winner.quality_score
        assert quality is not None
        assert quality < 0.7 <= (best.quality_score or 0)
        assert (
            f"the winner's quality is {quality:.2f}, below 0.7, at which an output passes; {best.branch_name} reaches"
            in poor_won.note
        )
        assert "winner's quality" not in (await ab(lab)).note, "the best of quality passes"
