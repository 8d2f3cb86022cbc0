"""Audits as part of the routine: runs and approvals say whether the checks were audited, `requireAudit` refuses, canaries mark."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.audits import CaseAudit
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import Approval, BenchmarkRun
from minions_evals_mcp.domain.seals import SealedVerdict
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.audit.model_judged import JudgeAsked
from minions_evals_mcp.engine.audit_standing.standing import standing_now
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine, EngineConfig
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.engine.trials.trial import compare_sealed
from minions_evals_mcp.errors import BadInputError, RuleError
from minions_evals_mcp.interop.audit.audits import audit
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.report.audits import audit_lines
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.shared.presentation.typed import typed
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    benchmark_run,
    case,
    config_in,
    first,
    minion,
    opened,
    outbox,
    rubric,
    save,
)

WEAK: Json = {"expectedOutputs": {"output": "good"}}


async def suite(engine: Engine, *more: str, **fields: JsonValue) -> None:
    """A benchmark of one weak case, and of canaries under those ids."""
    canaries = [case(ident, expectedOutputs={"output": "zebra-7731"}, canary=True) for ident in more]
    await save(
        engine, [case("c", **{**WEAK, **fields}), *canaries, answer("r", "c", "good")], benchmark("b", "c", *more)
    )


def requiring(config: EngineConfig, skill: str, asked: str = "requireAudit") -> EngineConfig:
    """The same engine with skills of which that one asks for an audit, or for something else."""
    folder = config.db.parent / "skills"
    shutil.copytree(shipped_folder("skills"), folder)
    file = folder / skill / "SKILL.md"
    file.write_text(file.read_text("utf-8").replace("metadata:\n", f"metadata:\n  {asked}: true\n", 1), "utf-8")
    return replace(config, skills=folder)


async def test_a_run_says_that_its_checks_were_never_audited_then_how_then_that_they_changed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await suite(engine)
        never = (await summarize(engine, (await bench(engine, "b")).id)).audit
        assert never is not None
        assert (never.state, typed(never.next)) == ("never", "`minions-evals audit b` tests its checks")
        record = await audit(engine, "b")
        audited = (await summarize(engine, (await bench(engine, "b")).id)).audit
        assert audited is not None
        assert (audited.state, audited.audit_id) == ("audited", record.id)
        assert audited.cheat_pass_rate == record.fields.cheat_pass_rate
        await suite(engine, name="another name is no other check")
        assert getattr((await summarize(engine, (await bench(engine, "b")).id)).audit, "state", "") == "audited"
        await save(engine, [case("c", expectedOutputs={"output": "better"})])
        changed = (await summarize(engine, (await bench(engine, "b")).id)).audit
        assert changed is not None
        assert changed.state == "changed"


async def test_require_audit_refuses_a_run_until_the_checks_are_audited_as_they_are(tmp_path: Path) -> None:
    async with opened(requiring(config_in(tmp_path), "run-benchmark")) as engine:
        await suite(engine)
        with pytest.raises(BadInputError, match="requireAudit is set") as refused:
            await bench(engine, "b")
        assert typed(refused.value.remedy_text) == "`minions-evals audit b` tests its checks."
        assert not await all_of(engine, BenchmarkRun)
        await audit(engine, "b")
        await bench(engine, "b")
        assert len(await all_of(engine, BenchmarkRun)) == 1


async def chained(
    engine: Engine, before: list[bool], after: list[bool], *, canary: str | None = "", audited: bool = False
) -> str:
    """A comparison of two versions on so many cases and a canary, which the second version answers with that; None: no canary."""
    versions = [minion(f"v{n}", "prompt-version", content=f"{n}", versionNumber=n, promptId="p") for n in (1, 2)]
    cases = [case(f"c{n}", expectedOutputs={"output": "good"}, passRule="max_score") for n in range(len(before))]
    trap = case("trap", expectedOutputs={"output": "zebra-7731"}, passRule="max_score", canary=True)
    outputs = [
        answer(f"a{number}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=f"v{number}")
        for number, passed in ((1, before), (2, after))
        for n, good in enumerate(passed)
    ]
    caught = [
        answer(f"t{n}", "trap", canary if n == 2 and canary else "no idea", promptVersionRef=f"v{n}") for n in (1, 2)
    ]
    idents = [one.id for one in cases] + ([] if canary is None else ["trap"])
    await save(engine, [*versions, *cases, trap, *outputs, *caught], benchmark("b", *idents))
    if audited:
        await audit(engine, "b")
    made = await compare_prompt_versions(engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2"))
    assert made is not None
    return made.id


APPROVE = ApprovalAsked(prompt_version_ref="v2", decided_by="maria", decided_by_type="human")


async def test_an_approval_says_that_nobody_audited_the_checks_and_require_audit_refuses_it(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chained(engine, first(2, 12), first(11, 12))
        made = await approve_prompt_version(engine, APPROVE)
        assert made.fields.reason.endswith("Its checks were never audited: a wrong answer may pass them.")
    (tmp_path / "other").mkdir()
    async with opened(requiring(config_in(tmp_path / "other"), "compare-prompt-versions")) as engine:
        await chained(engine, first(2, 12), first(11, 12))
        with pytest.raises(RuleError, match="requireAudit is set"):
            await approve_prompt_version(engine, APPROVE)
        await audit(engine, "b")
        assert "audited" not in (await approve_prompt_version(engine, APPROVE)).fields.reason


async def test_a_canary_is_no_part_of_the_figures_and_a_run_that_passes_none_is_not_marked(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await suite(engine, "trap")
        await save(engine, [answer("t", "trap", "an honest guess")])
        run = await benchmark_run(engine, await bench(engine, "b"))
        assert (run.passed_count, run.total_count, run.pass_rate) == (1, 1, 100)
        assert run.canaries_passed == ()
        assert not [one for one in await outbox(engine) if "canary" in one.key]


async def test_canaries_alone_are_refused_by_name_before_anything_runs(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        traps = [case(ident, expectedOutputs={"output": "zebra-7731"}, canary=True) for ident in ("t1", "t2")]
        answers = [answer(f"r{ident}", ident, "an honest guess") for ident in ("t1", "t2")]
        await save(engine, traps, answers, benchmark("b", "t1", "t2"), case("c", **WEAK), benchmark("both", "c", "t1"))
        with pytest.raises(BadInputError, match=r"^b: every selected case is a canary.*: t1, t2\."):
            await bench(engine, "b")
        with pytest.raises(BadInputError, match=r"^both: every selected case.*: t1\."):
            await bench(engine, "both", case_ids=["t1"], selection="by name")
        assert not await engine.store.read(lambda db: db.execute("SELECT 1 FROM job").fetchall())


async def test_a_run_of_which_only_canaries_could_be_judged_has_no_figures_and_says_so(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await suite(engine, "trap")
        await save(
            engine, case("silent", **WEAK), answer("t", "trap", "an honest guess"), benchmark("both", "silent", "trap")
        )
        with pytest.raises(BadInputError, match="no case of both could be run; silent:"):
            await bench(engine, "both")
        assert not await all_of(engine, BenchmarkRun)


async def test_judgments_of_canaries_alone_make_no_benchmark_run(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(engine, rubric("r", 0.5, tone={"maxScore": 1, "weight": 1.0}))
        await save(engine, case("silent", rubricId="r"), case("trap", rubricId="r", canary=True))
        await save(engine, answer("t", "trap", "an honest guess"), benchmark("both", "silent", "trap"))
        job = await bench(engine, "both", judge="caller")
        (packet,) = (await summarize(engine, job.id)).packets
        given = (GivenJudgment(criterion_id="r/tone", score=0.0, rationale="it knows nothing"),)
        answered = AnsweredPacket(digest=packet.digest, judgments=given)
        ended = await submit_judgments(engine, Submission(run_id=job.id, judged_by="some:model", packets=(answered,)))
        assert ended.state == "failed"
        assert ended.reason.startswith("skipped: ")
        assert not await all_of(engine, BenchmarkRun)


async def test_a_run_that_passes_a_canary_is_marked_told_and_approves_nothing(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chained(engine, first(2, 12), first(11, 12), canary="zebra-7731")
        marked = [one.fields for one in await all_of(engine, BenchmarkRun) if one.fields.canaries_passed]
        assert [one.canaries_passed for one in marked] == [("trap",)]
        assert marked[0].notes.startswith("passed a canary, which no honest output does (trap)")
        assert (marked[0].passed_count, marked[0].total_count) == (11, 12)
        told = {one.key.partition(":")[0] for one in await outbox(engine) if "canary" in one.key}
        assert told == {"canary-passed", "investigate-canary"}
        with pytest.raises(RuleError, match="passed a canary") as refused:
            await approve_prompt_version(engine, APPROVE)
        assert refused.value.rule == "HR2"
        assert not await all_of(engine, Approval)


async def _ran_sealed(engine: Engine, ident: str) -> SealedVerdict:
    """What a comparison of the two versions on the sealed benchmark says."""
    said = await compare_sealed(engine, ComparisonRequest(benchmark_id=ident, version_a="v1", version_b="v2"))
    assert isinstance(said, SealedVerdict)
    return said


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("skill", ["run-benchmark", "compare-prompt-versions"])
async def test_an_audit_from_before_the_seal_counts_for_what_is_sealed(
    tmp_path: Path, share: float | None, skill: str
) -> None:
    async with opened(requiring(config_in(tmp_path), skill)) as engine:
        await chained(engine, first(2, 24), first(23, 24), canary=None, audited=True)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=share), by="agent")
        ident = "b" if share is None else "b.sealed"
        assert (await _ran_sealed(engine, ident)).verdict == "improved"
        assert (await approve_prompt_version(engine, APPROVE)).fields.decision == "approved"
        if share is not None:
            await bench(engine, "b", prompt_version_ref="v2")


async def test_runs_of_the_open_part_say_that_they_were_audited_before_the_seal(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await chained(engine, first(2, 24), first(23, 24), canary=None, audited=True)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=0.5), by="agent")
        run = await bench(engine, "b", prompt_version_ref="v2")
        assert getattr((await summarize(engine, run.id)).audit, "state", "") == "audited"
        assert (await standing_now(engine, "b.sealed")).state == "audited"
        await save(engine, [case("more", expectedOutputs={"output": "good"})], benchmark("b", "more"))
        assert (await standing_now(engine, "b")).state == "changed"


async def test_require_sealed_refuses_what_everybody_could_see(tmp_path: Path) -> None:
    async with opened(requiring(config_in(tmp_path), "compare-prompt-versions", "requireSealed")) as engine:
        await chained(engine, first(2, 24), first(23, 24), canary=None)
        with pytest.raises(RuleError, match=r"requireSealed is set, but .* used b, which is not sealed") as refused:
            await approve_prompt_version(engine, APPROVE)
        assert refused.value.rule == "HR2"
        assert not await all_of(engine, Approval)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        assert (await _ran_sealed(engine, "b")).verdict == "improved"
        assert (await approve_prompt_version(engine, APPROVE)).fields.decision == "approved"


@pytest.mark.parametrize("share", [None, 0.5])
async def test_what_was_never_audited_before_the_seal_is_refused(tmp_path: Path, share: float | None) -> None:
    async with opened(requiring(config_in(tmp_path), "compare-prompt-versions")) as engine:
        await chained(engine, first(2, 24), first(23, 24), canary=None)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=share), by="agent")
        await _ran_sealed(engine, "b" if share is None else "b.sealed")
        with pytest.raises(RuleError, match="requireAudit is set"):
            await approve_prompt_version(engine, APPROVE)


@asynccontextmanager
async def judged_by(
    folder: Path, judge: str, faults: FakeSettings | None = None
) -> AsyncGenerator[tuple[Engine, Server]]:
    """An engine whose judge has that name, with a benchmark that the judge alone judges."""
    async with serving(faults) as server:
        config = replace(config_in(folder, model_url=server.url), judge_model=f"anthropic:{judge}-judge")
        async with opened(config) as engine:
            await save(engine, rubric("r", 0.5, tone={"maxScore": 1, "weight": 1.0}))
            await save(engine, [case("c", rubricId="r", expectedOutputs={"output": "GOOD"})], benchmark("b", "c"))
            yield engine, server


async def test_a_model_judge_is_asked_only_when_that_is_wanted_and_counted_first(tmp_path: Path) -> None:
    async with judged_by(tmp_path, "always") as (engine, server):
        by_rule = (await audit(engine, "b")).fields
        assert (by_rule.cases, by_rule.not_audited_count, by_rule.with_judge) == ((), 1, None)
        counted = await audit(engine, "b", with_judge=JudgeAsked(dry_run=True))
        assert "would be asked" in counted.title
        assert not server.requests
        judged = (await audit(engine, "b", with_judge=JudgeAsked())).fields
        assert judged.cheat_pass_rate == 1
        assert "refusal" in judged.cases[0].cheats_passed
        assert judged.with_judge == "anthropic:always-judge"


async def test_a_cap_stops_the_judge_before_it_is_spent_and_the_case_is_said_not_to_be_audited_with_it(
    tmp_path: Path,
) -> None:
    async with judged_by(tmp_path, "claude-haiku-4-5-always") as (engine, server):
        found: list[CaseAudit] = []
        small = JudgeAsked(max_cost_usd=0.000001)
        record = await audit(engine, "b", with_judge=small, each=found.append)
        assert not server.requests
        assert (record.fields.cheat_pass_rate, record.fields.judge_error_count, record.fields.spent_usd) == (0, 1, 0)
        assert found[0].not_audited.startswith(
            "could not be audited with the judge: the next call might exceed the cost"
        )
        assert "1 case could not be audited with the judge: the next call" in "\n".join(
            audit_lines(record.fields, limit=9)
        )
        enough = JudgeAsked(max_cost_usd=0.5)
        paid = (await audit(engine, "b", with_judge=enough)).fields
        assert (paid.cheat_pass_rate, paid.judge_error_count) == (1, 0)
        assert 0 < paid.spent_usd <= 0.5


async def test_a_judge_that_fails_is_an_error_and_no_sign_that_the_cheat_did_not_pass(tmp_path: Path) -> None:
    async with judged_by(tmp_path, "always", FakeSettings(p400=1)) as (engine, server):
        found: list[CaseAudit] = []
        record = await audit(engine, "b", with_judge=JudgeAsked(), each=found.append)
        assert server.requests
        assert record.fields.judge_error_count == 1
        assert found[0].not_audited == f"could not be audited with the judge: {record.fields.judge_problem}"
        assert record.fields.judge_problem
