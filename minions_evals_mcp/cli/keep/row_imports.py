"""Rows of the user's own data, taken in as test cases or agent-runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp.domain.definitions import Benchmark, Fields
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire
from minions_evals_mcp.domain.values import ID_PATTERN, Id
from minions_evals_mcp.engine.cases.baselines import WentOn, save_spooled
from minions_evals_mcp.engine.records.save_records import Arrival, Saved
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.row_records import RowMapping, RowRecords
from minions_evals_mcp.operations.engine import Engine
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
            raise BadInputError(f"{option} {pair}: expected FIELD=….", remedy="--help shows examples.")
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
            raise BadInputError("only test cases can be added to a benchmark.", remedy="Leave --into out.")
        try:
            _ID.validate_python(self.into)
        except ValidationError:
            raise BadInputError(f"--into {self.into}: not a valid id.", remedy=f"Ids match {ID_PATTERN}.") from None

    async def take(self, engine: Engine, file: Path) -> tuple[Saved, WentOn]:
        """Takes the rows of one file in, in one transaction; or, naming the row that does not fit, none of them."""
        rows = RowRecords(file, self.mapping, now=engine.clock())
        arrivals = chain.from_iterable(rows.batches(BATCH))
        if self.into is None:
            return await save_spooled(engine, arrivals, by=BY, settle=rows.beside_kept)
        into = _Into(await _benchmark(engine, self.into), at=engine.clock())
        saved, went_on = await save_spooled(engine, into.behind(arrivals), by=BY, settle=rows.beside_kept)
        return into.without(saved), went_on


@dataclass(slots=True)
class _Into:
    """The benchmark that takes cases up, or the id of a new one."""

    benchmark: Record[Benchmark] | str
    at: datetime
    taken: dict[str, None] = field(default_factory=dict[str, None])

    def behind(self, arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
        """Yields the cases, and behind them the benchmark with them."""
        for arrival in arrivals:
            self.taken[arrival.record.id] = None
            yield arrival
        if self.taken:
            yield Arrival(_with(self.benchmark, list(self.taken), at=self.at))

    def without(self, saved: Saved) -> Saved:
        """The number of cases that were saved, the benchmark left out."""
        if not self.taken:
            return saved
        if isinstance(self.benchmark, str):
            return replace(saved, new=saved.new - 1)
        is_same = self.taken.keys() <= set(self.benchmark.fields.test_case_ids) and self.benchmark.deleted_at is None
        return replace(saved, unchanged=saved.unchanged - 1) if is_same else replace(saved, changed=saved.changed - 1)


async def _benchmark(engine: Engine, ident: str) -> Record[Benchmark] | str:
    """The benchmark under that id, or the id where one can be made; raises `BadInputError` where none can."""
    record = await engine.store.read(lambda db: records.find(db, ident))
    if record is None:
        return ident
    benchmark = of_type(record, Benchmark)
    if benchmark is None:
        raise BadInputError(f"{ident} is a {record.type}, not a benchmark.", remedy="Name another with --into.")
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
