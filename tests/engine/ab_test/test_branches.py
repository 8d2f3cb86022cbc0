"""Branches of A/B tests: made, changed, hidden, and read with what their executions add up to; its documented sequences."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Literal

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestBranch
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.ab_test.branches import (
    branch_configurations,
    branch_executions,
    branches_of_case,
    create_branch,
    delete_branch,
    update_branch,
)
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, AbTestResult, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import get_record
from minions_evals_mcp.errors import InvalidRecordError, NotFoundError
from minions_evals_mcp.operations.views.records import LinkedRecord, record_view
from minions_evals_mcp.store import records
from tests.shared.engine.ab_workshop import ANTHROPIC, OPENAI, ab, branch, executions, laboratory, prepared, says
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.workshop import Json, case, minion, save


def high_temperature(**fields: JsonValue) -> Json:
    """The branch that the seed creates."""
    return {
        "testCaseId": "case", "name": "GPT-4 High Temperature", "provider": "openai", "model": "gpt-4-turbo-preview",
        "description": "Testing GPT-4 with higher temperature for creativity", "temperature": 0.9, "maxTokens": 1000,
        "topP": 0.95, "isControl": False, **fields,
    }  # fmt: skip


async def test_a_branch_has_the_fields_of_the_seed(lab: Engine) -> None:
    await save(lab, case("case"))
    found = (await create_branch(lab, high_temperature(otherParams={"seed": 7}))).fields
    assert (found.name, found.provider, found.model) == ("GPT-4 High Temperature", "openai", "gpt-4-turbo-preview")
    assert (found.temperature, found.max_tokens, found.top_p, found.other_params) == (0.9, 1000, 0.95, {"seed": 7})
    assert (found.is_control, found.is_active, found.total_runs) == (False, True, 0)
    for field, value in (("temperature", 2.1), ("topP", 1.5), ("maxTokens", 0), ("provider", "mistral"), ("name", "")):
        with pytest.raises(InvalidRecordError, match=f"fields.{field}"):
            await create_branch(lab, high_temperature(**{field: value}))


async def test_a_branch_is_shown_with_its_defaults_as_soon_as_it_is_made(lab: Engine) -> None:
    await save(lab, case("case"))
    made = await create_branch(lab, test_case_id="case", name="Plain", provider="openai", model="gpt-4o")
    assert (made.fields.temperature, made.fields.max_tokens, made.fields.top_p) == (0.7, 2048, 1.0)
    changed = await update_branch(lab, made.id, temperature=0.2, other_params={"seed": 7})
    assert (changed.fields.temperature, changed.fields.max_tokens, changed.fields.other_params) == (
        0.2,
        2048,
        {"seed": 7},
    )
    flat = changed.flat()
    assert (flat["id"], flat["topP"], flat["createdAt"]) == (made.id, 1.0, iso(made.created_at))
    kept = await lab.store.read(lambda db: records.require(db, made.id, TestBranch))
    assert (kept.fields.max_tokens, kept.fields.top_p) == (None, None), "a default is no part of the record"


async def test_the_sixth_branch_of_a_test_case_is_refused(lab: Engine) -> None:
    await save(lab, case("case"))
    made = [await create_branch(lab, high_temperature(name=str(number))) for number in range(5)]
    with pytest.raises(InvalidRecordError, match="already has 5 branches"):
        await create_branch(lab, high_temperature())
    await delete_branch(lab, made[0].id)
    await create_branch(lab, high_temperature())


async def test_branches_are_created_updated_deleted_and_listed(lab: Engine) -> None:
    await save(lab, case("case"))
    first = await create_branch(lab, high_temperature())
    second = await create_branch(lab, high_temperature(name="Second"))
    changed = await update_branch(lab, first.id, {"temperature": None, "maxTokens": 500})
    assert (changed.fields.temperature, changed.fields.max_tokens, changed.fields.top_p) == (0.7, 500, 0.95)
    assert [one.id for one in await branches_of_case(lab, "case")] == [first.id, second.id]
    await delete_branch(lab, first.id)
    assert [one.id for one in await branches_of_case(lab, "case")] == [second.id]
    with pytest.raises(NotFoundError):
        await update_branch(lab, "case", {})
    with pytest.raises(NotFoundError):
        await branches_of_case(lab, first.id)
    with pytest.raises(InvalidRecordError, match=r"fields\.size: unknown"):
        await update_branch(lab, second.id, {"size": 3})


async def test_executions_come_in_pages_the_newest_first(lab: Engine) -> None:
    await prepared(lab)
    await ab(lab, iterations=5)
    made = [one.id for one in await executions(lab) if one.fields.branch_id == "a"]
    assert [one.id for one in await branch_executions(lab, "a", limit=2)] == made[:-3:-1]
    assert [one.id for one in await branch_executions(lab, "a", limit=2, offset=3)] == made[1::-1]
    with pytest.raises(NotFoundError):
        await branch_executions(lab, "case")


async def figures(lab: Engine, ident: str) -> TestBranch:
    return next(one.fields for one in await branches_of_case(lab, "case") if one.id == ident)


async def test_a_branch_shows_what_its_executions_add_up_to(lab: Engine) -> None:
    await prepared(lab)
    untouched = await figures(lab, "a")
    assert (untouched.total_runs, untouched.avg_latency, untouched.pass_rate) == (0, None, None)
    await ab(lab, iterations=3)
    made = [one.fields for one in await executions(lab) if one.fields.branch_id == "a"]
    found = await figures(lab, "a")
    assert found.total_runs == 3
    assert found.avg_latency == pytest.approx(fmean(one.latency_ms for one in made))
    assert found.avg_cost == pytest.approx(fmean(one.estimated_cost or 0 for one in made))
    assert found.avg_tokens_per_sec == pytest.approx(fmean(one.tokens_per_second or 0 for one in made))
    assert (found.avg_quality_score, found.pass_rate, found.consistency_score) == (1.0, 100.0, 0.0)


async def test_the_figures_stand_wherever_a_branch_is_read_and_nobody_can_write_them(lab: Engine) -> None:
    await prepared(lab, branch("a", totalRuns=99, avgCost=5.0), branch("b", ANTHROPIC))
    await ab(lab)
    shown = await get_record(lab, "a")
    assert isinstance(shown.fields, TestBranch)
    assert shown.fields.total_runs == 1
    assert shown.fields.avg_cost is not None
    assert shown.fields.avg_cost < 1


async def test_the_pass_rate_is_the_share_of_runs_of_at_least_70_percent_quality(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"), expectedOutputs={"output": "happy"})
    for answer in ("happy", "happy", "happy sad", "sad"):  # likeness 1, 1, 0.707, 0
        says(server, answer)
        await ab(lab)
    assert (await figures(lab, "a")).pass_rate == 75.0


async def test_a_pass_rate_of_55_percent_is_55(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"), expectedOutputs={"output": "happy"})
    says(server, "happy")
    await ab(lab, iterations=11)
    says(server, "sad")
    await ab(lab, iterations=9)
    assert (await figures(lab, "a")).pass_rate == 55.0


async def test_what_did_not_succeed_stands_beside_the_pass_rate_and_is_no_part_of_it(tmp_path: Path) -> None:
    async with serving() as server, laboratory(tmp_path, server) as lab:
        await prepared(lab)
        await ab(lab)
        server.configure(FakeSettings(p500=1))
        await ab(lab)
        broken = await figures(lab, "a")
        assert (broken.total_runs, broken.error_count, broken.pass_rate, broken.avg_quality_score) == (2, 1, 100.0, 1.0)
        server.configure(FakeSettings(prefusal=1))
        await ab(lab)
        refused = await figures(lab, "a")
        assert (refused.total_runs, refused.error_count, refused.pass_rate, refused.avg_quality_score) == (
            3,
            2,
            100.0,
            1.0,
        )


async def test_an_edited_branch_shows_what_its_present_configuration_comes_to_and_each_earlier_one_apart(
    lab: Engine,
) -> None:
    await prepared(lab, branch("a"), branch("b"))
    await ab(lab, iterations=3)
    await save(lab, branch("a", ANTHROPIC, temperature=0.2))
    assert (await figures(lab, "a")).total_runs == 3, "the newest executions are still those of the first configuration"
    await ab(lab)
    assert (await figures(lab, "a")).total_runs == 1
    made = await branch_configurations(lab, "a")
    assert [(one.configuration or {}).get("model") for one in made] == [ANTHROPIC, OPENAI]
    assert [(one.runs, one.errors, one.prompt_version) for one in made] == [(1, 0, 2), (3, 0, 2)]
    await ab(lab, prompt_version=1)
    assert [(one.runs, one.prompt_version) for one in await branch_configurations(lab, "a")] == [(1, 1), (1, 2), (3, 2)]


async def test_varying_outputs_of_one_version_show_in_hash_and_consistency(lab: Engine, server: Server) -> None:
    await prepared(lab, branch("a"), branch("b"))
    for answer in ("I am happy", "i am  HAPPY", "I am sad"):  # am happy, am happy, am sad
        says(server, answer)
        await ab(lab)
    hashes = Counter(one.fields.consistency_hash for one in await executions(lab) if one.fields.branch_id == "a")
    assert sorted(hashes.values()) == [1, 2]
    assert (await figures(lab, "a")).consistency_score == pytest.approx((0 + 0.5 + 0.5) / 3)
    viewed = await record_view(lab, "a")
    assert isinstance(viewed, LinkedRecord)
    for shown in ((await get_record(lab, "a")).fields, viewed.record.fields):
        assert shown == await figures(lab, "a"), "one consistency wherever a branch is read"
    says(server, "not at all")
    await ab(lab, prompt_version=1)
    assert (await figures(lab, "a")).consistency_score == pytest.approx(1 / 3), "another version is not compared"


SENTIMENT = "Is it positive or negative? {{text}}"


async def seeds_case(lab: Engine, server: Server) -> tuple[str, list[str]]:
    """Steps 1 and 2 of the documented complete example: the test case and its three branches."""
    says(server, "positive")
    await save(
        lab,
        minion("prompt_123@1", "prompt-version", content=SENTIMENT, versionNumber=1, promptId="prompt_123"),
        case(
            "tc_123",
            promptId="prompt_123",
            name="Sentiment Analysis Test",
            inputs={"text": "This product exceeded my expectations!"},
            expectedOutputs={"output": "positive"},
        ),
    )
    models: tuple[tuple[str, Literal["openai", "gemini"], str], ...] = (
        ("GPT-4 Turbo", "openai", "gpt-4-turbo-preview"),
        ("Gemini Pro", "gemini", "gemini-pro"),
    )
    made = [
        await create_branch(lab, test_case_id="tc_123", name=name, provider=provider, model=model, temperature=0.7)
        for name, provider, model in models
    ]
    claude: Json = {
        "testCaseId": "tc_123", "name": "Claude Sonnet", "provider": "anthropic", "model": "claude-3-sonnet-20240229",
    }  # fmt: skip
    made.append(await create_branch(lab, {**claude, "temperature": 0.7}))
    return "tc_123", [one.id for one in made]


async def run(lab: Engine, case_id: str, ids: list[str]) -> AbTestResult:
    return await run_ab_test(
        lab, AbTestRequest(test_case_id=case_id, branch_ids=tuple(ids), winner_criteria="balanced")
    )


async def test_the_seeds_complete_ab_example_runs_as_it_stands(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=60)) as server,
        serving(FakeSettings(latency_ms=120)) as anthropic,
        laboratory(tmp_path, openai=server, anthropic=anthropic) as lab,
    ):
        case_id, ids = await seeds_case(lab, server)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # some SDKs know how old the model is
            result = await run(lab, case_id, ids)
        assert result.winner is not None
        assert result.winner.branch_name == "Gemini Pro"
        assert result.winner.model == "gemini-pro"
        assert result.winner.quality_score is not None
        assert result.winner.latency_ms is not None
        assert result.winner.estimated_cost is not None
        assert result.criteria == "balanced"
        assert [one.rank for one in result.branches] == [1, 2, 3]
        recent = await branch_executions(lab, ids[0], limit=10)
        assert [(one.fields.output, one.fields.quality_score is not None) for one in recent] == [("positive", True)]


async def test_the_seeds_repeated_example_adds_up_by_hand_and_by_iterations(tmp_path: Path) -> None:
    async with serving(FakeSettings(latency_ms=60)) as server, laboratory(tmp_path, server) as lab:
        case_id, ids = await seeds_case(lab, server)
        openai_only = ids[:2]
        results = [await run(lab, case_id, openai_only) for _ in range(5)]
        winners = Counter(one.winner.branch_name for one in results if one.winner is not None)
        assert winners == {"Gemini Pro": 5}
        costs: defaultdict[str, list[float]] = defaultdict(list)
        for one in (branch for result in results for branch in result.branches):
            assert one.estimated_cost is not None
            costs[one.branch_id].append(one.estimated_cost)
        asked = AbTestRequest(
            test_case_id=case_id, branch_ids=tuple(openai_only), winner_criteria="balanced", iterations=5
        )
        repeated = await run_ab_test(lab, asked)
        assert {one.branch_name: one.wins for one in repeated.branches} == {"Gemini Pro": 5, "GPT-4 Turbo": 0}
        for one in repeated.branches:
            assert one.estimated_cost == pytest.approx(fmean(costs[one.branch_id]))


async def test_the_model_of_a_branch_is_what_is_asked(lab: Engine, server: Server) -> None:
    server.heard = []
    await prepared(lab, branch("a", OPENAI), branch("b", ANTHROPIC))
    await ab(lab)
    assert {b'"model":"gpt-4o"' in body.replace(b" ", b"") for body in server.heard} == {True, False}
