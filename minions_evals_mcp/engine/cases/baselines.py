"""Accepting an output as what is expected from now on; what was expected before is kept as an event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import cast

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire, wire_fields
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.engine.cases.test_history import TestCaseSummary, case_record, test_case
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.new_version import numbered
from minions_evals_mcp.engine.records.save_records import (
    Arrival,
    Saved,
    batch_of,
    save_records,
    vet_records,
    write_batch,
)
from minions_evals_mcp.engine.records.spool import Spool, add_new, batch_again, leave_same, sorted_page
from minions_evals_mcp.errors import BadInputError, EvalsError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event
from minions_evals_mcp.store.queries import case_history

PAUSE_S = 0.001
"""So long a great import leaves the store to others after each batch."""
_RUN_ID = re.compile(r"(?P<job>.+):(?P<number>[1-9]\d{0,8})\.(?P<trial>[1-9]\d{0,3})")
Settle = Callable[[Db, Sequence[Arrival]], Sequence[Arrival]]
"""Makes of what arrived what is written, by what is kept."""


async def update_expected_output(
    engine: Engine,
    test_case_id: str,
    output: JsonValue = None,
    *,
    test_run_id: str | None = None,
    by: str = "python",
) -> TestCaseSummary:
    """A new baseline: the given output, else that of the run (also one that waits), else of the case's newest run.

    What was expected before, by whom and when it was changed is kept as the event `expected-output-updated`. Outputs of
    the case that waited for want of anything to judge by are judged by it. Raises `BadInputError`, `NotFoundError`.
    """
    from minions_evals_mcp.engine.people.submit import judge_waiting  # noqa: PLC0415  only where something waits

    case = await engine.store.read(lambda db: case_record(db, test_case_id))
    before = case.fields.expected_outputs or {}
    if output is not None:
        wanted = output_record(output, before)
    else:
        test_run_id, actual = await engine.store.read(lambda db: _output_of(db, test_case_id, test_run_id))
        wanted = _taken_over(actual, before)
    await save_case(engine, case, {"expectedOutputs": wanted}, by=by, test_run_id=test_run_id)
    for key in await engine.store.read(lambda db: case_history.waiting_units(db, test_case_id)):
        await judge_waiting(engine, key)
    return await test_case(engine, test_case_id)


@dataclass(frozen=True, slots=True)
class WentOn:
    """The runs whose outputs had waited for something to judge by and are judged now, and why others wait on."""

    run_ids: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __add__(self, other: WentOn) -> WentOn:
        return WentOn(_distinct((*self.run_ids, *other.run_ids)), _distinct((*self.left, *other.left)))


async def save_with_baselines(
    engine: Engine, arrivals: Sequence[Arrival], relations: Sequence[Relation] = (), *, by: str
) -> tuple[Saved, WentOn]:
    """Writes the batch as `save_records` does; what a case expected before is kept, and what waited for it is judged.

    What cannot be judged now waits on, and is tried again when its case is saved again.
    """
    cases = _cases(arrivals)
    changes = await engine.store.read(lambda db: _new_baselines(db, cases, by=by))
    saved = await save_records(engine, arrivals, relations, events=changes, edits=True)
    return saved, await _judge_what_waited(engine, [case.id for case in cases])


async def save_spooled(
    engine: Engine, arrivals: Iterator[Arrival], *, by: str, settle: Settle = lambda _, batch: batch
) -> tuple[Saved, WentOn]:
    """As `save_with_baselines`, of more than fits into memory: read once, vetted, and written in one transaction.

    `settle` makes of those of whose ids something else is kept what is written.
    What others are made of (rubrics, criteria, versions, benchmarks) is held at hand; cases and outputs are not.
    """
    now = engine.clock()
    with Spool(now=now) as spool:
        spool.take(arrivals)
        write = partial(_write_spooled, spool=spool, settle=settle, speaker=engine.speaker, by=by, now=now)
        saved, case_ids = await engine.store.write(write)
    return saved, await _judge_what_waited(engine, case_ids)


def _write_spooled(
    db: Db, *, spool: Spool, settle: Settle, speaker: Speaker, by: str, now: datetime
) -> tuple[Saved, list[str]]:
    """Returns how many were saved, and the ids of the cases that were kept before."""
    write = partial(write_batch, db, by=speaker, now=now)
    saved, known_cases = write(batch=batch_of(spool.first)), list[str]()
    for page in spool.pages():
        sorted_out = sorted_page(db, page)
        saved += add_new(db, sorted_out.new, by=speaker, now=now)
        saved += leave_same(db, sorted_out.same, by=speaker, now=now)
        if sorted_out.other:
            again = batch_again(sorted_out.other)
            batch = replace(again, arrivals=settle(db, again.arrivals))
            events = _new_baselines(db, _cases(batch.arrivals), by=by)
            saved += write(batch=replace(batch, events=events), edits=True)
        known_cases += [record.id for record in (*sorted_out.same, *sorted_out.other) if record.type == TestCase.slug]
    return saved + write(batch=batch_of(spool.last)), known_cases


async def save_batches(
    engine: Engine,
    batches: Callable[[], Iterable[Sequence[Arrival]]],
    *,
    by: str,
    settle: Settle = lambda _, batch: batch,
) -> tuple[Saved, WentOn]:
    """As `save_with_baselines`, of more than fits into memory: all is vetted in a first reading, written in a second.

    `settle` makes of a batch what is written, by what is kept. Raises as `save_records` does, and then nothing is written.
    Others may write between two batches.
    """
    for batch in batches():
        await vet_records(engine, await engine.store.read(lambda db, batch=batch: settle(db, batch)))
    saved, went_on = Saved(0, 0, 0), WentOn()
    for batch in batches():
        settled = await engine.store.read(lambda db, batch=batch: settle(db, batch))
        more = await save_with_baselines(engine, settled, by=by)
        saved, went_on = saved + more[0], went_on + more[1]
        await anyio.sleep(PAUSE_S)
    return saved, went_on


async def _judge_what_waited(engine: Engine, case_ids: Sequence[str]) -> WentOn:
    from minions_evals_mcp.engine.people.submit import judge_waiting  # noqa: PLC0415  only where something waits

    judged: list[str] = []
    left: list[str] = []
    for key in await engine.store.read(lambda db: case_history.waiting_units(db, *case_ids)):
        try:
            if await judge_waiting(engine, key):
                judged.append(key.job_id)
        except EvalsError as error:  # the cases are saved: what cannot be judged now waits on, and the others go on
            left.append(error.message_text)
    return WentOn(_distinct(judged), _distinct(left))


def _distinct(idents: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(idents))


async def case_of_run(engine: Engine, run_id: str) -> str:
    """The test case of a test-run, or of an output that waits under the id that its run will have."""
    test_run = await engine.store.read(lambda db: records.get(db, run_id, TestRun))
    if test_run is not None:
        return test_run.fields.test_case_id
    row = await engine.store.read(lambda db: _unit_of(db, run_id))
    if row is None:
        raise NotFoundError("test-run", run_id, remedy=f"{Next('history', {'test_case_id': 'CASE'}, 'shows them')}.")
    return row.case_id


async def save_case(
    engine: Engine, stored: Record[TestCase], changes: Json, *, by: str, test_run_id: str | None = None
) -> None:
    """Writes the case with those fields changed, and the event of a new baseline where it gets one.

    Raises `ConflictError` where another than that case is kept by now.
    """
    merged = {**wire_fields(stored.fields), **changes}
    wire: Json = {**stored.wire(), "fields": {name: value for name, value in merged.items() if value is not None}}
    record = of_type(record_from_wire(cast("JsonValue", wire), new_id=stored.id, now=engine.clock()), TestCase)
    assert record is not None
    change = _new_baseline(stored, record, by=by, test_run_id=test_run_id)
    await save_records(engine, [Arrival(record, over=stored)], events=[] if change is None else [change])


def _cases(arrivals: Iterable[Arrival]) -> list[Record[TestCase]]:
    return [case for arrival in arrivals if (case := of_type(arrival.record, TestCase)) is not None]


def _new_baselines(db: Db, cases: Sequence[Record[TestCase]], *, by: str) -> list[Event]:
    cases_before = records.get_all(db, [case.id for case in cases], TestCase)
    changes = (_new_baseline(cases_before.get(case.id), case, by=by) for case in cases)
    return [change for change in changes if change is not None]


def _new_baseline(
    stored: Record[TestCase] | None, case: Record[TestCase], *, by: str, test_run_id: str | None = None
) -> Event | None:
    """The event that says what a case expected before; None where it is new or expects what it did."""
    if stored is None:
        return None
    before, after = stored.fields.expected_outputs, case.fields.expected_outputs
    if before == after:
        return None
    about: Json = {} if test_run_id is None else {"testRunId": test_run_id}
    return Event("expected-output-updated", TestCase.slug, case.id, {"by": by, "from": before, "to": after, **about})


async def numbered_versions(engine: Engine, wires: Sequence[Json]) -> tuple[list[Json], list[Relation]]:
    """The records to be saved, with the number and predecessor of each prompt version that comes without a number."""
    return await engine.store.read(partial(numbered, wires=wires, new_id=engine.new_id))


def output_record(output: JsonValue, before: Json) -> Json:
    """An output as a record: under the key that was expected before, where there is one, else under `output`."""
    if isinstance(output, dict):
        return output
    if len(before) > 1:
        raise BadInputError(
            f"the case expects {', '.join(before)}; one text cannot replace them.", remedy="Give a mapping."
        )
    return {next(iter(before), "output"): output}


def _taken_over(actual: Json, before: Json) -> Json:
    """The output as what is expected from now on, under the keys that were expected before."""
    if len(before) == 1:
        (key,) = before
        return {key: actual[key] if key in actual else output_text(actual)}
    missing = [key for key in before if key not in actual]
    if missing:
        raise BadInputError(f"the output has no {', '.join(missing)}.", remedy="Give the expected output as a mapping.")
    if before:
        return {key: actual[key] for key in before}
    return actual if len(actual) == 1 else {"output": output_text(actual)}


def _output_of(db: Db, test_case_id: str, run_id: str | None) -> tuple[str, Json]:
    """A run's id and output: the one that was named, else the case's newest, else the newest that waits."""
    if run_id is None:
        page = case_history.executions(db, test_case_id, limit=1)
        waiting = case_history.waiting_units(db, test_case_id)
        if not page and not waiting:
            raise NotFoundError("output of the test-case", test_case_id, remedy="Run it first, or give the output.")
        run_id = page[0][1].id if page else waiting[0].run_id
    test_run = records.get(db, run_id, TestRun)
    if test_run is not None:
        case_id, output = test_run.fields.test_case_id, test_run.fields.actual_output
    else:
        row = _unit_of(db, run_id)
        if row is None or row.observed is None:
            raise NotFoundError(
                "test-run", run_id, remedy=f"{Next('history', {'test_case_id': 'CASE'}, 'shows them')}."
            )
        case_id, output = row.case_id, row.observed.output
    if case_id != test_case_id:
        raise BadInputError(f"{run_id} is a run of another case, {case_id}.", remedy=f"Name a run of {test_case_id}.")
    if not output:
        raise BadInputError(f"{run_id} produced no output.", remedy="Accept another run, or give the output.")
    return run_id, output


def _unit_of(db: Db, run_id: str) -> jobs.UnitRow | None:
    match = _RUN_ID.fullmatch(run_id)
    if match is None:
        return None
    position, trial = int(match["number"]) - 1, int(match["trial"])
    return jobs.units(db, match["job"], first=position, last=position + 1).get((position, trial))
