"""The hard rules through the doors that people and agents use: the types, the engine, the command line."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.outcomes import Failed, Passed, UnitKey, Verdict
from minions_evals_mcp.domain.records import IMPORTABLE, TYPES, Record
from minions_evals_mcp.domain.results import Approval, EvalFailure, EvalJudgment
from minions_evals_mcp.domain.rules import RULES
from minions_evals_mcp.domain.vetted import completed, vetted_verdict
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.records.save_records import Arrival, delete_record, save_records
from minions_evals_mcp.errors import ConflictError, InvalidRecordError, RuleError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.skills import load_skills
from minions_evals_mcp.store import jobs, rows, runs
from minions_evals_mcp.store.connection import open_raw
from minions_evals_mcp.store.database import open_store
from tests.shared.store.command_line import told
from tests.shared.store.small_store import (
    NOW,
    a_test_run,
    approval,
    audit,
    benchmark_run,
    comparison,
    contents,
    execution,
    failure,
    judgment,
    licence,
    verdict,
)  # fmt: skip
from tests.workshop import START, answer, bench, benchmark, case, counts, minion, outbox, rubric, save, try_case

BLANKS = ["", " ", "\n\t", "\u200b", "\u200b\u2060\ufeff", "\u3164", "\u2800\u00ad", "\u0301\u034f", "\x00hidden"]
BLANK_IDS = [f"blank{number}" for number in range(len(BLANKS))]
RESULTS = {
    "test-run": a_test_run("new", passed=True),
    "eval-judgment": judgment("run1:1.1", "other"),
    "eval-failure": failure("run1:3.1", "new"),
    "benchmark-run": benchmark_run("run1"),
    "eval-metric": minion("new", "eval-metric", benchmarkRunId="run1", dimension="new", score=1.0, maxScore=1.0),
    "eval-trend": minion("new", "eval-trend", benchmarkId="b", dataPoints="[]", direction="stable", lastComputedAt=NOW),
    "prompt-comparison": comparison("new", "p@1", "p@2", "run1", "run2"),
    "approval": approval("new", "better"),
    "test-branch-execution": execution("new"),
    "judge-licence": licence("new"),
    "audit": audit("new"),
    "agent-message": minion("new", "agent-message", fromAgentId="a", toAgentId="b", type="x", sentAt=NOW),
    "task": minion("new", "task", title="x"),
    "approval-request": minion(
        "new", "approval-request", title="x", requestedBy="a", requestedAt=NOW, contextRefType="x", contextRefId="y",
    ),
    "memory-item": minion(
        "new", "memory-item", agentId="a", key="k", value=1, confidence=1.0, sourceRefType="x", sourceRefId="y",
        createdAt=NOW,
    ),
}  # fmt: skip


def test_every_type_that_is_no_import_is_attacked_here() -> None:
    assert set(RESULTS) == set(TYPES) - set(IMPORTABLE)


def test_the_rules_in_code_are_the_rules_in_the_skills() -> None:
    texts = {rule.id: rule.text for rule in load_skills(shipped_folder("skills")).hard_rules}
    assert list(texts) == list(RULES) == ["HR1", "HR2", "HR3", "HR4", "HR5"]
    for rule, said in RULES.items():
        assert texts[rule].startswith(f"{said} Code: "), rule


# --- HR1: outputs are never modified


@pytest.mark.parametrize("kind", sorted(RESULTS))
async def test_no_import_brings_a_result_or_a_neighbours_record(engine: Engine, kind: str) -> None:
    with pytest.raises(InvalidRecordError, match=f"{kind} records are made by runs, not imported"):
        await save(engine, RESULTS[kind])
    assert set((await counts(engine)).values()) == {0}


@pytest.mark.parametrize(
    "edit",
    [
        {"outputs": {"output": "edited"}}, {"inputs": {"q": "other"}}, {"status": "failed"}, {"status": "running"},
        {"errorMessage": "x"}, {"toolCallsLog": [{"tool": "x"}]}, {"agentId": "other"},
    ],
)  # fmt: skip
async def test_an_agent_run_that_is_complete_is_never_edited(engine: Engine, edit: dict[str, JsonValue]) -> None:
    await save(engine, answer("run", "c1", "said"))
    with pytest.raises(RuleError, match="HR1") as caught:
        await save(engine, minion("run", "agent-run", **{**_fields(answer("run", "c1", "said")), **edit}))
    assert caught.value.rule == "HR1"
    assert await engine.store.read(
        lambda db: db.execute("SELECT count(*), max(fields LIKE '%said%') FROM minion").fetchone()
    ) == (1, 1)


async def test_nor_after_it_was_hidden_nor_as_another_type_nor_under_another_title(engine: Engine) -> None:
    await save(engine, answer("run", "c1", "said"))
    await delete_record(engine, "run")
    with pytest.raises(RuleError, match="HR1"):
        await save(engine, answer("run", "c1", "edited"))
    with pytest.raises(InvalidRecordError, match="this id belongs to a agent-run"):
        await save(engine, case("run"))
    titled = answer("run", "c1", "said")
    with pytest.raises(RuleError, match="HR1"):
        await save_records(engine, [Arrival(replace(titled, title="Other"))])
    assert await engine.store.read(lambda db: db.execute("SELECT title FROM minion").fetchall()) == [("agent-run run",)]


async def test_a_batch_with_one_edited_copy_is_refused_whole(engine: Engine) -> None:
    await save(engine, answer("run", "c1", "said"))
    before = await counts(engine)
    with pytest.raises(RuleError, match="HR1"):
        await save(engine, case("c1"), answer("run", "c1", "edited"))
    assert await counts(engine) == before


async def test_results_are_not_deleted_by_the_engine(engine: Engine) -> None:
    await save(engine, case("c1", expectedOutputs={"output": "yes"}), answer("run", "c1", "no"))
    job = await try_case(engine, "c1")
    before = await counts(engine)
    assert before["eval_failure"] == 1
    for ident in (f"{job.id}:1.1", f"{job.id}:1.1:failure", f"{job.id}:1.1:j1"):
        with pytest.raises(ConflictError, match="results cannot be deleted"):
            await delete_record(engine, ident)
        with pytest.raises(InvalidRecordError, match="this id belongs to a result"):
            await save(engine, case(ident))
    assert await counts(engine) == before


async def test_judging_leaves_the_agent_run_as_it_was(engine: Engine) -> None:
    await save(engine, case("c1", expectedOutputs={"output": "yes"}), answer("run", "c1", "no"))
    sql = "SELECT * FROM minion WHERE type = 'agent-run'"
    before = await engine.store.read(lambda db: db.execute(sql).fetchall())
    await try_case(engine, "c1")
    assert await engine.store.read(lambda db: db.execute(sql).fetchall()) == before


def test_a_run_cannot_be_changed_in_memory_either() -> None:
    run = a_test_run("x", passed=True)
    with pytest.raises((AttributeError, ValidationError)):
        run.fields = run.fields  # pyright: ignore[reportAttributeAccessIssue]  the attempt is the test
    with pytest.raises(ValidationError, match="frozen"):
        run.fields.passed = False  # pyright: ignore[reportAttributeAccessIssue]  the attempt is the test


# --- HR2: no approval without an improvement


@pytest.mark.parametrize(
    "given",
    [{"comparisonId": None}, {"comparisonId": "none"}, {"comparisonId": "unclear"}, {"promptVersionRef": "p@1"}],
)
async def test_the_store_takes_no_approval_without_a_comparison_that_it_wins(
    small_store: Path, given: dict[str, JsonValue]
) -> None:
    before = contents(small_store)
    fake = minion("new", "approval", **{**_fields(approval("new", "better")), **given})
    async with open_store(small_store) as store:
        with pytest.raises(RuleError, match="HR2") as caught:
            await store.write(lambda db: rows.insert(db, fake))
        assert caught.value.rule == "HR2"
    assert contents(small_store) == before


def _fields(record: Record[Fields]) -> dict[str, JsonValue]:
    found = record.wire()["fields"]
    assert isinstance(found, dict)
    return found


async def test_a_benchmark_run_that_counts_runs_of_others_is_refused(small_store: Path) -> None:
    before = contents(small_store)
    async with open_store(small_store) as store:
        fake = minion("fake", "benchmark-run", **{**_fields(benchmark_run("run2")), "promptVersionRef": "p@3"})
        with pytest.raises(RuleError, match=r"HR2: a benchmark-run .* its own test-runs"):
            await store.write(lambda db: rows.insert(db, fake, judged_alike="same", series="series"))
        with pytest.raises(RuleError, match="HR2"):
            await store.write(lambda db: rows.insert(db, comparison("fake", "p@1", "p@3", "run1", "run2")))
    assert contents(small_store) == before


@pytest.mark.parametrize("text", BLANKS, ids=BLANK_IDS)
def test_an_approval_says_who_and_why(text: str) -> None:
    for field in ("reason", "decidedBy", "overrideReason"):
        with pytest.raises((InvalidRecordError, ValidationError), match=field):
            Approval.model_validate_json(json.dumps({**_fields(approval("x", "better")), field: text}))


# --- HR3: an eval-failure for every failed run


@pytest.mark.parametrize("other", [None, failure("another")])
def test_the_gate_makes_no_failed_run_without_its_own_failure(other: object) -> None:
    run = a_test_run("new", passed=False, score=0.1)
    with pytest.raises(RuleError, match="HR3") as caught:
        completed(run, [], other)  # pyright: ignore[reportArgumentType]  the types are the fixture's
    assert caught.value.rule == "HR3"


async def test_a_failed_run_that_calls_itself_passed_is_refused_by_the_store(small_store: Path) -> None:
    """`Passed` around a run that failed, and `Failed` with the failure of another run: the type's holes, closed below."""
    before = contents(small_store)
    run = a_test_run("new", passed=False, score=0.1)
    unit = UnitKey("job", 0, 1)
    async with open_store(small_store) as store:
        for ended in (Passed(run, ()), Failed(run, (), failure("another"))):  # pyright: ignore[reportArgumentType]  as above
            with pytest.raises(RuleError, match="HR3"):
                await store.write(lambda db, ended=ended: runs.record_unit(db, unit, "c1", ended, at=START))
        with pytest.raises(RuleError, match="HR3"):
            await store.write(lambda db: rows.insert(db, run))
        with pytest.raises(RuleError, match="HR3"):
            moved = failure("run1:1.1", "run1:3.1:failure")
            await store.write(lambda db: rows.insert(db, moved))
    assert contents(small_store) == before


