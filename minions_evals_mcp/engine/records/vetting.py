"""The conditions of a record before it is kept: its type, id, references and rules."""

from __future__ import annotations

from collections.abc import Iterator

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import (
    SIMILARITY,
    Benchmark,
    Fields,
    Rubric,
    RubricCriterion,
    TestBranch,
    TestCase,
    World,
)
from minions_evals_mcp.domain.neighbours import AgentRun, has_more_scores
from minions_evals_mcp.domain.records import FINAL, IMPORTABLE, Record, of_type
from minions_evals_mcp.engine.records.batch import View, is_final, name_of
from minions_evals_mcp.engine.records.branch_parameters import vet_parameters
from minions_evals_mcp.engine.records.schedules import vet_schedule
from minions_evals_mcp.errors import InvalidRecordError, RuleError
from minions_evals_mcp.judges.heuristic import guide, takes_proposal
from minions_evals_mcp.scoring.assertions.table import vet
from minions_evals_mcp.scoring.conversations.script import vet_conversation
from minions_evals_mcp.scoring.max_score import parted
from minions_evals_mcp.scoring.rubric import vet_rubric
from minions_evals_mcp.scoring.verdicts.expected import expectation
from minions_evals_mcp.store import records

AT_ONCE = 10_000
MAX_BRANCHES = 5


def vet_record(view: View, record: Record[Fields]) -> None:
    """Raises where the record's type, id, references or rules do not hold."""
    name = name_of(record)
    if record.type not in IMPORTABLE:
        raise InvalidRecordError(
            f"{record.type} records are made by runs, not imported",
            field="type",
            record=name,
            remedy=f"Import takes {', '.join(IMPORTABLE)}.",
        )
    if record.id in view.taken:
        raise InvalidRecordError("this id belongs to a result", field="id", record=name)
    record_before = view.kept.get(record.id)
    if record_before is not None:
        _vet_change(record_before, record)
    if record.type not in FINAL:  # a copy of what a neighbour made: its type says all
        _vet_fields(view, record)


def _vet_fields(view: View, record: Record[Fields]) -> None:
    if (case := of_type(record, TestCase)) is not None:
        _vet_case(view, case)
    elif (rubric := of_type(record, Rubric)) is not None:
        vet_rubric(rubric, _criteria(view, rubric))
    elif (criterion := of_type(record, RubricCriterion)) is not None:
        _vet_criterion(view, criterion)
    elif (benchmark := of_type(record, Benchmark)) is not None:
        _vet_benchmark(view, benchmark)
    elif (world := of_type(record, World)) is not None:
        _vet_world(world)
    elif (branch := of_type(record, TestBranch)) is not None:
        _vet_branch(view, branch)


def _vet_world(record: Record[World]) -> None:
    """Refuses a fault that never comes, a rule on what is never sent, and a script that makes no database."""
    _vet_names(record, record.fields)
    state = record.fields.database
    if state is None or state.sql is None:
        return
    from minions_evals_mcp.store.worlds.databases import script_problem  # noqa: PLC0415  few records are worlds

    problem = script_problem(state.sql)
    if problem is not None:
        raise InvalidRecordError(problem, field="fields.database.sql", record=name_of(record))


def _vet_change(stored: Record[Fields], record: Record[Fields]) -> None:
    if stored.type != record.type:
        raise InvalidRecordError(f"this id belongs to a {stored.type}", field="id", record=name_of(record))
    if record.type in FINAL and is_final(stored.fields) and not _says_the_same(stored.fields, record.fields):
        raise RuleError(
            "HR1",
            f"{name_of(record)} is already recorded with different content, and cannot be edited.",
            remedy=_NEW_ID if isinstance(record.fields, AgentRun) else "Use a new id.",
        )


_NEW_ID = "Save it under a new id. The newest output with a case's inputs is the one that is judged."


def _says_the_same(stored: Fields, arriving: Fields) -> bool:
    """Whether the copy is the kept one; an output may have more scores of its own tool."""
    if isinstance(stored, AgentRun) and isinstance(arriving, AgentRun) and stored != arriving:
        return has_more_scores(stored, arriving)
    return stored == arriving


