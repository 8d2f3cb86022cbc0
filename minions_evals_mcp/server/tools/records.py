"""Tools that list, read, save and hide records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.incoming.near_keys import keys_read
from minions_evals_mcp.domain.records import TYPES, Envelope, Record, wire_fields
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.errors import ConflictError, InvalidRecordError, NotFoundError
from minions_evals_mcp.operations import save_records as saving
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.views import records as views
from minions_evals_mcp.operations.views import runs
from minions_evals_mcp.server.answers.message import message_answer, messages_page
from minions_evals_mcp.server.answers.record import arrival
from minions_evals_mcp.server.answers.sizes import (
    Pages,
    Shape,
    answered,
    cursor_of,
    going_on_from,
    part_of,
    readable_in_parts,
    selected,
    vet_fields,
)
from minions_evals_mcp.server.edge.argument_types import MESSAGE, RUN
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.records import (
    DeletedAnswer,
    DeleteRecord,
    GetRecord,
    ListRecords,
    RecordAnswer,
    RecordsAnswer,
    SavedAnswer,
    SaveRecords,
)

RUN_NAMES = (
    "id", "key", "kind", "subjectId", "state", "reason", "units", "promptVersionRef", "score", "passedCount", "passed", "isRegression",
    "startedAt",
)  # fmt: skip
FIGURES: Mapping[str, tuple[str, ...]] = {
    "test-run": ("testCaseId", "promptVersionRef", "passed", "totalScore", "maxPossibleScore"),
    "eval-judgment": ("testRunId", "criterionId", "score", "maxScore", "judgedBy"),
    "benchmark-run": ("benchmarkId", "promptVersionRef", "purpose", "overallScore", "passedCount", "totalCount", "isRegression"),
    "eval-metric": ("benchmarkRunId", "dimension", "score", "maxScore"),
    "prompt-comparison": ("benchmarkId", "promptVersionA", "promptVersionB", "scoreA", "scoreB", "verdict"),
    "eval-failure": ("testRunId", "failureType", "severity", "resolvedAt"),
    "approval": ("promptVersionRef", "decision", "decidedBy"),
    "audit": ("subject", "cheatPassRate", "mutationScore", "caseCount"),
}  # fmt: skip
"""What a list shows of each computed record: it has no title of its own, and no status."""
LOOKED_AT = 5
"""The most runs that went on which are named as the next to look at."""


async def list_records(call: Call, arguments: ListRecords) -> CallToolResult:
    """A page of one type's records, in a line each or whole."""
    after = cursor_of(arguments.cursor)
    if arguments.type == RUN:
        return await _runs(call, arguments, after or None)
    if arguments.type == MESSAGE:
        return await messages_page(call, arguments)
    vet_fields(arguments.fields, _names(arguments.type), f"a {arguments.type}")  # pyright: ignore[reportUnknownArgumentType]  a Literal made of the table
    page, total = await _page(call, arguments, after)
    rows = [row for _, row in page[: arguments.limit]]
    of_all = f"of {total if total <= views.COUNTED else f'more than {views.COUNTED}'} {arguments.type} records"
    answer = RecordsAnswer(summary=f"{len(rows)} {of_all}", records=selected(rows, arguments.fields))
    result = answered(answer, shape=Shape(arguments.detail), pages=Pages(("records",), len(page) > arguments.limit))
    return going_on_from(result, "records", [number for number, _ in page], of_all=of_all)


async def _page(call: Call, request: ListRecords, after: int) -> tuple[list[tuple[int, Json]], int]:
    """Each record's number and row, one more than was asked for, and how many there are; fields are read only where shown."""
    most, kind = request.limit + 1, str(request.type)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  a Literal made of the table
    figures = FIGURES.get(kind, ())
    if request.detail == "summary" and not request.fields and not figures:
        lines, total = await views.lines(call.engine, kind, after=after, limit=most)
        return [(line.seq, _line(line)) for line in lines], total
    page, total = await views.page(call.engine, kind, after=after, limit=most)
    return [(number, _row(record, request)) for number, record in page], total


def _line(line: views.Line | Record[Fields]) -> Json:
    return {"id": line.id, "title": line.title, "status": line.shown_status, "updatedAt": iso(line.updated_at)}


def _row(record: Record[Fields], arguments: ListRecords) -> Json:
    figures = FIGURES.get(record.type, ()) if arguments.detail == "summary" else ()
    if not arguments.fields and not figures:
        return record.wire()
    fields = {**record.wire(), **wire_fields(record.fields)}
    if not arguments.fields:
        shown = {name: fields[name] for name in figures if fields.get(name) is not None}
        return {"id": record.id, **shown, "updatedAt": iso(record.updated_at)}
    return {**_line(record), **{name: fields[name] for name in arguments.fields if name in fields}}