async def test_every_failed_run_of_a_benchmark_has_its_failure(engine: Engine) -> None:
    cases = [case(f"c{number}", expectedOutputs={"output": "yes"}) for number in range(6)]
    answers = [answer(f"a{number}", f"c{number}", "yes" if number % 2 else "no") for number in range(6)]
    await save(engine, *cases, *answers, benchmark("b", *(one.id for one in cases)))
    await bench(engine, "b")
    pairs = await engine.store.read(
        lambda db: db.execute(
            "SELECT r.id, f.id FROM test_run r LEFT JOIN eval_failure f ON f.test_run_id = r.id WHERE r.passed = 0"
        ).fetchall()
    )
    assert len(pairs) == 3
    assert all(found is not None for _, found in pairs)


async def test_a_failure_is_analysed_anew_but_stays_with_its_run(small_store: Path) -> None:
    """`update_failure` has no way to name another run: what it writes leaves the row's run alone."""
    moved = failure("run1:1.1", "run1:3.1:failure", severity="minor")
    async with open_store(small_store) as store:
        await store.write(lambda db: rows.update_failure(db, moved))  # pyright: ignore[reportArgumentType]  an eval-failure
        found = await store.read(
            lambda db: db.execute(
                "SELECT test_run_id, severity FROM eval_failure WHERE id = 'run1:3.1:failure'"
            ).fetchone()
        )
    assert found == ("run1:3.1", "minor")


