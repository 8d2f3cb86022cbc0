"""Approval: nothing but a comparison that the version wins for sure lets it through (HR2)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import Approval
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.compare.approve_prompt_version import (
    ApprovalAsked,
    approve_prompt_version,
)
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.records.save_records import delete_record
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import NotFoundError, RuleError
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.rows import insert
from tests.shared.presentation.typed import typed
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    minion,
    opened,
    outbox,
    rubric,
    save,
)


async def chain(engine: Engine, *passes: list[bool]) -> None:
    """`b` with versions v1, v2, … in a chain, each with its recorded answers."""
    await fleet(engine, len(passes[0]))
    versions = [
        minion(f"v{n}", "prompt-version", content=f"Say it {n}.", versionNumber=n) for n in range(1, len(passes) + 1)
    ]
    follows = [Relation(f"v{n}", f"v{n - 1}", "follows") for n in range(2, len(passes) + 1)]
    await save(engine, versions, relations=follows)
    for number, passed in enumerate(passes, 1):
        await save(
            engine,
            [
                answer(f"v{number}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=f"v{number}")
                for n, good in enumerate(passed)
            ],
        )


async def compared(engine: Engine, a: str, b: str, **request: JsonValue) -> str:
    """The comparison's id."""
    asked = {"benchmark_id": "b", "version_a": a, "version_b": b, **request}
    made = await compare_prompt_versions(engine, ComparisonRequest.model_validate(asked))
    assert made is not None
    return made.id


async def decide(engine: Engine, version: str, **asked: JsonValue) -> Approval:
    """A person's decision on the version, as far as nothing else is said."""
    usual = {"prompt_version_ref": version, "decided_by": "maria", "decided_by_type": "human"}
    return (await approve_prompt_version(engine, ApprovalAsked.model_validate({**usual, **asked}))).fields


async def test_a_version_that_is_shown_to_be_better_is_approved_and_becomes_the_current_one(
    tmp_path: Path,
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(11, 12))
        comparison = await compared(engine, "v1", "v2")
        made = await decide(engine, "v2")
        assert (made.decision, made.comparison_id, made.decided_by) == ("approved", comparison, "maria")
        assert made.reason.startswith("improved: +0.750 (+")
        assert await engine.store.read(lambda db: current_version(db, "v1")) == "v2"
        told = [one.record.fields.model_dump(mode="json") for one in await outbox(engine, "agent-message")]
        assert [one["payload"]["decision"] for one in told if one["type"] == "prompt-version-decided"] == ["approved"]


async def test_without_a_comparison_the_refusal_names_the_command_that_makes_one(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(11, 12))
        with pytest.raises(RuleError, match="no comparison of v2 with the current version v1") as refused:
            await decide(engine, "v2")
        assert refused.value.rule == "HR2"
        assert typed(refused.value.remedy_text) == "`minions-evals compare BENCHMARK --from v1 --to v2` compares them."
        assert not await all_of(engine, Approval)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (first(11, 12), first(2, 12), r"does not score higher than .* \(verdict: regressed\)"),
        (first(6, 12), first(6, 12), "does not score higher than"),
        (first(6, 12), first(7, 12), "verdict of .* is inconclusive"),
    ],
)
async def test_worse_equal_and_uncertain_versions_are_refused(
    tmp_path: Path, before: list[bool], after: list[bool], why: str
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, before, after)
        await compared(engine, "v1", "v2")
        with pytest.raises(RuleError, match=why):
            await decide(engine, "v2")
        assert not await all_of(engine, Approval)


@pytest.mark.parametrize(
    ("asked", "approved"),
    [
        ({"override_reason": "the one more is the one that matters"}, True),
        ({"override_reason": "the one more is the one that matters", "decided_by_type": "agent"}, False),
        ({}, False),
    ],
)
async def test_only_a_person_lets_an_inconclusive_winner_pass_and_only_with_a_reason(
    tmp_path: Path, asked: dict[str, JsonValue], approved: bool
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(6, 12), first(7, 12))
        await compared(engine, "v1", "v2")
        if approved:
            assert (await decide(engine, "v2", **asked)).override_reason == asked["override_reason"]
        else:
            with pytest.raises(RuleError, match="inconclusive, not improved") as refused:
                await decide(engine, "v2", **asked)
            by_agent = asked.get("decided_by_type") == "agent"
            assert ("An agent cannot override this" in refused.value.remedy) is by_agent
            assert ("give an override reason" in refused.value.remedy) is not by_agent