def _names(kind: str) -> list[str]:
    """Returns what a record of that type can be asked for by name."""
    envelope = [str(info.alias) for name, info in Envelope.model_fields.items() if name != "fields"]
    return [*dict.fromkeys((*(str(info.alias) for info in TYPES[kind].model_fields.values()), *envelope))]


async def _runs(call: Call, arguments: ListRecords, oldest: int | None) -> CallToolResult:
    vet_fields(arguments.fields, RUN_NAMES, "a run")
    lines, left, total = await runs.page(call.engine, oldest=oldest, limit=arguments.limit + 1)
    rows, of_all = [_run(line) for line in lines[: arguments.limit]], f"of {total} runs"
    answer = RecordsAnswer(summary=f"{len(rows)} {of_all}", records=selected(rows, arguments.fields))
    result = answered(answer, shape=Shape(arguments.detail), pages=Pages(("records",), len(lines) > arguments.limit))
    return going_on_from(result, "records", range(left - 1, -1, -1), of_all=of_all)


def _run(line: runs.RunLine) -> Json:
    """A run with its figures; what is unknown, or the same as its id, is left out."""
    job = line.job
    wire: Json = {
        "id": job.id, "key": "" if job.key == job.id else job.key, "kind": job.kind, "subjectId": job.subject_id, "state": job.state,
        "reason": in_tools(job.reason), "units": job.total, "promptVersionRef": line.version,
        "score": None if line.score is None else round(line.score, 3), "passedCount": line.passed_count, "passed": line.passed,
        "isRegression": line.is_regression, "startedAt": iso(job.created_at),
    }  # fmt: skip
    return {name: value for name, value in wire.items() if value not in ("", None)}


async def get_record(call: Call, arguments: GetRecord) -> CallToolResult:
    """The record with what it is linked to, or a stretch of its JSON text."""
    record = await views.record_view(call.engine, arguments.id)
    if record is None:
        raise NotFoundError("record", arguments.id, remedy="list_records shows ids.")
    return message_answer(record, arguments) if isinstance(record, views.Message) else record_answer(record, arguments)


def record_answer(seen_record: views.LinkedRecord, arguments: GetRecord) -> CallToolResult:
    """The answer about a record that was read."""
    wire = seen_record.wire
    vet_fields(arguments.fields, _names(seen_record.record.type), f"a {seen_record.record.type}")
    if arguments.cursor is not None:
        whole: Json = {**wire, "relations": [*seen_record.relations]}
        return part_of(whole, cursor_of(arguments.cursor), about={"id": wire["id"]})
    answer = RecordAnswer(
        summary=f"{wire['type']} {wire['id']}, {wire['status']}",
        record=_chosen(wire, arguments.fields),
        relations=_each_kind_first(seen_record.relations),
        gates=seen_record.gates or None,
    )
    return readable_in_parts(answer, arguments.detail)


def _each_kind_first(relations: list[Json]) -> list[Json]:
    """One relation of each kind before the others: a list that is cut short names every kind."""
    firsts = {str(relation["type"]): relation for relation in reversed(relations)}
    leading = [relation for relation in relations if firsts[str(relation["type"])] is relation]
    return [*leading, *(relation for relation in relations if firsts[str(relation["type"])] is not relation)]


def _chosen(wire: Json, names: list[str]) -> Json:
    """The record with those of its fields only."""
    if not names:
        return wire
    fields = cast("Json", wire["fields"])
    envelope = {name: value for name, value in wire.items() if name in {"id", "type"} or name in names}
    return {**envelope, "fields": {name: fields[name] for name in names if name in fields}}


async def save_records(call: Call, arguments: SaveRecords) -> CallToolResult:
    """Returns what was written, all or nothing; the resolution of an eval-failure is taken beside the definitions."""
    engine = call.engine
    records_given, follows = await saving.numbered(engine, arguments.records)
    wires, resolutions = await _sorted_out(engine, arguments.model_copy(update={"records": records_given}))
    arrivals = [
        replace(arrival(wire, number, new_id=engine.new_id(), now=engine.clock()), over=over)
        for number, wire, over in wires
    ]
    given = [Relation(relation.source_id, relation.target_id, relation.type) for relation in arguments.relations]
    tied = {relation.source_id for relation in given if relation.type == "follows"}
    relations = [*given, *(relation for relation in follows if relation.source_id not in tied)]
    if resolutions and (arrivals or relations):
        raise InvalidRecordError(
            "eval-failures must be resolved in a separate call",
            remedy="Send them separately, so that each call is all or nothing.",
        )
    if resolutions:
        return _saved(
            await saving.resolve(engine, resolutions),
            [resolution.id for resolution in resolutions],
            saving.ResumedRuns(),
        )
    saved, went_on = await saving.run(engine, arrivals, relations, by="mcp")
    given_ids = {str(wire.get("id")) for wire in arguments.records}
    return _saved(saved, [arrived.record.id for arrived in arrivals if arrived.record.id not in given_ids], went_on)