def _vet_case(view: View, record: Record[TestCase]) -> None:
    case = record.fields
    if case.rubric_id is not None and view.get(case.rubric_id, Rubric) is None:
        raise no_rubric(record)
    world = None if case.world is None else view.get(case.world, World)
    if case.world is not None and world is None:
        raise no_world(record)
    _vet_conversation(record)
    vet_checks(record, of_config=record.id in view.of_config or _judged_as_kept(view, record))
    if world is not None:
        _vet_names(record, world.fields)


def _vet_names(record: Record[TestCase] | Record[World], world: World) -> None:
    """Refuses a fault or a check of what the world does not have. What only a tape or a real server knows is seen in a run."""
    from minions_evals_mcp.world import naming  # noqa: PLC0415  few records have worlds

    known = naming.offered(world)
    case = of_type(record, TestCase)
    unknown = [*naming.unknown_faults(record.fields.faults, known)]
    unknown += naming.unknown_in_rules(known) if case is None else naming.unknown_in_checks(case.fields, known)
    for field, reason, remedy in unknown:
        raise InvalidRecordError(reason, field=f"fields.{field}", record=name_of(record), remedy=remedy)


def _vet_conversation(record: Record[TestCase]) -> None:
    """Refuses a conversation with a pattern that cannot be searched, or with a stop rule on a world that there is not."""
    setup = record.fields.conversation
    if setup is None:
        return
    try:
        vet_conversation(setup)
    except InvalidRecordError as error:
        raise InvalidRecordError(
            error.reason, field=f"fields.conversation.{error.field}", record=name_of(record)
        ) from None
    if setup.ends is not None and setup.ends.state is not None and record.fields.world is None:
        raise InvalidRecordError(
            "a state needs a world; name one under `world`", field="fields.conversation.ends.state", record=name_of(record)
        )  # fmt: skip


def no_rubric(record: Record[TestCase]) -> InvalidRecordError:
    """The refusal of a case under a rubric that is not there."""
    return InvalidRecordError(
        f"there is no rubric {record.fields.rubric_id!r}", field="fields.rubricId", record=name_of(record)
    )


def no_world(record: Record[TestCase]) -> InvalidRecordError:
    """The refusal of a case in a world that is not there."""
    return InvalidRecordError(
        f"there is no world {record.fields.world!r}", field="fields.world", record=name_of(record)
    )


def vet_checks(record: Record[TestCase], *, of_config: bool) -> None:
    """Raises where what judges the case does not hold by itself, whatever else is kept; `of_config` as in `Arrival`."""
    case = record.fields
    if case.scoring is not None and not of_config:
        raise InvalidRecordError(
            "code that replaces the assertions is allowed only in a config that a person runs with `eval`",
            field="fields.scoring",
            record=name_of(record),
        )
    checks = parted(case.assertions)[0] if case.assertions else ()
    own = ((f"assertions[{number}]", check) for number, check in enumerate(case.assertions) if check in checks)
    for place, assertion in (*own, *_of_turns(case)):
        try:
            vet(assertion, at=f"fields.{place}", of_config=of_config)
        except InvalidRecordError as error:
            field = ": ".join(part for part in (error.where, error.record, error.field) if part)
            raise InvalidRecordError(
                error.reason, field=field, record=name_of(record), remedy=error.remedy_text
            ) from None
    if case.pass_rule != SIMILARITY:
        for key, value in (case.expected_outputs or {}).items():
            vet(expectation(value), at=f"fields.expectedOutputs.{key}")


def _of_turns(case: TestCase) -> Iterator[tuple[str, Assertion]]:
    """The checks of turns, each with where it stands."""
    parts = {**{f"turns.{number}": checks for number, checks in case.turns.items()},
             "everyTurn": case.every_turn, "agentTurns": case.agent_turns}  # fmt: skip
    for place, checks in parts.items():
        for number, assertion in enumerate(checks):
            yield f"{place}[{number}]", assertion