def test_a_failure_says_what_and_who_classified_it() -> None:
    for field in ("description", "classifiedBy", "testRunId"):
        with pytest.raises(ValidationError):
            EvalFailure.model_validate_json(json.dumps({**_fields(failure("x")), field: ""}))


# --- HR4: every judgment has a rationale


def _verdict(**changed: object) -> Verdict:
    return verdict().model_copy(update=changed)


@pytest.mark.parametrize("text", BLANKS, ids=BLANK_IDS)
def test_the_type_and_the_gate_refuse_a_blank_rationale(text: str) -> None:
    with pytest.raises(ValidationError, match="rationale"):
        EvalJudgment.model_validate_json(json.dumps({**_fields(judgment("x")), "rationale": text}))
    with pytest.raises(ValidationError, match="judgedBy"):
        EvalJudgment.model_validate_json(json.dumps({**_fields(judgment("x")), "judgedBy": text}))
    with pytest.raises(RuleError, match="HR4") as caught:
        vetted_verdict(_verdict(rationale=text))
    assert caught.value.rule == "HR4"
    with pytest.raises(InvalidRecordError, match="judgedBy"):
        vetted_verdict(_verdict(judged_by=text))


@pytest.mark.parametrize("score", [-0.0001, 1.0001, float("inf"), float("-inf"), float("nan")])
def test_the_gate_refuses_a_score_out_of_range_and_clamps_nothing(score: float) -> None:
    with pytest.raises(InvalidRecordError, match="score"):
        vetted_verdict(_verdict(score=score))


