"""Rows in, values out: what was written is what is read."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark, Fields
from minions_evals_mcp.domain.outcomes import NotJudgeable, Observed, UnitKey
from minions_evals_mcp.domain.records import RESULTS, Record
from minions_evals_mcp.domain.relations import RELATIONS, Relation
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.errors import ConflictError, RuleError
from minions_evals_mcp.store import events, jobs, records, rows, runs
from minions_evals_mcp.store.benchmarks import benchmark_head, note_last_run
from minions_evals_mcp.store.connection import Db, open_raw
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.jobs import VerdictKey
from minions_evals_mcp.store.queries.agent_run_matches import matching_agent_runs, wanted
from minions_evals_mcp.store.queries.links import links
from tests.shared.store.small_store import (
    ABOUT,
    CASES,
    NOW,
    RUNS,
    a_test_run,
    approval,
    audit,
    benchmark_run,
    comparison,
    definitions,
    execution,
    failure,
    judgment,
    licence,
    verdict,
)  # fmt: skip
from tests.workshop import START, answer, case, minion

NESTED: JsonValue = {"output": None, "deep": {"null": None, "list": [None, 1, 1.5, True, "é\u0000🙂"]}, "": ""}
FULL_RUN = a_test_run(
    "full", passed=False, score=0.1, agentRunId="answer-c1", promptVersionRef="p@1", promptVersion=1, trial=3,
    outcome="timed-out", actualOutput=NESTED, rubricId="rubric", rubricVersion=2, producedBy="agent", selfJudged=True,
    digests={"testCase": "a", "rubric": "b", "judge": "c", "scorer": "d", "embedder": "e", "promptVersion": "f", "target": "g"},
    executionId="x", exactMatch=False, semanticScore=0.3, lengthDiff=-3, tokenDiff=0, flipped=True, isRegression=True,
    outputDiff=[{"op": "equal", "text": "a"}, {"op": "delete", "text": " "}], regressionType="FAILED",
    regressionTypes=["FAILED", "LENGTH_CHANGE"], latencyMs=1.5, inputTokens=1, outputTokens=2, costUsd=0.000123456789,
)  # fmt: skip
WHOLE: list[Record[Fields]] = [
    FULL_RUN,
    a_test_run("bare", passed=True),
    failure("full", benchmarkRunId="run1", affectedCriterionIds=["rubric/tone"], rootCause="step 1", signals=["a", "b"],
            resolvedAt="2026-11-22T01:02:03.004Z", resolutionNotes="mended"),
    judgment("full", score=0.1),
    minion("metric", "eval-metric", benchmarkRunId="run1", dimension="named: ümläut", score=0.25, maxScore=5.0, notes="n"),
    comparison("compared", "p@1", "p@2", "run1", "run2", notes="n", tieThreshold=0.02, attempt=2),
    approval("refused", None, decision="refused", decidedByType="agent", overrideReason="because"),
    execution("branch:2"),
    audit("audit:2"),
    licence("licence:2", youdenCi=[0.2, 0.9], meanAbsoluteError=0.25, ceiling=0.75),
]  # fmt: skip


def put(db: Db, record: Record[Fields]) -> None:
    """Writes a result, whatever it needs beside it."""
    if record.id == "full" and record.type == "test-run":
        rows.insert(db, failure("full", "first"))
    elif record.type in {"eval-failure", "eval-judgment"}:
        put(db, FULL_RUN)
    rows.insert(db, record)


@pytest.mark.parametrize("record", WHOLE, ids=lambda record: f"{record.type}:{record.id}")  # pyright: ignore[reportUnknownLambdaType]  pytest's hook is untyped
async def test_a_result_is_read_as_it_was_written(small_store: Path, record: Record[Fields]) -> None:
    async with open_store(small_store) as store:
        await store.write(lambda db: put(db, record))
        assert await store.read(lambda db: records.find(db, record.id)) == record
        table = rows.TABLES[record.type]
        row = await store.read(lambda db: db.execute(rows.select(table, "id = ?"), (record.id,)).fetchone())
        assert rows.record_of(table, row) == record


async def test_a_benchmark_run_is_read_with_its_test_runs(small_store: Path) -> None:
    async with open_store(small_store) as store:
        found = await store.read(lambda db: records.find(db, "run1"))
    expected = benchmark_run("run1")
    idents = ("run1:1.1", "run1:2.1", "run1:3.1")
    assert found == replace(expected, fields=expected.fields.model_copy(update={"test_run_ids": idents}))


def test_every_result_type_has_a_table_or_is_a_record_that_changes() -> None:
    kinds = {kind.slug for kind in RESULTS}
    assert kinds - set(rows.TABLES) == {"eval-trend"}
    written = {record.type for record in WHOLE} | {"benchmark-run"}
    assert written == set(rows.TABLES)


async def test_nulls_inside_a_users_mapping_survive(small_store: Path) -> None:
    """An absent field is left out; a null that the user wrote is the user's."""
    async with open_store(small_store) as store:
        found = await store.read(lambda db: records.minion(db, "c1"))
        run = await store.read(lambda db: records.find(db, "run1:1.1"))
    assert found is not None
    assert found.wire()["fields"] == {
        **case("c1", rubricId="rubric", expectedOutputs={"output": None, "deep": {"null": None}}).wire()["fields"]  # pyright: ignore[reportGeneralTypeIssues]  a mapping
    }
    assert run is not None
    fields = run.wire()["fields"]
    assert isinstance(fields, dict)
    assert fields["actualOutput"] == {"output": "said", "none": None}