def _judged_as_kept(view: View, record: Record[TestCase]) -> bool:
    """Returns whether the case's checks are those that it has: who judges it came in through a config, then."""
    case = of_type(view.kept.get(record.id), TestCase)
    return case is not None and (case.fields.checks, case.fields.scoring) == (
        record.fields.checks,
        record.fields.scoring,
    )


def _criteria(view: View, rubric: Record[Rubric]) -> list[Record[RubricCriterion]]:
    criteria: list[Record[RubricCriterion]] = []
    for ident in rubric.fields.criteria_ids:
        criterion = view.get(ident, RubricCriterion)
        if criterion is None:
            raise InvalidRecordError(
                f"there is no rubric-criterion {ident!r}", field="fields.criteriaIds", record=name_of(rubric)
            )
        if criterion.fields.rubric_id != rubric.id:
            raise InvalidRecordError(
                f"criterion {ident!r} belongs to the rubric {criterion.fields.rubric_id!r}",
                field="fields.criteriaIds",
                record=name_of(rubric),
            )
        criteria.append(criterion)
    return criteria


def _vet_criterion(view: View, record: Record[RubricCriterion]) -> None:
    rubric = view.get(record.fields.rubric_id, Rubric)
    if rubric is None:
        raise InvalidRecordError(
            f"there is no rubric {record.fields.rubric_id!r}", field="fields.rubricId", record=name_of(record)
        )
    _vet_stays(view, record)
    if record.fields.judge_type == "heuristic" or takes_proposal(record.fields):
        guide(record.fields.scoring_guide)
    if record.id in rubric.fields.criteria_ids:
        vet_rubric(rubric, _criteria(view, rubric))


def _vet_stays(view: View, record: Record[RubricCriterion]) -> None:
    """A criterion keeps its rubric as long as that lists it: else its runs' version would not rise with the edit."""
    criterion = of_type(view.kept.get(record.id), RubricCriterion)
    if criterion is None or criterion.fields.rubric_id == record.fields.rubric_id:
        return
    rubric = view.get(criterion.fields.rubric_id, Rubric)
    if rubric is not None and record.id in rubric.fields.criteria_ids:
        raise InvalidRecordError(
            f"the rubric {rubric.id!r} lists this criterion",
            field="fields.rubricId",
            record=name_of(record),
            remedy="Remove it there first, or use a new id.",
        )


def _vet_benchmark(view: View, record: Record[Benchmark]) -> None:
    if record.fields.schedule is not None:
        vet_schedule(record.fields.schedule, record=name_of(record), now=record.updated_at)
    wanted = record.fields.test_case_ids
    for at in range(0, len(wanted), AT_ONCE):  # a log's benchmark may hold a million
        part = wanted[at : at + AT_ONCE]
        case_ids = records.ids_of(view.db, [ident for ident in part if ident not in view.arriving], TestCase)
        for ident in part:
            if ident not in case_ids and of_type(view.arriving.get(ident), TestCase) is None:
                raise InvalidRecordError(
                    f"there is no test-case {ident!r}", field="fields.testCaseIds", record=name_of(record)
                )


def _vet_branch(view: View, record: Record[TestBranch]) -> None:
    vet_parameters(record.fields, record=name_of(record))
    case_id = record.fields.test_case_id
    if view.get(case_id, TestCase) is None:
        raise InvalidRecordError(
            f"there is no test-case {case_id!r}", field="fields.testCaseId", record=name_of(record)
        )
    branch_ids = {branch.id for branch in records.branches_of(view.db, case_id)}
    arriving = {
        record.id
        for record in view.arriving.values()
        if isinstance(record.fields, TestBranch) and record.fields.test_case_id == case_id
    }
    if len(branch_ids | arriving) > MAX_BRANCHES:
        raise InvalidRecordError(
            f"test-case {case_id} already has {MAX_BRANCHES} branches",
            field="fields.testCaseId",
            record=name_of(record),
            remedy="Delete one first.",
        )