@pytest.mark.parametrize("text", [one for one in BLANKS if one != "\u0301\u034f"])
async def test_the_store_refuses_a_blank_rationale_that_walked_past_the_type(small_store: Path, text: str) -> None:
    before = contents(small_store)
    made = judgment("run1:1.1", "other")
    sly = replace(made, fields=made.fields.model_copy(update={"rationale": text}))
    async with open_store(small_store) as store:
        with pytest.raises(RuleError, match="HR4"):
            await store.write(lambda db: rows.insert(db, sly))
    assert contents(small_store) == before


async def _waiting(engine: Engine) -> tuple[str, str]:
    """A run that waits for the caller's verdict, and its packet."""
    await save(
        engine, *rubric("r", 0.5, tone={"judgeType": "llm"}), case("c1", rubricId="r"), answer("a1", "c1", "said")
    )
    job = await try_case(engine, "c1", judge="caller")
    assert job.state == "awaiting-judgments"
    (unit,) = (await engine.store.read(lambda db: jobs.units(db, job.id, first=0, last=1))).values()
    assert unit.packet is not None
    return job.id, unit.packet


@pytest.mark.parametrize("text", BLANKS, ids=BLANK_IDS)
async def test_a_caller_cannot_submit_a_blank_rationale(engine: Engine, text: str) -> None:
    run_id, digest = await _waiting(engine)
    before = await counts(engine)
    given = GivenJudgment(criterion_id="r/tone", score=1.0, rationale=text)
    submission = Submission(run_id=run_id, judged_by="me", packets=(AnsweredPacket(digest=digest, judgments=(given,)),))
    with pytest.raises(RuleError, match="HR4"):
        await submit_judgments(engine, submission)
    assert await counts(engine) == before


# --- HR5: regressions at once


async def test_a_regression_is_told_in_the_transaction_that_records_it(engine: Engine) -> None:
    """Another connection sees the run and what is told at the same moment: its first look finds all or nothing."""
    cases = [case(f"c{number}", expectedOutputs={"output": "yes"}) for number in range(4)]
    await save(engine, *cases, benchmark("b", *(one.id for one in cases)))
    await save(engine, *(answer(f"a{number}", f"c{number}", "yes") for number in range(4)))
    await bench(engine, "b", key="one")
    assert await outbox(engine) == []
    await save(engine, *(answer(f"later{number}", f"c{number}", "no") for number in range(4)))
    job = await bench(engine, "b", key="two")
    told_now = {one.key for one in await outbox(engine)}
    assert {f"benchmark-regression:{job.id}", f"investigate-regression:{job.id}"} <= told_now


