"""Taking records in: all of a batch or, by name, nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Rubric, TestBranch, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.cases.baselines import save_spooled
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, delete_record, get_record, save_records
from minions_evals_mcp.engine.records.spool import PAGE
from minions_evals_mcp.errors import ConflictError, InvalidRecordError, NotFoundError, RuleError
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.shipped import shipped_folder
from tests.workshop import (
    START,
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    by_rule,
    case,
    counts,
    found,
    minion,
    outbox,
    rubric,
    save,
    says,
    try_case,
)

GOOD: Json = {"output": "good"}
RUBRIC = rubric("r", 1, a=says("x"))
CRITERION = {"rubricId": "r", "name": "a", "judgeType": "heuristic", "scoringGuide": "[{type: contains, value: x}]"}


def version(number: int) -> Record[Fields]:
    """A prompt version `v` and its number."""
    return minion(f"v{number}", "prompt-version", content="Say it.", versionNumber=number)


def branch(number: int, case_id: str = "c") -> Record[Fields]:
    """A branch of an A/B test."""
    return minion(f"b{number}", "test-branch", testCaseId=case_id, name="x", provider="openai", model="m")


REFUSED: list[tuple[str, Sequence[Record[Fields]], str]] = [
    ("a case under an unknown rubric", [case("c", rubricId="nowhere")], "rubricId: there is no rubric 'nowhere'"),
    ("a case under a criterion", [*RUBRIC, case("c", rubricId="r/a")], "there is no rubric 'r/a'"),
    ("a rubric with an unknown criterion", [RUBRIC[0]], "criteriaIds: there is no rubric-criterion 'r/a'"),
    (
        "a rubric with another's criterion",
        [*RUBRIC, minion("s", "rubric", name="s", passingThreshold=1, criteriaIds=["r/a"])],
        "criterion 'r/a' belongs to the rubric 'r'",
    ),
    ("a criterion of an unknown rubric", [minion("a", "rubric-criterion", **CRITERION)], "there is no rubric 'r'"),
    ("a benchmark over an unknown case", [benchmark("b", "nowhere")], "testCaseIds: there is no test-case 'nowhere'"),
    ("a benchmark over a rubric", [*RUBRIC, benchmark("b", "r")], "there is no test-case 'r'"),
    ("a branch of an unknown case", [branch(1)], "testCaseId: there is no test-case 'c'"),
    ("a threshold that no output reaches", rubric("r", 1.1, a=says("x")), "passingThreshold: no output can reach 1.1"),
    ("a rubric without criteria", rubric("r", 0), "criteriaIds: a rubric needs at least one criterion"),
    ("weights that are all 0", rubric("r", 0, a=says("x", weight=0), b=says("y", weight=0)), "have weight 0"),
    ("prose for a rule", rubric("r", 1, a=by_rule("Be kind and clear.")), "scoringGuide: .* must contain assertions"),
    ("an empty guide for a rule", rubric("r", 1, a=by_rule("")), "must contain assertions"),
    ("a guide of unknown assertions", rubric("r", 1, a=by_rule("[{type: sounds-nice}]")), "sounds-nice"),
    ("an unknown assertion", [case("c", assertions=[{"type": "equals", "value": "x"}, {"type": "nice"}])], "nice"),
    ("an assertion that lacks its value", [case("c", assertions=[{"type": "contains"}])], r"assertions\[0\]"),
    ("a pattern that is none", [case("c", expectedOutputs={"output": "/a(/"})], "expectedOutputs.output"),
    ("a sixth branch", [case("c", expectedOutputs=GOOD), *(branch(n) for n in range(6))], "already has 5 branches"),
    ("one id twice", [case("c", expectedOutputs=GOOD), case("c", expectedOutputs=GOOD)], "id: duplicate id"),
    (
        "a result",
        [minion("m", "eval-metric", benchmarkRunId="x", dimension="d", score=1, maxScore=1)],
        "type: eval-metric records are made by runs, not imported",
    ),
    ("a task", [minion("t", "task", title="t")], "type: task records are made by runs, not imported"),
]


@pytest.mark.parametrize(("batch", "why"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED])
async def test_a_batch_is_refused_by_name_and_nothing_of_it_is_kept(
    engine: Engine, batch: Sequence[Record[Fields]], why: str
) -> None:
    before = await counts(engine)
    with pytest.raises(InvalidRecordError, match=why) as refused:
        await save(engine, case("fine", expectedOutputs=GOOD), batch)
    assert refused.value.record, "the record is named"
    with pytest.raises(InvalidRecordError, match=why) as refused:
        await save_spooled(engine, map(Arrival, [case("fine", expectedOutputs=GOOD), *batch]), by="command-line")
    assert refused.value.record, "in a great file, too"
    assert await counts(engine) == before


async def test_a_refusal_says_where_the_record_stands(engine: Engine) -> None:
    arrivals = [Arrival(case("c", rubricId="nowhere"), lambda: "suite.yaml:7")]
    with pytest.raises(InvalidRecordError, match=r"suite\.yaml:7: test-case c: fields\.rubricId"):
        await save_records(engine, arrivals)


def _great_file(**fields: JsonValue) -> list[Record[Fields]]:
    """A benchmark, more cases than a page holds, as many outputs, and at the end the rubric of all."""
    cases = [case(f"c{n}", rubricId="r", **fields) for n in range(PAGE + 1)]
    outputs = [answer(f"a{n}", f"c{n}", "good") for n in range(PAGE)]
    return [benchmark("b", *(one.id for one in cases)), *cases, *outputs, *RUBRIC]


async def test_a_file_of_several_pages_is_taken_whole_and_a_second_time_changes_nothing(engine: Engine) -> None:
    file = _great_file()
    saved, _ = await save_spooled(engine, map(Arrival, file), by="command-line")
    assert saved == Saved(len(file), 0, 0)
    before = await counts(engine)
    again, _ = await save_spooled(engine, map(Arrival, file), by="command-line")
    assert again == Saved(0, 0, len(file))
    assert await counts(engine) == before
    assert len((await found(engine, "b", Benchmark)).fields.test_case_ids) == PAGE + 1
    changed = [*file, case("new", rubricId="r"), case("c1", rubricId="r", name="other")]
    del changed[2]
    assert (await save_spooled(engine, map(Arrival, changed), by="command-line"))[0] == Saved(1, 1, len(file) - 1)
    assert (await found(engine, "c1", TestCase)).fields.name == "other"


async def test_of_a_file_of_several_pages_nothing_is_kept_where_its_last_record_is_refused(engine: Engine) -> None:
    last = Arrival(case("late", rubricId="nowhere"), lambda: "great.jsonl:600")
    before = await counts(engine)
    with pytest.raises(
        InvalidRecordError, match=r"great\.jsonl:600: test-case late: fields\.rubricId: there is no rubric"
    ):
        await save_spooled(engine, iter([*map(Arrival, _great_file()), last]), by="command-line")
    assert await counts(engine) == before


async def test_references_may_point_backwards_forwards_and_into_the_store(engine: Engine) -> None:
    await save(engine, RUBRIC)
    saved = await save(engine, benchmark("b", "c", "d"), case("c", rubricId="r"), case("d", expectedOutputs=GOOD))
    assert saved == Saved(new=3, changed=0, unchanged=0)


async def test_the_fifth_branch_is_kept_the_sixth_refused_and_a_deleted_one_makes_room(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), [branch(n) for n in range(5)])
    await save(engine, branch(4))
    with pytest.raises(InvalidRecordError, match="5 branches"):
        await save(engine, branch(5))
    await delete_record(engine, "b0")
    await save(engine, branch(5))
    assert len(await all_of(engine, TestBranch)) == 5


async def test_an_id_that_belongs_to_a_result_or_another_type_is_refused(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "bad"))
    await try_case(engine, "c")
    for taken in ("job1", "job1:1.1", "job1:1.1:failure", "job1:1.1:j1"):
        with pytest.raises(InvalidRecordError, match="this id belongs to a result"):
            await save(engine, case(taken, expectedOutputs=GOOD))
    with pytest.raises(InvalidRecordError, match=r"this id belongs to an? agent-run"):
        await save(engine, case("a", expectedOutputs=GOOD))


# Versions


async def versioned(engine: Engine) -> int:
    """The version at which the rubric stands."""
    return (await found(engine, "r", Rubric)).fields.version


async def test_a_rubrics_version_rises_when_it_or_a_criterion_is_edited_and_not_otherwise(engine: Engine) -> None:
    await save(engine, RUBRIC)
    assert await versioned(engine) == 1
    await save(engine, RUBRIC)
    assert await versioned(engine) == 1, "nothing was edited"
    await save(engine, rubric("r", 0.5, a=says("x")))
    assert await versioned(engine) == 2, "its threshold was"
    await save(engine, minion("r/a", "rubric-criterion", **{**CRITERION, "weight": 0.9}))
    assert await versioned(engine) == 3, "a criterion was, alone in its batch"
    await save(engine, rubric("r", 0.5, a=says("y")))
    assert await versioned(engine) == 4, "a criterion was, beside its rubric: one edit"
    await save(engine, rubric("r", 0.5, a=says("y"), b=says("z")))
    assert await versioned(engine) == 5, "a criterion came"


async def test_a_criterion_that_makes_its_rubric_unreachable_is_refused_alone_too(engine: Engine) -> None:
    await save(engine, RUBRIC)
    with pytest.raises(InvalidRecordError, match="no output can reach"):
        await save(engine, minion("r/a", "rubric-criterion", **{**CRITERION, "weight": 0.5}))
    assert await versioned(engine) == 1


async def test_a_criterion_cannot_leave_the_rubric_that_lists_it(engine: Engine) -> None:
    await save(engine, RUBRIC, rubric("s", 1, a=says("x")))
    with pytest.raises(InvalidRecordError, match="rubricId"):
        await save(engine, minion("r/a", "rubric-criterion", **{**CRITERION, "rubricId": "s"}))
    assert await versioned(engine) == 1


async def test_a_runs_rubric_version_is_the_one_that_it_was_judged_under(engine: Engine) -> None:
    await save(engine, RUBRIC, case("c", rubricId="r"), answer("a", "c", "x"))
    first = await try_case(engine, "c")
    await save(engine, rubric("r", 0.5, a=says("x")))
    second = await try_case(engine, "c")
    fields = [(await get_record(engine, f"{job.id}:1.1")).wire()["fields"] for job in (first, second)]
    assert [one["rubricVersion"] for one in fields if isinstance(one, dict)] == [1, 2]


# Again


async def test_importing_a_suite_twice_changes_nothing_even_after_its_benchmark_has_run(engine: Engine) -> None:
    arrivals, relations = read_suite(_suite("prompts"), new_id=engine.new_id, now=START)
    first = await save_records(engine, arrivals, relations)
    assert (first.new, first.changed, first.unchanged) == (len(arrivals), 0, 0)
    (subject,) = await all_of(engine, Benchmark)
    await bench(engine, subject.id, judge="heuristic")
    before, kept = await counts(engine), await found(engine, subject.id, Benchmark)
    again, relations = read_suite(_suite("prompts"), new_id=engine.new_id, now=START)
    assert await save_records(engine, again, relations) == Saved(0, 0, len(arrivals))
    assert await counts(engine) == before, "no event either"
    assert await found(engine, subject.id, Benchmark) == kept
    assert kept.fields.last_score is not None


def _suite(name: str) -> Path:
    return shipped_folder("fixtures") / f"{name}.yaml"


async def test_an_edited_record_counts_as_changed_and_leaves_one_event(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD))
    before = (await counts(engine))["event"]
    assert await save(engine, case("c", expectedOutputs=GOOD, name="other")) == Saved(0, 1, 0)
    assert (await counts(engine))["event"] == before + 1
    assert (await found(engine, "c", TestCase)).fields.name == "other"


@pytest.mark.parametrize("status", ["success", "failed"])
async def test_a_complete_agent_run_is_never_edited(engine: Engine, status: str) -> None:
    await save(engine, answer("a", "c", "good", status=status))
    with pytest.raises(RuleError, match="HR1"):
        await save(engine, answer("a", "c", "better", status=status))
    assert (await found(engine, "a", AgentRun)).fields.outputs == {"output": "good"}


async def test_a_prompt_version_is_a_copy_and_is_never_edited(engine: Engine) -> None:
    await save(engine, version(1))
    with pytest.raises(RuleError, match="HR1"):
        await save(engine, minion("v1", "prompt-version", content="Other.", versionNumber=1))


# Chains of versions


async def follow(engine: Engine, *pairs: tuple[int, int]) -> None:
    """Says which version follows which."""
    await save(engine, relations=[Relation(f"v{newer}", f"v{older}", "follows") for newer, older in pairs])


async def test_versions_that_follow_each_other_in_a_circle_are_refused(engine: Engine) -> None:
    await save(engine, *(version(n) for n in (1, 2, 3)))
    await follow(engine, (2, 1), (3, 2))
    before = await counts(engine)
    for pairs in ([(1, 3)], [(1, 1)], [(1, 2)]):
        with pytest.raises(InvalidRecordError, match="cycle"):
            await follow(engine, *pairs)
    with pytest.raises(InvalidRecordError, match="no prompt-version 'v9'"):
        await follow(engine, (9, 1))
    assert await counts(engine) == before


# Hiding


async def test_a_deleted_record_is_hidden_from_lists_and_kept_for_what_refers_to_it(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "good"))
    job = await try_case(engine, "c")
    hidden = await delete_record(engine, "c")
    assert hidden.deleted_at is not None
    assert not await all_of(engine, TestCase)
    assert (await get_record(engine, "c")).deleted_at == hidden.deleted_at
    assert (await get_record(engine, f"{job.id}:1.1")).type == "test-run"
    assert (await delete_record(engine, "c")).deleted_at == hidden.deleted_at, "twice is once"


async def test_history_is_not_deleted(engine: Engine) -> None:
    await save(
        engine, case("c", expectedOutputs=GOOD), answer("a", "c", "bad"), rubric("r", 1, a={"judgeType": "human"})
    )
    await save(engine, case("h", rubricId="r"), answer("b", "h", "x"))
    await try_case(engine, "c")
    await try_case(engine, "h")
    (asked,) = await outbox(engine)
    before = await counts(engine)
    for ident in ("job1:1.1", "job1:1.1:failure", asked.record.id):
        with pytest.raises(ConflictError, match="cannot be deleted"):
            await delete_record(engine, ident)
    with pytest.raises(NotFoundError):
        await delete_record(engine, "nowhere")
    assert await counts(engine) == before


async def test_a_deleted_record_comes_back_when_it_is_imported_again(engine: Engine) -> None:
    fields: dict[str, JsonValue] = {"expectedOutputs": GOOD}
    await save(engine, case("c", **fields))
    await delete_record(engine, "c")
    await save(engine, case("c", **fields))
    assert [one.id for one in await all_of(engine, TestCase)] == ["c"]
