"""The skill "classify failures": the rules' analysis again, and beside it what a model says where the rules are not sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import MemoryItem
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, TestRun
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.failures.explain_failure import Explainer, explainer
from minions_evals_mcp.engine.failures.material import failed_run, material
from minions_evals_mcp.engine.jobs import find_job, run_and_case
from minions_evals_mcp.engine.judge.compose import failure_record
from minions_evals_mcp.engine.outbox import queue
from minions_evals_mcp.scoring.failure_causes import suggestion
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import failure_causes
from minions_evals_mcp.store.rows import update_failure
from minions_evals_mcp.store.seals import sealed_among


class ClassifyEstimate(Value):
    """Failures to be analysed, of how many of them the model would be asked, and a bound on that; null where a price is unknown."""

    failures: int
    model: str | None
    model_calls: int
    cost_usd: float | None


async def classify_failure(
    engine: Engine, test_run_id: str, *, explain: bool | None = None, by: Explainer | None = None
) -> Record[EvalFailure]:
    """The failed run's eval-failure, analysed again, and its findings asked to be remembered.

    A model is asked where the rules are not sure and the operator allows it (`explain`, else the setting). What it says stands
    beside what the rules found, and only with a step of the log and words of that step. `by` is asked instead where several
    failures are explained under one cap. Raises `NotFoundError` for an unknown run, `BadInputError` for one that passed,
    `InstrumentError` where the model failed, `StoppedError` at the cap.
    """
    by_whom = by or explainer(engine, allowed=explain)
    material_read = await engine.store.read(partial(material, test_run_id=test_run_id))
    analysis = material_read.by_rule(engine.skills.classify_failure.parameters)
    record = failure_record(material_read.run, analysis)
    failure = material_read.failure
    cause = failure.fields.model_cause
    if by_whom.asks_about(analysis, failure.fields):
        cause = await by_whom.explained(record, analysis, material_read.work)
    fields = record.fields.model_copy(
        update={
            "resolved_at": failure.fields.resolved_at,
            "resolution_notes": failure.fields.resolution_notes,
            "model_cause": cause,
        }
    )
    changed = replace(failure, fields=fields, updated_at=engine.clock())
    is_new = fields != failure.fields
    await engine.store.write(
        partial(_keep, run=material_read.run, failure=changed, is_new=is_new, at=changed.updated_at)
    )
    return changed


async def failed_run_ids(engine: Engine, ident: str) -> list[str]:
    """The failed test-runs of the run under that id or key, or of RUN:CASE; else the one of the eval-failure; else the id itself."""
    return await engine.store.read(lambda db: _failed_ids(db, ident))


def _failed_ids(db: Db, ident: str) -> list[str]:
    job = find_job(db, ident)
    if job is not None:
        return runs.failed_ids(db, job.id)
    failure = records.get(db, ident, EvalFailure)
    if failure is not None:
        return [failure.fields.test_run_id]
    return ([] if records.get(db, ident, TestRun) is not None else _failed_of_case(db, ident)) or [ident]


def _failed_of_case(db: Db, ident: str) -> list[str]:
    """The failed runs that RUN:CASE names; none of a sealed case, of which it is not told whether it passed."""
    return [
        run.id
        for job, case_id in run_and_case(db, ident)
        if not sealed_among(db, [case_id])
        for run in runs.runs_of_case(db, job.id, case_id)
        if not run.fields.passed
    ]


async def classify_failures(
    engine: Engine, run_id: str, *, explain: bool | None = None, by: Explainer | None = None
) -> list[Record[EvalFailure]]:
    """The eval-failure of that test-run, or of every failed test-run of that run, analysed again; raises as above."""
    by = by or explainer(engine, allowed=explain)
    return [await classify_failure(engine, ident, by=by) for ident in await failed_run_ids(engine, run_id)]


async def estimate_classification(engine: Engine, test_run_ids: Sequence[str], by: Explainer) -> ClassifyEstimate:
    """Returns what analysing those failures would cost at most; raises what analysing them would, and writes nothing."""
    costs: list[float | None] = []
    for ident in test_run_ids:
        material_read = await engine.store.read(partial(material, test_run_id=ident))
        analysis = material_read.by_rule(engine.skills.classify_failure.parameters)
        if by.asks_about(analysis, material_read.failure.fields):
            costs.append(by.estimate_usd(analysis, material_read.work))
    known = [cost for cost in costs if cost is not None]
    return ClassifyEstimate(
        failures=len(test_run_ids),
        model=None if by.model is None else str(by.model),
        model_calls=len(costs),
        cost_usd=round(sum(known), 6) if len(known) == len(costs) else None,
    )


def _keep(db: Db, *, run: Record[TestRun], failure: Record[EvalFailure], is_new: bool, at: datetime) -> None:
    fields = failure.fields
    if is_new:
        update_failure(db, failure)
        detail = {"testRunId": run.id, "failureType": fields.failure_type, "classifiedBy": fields.classified_by}
        append(db, Event("eval-failure-classified", "eval-failure", failure.id, {**detail}), at=at)
    _ask_to_remember(db, run, failure, at)


async def store_findings(engine: Engine, test_run_id: str) -> Record[EvalFailure]:
    """The failed run's eval-failure as it stands, its findings asked to be remembered; nothing is analysed again."""
    at = engine.clock()

    def ask(db: Db) -> Record[EvalFailure]:
        run, failure = failed_run(db, test_run_id)
        _ask_to_remember(db, run, failure, at)
        return failure

    return await engine.store.write(ask)


def _ask_to_remember(db: Db, run: Record[TestRun], failure: Record[EvalFailure], at: datetime) -> None:
    """Asks for a memory-item for the agent concerned, if one is: one for each cause, not for each case that shows it.

    A cause that was gone and came back is asked to be remembered again.
    """
    agent_id = _agent_concerned(db, run.fields)
    if agent_id is None:
        return
    fields = failure.fields
    value: Json = {
        "testCaseId": run.fields.test_case_id, "testRunId": run.id, "failureType": fields.failure_type,
        "severity": fields.severity, "description": fields.description, "rootCause": fields.root_cause,
        "suggestion": suggestion(fields.root_cause, fields.failure_type),
        "affectedCriterionIds": list(fields.affected_criterion_ids),
    }  # fmt: skip
    cause = fields.cause_key or failure.id
    finding = MemoryItem(
        agent_id=agent_id, key=f"eval-failure/{cause}", value=value, confidence=fields.confidence,
        source_ref_type="eval-failure", source_ref_id=failure.id, created_at=at,
    )  # fmt: skip
    name = f"finding:{digest([agent_id, cause, failure_causes.times_back(db, run.id, cause)])}"
    queue(db, name, finding, key=name, at=at)


def _agent_concerned(db: Db, run: TestRun) -> str | None:
    """Returns who produced the output: the agent of the agent-run, else the one that the case names."""
    if run.agent_run_id is not None and run.produced_by is not None:
        return run.produced_by
    case = records.get(db, run.test_case_id, TestCase)
    return None if case is None else case.fields.agent_id
