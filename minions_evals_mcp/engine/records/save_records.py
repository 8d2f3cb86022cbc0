"""Taking records in: a batch is vetted against itself and the store, then written whole, or nothing of it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Rubric, RubricCriterion, TestCase
from minions_evals_mcp.domain.digests import json_text
from minions_evals_mcp.domain.neighbours import AgentRun, PromptVersion
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.speaker import AGENTS, OPERATOR, Speaker
from minions_evals_mcp.domain.values import first_named, iso
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.likeness import keep_former, with_likeness
from minions_evals_mcp.engine.records.batch import REFUSALS, Arrival, View, is_final, placed
from minions_evals_mcp.engine.records.chain_growth import vet_growth
from minions_evals_mcp.engine.records.editions import with_editions
from minions_evals_mcp.engine.records.secret_marks import secrets_marked, without_secrets
from minions_evals_mcp.engine.records.vetting import vet_record
from minions_evals_mcp.engine.seals.exposures import sealed_verdict
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_within
from minions_evals_mcp.errors import ConflictError, InvalidRecordError, NotFoundError, SealedError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.rubric import threshold_note
from minions_evals_mcp.store import branches, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, EventRow, append, append_all, row_of, write_events
from minions_evals_mcp.store.seals import hidden_among, is_sealed
from minions_evals_mcp.store.speakers import made_by_agents, note_handed_in


@dataclass(frozen=True, slots=True)
class Saved:
    """The number of records that were new, changed, or said what was kept already; `notes` say what may not be meant so."""

    new: int
    changed: int
    unchanged: int
    notes: tuple[str, ...] = ()

    def __add__(self, other: Saved) -> Saved:
        return Saved(
            self.new + other.new,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            (*self.notes, *other.notes),
        )


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records without the secrets that this process knows, what is told of the marks in their place, and what is saved with them."""

    arrivals: Sequence[Arrival]
    relations: Sequence[Relation] = ()
    events: Sequence[Event] = ()
    marks: Mapping[str, EventRow] = field(default_factory=dict[str, EventRow])


async def save_records(
    engine: Engine,
    arrivals: Sequence[Arrival],
    relations: Sequence[Relation] = (),
    *,
    events: Sequence[Event] = (),
    edits: bool = False,
) -> Saved:
    """Writes the batch; raises `InvalidRecordError` naming the record that does not fit, and then nothing is written.

    `events` say more about the change than that it was made; they are written with it. `edits`: an output that is kept with
    other content is a new output, as in a file that a person edits; else it is refused (HR1).
    """
    batch = batch_of(arrivals, relations, events)
    write = partial(write_batch, batch=batch, by=engine.speaker, now=engine.clock(), edits=edits)
    return await engine.store.write(write)


def batch_of(
    arrivals: Sequence[Arrival], relations: Sequence[Relation] = (), events: Sequence[Event] = ()
) -> RecordBatch:
    """The batch as it is written."""
    marks = {
        arrival.record.id: row_of(mark) for arrival in arrivals if (mark := secrets_marked(arrival.record)) is not None
    }
    return RecordBatch([_without_secrets(arrival) for arrival in arrivals], relations, events, marks)


def write_batch(db: Db, batch: RecordBatch, *, by: Speaker, now: datetime, edits: bool = False) -> Saved:
    """Writes the batch, which `by` hands in, in the caller's transaction; raises as `save_records` does."""
    batch, left = _without_hidden(db, batch, by)
    if edits:
        arrivals, edited = with_editions(db, batch.arrivals, by=by, now=now)
        pairs = [
            (new.record.id, batch.marks.get(old.record.id)) for old, new in zip(batch.arrivals, arrivals, strict=True)
        ]
        marks = {ident: (mark[0], mark[1], ident, mark[3]) for ident, mark in pairs if mark is not None}
        batch, left = replace(batch, arrivals=arrivals, marks=marks), [*left, *edited]
    saved = _save(db, batch, by.source, now)
    taken = [arrival.record for arrival in batch.arrivals]
    notes = [*left, *reading_notes(batch.arrivals), *rubric_notes(db, taken)]
    outputs = [record.id for record in taken if isinstance(record.fields, AgentRun) and is_final(record.fields)]
    note_handed_in(db, outputs, by.identity, at=now)
    for record in taken:
        if isinstance(record.fields, Benchmark) and record.fields.sealed and not is_sealed(db, record.id):
            sealed = seal_within(db, SealAsked(benchmark_id=record.id), by=by.identity, at=now, arriving=True)
            notes.append(f"{sealed.in_words} Only its operator ends the seal")
    return replace(saved, notes=(*saved.notes, *notes)) if notes else saved