async def test_a_comparison_with_another_version_than_the_current_one_is_no_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(1, 12), first(8, 12), first(12, 12))
        await compared(engine, "v1", "v2")
        await decide(engine, "v2", override_reason=None)
        old = await compared(engine, "v1", "v3")
        with pytest.raises(RuleError, match="the current version is v2"):
            await decide(engine, "v3", comparison_id=old)
        with pytest.raises(RuleError, match="no comparison of v3 with the current version v2"):
            await decide(engine, "v3")
        with pytest.raises(RuleError, match="is already the current version of its prompt") as current:
            await decide(engine, "v2")
        assert current.value.remedy == "Nothing needs to be approved."
        await save(engine, minion("lone", "prompt-version", content="Say it alone.", versionNumber=1))
        with pytest.raises(RuleError, match="is already the current version of its prompt") as alone:
            await decide(engine, "lone")
        assert "minions-evals prompt take PROMPT" in typed(alone.value)
        with pytest.raises(RuleError, match="there is no comparison nowhere"):
            await decide(engine, "v3", comparison_id="nowhere")


@pytest.mark.parametrize(
    "edit",
    [
        case("c3", expectedOutputs={"output": "GOOD"}),
        case("c3", expectedOutputs={"output": "good"}, threshold=0.5),
        case("c3", expectedOutputs={"output": "good"}, maxScore=2),
    ],
    ids=["expected output", "threshold", "maximum"],
)
async def test_a_case_edited_since_voids_the_evidence(tmp_path: Path, edit: object) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(11, 12))
        await compared(engine, "v1", "v2")
        await save(engine, edit)  # pyright: ignore[reportArgumentType]  a record, made by `case`
        with pytest.raises(RuleError, match=r"edited since .*: c3"):
            await decide(engine, "v2")


async def test_a_case_deleted_since_voids_the_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(11, 12))
        await compared(engine, "v1", "v2")
        await delete_record(engine, "c3")
        with pytest.raises(RuleError, match=r"edited since .*: c3"):
            await decide(engine, "v2")


async def test_cases_dropped_between_the_two_runs_void_the_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(9, 12))
        before = await bench(engine, "b", prompt_version_ref="v1")
        await save(engine, benchmark("b", *[f"c{n}" for n in range(9)]))  # those that v2 fails are left out
        after = await bench(engine, "b", prompt_version_ref="v2")
        made = await compare_runs(engine, before.id, after.id)
        assert made.fields.verdict == "improved"
        with pytest.raises(RuleError, match="cases of b were changed between the two runs"):
            await decide(engine, "v2", comparison_id=made.id)


async def test_a_version_beside_the_approved_one_is_compared_with_that(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(11, 12))
        beside = minion("w2", "prompt-version", content="Say it otherwise.", versionNumber=3)
        runs = [answer(f"w2/{n}", f"c{n}", "good", promptVersionRef="w2") for n in range(12)]
        await save(engine, beside, runs, relations=[Relation("w2", "v1", "follows")])
        await compared(engine, "v1", "v2")
        await decide(engine, "v2")
        await compared(engine, "v1", "w2")
        with pytest.raises(RuleError, match="no comparison of w2 with the current version v2"):
            await decide(engine, "w2")


async def test_a_comparison_that_says_more_than_its_runs_is_no_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(6, 12), first(7, 12))
        made = await compared(engine, "v1", "v2")

        def forge(db: Db, **changes: object) -> None:
            real = run_pairs.comparison(db, made)
            assert real is not None
            forged = real.fields.model_copy(update={"verdict": "improved", **changes})
            insert(db, replace(real, id="forged", fields=forged))

        with pytest.raises(RuleError, match="needs a p-value within the error of its attempt"):
            await engine.store.write(forge)
        await engine.store.write(partial(forge, p_value=0.001))
        with pytest.raises(
            RuleError, match=r"forged has the verdict improved, but its two runs now give inconclusive \(attempt 1"
        ):
            await decide(engine, "v2", comparison_id="forged")


