"""A great file on its way in: cases and outputs wait in a temporary file as the rows that they become, page by page."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from tempfile import TemporaryFile
from types import TracebackType
from typing import NamedTuple, Self

from minions_evals_mcp.domain.definitions import Benchmark, Rubric, TestBranch, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.engine.records.batch import REFUSALS, Arrival, is_final, name_of, placed
from minions_evals_mcp.engine.records.pass_rule import with_pass_rule
from minions_evals_mcp.engine.records.save_records import RecordBatch, Saved, accept, erased_notes, record_saved
from minions_evals_mcp.engine.records.secret_marks import secrets_marked, without_secrets
from minions_evals_mcp.engine.records.vetting import no_rubric, vet_checks
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import EventRow, row_of, write_events
from minions_evals_mcp.store.seals import hidden_among
from minions_evals_mcp.store.speakers import note_handed_in

PAGE = 200
"""So many records are held at once, beside what others are made of."""


class SpooledRecord(NamedTuple):
    """A case or an output that fits by itself, as the rows that it becomes."""

    id: str
    type: str
    where: str
    row: records.Row
    key: records.KeyRow | None
    rubric_id: str | None
    is_final_output: bool
    has_default_rule: bool
    of_config: bool
    mark: EventRow | None

    @property
    def digest(self) -> str:
        """The digest of what it says."""
        return self.row[records.DIGEST]

    @property
    def arrival(self) -> Arrival:
        """The record as it arrived."""
        record = records.read_row(self.row)
        if (case := of_type(record, TestCase)) is not None and self.has_default_rule:
            record = replace(record, fields=case.fields.model_copy(update={"pass_rule": None}))
        return Arrival(record, self.where.__str__, of_config=self.of_config)


class Spool:
    """The part of a file that has arrived: `first` is what cases refer to, `last` what refers to cases; the others are read in pages."""

    def __init__(self, *, now: datetime) -> None:
        self.first: list[Arrival] = []
        self.last: list[Arrival] = []
        self._now = now
        self._ids: set[str] = set()
        self._sizes: list[int] = []
        self._file = TemporaryFile()  # noqa: SIM115  closed with the spool

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def take(self, arrivals: Iterator[Arrival]) -> None:
        """Takes in all that arrive; raises `InvalidRecordError` for one that does not fit by itself, or whose id came before."""
        while page := [*islice(arrivals, PAGE)]:
            waiting = [tuple(self._waiting(arrival)) for arrival in page if self._is_plain(arrival)]
            self._sizes.append(self._file.write(marshal.dumps(waiting)))

    def pages(self) -> Iterator[list[SpooledRecord]]:
        """The cases and outputs, in the order in which they arrived."""
        self._file.seek(0)
        for size in self._sizes:
            yield [*map(SpooledRecord._make, marshal.loads(self._file.read(size)))]  # noqa: S302  we wrote it, and nobody else can

    def _is_plain(self, arrival: Arrival) -> bool:
        """Returns whether it is a case or an output; anything else is put where it is held."""
        record = arrival.record
        if record.id in self._ids:
            raise placed(InvalidRecordError("duplicate id", field="id", record=name_of(record)), arrival)
        self._ids.add(record.id)
        if isinstance(record.fields, TestCase | AgentRun):
            return True
        (self.last if isinstance(record.fields, Benchmark | TestBranch) else self.first).append(arrival)
        return False

    def _waiting(self, arrival: Arrival) -> SpooledRecord:
        record = without_secrets(arrival.record)
        ruled = with_pass_rule(record, None)
        case = of_type(ruled, TestCase)
        if case is not None:
            _vet(case, arrival)
        mark = secrets_marked(arrival.record)
        return SpooledRecord(
            record.id, record.type, arrival.where(), records.row_of(ruled.touched(ruled.fields, self._now)), records.key_of(record),
            case.fields.rubric_id if case else None, case is None and is_final(record.fields), ruled is not record,
            arrival.of_config, row_of(mark) if mark else None,
        )  # fmt: skip


def _vet(case: Record[TestCase], arrival: Arrival) -> None:
    try:
        vet_checks(case, of_config=arrival.of_config)
    except REFUSALS as error:
        raise placed(error, arrival) from None


@dataclass(frozen=True, slots=True)
class SortedPage:
    """A page by what is kept under its ids: nothing, the same, or something else."""

    new: list[SpooledRecord] = field(default_factory=list[SpooledRecord])
    same: list[SpooledRecord] = field(default_factory=list[SpooledRecord])
    other: list[SpooledRecord] = field(default_factory=list[SpooledRecord])


def sorted_page(db: Db, page: Sequence[SpooledRecord]) -> SortedPage:
    """The page by what the store keeps by now."""
    digests = records.kept_digests(db, [row.id for row in page])
    hidden = hidden_among(db, digests)
    page_sorted = SortedPage()
    for row in page:
        is_new, is_same = row.id not in digests, row.id not in hidden and digests.get(row.id) == row.digest
        (page_sorted.new if is_new else page_sorted.same if is_same else page_sorted.other).append(row)
    return page_sorted


def add_new(db: Db, page: Sequence[SpooledRecord], *, by: Speaker, now: datetime) -> Saved:
    """Writes those under ids under which nothing is kept; raises `InvalidRecordError` for one whose rubric is not there."""
    _vet_rubrics(db, page)
    records.add_rows(db, [row.row for row in page], [row.key for row in page if row.key is not None])
    write_events(db, [record_saved(row.type, row.id, by.source) for row in page], at=now)
    write_events(db, [row.mark for row in page if row.mark is not None], at=now)
    _note_handed_in(db, page, by=by, now=now)
    return Saved(len(page), 0, 0)


def leave_same(db: Db, page: Sequence[SpooledRecord], *, by: Speaker, now: datetime) -> Saved:
    """Leaves what is kept as it is; who hands it in again may be a person who vouches for it."""
    _note_handed_in(db, page, by=by, now=now)
    accept(db, [(row.type, row.id) for row in page], by.source, at=now)
    return Saved(0, 0, len(page), tuple(erased_notes(db, [row.id for row in page])))


def _note_handed_in(db: Db, page: Sequence[SpooledRecord], *, by: Speaker, now: datetime) -> None:
    note_handed_in(db, [row.id for row in page if row.is_final_output], by.identity, at=now)


def _vet_rubrics(db: Db, page: Sequence[SpooledRecord]) -> None:
    named = {row.rubric_id for row in page if row.rubric_id is not None}
    missing = named - records.ids_of(db, named, Rubric)
    for row in page if missing else ():
        case = of_type(row.arrival.record, TestCase) if row.rubric_id in missing else None
        if case is not None:
            raise placed(no_rubric(case), row.arrival)


def batch_again(page: Sequence[SpooledRecord]) -> RecordBatch:
    """Those of whose ids something is kept, as they arrived."""
    marks = {row.id: row.mark for row in page if row.mark is not None}
    return RecordBatch([row.arrival for row in page], marks=marks)