def _without_hidden(db: Db, batch: RecordBatch, by: Speaker) -> tuple[RecordBatch, list[str]]:
    """The batch without what is sealed already, and what is said of that; an agent's is refused with its first sealed record.

    Neither is compared with what is kept: "unchanged" would say that a guess at a sealed case is right.
    """
    idents = (arrival.record.id for arrival in batch.arrivals if isinstance(arrival.record.fields, TestCase | AgentRun))
    hidden = hidden_among(db, idents)
    if not hidden:
        return batch, []
    rest = [arrival for arrival in batch.arrivals if arrival.record.id not in hidden]
    for arrival in batch.arrivals:
        if arrival.record.id in hidden and (by.source == AGENTS or arrival.over is not None):
            records.vet_unsealed(db, arrival.record)  # a case; an output may be of no benchmark
            raise SealedError(
                f"{arrival.record.type} {arrival.record.id} is sealed and cannot be edited.",
                remedy=f"{Next('seals', reason='lists every seal')}.",
            )
    events = [event for event in batch.events if event.subject_id not in hidden]
    kept = "1 sealed record is unchanged" if len(hidden) == 1 else f"{len(hidden)} sealed records are unchanged"
    left = f"{kept}. The new content was not compared with it"
    return replace(batch, arrivals=rest, events=events), [left]


NOTED = 5


def reading_notes(arrivals: Iterable[Arrival]) -> Iterator[str]:
    """Yields what was read otherwise than it was written: each way of it once, with the first record that was read so."""
    names: dict[str, list[str]] = {}
    for note in (note for arrival in arrivals for note in arrival.notes):
        name, _, reading = note.partition(": ")
        names.setdefault(reading, []).append(name)
    for reading, (first, *others) in [*names.items()][:NOTED]:
        yield f"{first}{f' and {len(others)} more' if others else ''}: {reading}"
    if len(names) > NOTED:
        yield f"and {sum(map(len, [*names.values()][NOTED:]))} more records with such notes"


def rubric_notes(db: Db, written: Iterable[Record[Fields]]) -> Iterator[str]:
    """Yields of each rubric that was written, or whose criteria were, what its threshold comes to where that may not be meant."""
    idents = (
        record.fields.rubric_id if isinstance(record.fields, RubricCriterion) else record.id
        for record in written
        if isinstance(record.fields, (Rubric, RubricCriterion))
    )
    for ident in dict.fromkeys(idents):
        rubric = records.get(db, ident, Rubric)
        if rubric is not None:
            criteria = records.get_all(db, rubric.fields.criteria_ids, RubricCriterion).values()
            if note := threshold_note(rubric, [criterion.fields for criterion in criteria]):
                yield note


async def vet_records(engine: Engine, arrivals: Sequence[Arrival]) -> None:
    """Raises as `save_records` does where the batch does not fit itself or the store; nothing is written."""
    taken = [_without_secrets(arrival) for arrival in arrivals]
    await engine.store.read(lambda db: _vetted(db, taken))


def _without_secrets(arrival: Arrival) -> Arrival:
    record = without_secrets(arrival.record)
    return arrival if record is arrival.record else replace(arrival, record=record)


def _vetted(db: Db, arrivals: Sequence[Arrival]) -> View:
    view = View(db, arrivals)
    for arrival in arrivals:
        try:
            vet_record(view, view.arriving[arrival.record.id])
        except REFUSALS as error:
            raise placed(error, arrival) from None
        if arrival.over is not None and view.kept.get(arrival.record.id) != arrival.over:
            records.vet_unsealed(db, arrival.record)  # what is sealed was read without what it says
            raise changed_meanwhile(arrival.over)
    return view


def changed_meanwhile(seen: Record[Fields]) -> ConflictError:
    """The refusal of a change to what somebody else has changed since it was read."""
    return ConflictError(
        f"{seen.type} {seen.id} has changed since you read it at {iso(seen.updated_at)}.",
        remedy="Read it again, then apply your change to the current content.",
    )


