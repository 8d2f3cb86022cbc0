"""From a failure to a test case: what failed, or an imported trace, becomes a case that this output fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Benchmark, Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, TestRun
from minions_evals_mcp.domain.values import Value, is_blank
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import run_and_case
from minions_evals_mcp.engine.records.save_records import Arrival, batch_of, write_batch
from minions_evals_mcp.errors import BadInputError, NotFoundError, SealedError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.verdicts.separating_checks import failing_checks, separating_checks
from minions_evals_mcp.store import records, runs, seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import case_history

TAG = "promoted"
LONG_NAME = 80


class Promoted(Value):
    """The case that was made. `status` "draft": it waits for a person to say what is right, and is not run until then.

    `askedBefore`: cases with the same inputs.
    """

    test_case_id: str
    status: str
    name: str
    source_id: str
    wrong_output: str
    corrected: str | None
    assertions: list[Json]
    what_was_wrong: str
    benchmark_id: str | None
    asked_before: list[str] = []


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a promotion: the output with its inputs, what was wrong with it, and the case that it failed, if one."""

    ident: str
    inputs: Json
    output: Json
    wrong: str
    case: Record[TestCase] | None
    agent_id: str | None
    points: float = 1.0
    """What the failed output could have scored: the new case weighs as much among others."""


async def promote_failure(
    engine: Engine, ident: str, *, corrected: str | None = None, why: str | None = None, into: str | None = None
) -> Promoted:
    """Makes a test case of a failed run or an imported trace; done twice, it is the same case.

    `ident` is RUN:CASE (a run's id, key or `latest`, and the case's id), a failed test-run's id, or an agent-run's. With
    `corrected` the case has a check that fails on what came and passes on that; without, it is a draft and waits for a person.
    `why` says what was wrong, in place of what the failure says; `into` is a benchmark that takes the case up. Raises
    `NotFoundError`, `BadInputError` for a run that passed or a correction that changes nothing, `SealedError`.
    """
    source = await engine.store.read(partial(_source, ident=ident))
    checks = _checks(source, corrected)
    fields = _case(engine, source, checks, corrected, why)
    now = engine.clock()
    name = fields.name
    case_id = f"{TAG}/{digest(source.ident)[:12]}"
    record = Record(case_id, fields, name, now, now, (TAG,), created_by=engine.speaker.name or None)
    if into is not None:
        await engine.store.read(partial(_with_case, ident=into, case_id=case_id))  # as whoever asks may see it

    def save(db: Db) -> None:  # the benchmark as it stands now: others may be adding to it
        taken_up = [] if into is None else [Arrival(_with_case(db, ident=into, case_id=case_id))]
        write_batch(db, batch_of([Arrival(record), *taken_up]), by=engine.speaker, now=now)

    await engine.store.write(save)
    twins = await engine.store.read(partial(case_history.cases_asking, inputs=source.inputs, but=case_id))
    return Promoted(
        test_case_id=case_id,
        status=fields.status,
        name=name,
        source_id=source.ident,
        wrong_output=output_text(source.output),
        corrected=corrected,
        assertions=[check.model_dump(mode="json", exclude_none=True) for check in checks],
        what_was_wrong=why or source.wrong,
        benchmark_id=into,
        asked_before=twins,
    )


def _checks(source: _Source, corrected: str | None) -> tuple[Assertion, ...]:
    text = output_text(source.output) if source.output else ""
    if corrected is None:
        return failing_checks(text)
    if is_blank(corrected):
        raise BadInputError(
            "the corrected output is empty.", remedy="Give the answer that the agent should have returned."
        )
    try:
        return separating_checks(text, corrected)
    except ValueError as error:
        raise BadInputError(f"{error}.", remedy="Give the correct output.") from None


