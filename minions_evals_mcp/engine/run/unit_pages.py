"""The units that are still to be carried out, by the page: each with the output that it judges and what it is compared with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from minions_evals_mcp.domain.conversations import UserLabel
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.engine.jobs import request_of, root_run
from minions_evals_mcp.engine.judge.yardstick import Measure, measures
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.planning import SETTLED, RunPlan
from minions_evals_mcp.engine.run.recorded_runs import RecordedRun, WantedRun, recorded_runs
from minions_evals_mcp.engine.run.units import (
    TOGETHER,
    Bench,
    Unit,
    agent_runs,
    earlier_runs,
    made_before,
    proposal_scores,
)
from minions_evals_mcp.engine.run.versions import vet_agent_run
from minions_evals_mcp.scoring.verdicts.history import RunSample
from minions_evals_mcp.store import jobs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.records import Unread

READ = 500
"""So many units are read at a time, judged where they are at hand, and written in one go."""


async def open_units(bench: Bench, job_id: str, case_ids: Sequence[str], plan: RunPlan) -> AsyncIterator[list[Unit]]:
    """The units that are not settled yet, by the page, with the outputs that were paid for already.

    A unit that may wait for anything makes a page of its own.
    """
    size = max(1, READ // bench.request.trials)
    for at in range(0, len(case_ids), size):
        part = case_ids[at : at + size]
        opened = partial(_open, bench=bench, job_id=job_id, first=at, case_ids=part, plan=plan)
        async with bench.turn:
            units = await bench.engine.store.read_for(opened, sealed=bench.seal is not None)
        for page in pages_of(bench, units):
            yield page


def pages_of(bench: Bench, units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """The units by the page: what may wait for anything makes a page of its own."""
    at_hand: list[Unit] = []
    for unit in units:
        if unit.comes_alone(bench):
            yield [unit]
            continue
        at_hand.append(unit)
        if len(at_hand) == TOGETHER:
            yield at_hand
            at_hand = []
    if at_hand:
        yield at_hand


def _open(db: Db, *, bench: Bench, job_id: str, first: int, case_ids: Sequence[str], plan: RunPlan) -> list[Unit]:
    """One page of open units, each with the output that it judges where there is one: one read for all of them."""
    unit_rows = jobs.units(db, job_id, first=first, last=first + len(case_ids))
    units: list[Unit] = []
    for position, measure in enumerate(_measures(db, case_ids, plan, bench.request), first):
        for trial in range(1, bench.request.trials + 1):
            row = unit_rows.get((position, trial))
            if row is None or row.outcome not in SETTLED:
                units.append(Unit(UnitKey(job_id, position, trial), measure, None if row is None else row.observed))
    again = bench.request.rejudge_run_id
    fitting = _recorded(db, bench, units) if again is None else _stored(db, again, units)
    before = earlier_runs(db, bench, job_id, [unit.measure.case.id for unit in units if unit.key.trial == 1])
    runs = agent_runs(db, [fit for fit in fitting if isinstance(fit, str)])
    opened = [_with_output(db, bench, unit, fit, runs, before) for unit, fit in zip(units, fitting, strict=True)]
    return opened if again is None else _with_labels(db, again, opened)


def _with_labels(db: Db, run_id: str, units: Sequence[Unit]) -> list[Unit]:
    """The units with what people said of the users of their conversations, in the run that had them."""
    talking = any(unit.measure.case.fields.conversation is not None for unit in units)
    job = jobs.job(db, run_id) if talking else None
    root = "" if job is None else root_run(db, job)
    said = talks.counting_labels(db, root) if root else {}
    return [_labelled(db, root, unit, said) for unit in units] if said else [*units]


def _labelled(db: Db, root: str, unit: Unit, said: Mapping[tuple[str, int, int], UserLabel]) -> Unit:
    case_id, trial, attempt = unit.measure.case.id, unit.key.trial, _attempt(unit)
    label = said.get((case_id, trial, attempt))
    if label is None or not label.sound or unit.kept is None:
        return replace(unit, label=label)
    places = [talk.key for talk in talks.played(db, root, case_id=case_id) if talk.key.trial == trial]
    stopped = talks.stopped(db, places[0], attempt) if places else None
    return replace(unit, label=label, stopped=stopped, kept=unit.kept if stopped is None else None)


def _attempt(unit: Unit) -> int:
    """Which attempt at the conversation is judged."""
    facts = None if unit.kept is None else unit.kept.conversation
    return 1 if facts is None else facts.attempt


def _measures(db: Db, case_ids: Sequence[str], plan: RunPlan, request: RunRequest) -> list[Measure]:
    """The cases as they were planned; those that the plan does not hold are read."""
    held = {ident: plan.held.pop(ident) for ident in case_ids if ident in plan.held}
    others = [ident for ident in case_ids if ident not in held]
    read = measures(db, others, plan.rubrics, world=request.world, faults=request.faults)
    held.update((measure.case.id, measure) for measure in read)
    return [held[ident] for ident in case_ids]


def _with_output(
    db: Db,
    bench: Bench,
    unit: Unit,
    fit: str | Observed | None,
    runs: dict[str, Unread[AgentRun]],
    before: dict[str, tuple[RunSample, ...]],
) -> Unit:
    """The unit with the output that it judges and its case's earlier runs."""
    seen = unit.kept or (fit if isinstance(fit, Observed) else None)
    recorded = runs[fit] if isinstance(fit, str) and seen is None else None
    needs_output = seen is None and recorded is None
    made = made_before(db, bench, unit.measure, unit.key.trial) if needs_output else None
    earlier = before.get(unit.measure.case.id, ()) if unit.key.trial == 1 else ()
    judged = recorded.id if recorded is not None else seen and seen.agent_run_id
    return Unit(unit.key, unit.measure, seen, recorded, earlier, made, proposal_scores(db, unit.measure, judged))


def _stored(db: Db, run_id: str, units: Sequence[Unit]) -> list[str | Observed | None]:
    """Returns what that run judged of each unit's case and trial: an output that was kept, or the id of an agent-run.

    A run that itself judged stored outputs keeps none: they are where they were made.
    """
    stored = jobs.outputs_of(db, run_id, list(dict.fromkeys(unit.measure.case.id for unit in units)))
    keys = [(unit.measure.case.id, unit.key.trial) for unit in units]
    outputs = map(stored.get, keys)
    found = [None if output is None else output.observed or output.agent_run_id for output in outputs]
    job = jobs.job(db, run_id) if None in found else None
    source = None if job is None else request_of(job).rejudge_run_id
    if source is None:
        return found
    made = _stored(db, source, units)
    return [there or (before if key in stored else None) for there, before, key in zip(found, made, keys, strict=True)]


def _recorded(db: Db, bench: Bench, units: Sequence[Unit]) -> list[str | Observed | None]:
    """The recorded agent-run that each unit judges, by id; the versions that they were made with are met."""
    cases = [(unit.measure.case, unit.key.trial) for unit in units]
    requests = [WantedRun(case, trial, bench.versions.default_ref(case.fields)) for case, trial in cases]
    return [
        _met(db, bench, recorded_run)
        for recorded_run in recorded_runs(db, bench.request, requests, sealed=bench.seal is not None)
    ]


def _met(db: Db, bench: Bench, recorded: RecordedRun | None) -> str | None:
    if recorded is None:
        return None
    ident, made_with = recorded
    vet_agent_run(bench.request.prompt_version_ref, ident, made_with)
    bench.versions.meet_output(db, made_with)
    return ident