def _save(db: Db, batch: RecordBatch, source: str, now: datetime) -> Saved:
    view = _vetted(db, batch.arrivals)
    vet_growth(db, list(view.arriving.values()), batch.relations)
    touched = [record.touched(record.fields, now) for record in view.arriving.values()]
    known = view.kept
    added = [record for record in touched if record.id not in known]
    changing = [record for record in touched if record.id in known]
    records.add_all(db, added)
    write_events(db, (record_saved(record.type, record.id, source) for record in added), at=now)
    raised = _rubrics_raised(view, touched, now)
    written = [*added, *(record for record in (*raised, *changing) if _write(db, view, record, source, now))]
    for relation in batch.relations:
        _relate(db, view, relation, now)
    ids = {record.id for record in written}
    accept(db, [(record.type, record.id) for record in changing if record.id not in ids], source, at=now)
    append_all(db, batch.events, at=now)
    write_events(db, (mark for ident, mark in batch.marks.items() if ident in ids), at=now)
    new = len(ids - set(known))
    same = {record.id for record in touched} - ids
    return Saved(new, len(ids) - new, len(same), tuple(erased_notes(db, same)))


def erased_notes(db: Db, same: Iterable[str]) -> Iterator[str]:
    """Yields which of the records that arrive as they were kept lack content that was erased: they are not filled again."""
    if erased := records.erased_among(db, same):
        stay = "was erased and stays" if len(erased) == 1 else "were erased and stay"
        yield f"{first_named(erased, NOTED)} {stay} so. To use it again, change it in the file"


def record_saved(kind: str, ident: str, source: str, *, new: bool = True) -> EventRow:
    """The event that says that a record is kept, or was changed, and by whom unless by the operator."""
    return "record-saved", kind, ident, _saved_detail(source, new=new)


@cache
def _saved_detail(source: str, *, new: bool) -> str:
    return json_text({"new": new, **by_whom(source)})


def by_whom(source: str) -> Mapping[str, str]:
    """What an event says of the source of a change."""
    return {} if source == OPERATOR else {"by": source}


def accept(db: Db, same: Sequence[tuple[str, str]], source: str, *, at: datetime) -> None:
    """Keeps of those types and ids that a person or the operator saved as it stands what an agent had made or changed."""
    if source == AGENTS or not same:
        return
    kinds = {ident: kind for kind, ident in same}
    made = made_by_agents(db, list(kinds))
    write_events(db, (_accepted(kinds[ident], ident, source) for ident in made), at=at)


def _accepted(kind: str, ident: str, source: str) -> EventRow:
    return "record-accepted", kind, ident, json_text(by_whom(source))


def _rubrics_raised(view: View, batch: Iterable[Record[Fields]], now: datetime) -> Iterator[Record[Fields]]:
    """Rubrics of the store that change because a criterion of theirs does: their version rises with it."""
    for ident in dict.fromkeys(
        record.fields.rubric_id for record in batch if isinstance(record.fields, RubricCriterion)
    ):
        if ident not in view.arriving:
            rubric = records.get(view.db, ident, Rubric)
            if rubric is not None and _criteria_changed(view, ident):
                raised = rubric.fields.model_copy(update={"version": rubric.fields.version + 1})
                yield rubric.touched(raised, now)


def _criteria_changed(view: View, rubric_id: str) -> bool:
    return any(
        view.kept.get(record.id) is None or view.kept[record.id].fields != record.fields
        for record in view.arriving.values()
        if isinstance(record.fields, RubricCriterion) and record.fields.rubric_id == rubric_id
    )


def _write(db: Db, view: View, record: Record[Fields], source: str, now: datetime) -> bool:
    """Writes the record and its event; a rubric that is edited rises to the next version, and so history keeps its meaning."""
    record_before = view.kept.get(record.id)
    if (rubric := of_type(record, Rubric)) and (old := of_type(record_before, Rubric)) and record.id in view.arriving:
        record = _raised(view, old, rubric)
    if (benchmark := of_type(record, Benchmark)) and (before := of_type(record_before, Benchmark)):
        record = _with_last_run(before, benchmark)
    if (case := of_type(record, TestCase)) and (former := of_type(record_before, TestCase)):
        keep_former(db, former, case)
    if not records.save(db, record):
        return False
    if record.id not in view.arriving and made_by_agents(db, [record.id]):
        source = AGENTS  # a version that rises with a criterion is nobody's acceptance of the rubric
    write_events(db, [record_saved(record.type, record.id, source, new=False)], at=now)
    return True