async def test_every_definition_is_read_as_it_was_written(small_store: Path) -> None:
    async with open_store(small_store) as store:
        for record in definitions():
            assert await store.read(lambda db, one=record: records.find(db, one.id)) == record


async def test_the_envelope_is_kept_whole(small_store: Path) -> None:
    record = replace(
        case("dressed"), title="A title", tags=("a", "b"), status="draft", created_by="ada",
        updated_at=START + timedelta(milliseconds=1001),
    )  # fmt: skip
    async with open_store(small_store) as store:
        assert await store.write(lambda db: records.save(db, record))
        assert await store.read(lambda db: records.minion(db, "dressed")) == record


async def test_saving_the_same_record_again_writes_nothing(small_store: Path) -> None:
    later = replace(definitions()[0], updated_at=START + timedelta(days=1))
    async with open_store(small_store) as store:
        assert not await store.write(lambda db: records.save(db, later))
        assert await store.read(lambda db: records.minion(db, later.id)) == definitions()[0]
        assert await store.write(lambda db: records.save(db, replace(later, title="Other")))
        found = await store.read(lambda db: records.minion(db, later.id))
    assert found is not None
    assert (found.title, found.updated_at) == ("Other", later.updated_at)


async def test_an_edited_copy_is_refused_by_the_store(small_store: Path) -> None:
    async with open_store(small_store) as store:
        with pytest.raises(RuleError, match="HR1: what an agent produced is kept as it was"):
            await store.write(lambda db: records.save(db, answer("answer-c1", "c1", "edited")))
        found = await store.read(lambda db: records.minion(db, "answer-c1"))
    assert found == answer("answer-c1", "c1", "said")


async def test_an_agent_run_that_completes_later_is_found_by_what_it_says_then(small_store: Path) -> None:
    done = answer("answer-open", "c1", "done", promptVersionRef="p@2")
    async with open_store(small_store) as store:
        await store.write(lambda db: records.save(db, done))
        asked = [wanted({"q": "c1"}, prompt_version_ref=version) for version in ("p@2", "p@3", "p@2")]
        found = await store.read(lambda db: matching_agent_runs(db, [*asked, asked[0]._replace(nth=1)]))
    assert found == [(done.id, "p@2"), None, (done.id, "p@2"), None]


