"""Rows of the user's own data, taken in as test cases or agent-runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.save_records import Arrival, Saved, save_batches, save_records
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.row_records import RowMapping, RowRecords
from minions_evals_mcp.store import records

BATCH = 200


def filled(given: Sequence[str], option: str) -> dict[str, str]:
    """FIELD=… options as a mapping; raises `BadInputError` for one that is none or comes twice."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (name and equals and value):
            raise BadInputError(f"{option} {one}: it has the form FIELD=….", remedy="--help shows examples.")
        if name in found:
            raise BadInputError(f"{option} {name} comes twice.", remedy="Fill each field once.")
        found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class RowImport:
    """How rows are taken in; with `into`, test cases are put into that benchmark."""

    mapping: RowMapping
    into: str | None

    def __post_init__(self) -> None:
        if self.into is not None and self.mapping.kind != "test-case":
            raise BadInputError("a benchmark is made of test cases.", remedy="Leave --into out.")

    async def take(self, engine: Engine, file: Path) -> Saved:
        """Takes the rows of one file in, or, naming the row that does not fit, none of them."""
        rows = RowRecords(file, self.mapping, now=engine.clock())
        if self.into is None:
            return await save_batches(engine, lambda: rows.batches(BATCH))
        taken: dict[str, None] = {}

        def batches() -> Iterable[list[Arrival]]:
            for batch in rows.batches(BATCH):
                taken.update(dict.fromkeys(one.record.id for one in batch))
                yield batch

        saved = await save_batches(engine, batches)
        await _put_into(engine, self.into, list(taken))
        return saved


async def _put_into(engine: Engine, ident: str, case_ids: Sequence[str]) -> None:
    """The benchmark with those cases behind the ones that it has."""
    found = await engine.store.read(lambda db: records.minion(db, ident))
    now = engine.clock()
    if found is None:
        benchmark = Benchmark(name=ident, test_case_ids=tuple(case_ids))
        await save_records(engine, [Arrival(Record(ident, benchmark, ident, now, now))])
        return
    if not isinstance(found.fields, Benchmark):
        raise BadInputError(f"{ident} is a {found.type}, no benchmark; the cases are imported.")
    ids = tuple(dict.fromkeys((*found.fields.test_case_ids, *case_ids)))
    changed = found.fields.model_copy(update={"test_case_ids": ids})
    await save_records(engine, [Arrival(replace(found, fields=changed, updated_at=now, deleted_at=None))])