async def test_the_store_takes_no_regression_that_is_not_told(small_store: Path) -> None:
    failed = a_test_run("quiet:1", passed=False, score=0.1, benchmarkRunId="quiet")
    given = {**_fields(benchmark_run("run3")), "overallScore": 0.1, "passRate": 0.0, "passedCount": 0, "totalCount": 1}
    quiet = minion("quiet", "benchmark-run", **given)
    before = contents(small_store)
    async with open_store(small_store) as store:

        def untold(db: rows.Db) -> None:
            rows.insert(db, failure(failed.id))
            rows.insert(db, failed)
            rows.insert(db, quiet, judged_alike="same", series="series")

        with pytest.raises(RuleError, match="HR5") as caught:
            await store.write(untold)
        assert caught.value.rule == "HR5"
    assert contents(small_store) == before


# --- the command line


def _suite(folder: Path, *wires: JsonValue) -> str:
    file = folder / "suite.jsonl"
    file.write_text("".join(json.dumps(wire) + "\n" for wire in wires), "utf-8")
    return str(file)


async def test_s106_a_suite_whose_output_was_edited_leaves_the_first_as_it_was(small_store: Path) -> None:
    kept = "SELECT fields, digest FROM minion WHERE id = 'answer-c1'"
    with closing(open_raw(small_store)) as db:
        before = db.execute(kept).fetchall()
    file = _suite(small_store.parent, answer("answer-c1", "c1", "edited").wire())
    answered = await told(small_store.parent, "import", file, "--db", str(small_store))
    assert answered.code == 0, answered.err
    with closing(open_raw(small_store)) as db:
        assert db.execute(kept).fetchall() == before


@pytest.mark.parametrize(
    ("rule", "wire", "said"),
    [
        ("106", a_test_run("new", passed=True).wire(), "made by runs, not imported"),
        ("106", {**case("run1:1.1").wire()}, "this id belongs to a result"),
        ("107", approval("new", "better").wire(), "made by runs, not imported"),
        ("107", comparison("new", "p@1", "p@2", "run1", "run2").wire(), "made by runs, not imported"),
        ("108", failure("run1:3.1", "new").wire(), "made by runs, not imported"),
        ("109", {**judgment("run1:1.1", "x").wire(), "fields": {"rationale": ""}}, "eval-judgment"),
        ("110", RESULTS["task"].wire(), "made by runs, not imported"),
    ],
)
async def test_to_s110_the_command_line_imports_nothing_that_breaks_a_rule(
    small_store: Path, rule: str, wire: JsonValue, said: str
) -> None:
    before = contents(small_store)
    file = _suite(small_store.parent, case("innocent").wire(), wire)
    answered = await told(small_store.parent, "import", file, "--db", str(small_store))
    assert answered.code == 2, rule
    assert said in answered.err
    assert "Traceback" not in answered.err
    assert contents(small_store) == before


@pytest.mark.parametrize(
    "ident", ["run1", "run1:1.1", "run1:3.1:failure", "better", "approved", "run3:task", "branch:1"]
)
async def test_to_s110_the_command_line_deletes_no_result(small_store: Path, ident: str) -> None:
    before = contents(small_store)
    answered = await told(small_store.parent, "delete", ident, "--db", str(small_store), "--json")
    assert answered.code == 2
    assert "results cannot be deleted" in answered.out
    assert contents(small_store) == before


async def test_the_command_line_submits_no_blank_rationale(engine: Engine, tmp_path: Path) -> None:
    run_id, digest = await _waiting(engine)
    before = await counts(engine)
    given = {"criterionId": "r/tone", "score": 1.0, "rationale": "\u200b"}
    file = tmp_path / "verdicts.json"
    file.write_text(
        json.dumps({"runId": run_id, "judgedBy": "me", "packets": [{"digest": digest, "judgments": [given]}]})
    )
    answered = await told(tmp_path, "submit", str(file), "--db", str(engine.config.db))
    assert answered.code == 2
    assert "HR4" in answered.err
    assert await counts(engine) == before