async def test_pages_go_on_after_their_cursor_and_miss_nothing(small_store: Path) -> None:
    async with open_store(small_store) as store:
        for kind in ("test-case", "test-run", "agent-run"):
            whole = await store.read(lambda db, kind=kind: records.page(db, kind))
            paged: list[tuple[int, Record[Fields]]] = []
            after = 0
            while page := await store.read(
                lambda db, kind=kind, after=after: records.page(db, kind, after=after, limit=2)
            ):
                assert len(page) <= 2
                paged.extend(page)
                after = page[-1][0]
            assert paged == whole
            assert len({record.id for _, record in paged}) == len(paged) >= 3
        told = await store.read(lambda db: records.page(db, "task"))
    assert [record.id for _, record in told] == ["run3:task"]


async def test_a_hidden_record_leaves_the_lists_and_keeps_its_relations(small_store: Path) -> None:
    async with open_store(small_store) as store:
        before = await store.read(lambda db: links(db, "c1", "test-case"))
        hidden = replace(
            case("c1", rubricId="rubric", expectedOutputs={"output": None, "deep": {"null": None}}), deleted_at=START
        )
        assert await store.write(lambda db: records.save(db, hidden))
        listed = await store.read(lambda db: records.page(db, "test-case"))
        assert [record.id for _, record in listed] == ["c2", "c3"]
        assert len(await store.read(lambda db: records.page(db, "test-case", hidden=True))) == 3
        assert await store.read(lambda db: records.find(db, "c1")) == hidden
        assert await store.read(lambda db: links(db, "c1", "test-case")) == before
        assert Relation("c1", "rubric", "evaluated_by") in await store.read(lambda db: links(db, "rubric", "rubric"))


PAIRS: dict[str, tuple[Relation, ...]] = {
    "evaluated_by": (Relation("c1", "rubric", "evaluated_by"),),
    "produces": (Relation("c1", "run1:1.1", "produces"), Relation("bench", "run1", "produces")),
    "composed_of": (Relation("rubric", "rubric/tone", "composed_of"),),
    "contains": (Relation("run1:1.1", "run1:1.1:j:rubric/tone", "contains"),),
    "scores": (Relation("run1:1.1:j:rubric/tone", "rubric/tone", "scores"),),
    "groups": (Relation("bench", "c2", "groups"),),
    "aggregates": (Relation("run1", "run1:2.1", "aggregates"),),
    "tracked_by": (Relation("bench", "trend:bench", "tracked_by"),),
    "originated_from": (Relation("run1:3.1:failure", "run1:3.1", "originated_from"),),
    "references": (Relation("better", "run1", "references"), Relation("better", "run2", "references")),
    "follows": (Relation("p@2", "p@1", "follows"),),
}


@pytest.mark.parametrize(
    ("number", "name"),
    [(64, "evaluated_by"), (65, "produces"), (66, "composed_of"), (67, "contains"), (68, "scores"), (69, "groups"),
     (70, "produces"), (71, "aggregates"), (72, "tracked_by"), (73, "originated_from"), (74, "references"),
     (0, "follows")],
)  # fmt: skip
async def test_to_s074_a_relation_is_listed_from_both_of_its_ends(small_store: Path, number: int, name: str) -> None:
    async with open_store(small_store, read_only=True) as store:
        for relation in PAIRS[name]:
            for end in (relation.source_id, relation.target_id):
                record = await store.read(lambda db, end=end: records.find(db, end))
                assert record is not None
                found = await store.read(lambda db, record=record: links(db, record.id, record.type))
                assert found.count(relation) == 1, (number, end, found)


def test_to_s074_the_eleven_relations_are_the_seeds() -> None:
    assert [(one.source, one.name, one.target) for one in RELATIONS] == [
        ("test-case", "evaluated_by", "rubric"),
        ("test-case", "produces", "test-run"),
        ("rubric", "composed_of", "rubric-criterion"),
        ("test-run", "contains", "eval-judgment"),
        ("eval-judgment", "scores", "rubric-criterion"),
        ("benchmark", "groups", "test-case"),
        ("benchmark", "produces", "benchmark-run"),
        ("benchmark-run", "aggregates", "test-run"),
        ("benchmark", "tracked_by", "eval-trend"),
        ("eval-failure", "originated_from", "test-run"),
        ("prompt-comparison", "references", "benchmark-run"),
    ]