def _raised(view: View, stored: Record[Rubric], record: Record[Rubric]) -> Record[Rubric]:
    same = record.fields.model_copy(update={"version": stored.fields.version}) == stored.fields
    if same and not _criteria_changed(view, record.id):
        return replace(record, fields=record.fields.model_copy(update={"version": stored.fields.version}))
    version = max(stored.fields.version + 1, record.fields.version)
    return replace(record, fields=record.fields.model_copy(update={"version": version}))


def _with_last_run(stored: Record[Benchmark], record: Record[Benchmark]) -> Record[Benchmark]:
    """A suite file seldom says when its benchmark ran last: what runs have written stays."""
    if record.fields.last_run_at is not None:
        return record
    fields = stored.fields
    last = {"last_run_at": fields.last_run_at, "last_score": fields.last_score, "last_judged_by": fields.last_judged_by}
    return replace(record, fields=record.fields.model_copy(update=last))


def _relate(db: Db, view: View, relation: Relation, now: datetime) -> None:
    for ident in (relation.source_id, relation.target_id):
        if view.get(ident, PromptVersion) is None:
            raise InvalidRecordError(
                f"there is no prompt-version {ident!r}",
                record=f"relation {relation.source_id} follows {relation.target_id}",
            )
    if records.save_relation(db, relation):
        append(
            db, Event("relation-saved", "prompt-version", relation.source_id, {"follows": relation.target_id}), at=now
        )
    seen = {relation.source_id}
    at: str | None = relation.target_id
    while at is not None:
        if at in seen:
            raise InvalidRecordError(
                "versions follow each other in a cycle",
                record=f"relation {relation.source_id} follows {relation.target_id}",
            )
        seen.add(at)
        at = records.followed_by(db, at)


async def delete_record(engine: Engine, ident: str) -> Record[Fields]:
    """Hides a definition or copy from lists; what refers to it keeps it. Results and queued messages stay."""
    now = engine.clock()

    def hide(db: Db) -> Record[Fields]:
        record = records.minion(db, ident)
        if record is None:
            if records.find(db, ident) is not None:
                raise ConflictError(
                    f"{ident} is a result, and results cannot be deleted.",
                    remedy="Delete its test case or benchmark instead.",
                )
            raise NotFoundError(
                "record", ident, remedy=f"{Next('list', {'type': 'test-case'}, 'shows the ids of a type')}."
            )
        if record.deleted_at is None:
            hidden = replace(record, deleted_at=now, updated_at=now)
            records.save(db, hidden)
            append(db, Event("record-deleted", record.type, ident, {**by_whom(engine.speaker.source)}), at=now)
            return hidden
        return record

    return await engine.store.write(hide)


async def get_record(engine: Engine, ident: str) -> Record[Fields]:
    """The record of any type under that id, a branch with its figures; raises `NotFoundError`.

    Of a comparison on sealed cases the verdict is told, in the `SealedError` that is raised.
    """
    record = await engine.store.read(lambda db: _record(db, ident))
    verdict = None if record is not None else await sealed_verdict(engine, ident)
    if verdict is not None:
        raise SealedError(f"{ident} is a comparison on sealed cases. {verdict.in_words}")
    if record is None:
        raise NotFoundError(
            "record", ident, remedy=f"{Next('list', {'type': 'test-case'}, 'shows the ids of a type')}."
        )
    if record.type == "test-branch":
        from minions_evals_mcp.engine.records.branch_consistency import with_consistency  # noqa: PLC0415  few records are branches

        return await with_consistency(engine, record)
    return (await with_likeness(engine, [record]))[0]


async def page_of(engine: Engine, kind: str, *, after: int = 0, limit: int) -> list[tuple[int, Record[Fields]]]:
    """A page of one type's records as they were written, each with the cursor to go on from."""
    page = await engine.store.read(lambda db: records.page(db, kind, after=after, limit=limit))
    shown = await with_likeness(engine, [record for _, record in page])
    return [(seq, record) for (seq, _), record in zip(page, shown, strict=True)]


def _record(db: Db, ident: str) -> Record[Fields] | None:
    record = records.find(db, ident)
    return None if record is None else branches.with_figures(db, record)