def _saved(saved: saving.Saved, idents: list[str], went_on: saving.ResumedRuns) -> CallToolResult:
    parts = [f"{saved.new} new, {saved.changed} changed, {saved.unchanged} unchanged", *saved.notes]
    if went_on.run_ids:
        parts.append("waiting outputs are judged now")
    if went_on.left:
        parts.append(f"some outputs still wait, save again later: {went_on.left[0]}")
    answer = SavedAnswer(summary="; ".join(parts), new=saved.new, changed=saved.changed, unchanged=saved.unchanged)
    if idents:
        answer.ids = idents
    if went_on.run_ids:
        answer.next = [f"get_run {json.dumps({'runId': run_id})}" for run_id in went_on.run_ids[:LOOKED_AT]]
    return answered(answer, shape=Shape("full"))  # ids that were made here are told nowhere else


async def _sorted_out(
    engine: Engine, request: SaveRecords
) -> tuple[list[tuple[int, Json, Record[Fields] | None]], list[saving.Resolution]]:
    """The records to be saved with their numbers, merged with what is kept where that was asked; and the resolutions.

    Beside each what it changes, where that must not be something else by then: it was merged, or says when it was read.
    """
    wires: list[tuple[int, Json, Record[Fields] | None]] = []
    resolutions: list[saving.Resolution] = []
    for number, wire in enumerate(request.records):
        if wire.get("type") == EvalFailure.slug:
            resolutions.append(_resolution(number, wire))
        else:
            record = await _seen_by(engine, wire)
            merged = _merged(record, wire) if request.merge else wire
            wires.append((number, merged, record if request.merge or "updatedAt" in wire else None))
    return wires, resolutions


async def _seen_by(engine: Engine, wire: Json) -> Record[Fields] | None:
    """Returns what is kept under the record's id; raises `ConflictError` where it says that it was read before that was changed."""
    ident, at = wire.get("id"), wire.get("updatedAt")
    record = await saving.stored(engine, ident) if isinstance(ident, str) else None
    if record is not None and at is not None and at != iso(record.updated_at) and not _says_the_same(record, wire):
        raise ConflictError(
            f"{record.type} {record.id} has changed since you read it at {at}.",
            remedy=f"Next: get_record {json.dumps({'id': record.id})}, then save your change with its current updatedAt.",
        )
    return record


def _resolution(number: int, wire: Json) -> saving.Resolution:
    fields, ident = wire.get("fields"), wire.get("id")
    if (
        not isinstance(ident, str)
        or not isinstance(fields, dict)
        or not fields.keys() <= {"resolutionNotes", "resolvedAt"}
    ):
        raise InvalidRecordError(
            "only the resolution of an eval-failure can be written: {id, type, fields: {resolutionNotes}}",
            where=f"records.{number}",
        )
    notes = fields.get("resolutionNotes")
    if not isinstance(notes, str) or not notes.strip():
        raise InvalidRecordError("say how it was resolved", field="fields.resolutionNotes", where=f"records.{number}")
    return saving.Resolution(ident, notes)


def _says_the_same(record: Record[Fields], wire: Json) -> bool:
    """Returns whether all that the record says is kept already: it was sent twice."""
    given = wire.get("fields")
    held = wire_fields(record.fields)
    return isinstance(given, dict) and all(name in held and held[name] == value for name, value in given.items())


def _merged(record: Record[Fields] | None, wire: Json) -> Json:
    """The record over what is kept under its id: envelope and fields that it leaves out stay."""
    fields = wire.get("fields", {})
    if record is None or not isinstance(fields, dict):
        return wire
    before = record.wire()
    before.pop("deletedAt", None)
    named = keys_read(type(record.fields), record.type, fields, keeps_extra=False, name=record.id).fields
    return {**before, **wire, "fields": {**cast("Json", before["fields"]), **named}}


async def delete_record(call: Call, arguments: DeleteRecord) -> CallToolResult:
    """The record that is hidden now."""
    record = await saving.hide(call.engine, arguments.id)
    sentence = f"{record.type} {record.id} is hidden; save it again to restore it"
    return answered(DeletedAnswer(summary=sentence, id=record.id, type=record.type))
