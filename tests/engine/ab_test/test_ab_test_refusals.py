"""A/B tests that cannot run, and branches that fail: refused by name before anything is paid, ranked last, never winners."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.providers import NO_ACCESS
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import (
    BadInputError,
    InstrumentError,
    InvalidRecordError,
    NotFoundError,
)
from tests.shared.engine.ab_workshop import (
    ANSWER,
    ANTHROPIC,
    GEMINI,
    Words,
    ab,
    branch,
    executions,
    laboratory,
    prepared,
)
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.workshop import minion, save


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


@pytest.mark.parametrize("name", ["model", "messages", "stream", "n", "max_tokens", "max_completion_tokens", "system"])
async def test_other_params_cannot_change_what_the_test_compares(lab: Engine, name: str) -> None:
    with pytest.raises(InvalidRecordError, match=f"fields.otherParams.{name}"):
        await prepared(lab, branch("a", otherParams={name: 1}))


async def test_a_parameter_that_is_given_twice_and_differently_is_refused(lab: Engine) -> None:
    with pytest.raises(InvalidRecordError, match=r"is 0.7, but otherParams.temperature is 0.2"):
        await prepared(lab, branch("a", temperature=0.7, otherParams={"temperature": 0.2}))
    await prepared(lab, branch("a", ANTHROPIC, temperature=0.7, otherParams={"temperature": 0.7}))


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


async def test_an_embedder_that_fails_is_told_before_anything_is_paid(lab: Engine, server: Server) -> None:
    await prepared(lab)
    assert isinstance(lab.opened_embedder, Words)
    lab.opened_embedder.broken = True
    with pytest.raises(InstrumentError, match="the embedder words failed"):
        await ab(lab)
    assert server.requests == 0