def _case(
    engine: Engine, source: _Source, checks: tuple[Assertion, ...], corrected: str | None, why: str | None
) -> TestCase:
    origin = source.case.fields if source.case is not None else None
    title = source.case.title if source.case is not None else f"a trace of {source.agent_id}"
    return TestCase(
        name=f"Failed once: {title}"[:LONG_NAME],
        description="\n".join(_lines(source, corrected, why)),
        agent_id=source.agent_id or (origin.agent_id if origin else None),
        skill_id=origin.skill_id if origin else None,
        prompt_id=origin.prompt_id if origin else None,
        inputs=source.inputs,
        expected_outputs=None if corrected is None else {"output": corrected},
        assertions=checks,
        max_score=source.points,
        timeout_ms=origin.timeout_ms if origin else None,
        tags=(*(origin.tags if origin else ()), TAG),
        status="draft" if corrected is None else "active",
        created_by=engine.speaker.name or None,
    )


def _lines(source: _Source, corrected: str | None, why: str | None) -> Iterator[str]:
    yield f"Created from {source.ident}."
    yield f"What was wrong: {why or source.wrong}"
    if corrected is None:
        yield "It needs a correct answer from a person: promote it again with the corrected output."


def _source(db: Db, *, ident: str) -> _Source:
    run = records.get(db, ident, TestRun)
    if run is not None:
        return _of_run(db, run)
    failure = records.get(db, ident, EvalFailure)
    if failure is not None:
        return _of_run(db, records.require(db, failure.fields.test_run_id, TestRun))
    trace = records.get(db, ident, AgentRun)
    if trace is not None:
        return _of_trace(trace)
    test_run = next(_runs_named(db, ident), None)
    if test_run is None:
        raise NotFoundError(
            "failed run",
            ident,
            remedy=f"Name it as RUN:CASE. {Next('classify', {'run_id': 'RUN'}, 'shows the cases that failed')}.",
        )
    return _of_run(db, test_run)


def _runs_named(db: Db, ident: str) -> Iterator[Record[TestRun]]:
    """The failed runs of RUN:CASE.

    Raises `SealedError` for a sealed case, `BadInputError` for one that passed.
    """
    for job, case_id in run_and_case(db, ident):
        _refuse_sealed(db, case_id)
        tried = runs.runs_of_case(db, job.id, case_id)
        failed = [test_run for test_run in tried if not test_run.fields.passed]
        if tried and not failed:
            raise BadInputError(f"{case_id} passed in {job.id}: there is no failure to promote.")
        yield from failed


def _refuse_sealed(db: Db, case_id: str) -> None:
    if seals.sealed_among(db, [case_id]):
        raise SealedError(
            f"{case_id} is sealed: it cannot become an open case.",
            remedy="Write a new case for what you learned from its verdicts.",
        )


def _of_run(db: Db, run: Record[TestRun]) -> _Source:
    _refuse_sealed(db, run.fields.test_case_id)
    if run.fields.passed:
        raise BadInputError(f"the test-run {run.id} passed: there is no failure to promote.")
    case = records.get(db, run.fields.test_case_id, TestCase)
    trace = None if run.fields.agent_run_id is None else records.get(db, run.fields.agent_run_id, AgentRun)
    failure = runs.failures_of(db, [run.id])[run.id].fields
    inputs = trace.fields.inputs if trace is not None else case.fields.inputs if case is not None else {}
    wrong = f"{failure.failure_type}: {failure.root_cause.rstrip('.')}. {failure.description}"
    points = run.fields.max_possible_score
    return _Source(run.id, inputs, run.fields.actual_output, wrong, case, trace and trace.fields.agent_id, points)


def _of_trace(trace: Record[AgentRun]) -> _Source:
    fields = trace.fields
    if fields.status in {"running", "pending-approval"}:
        raise BadInputError(f"the agent-run {trace.id} is {fields.status}.", remedy="Promote it once it is complete.")
    wrong = fields.error_message or "not described yet: what was wrong with this output"
    return _Source(trace.id, fields.inputs, fields.outputs, wrong, None, fields.agent_id)


def _with_case(db: Db, *, ident: str, case_id: str) -> Record[Benchmark]:
    """The benchmark with the case among its own."""
    benchmark = records.require(db, ident, Benchmark)
    cases = tuple(dict.fromkeys((*benchmark.fields.test_case_ids, case_id)))
    fields = benchmark.fields.model_copy(update={"test_case_ids": cases})
    return Record(
        benchmark.id,
        fields,
        benchmark.title,
        benchmark.created_at,
        benchmark.updated_at,
        benchmark.tags,
        benchmark.status,
        benchmark.created_by,
    )