async def test_links_of_a_busy_record_are_bounded(small_store: Path) -> None:
    async with open_store(small_store, read_only=True) as store:
        found = await store.read(lambda db: links(db, "run1", "benchmark-run", limit=2))
    assert len([one for one in found if one.type == "aggregates"]) == 2


async def test_a_verdict_is_found_again_by_output_criterion_and_judge(small_store: Path) -> None:
    """The newest one counts, given under whatever criterion id; `only` narrows it to one unit."""
    first, second = UnitKey("job", 0, 1), UnitKey("job", 1, 1)

    async with open_store(small_store) as store:

        async def kept(about: VerdictKey, only: UnitKey | None = None) -> object:
            found = await store.read(lambda db: jobs.verdict(db, about, "renamed", only=only))
            return None if found is None else found[0]

        assert await kept(ABOUT) == NotJudgeable("renamed", "no picture")
        assert await kept(ABOUT, first) == verdict().model_copy(update={"criterion_id": "renamed"})
        assert await kept(ABOUT, second) == NotJudgeable("renamed", "no picture")
        assert await kept(ABOUT, UnitKey("job", 0, 2)) is None
        assert await kept(ABOUT, UnitKey("other", 0, 1)) is None
        others = [replace(ABOUT, **{part: "x"}) for part in ("subject", "criterion", "judge")]
        for other in others:
            assert await kept(other) is None


async def test_a_verdict_that_was_paid_for_is_kept_once(small_store: Path) -> None:
    unit = UnitKey("job", 0, 1)
    async with open_store(small_store) as store:
        await store.write(lambda db: jobs.save_verdict(db, unit, ABOUT, verdict(0.1), at=START))
        found = await store.read(lambda db: jobs.verdict(db, ABOUT, "rubric/tone", only=unit))
        number = await store.read(lambda db: db.execute("SELECT count(*) FROM verdict").fetchone()[0])
    assert found == (verdict(0.9), START)
    assert number == 2


async def test_an_output_that_is_kept_already_stays(small_store: Path) -> None:
    unit = UnitKey("job", 0, 1)
    async with open_store(small_store) as store:
        other = Observed(output={"output": "another"})
        await store.write(lambda db: jobs.save_units(db, [jobs.UnitRow(unit, "c1", "judge-error", "r", other)]))
        kept = (await store.read(lambda db: jobs.units(db, "job", first=0, last=1)))[0, 1]
    assert kept.observed == Observed(output={"output": "said"})
    assert (kept.outcome, kept.reason) == ("judge-error", "r")


async def test_a_job_starts_once_under_its_key(small_store: Path) -> None:
    async with open_store(small_store) as store:
        kept = await store.read(lambda db: jobs.job(db, "job"))
        assert kept is not None
        again = await store.write(lambda db: jobs.start(db, replace(kept, id="job2", subject_id="c2")))
        assert again == kept
        await store.write(lambda db: jobs.add_spent(db, "job", {"calls": 2, "usd": 0.5}))
        await store.write(lambda db: jobs.add_spent(db, "job", {"calls": 1}))
        found = await store.read(lambda db: jobs.job_by_key(db, "key"))
    assert found is not None
    assert found.spent == {"calls": 3, "usd": 0.5}


async def test_a_key_is_told_once(small_store: Path) -> None:
    task = minion("again", "task", title="Twice")
    async with open_store(small_store) as store:
        key = "investigate-regression:run3"
        assert not await store.write(lambda db: events.tell(db, task, key=key, addressee="tasks"))
        assert len(await store.read(events.outbox)) == 2


async def test_a_failure_takes_a_new_analysis_and_keeps_its_run(small_store: Path) -> None:
    changed = failure("run1:3.1", severity="minor", rootCause="found", resolvedAt=NOW)
    async with open_store(small_store) as store:
        await store.write(lambda db: rows.update_failure(db, changed))  # pyright: ignore[reportArgumentType]  an eval-failure
        assert await store.read(lambda db: records.find(db, changed.id)) == changed