async def test_a_sequential_comparison_is_evidence_and_names_no_interval(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(0, 20), first(20, 20))
        await compared(engine, "v1", "v2", sequential=True)
        made = await decide(engine, "v2")
        assert made.decision == "approved"
        assert made.reason.startswith("improved: +1.000 on ")  # settled early: there is no interval that could be said


async def test_an_edited_rubric_voids_the_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        guide: dict[str, JsonValue] = {"judgeType": "heuristic", "scoringGuide": "[{type: contains, value: good}]"}
        await save(
            engine,
            rubric("r", 0.5, right=guide),
            [case(f"c{n}", rubricId="r") for n in range(8)],
            benchmark("b", *[f"c{n}" for n in range(8)]),
            [minion(f"v{n}", "prompt-version", content=f"{n}", versionNumber=n) for n in (1, 2)],
            [answer(f"1/{n}", f"c{n}", "bad", promptVersionRef="v1") for n in range(8)],
            [answer(f"2/{n}", f"c{n}", "good", promptVersionRef="v2") for n in range(8)],
            relations=[Relation("v2", "v1", "follows")],
        )
        await compared(engine, "v1", "v2")
        await save(engine, rubric("r", 0.4, right=guide))
        with pytest.raises(RuleError, match=r"edited since .*: c0, c1"):
            await decide(engine, "v2")


async def judge_all(engine: Engine, comparison: str, judged_by: str) -> None:
    """Hands in what the comparison's runs wait for: 1 for the outputs of v2, 0 for the others."""
    for which, score in (("A", 0.0), ("B", 1.0)):
        side = await get_job(engine, f"{comparison}:{which}")
        rows = await engine.store.read(
            lambda db, ident=side.id: jobs.units_with(db, ident, ("awaiting-judgments",), limit=99)
        )
        said = {"criterionId": "r/right", "score": score, "rationale": "I read it"}
        packets = [{"digest": row.packet, "judgments": [said]} for row in rows]
        told = to_json({"runId": side.id, "judgedBy": judged_by, "packets": packets})
        await submit_judgments(engine, Submission.model_validate_json(told))


@pytest.mark.parametrize(("judged_by", "approved"), [("agent", False), ("another", True)])
async def test_outputs_judged_by_the_agent_that_produced_them_are_no_evidence(
    tmp_path: Path, judged_by: str, approved: bool
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(
            engine,
            rubric("r", 0.5, right={"description": "Is it right?"}),
            [case(f"c{n}", rubricId="r") for n in range(8)],
            benchmark("b", *[f"c{n}" for n in range(8)]),
            [minion(f"v{n}", "prompt-version", content=f"{n}", versionNumber=n) for n in (1, 2)],
            [answer(f"{v}/{n}", f"c{n}", f"answer {v}", promptVersionRef=f"v{v}") for n in range(8) for v in (1, 2)],
            relations=[Relation("v2", "v1", "follows")],
        )
        request = ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2", judge="caller", key="k")
        assert await compare_prompt_versions(engine, request) is None
        await judge_all(engine, (await get_job(engine, "k")).id, judged_by)
        if approved:
            assert (await decide(engine, "v2")).decision == "approved"
        else:
            with pytest.raises(RuleError, match=r"8 cases of .* were judged by their producer"):
                await decide(engine, "v2")


async def test_a_refusal_is_written_down_without_any_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, first(2, 12), first(11, 12))
        made = await decide(engine, "v2", decision="refused", reason="not now")
        assert (made.decision, made.reason, made.comparison_id) == ("refused", "not now", None)
        await delete_record(engine, "v2")
        for missing in ("none", "v2"):
            with pytest.raises(NotFoundError, match=f"no prompt-version with the id '{missing}'"):
                await decide(engine, missing, decision="refused")


@pytest.mark.parametrize(("lacking", "approved"), [(1, True), (8, False)])
async def test_cases_that_the_winner_has_no_verdict_for_count_as_failed_before_it_is_approved(
    tmp_path: Path, lacking: int, approved: bool
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chain(engine, [*first(2, 12), *[True] * lacking], first(12, 12))
        await compared(engine, "v1", "v2")
        if approved:
            assert (await decide(engine, "v2")).decision == "approved"
        else:
            with pytest.raises(
                RuleError, match="8 outputs are missing: if missing outputs count as failures, the verdict would be"
            ):
                await decide(engine, "v2")
