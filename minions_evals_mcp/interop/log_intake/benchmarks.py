"""The benchmarks that the cases of a log's task make up: one, or of very many cases several, each small enough to be held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from tempfile import TemporaryFile

from minions_evals_mcp.domain.definitions import Benchmark, Fields
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, batch_of, write_batch
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs.records import benchmark_id
from minions_evals_mcp.interop.logs.sample import EvaluationLog
from minions_evals_mcp.store import records, seals
from minions_evals_mcp.store.connection import Db

MOST_CASES = 100_000
"""So many cases a log's benchmark takes: each is held whole by whatever runs, compares or audits it."""


class CaseIds:
    """Ids of cases in the order in which they came: in a temporary file, for a log may have millions."""

    def __init__(self) -> None:
        self._file = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed by `close`
        self._number = 0

    def add(self, ident: str) -> None:
        """Adds it behind the others."""
        self._file.write(f"{ident}\n")
        self._number += 1

    def clear(self) -> None:
        """Forgets them all."""
        self._file.seek(0)
        self._file.truncate()
        self._number = 0

    def close(self) -> None:
        """Ends the file."""
        self._file.close()

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        return (line[:-1] for line in self._file)


@dataclass(frozen=True, slots=True)
class _Part:
    """The benchmark of that number, from 1, of a log that stands `where`; it takes at most so many cases."""

    log: EvaluationLog
    number: int
    where: str
    most: int

    @property
    def id(self) -> str:
        """Its id."""
        first = benchmark_id(self.log)
        return first if self.number == 1 else f"{first}:{self.number}"

    @property
    def name(self) -> str:
        """Its name."""
        return self.log.task if self.number == 1 else f"{self.log.task} ({self.number})"

    def next(self) -> _Part:
        """The one behind it."""
        return replace(self, number=self.number + 1)


async def grow_benchmarks(
    engine: Engine, log: EvaluationLog, cases: CaseIds, *, where: str, most: int = MOST_CASES
) -> tuple[Saved, tuple[str, ...]]:
    """Puts the cases behind those that the task's benchmarks have, and returns the benchmarks in which they stand.

    A benchmark that is full or sealed takes no more; the next one is made, where there is none, and sealed cases stay where they are.
    """
    saved, idents = Saved(0, 0, 0), list[str]()
    waiting, part = cases, _Part(log, 1, where, most)
    with ExitStack() as opened:
        while len(waiting):
            left = opened.enter_context(closing(CaseIds()))
            grow = partial(_grow, part=part, waiting=waiting, left=left, by=engine.speaker, now=engine.clock())
            grown = await engine.store.write(grow)
            if grown is not None:
                saved += grown
                idents.append(part.id)
            waiting, part = left, part.next()
    return saved, tuple(idents)


def vet_benchmarks(db: Db, log: EvaluationLog) -> None:
    """Raises `BadInputError` where what is kept under the id of a benchmark of the log's is none."""
    part = _Part(log, 1, "", MOST_CASES)
    while _stored_benchmark(db, part) is not None:
        part = part.next()


def _stored_benchmark(db: Db, part: _Part) -> Record[Benchmark] | None:
    record = records.find(db, part.id)
    benchmark = of_type(record, Benchmark)
    if record is not None and benchmark is None:
        raise BadInputError(f"{record.id} is a {record.type}, no benchmark.", remedy="Rename the log's task.")
    return benchmark


def _grow(db: Db, *, part: _Part, waiting: CaseIds, left: CaseIds, by: Speaker, now: datetime) -> Saved | None:
    """Writes the benchmark with what it takes of the cases; None where none of them stands in it."""
    held = _stored_benchmark(db, part)
    there = set[str]() if held is None else set(held.fields.test_case_ids)
    room, number, new = _room(db, part, held), 0, list[str]()
    left.clear()
    for ident in waiting:
        if ident in there:
            number += 1
        elif len(new) < room:
            new.append(ident)
        else:
            left.add(ident)
    sealed = seals.sealed_among(db, new)
    new = [ident for ident in new if ident not in sealed]
    if not number and not new:
        return None
    arrival = Arrival(_with(held, part, new, at=now), partial(str, part.where))
    return write_batch(db, batch_of([arrival]), by=by, now=now)


def _room(db: Db, part: _Part, held: Record[Benchmark] | None) -> int:
    """Returns how many more cases it takes: none where it is sealed, or another comes behind it."""
    if held is None:
        return part.most
    is_closed = seals.is_sealed(db, part.id) or records.find(db, part.next().id) is not None
    return 0 if is_closed else max(0, part.most - len(held.fields.test_case_ids))


def _with(held: Record[Benchmark] | None, part: _Part, new: list[str], *, at: datetime) -> Record[Fields]:
    if held is not None:
        case_ids = (*held.fields.test_case_ids, *new)
        return replace(held.touched(held.fields.model_copy(update={"test_case_ids": case_ids}), at), deleted_at=None)
    description = f"Imported from {part.log.format} logs."
    fields = Benchmark(name=part.name, description=description, test_case_ids=tuple(new))
    return Record(part.id, fields, part.name, at, at)