async def test_ids_of_results_are_taken(small_store: Path) -> None:
    async with open_store(small_store) as store:
        wanted = ["run1", "run1:1.1", "run3:task", "job", "c1", "none"]
        assert await store.read(lambda db: records.result_ids(db, wanted)) == {"run1", "run1:1.1", "run3:task", "job"}
        with pytest.raises(RuleError, match="HR1: this id belongs to a result"):
            await store.write(lambda db: records.save(db, case("run1")))


async def test_a_result_written_twice_is_refused(small_store: Path) -> None:
    async with open_store(small_store) as store:
        with pytest.raises(RuleError, match="HR1"):
            await store.write(lambda db: rows.insert(db, a_test_run("run1:1.1", passed=True)))
        with pytest.raises(ConflictError, match="judged already"):
            await store.write(lambda db: rows.insert(db, judgment("run1:1.1")))


def ran(score: float, *judges: str) -> BenchmarkRun:
    fields = benchmark_run("run1").fields
    assert isinstance(fields, BenchmarkRun)
    return fields.model_copy(update={"ran_at": START, "overall_score": score, "judged_by": judges})


async def test_when_a_benchmark_ran_last_is_noted_as_if_it_had_been_saved_whole(small_store: Path) -> None:
    async with open_store(small_store) as store:
        last: tuple[tuple[float, tuple[str, ...]], ...] = ((0.1 + 0.2, ()), (1.5e-7, ("claude",)), (1.0, ()))
        for score, judges in last:
            run = ran(score, *judges)
            await store.write(lambda db, run=run: note_last_run(db, "bench", run))
            kept = await store.read(lambda db: records.require(db, "bench", Benchmark))
            assert (kept.fields.last_run_at, kept.fields.last_score) == (START, score)
            assert kept.fields.last_judged_by == judges
            assert await store.read(lambda db: records.kept_digests(db, ["bench"])) == {"bench": kept.content_digest()}
            assert kept.fields.test_case_ids == CASES
            assert (await store.read(lambda db: benchmark_head(db, "bench"))).title == kept.title


async def test_the_sums_of_a_benchmark_run_are_of_the_units_that_were_judged(small_store: Path) -> None:
    units = [
        jobs.UnitRow(UnitKey("run1", number, 1), case_id, "scored", test_run_id=f"run1:{number + 1}.1")
        for number, case_id in enumerate(CASES)
    ]
    job = jobs.Job("run1", "of run1", "benchmark", "b", {}, "completed", "", {}, 3, START, START)
    async with open_store(small_store) as store:
        await store.write(lambda db: jobs.start(db, job))
        await store.write(lambda db: jobs.save_units(db, units))
        sums = await store.read(lambda db: runs.sums(db, "run1"))
    assert (sums.runs, sums.passed, sums.cases) == (3, 2, 3)
    assert sums.scores.scores / sums.scores.maxima == pytest.approx(RUNS["run1"][1])  # pyright: ignore[reportUnknownMemberType]  pytest's


async def test_the_runs_of_a_benchmark_run_are_paged_and_filtered(small_store: Path) -> None:
    async with open_store(small_store, read_only=True) as store:
        failed = await store.read(lambda db: runs.runs_of(db, "run1", passed=False))
        passed = await store.read(lambda db: runs.runs_of(db, "run1", passed=True, limit=1))
        rest = await store.read(lambda db: runs.runs_of(db, "run1", passed=True, after=passed[0][0]))
    assert [record.id for _, record in failed] == ["run1:3.1"]
    assert [record.id for _, record in (*passed, *rest)] == ["run1:1.1", "run1:2.1"]


def test_the_one_look_up_over_all_types_uses_an_index_for_each(small_store: Path) -> None:
    with closing(open_raw(small_store)) as db:
        for table in ("minion", *(one.name for one in rows.TABLES.values())):
            plan = db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE id = 'x'").fetchall()
            assert "USING INDEX" in plan[0][3], table
