"""Rows of the user's own data, taken in as test cases or agent-runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp.domain.definitions import Benchmark, Fields
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire
from minions_evals_mcp.domain.values import ID_PATTERN, Id
from minions_evals_mcp.engine.cases.baselines import WentOn, save_batches
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, save_records
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.row_records import RowMapping, RowRecords
from minions_evals_mcp.store import records

BATCH = 200
BY = "command-line"
"""Who changed what a case expects, where no person is named."""
_ID: TypeAdapter[str | None] = TypeAdapter(Id | None)


def filled(pairs: Sequence[str], option: str) -> dict[str, str]:
    """FIELD=… options as a mapping; raises `BadInputError` for one that is malformed or a duplicate."""
    fixed: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise BadInputError(f"{option} {pair}: it has the form FIELD=….", remedy="--help shows examples.")
        if name in fixed:
            raise BadInputError(f"{option} {name}: duplicate field.", remedy="Fill each field once.")
        fixed[name] = value
    return fixed


@dataclass(frozen=True, slots=True)
class RowImport:
    """The taking in of rows; with `into`, test cases are put into that benchmark."""

    mapping: RowMapping
    into: str | None

    def __post_init__(self) -> None:
        if self.into is not None and self.mapping.kind != "test-case":
            raise BadInputError("a benchmark is made of test cases.", remedy="Leave --into out.")
        try:
            _ID.validate_python(self.into)
        except ValidationError:
            raise BadInputError(f"--into {self.into}: this is no id.", remedy=f"Ids match {ID_PATTERN}.") from None

    async def take(self, engine: Engine, file: Path) -> tuple[Saved, WentOn]:
        """Takes the rows of one file in, or, naming the row that does not fit, none of them."""
        rows = RowRecords(file, self.mapping, now=engine.clock())
        if self.into is None:
            return await save_batches(engine, lambda: rows.batches(BATCH), by=BY)
        benchmark = await _benchmark(engine, self.into)
        taken: dict[str, None] = {}

        def batches() -> Iterable[list[Arrival]]:
            for batch in rows.batches(BATCH):
                taken.update(dict.fromkeys(arrival.record.id for arrival in batch))
                yield batch

        saved = await save_batches(engine, batches, by=BY)
        if taken:
            await save_records(engine, [Arrival(_with(benchmark, list(taken), at=engine.clock()))])
        return saved


async def _benchmark(engine: Engine, ident: str) -> Record[Benchmark] | str:
    """The benchmark under that id, or the id where one can be made; raises `BadInputError` where none can."""
    record = await engine.store.read(lambda db: records.find(db, ident))
    if record is None:
        return ident
    benchmark = of_type(record, Benchmark)
    if benchmark is None:
        raise BadInputError(f"{ident} is a {record.type}, no benchmark.", remedy="Name another with --into.")
    return benchmark


def _with(benchmark: Record[Benchmark] | str, case_ids: Sequence[JsonValue], *, at: datetime) -> Record[Fields]:
    """The benchmark, or a new one of that id, with those cases behind the ones that it has."""
    if isinstance(benchmark, str):
        wire: JsonValue = {
            "id": benchmark,
            "type": "benchmark",
            "fields": {"name": benchmark, "testCaseIds": [*case_ids]},
        }
        return record_from_wire(wire, new_id=benchmark, now=at)
    ids = tuple(dict.fromkeys((*benchmark.fields.test_case_ids, *map(str, case_ids))))
    return replace(benchmark.touched(benchmark.fields.model_copy(update={"test_case_ids": ids}), at), deleted_at=None)
