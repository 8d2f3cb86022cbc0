"""A log of another tool taken in the ordinary way: whole, or with the place that does not fit, not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Json
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.engine.cases.baselines import WentOn, save_batches
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, save_records
from minions_evals_mcp.errors import BadInputError, EvalsError, InvalidRecordError
from minions_evals_mcp.interop.log_formats.table import Format, headed, opened
from minions_evals_mcp.interop.log_intake.seen_ids import SeenIds
from minions_evals_mcp.interop.logs.records import benchmark_id, records, version, version_id
from minions_evals_mcp.interop.logs.sample import Item, Log, Recorded, Sample, Skipped, Variant
from minions_evals_mcp.store import records as kept_records

BATCH = 200


@dataclass(slots=True)
class Counted:
    """The counts of a log's reading."""

    samples: int = 0
    outputs: int = 0
    scores: Counter[str] = field(default_factory=Counter[str])
    unread: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    variants: dict[Variant | None, None] = field(default_factory=dict[Variant | None, None])
    case_ids: list[str] = field(default_factory=list[str])

    def take(self, item: Item) -> None:
        """Counts the sample, its output and its scores."""
        match item:
            case Sample():
                self._sample(item)
            case Recorded():
                self.samples += 1
                self.outputs += 1
                if not _says_version(item.wire):
                    self.variants[None] = None
                self.scores.update(foreign_names(item.wire))
            case Skipped(why):
                self.skipped[why] += 1
            case Log():
                raise AssertionError(item)  # it comes once, first

    def _sample(self, sample: Sample) -> None:
        self.samples += 1
        self.unread.update(sample.unread)
        if sample.produced is not None:
            self.variants[sample.produced.variant] = None
            self.outputs += 1
            self.scores.update(score.name for score in sample.produced.scores)


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of importing one log, and under which ids it can be judged here: `versions`, one for each thing that was tried."""

    form: Format
    log: Log
    saved: Saved
    went_on: WentOn
    counted: Counted
    benchmark: str
    versions: tuple[str, ...]

    def wire(self) -> Json:
        """The answer to a program."""
        counted = self.counted
        scores: Json = dict(counted.scores)
        unread: Json = dict(counted.unread)
        skipped: Json = dict(counted.skipped)
        return {
            "format": self.form.name, "log": self.log.id, "samples": counted.samples, "outputs": counted.outputs,
            "foreignScores": scores, "unreadChecks": unread, "skipped": skipped, "promptVersionRefs": [*self.versions],
            **({"benchmarkId": self.benchmark} if counted.case_ids else {}),
        }  # fmt: skip


async def take_log(engine: Engine, form: Format, path: Path, *, by: str) -> Taken:
    """Takes the log in; raises `InvalidRecordError` naming file and place, and then nothing is kept."""
    log = headed(form, path)
    benchmark = await engine.store.read(lambda db: kept_records.find(db, benchmark_id(log)))
    _vet(benchmark, log)
    counted = Counted()

    def batches() -> Iterator[Sequence[Arrival]]:
        nonlocal counted
        counted = Counted()
        return _batches(form, path, counted, now=engine.clock())

    saved, went_on = await save_batches(engine, batches, by=by)
    if counted.case_ids:
        grown = _grown(benchmark, log, counted.case_ids, at=engine.clock())
        saved += await save_records(engine, [Arrival(grown, partial(str, path))])
    return Taken(
        form,
        log,
        saved,
        went_on,
        counted,
        benchmark_id(log),
        tuple(version_id(log, variant) for variant in counted.variants),
    )


def _vet(benchmark: Record[Fields] | None, log: Log) -> None:
    if benchmark is not None and of_type(benchmark, Benchmark) is None:
        raise BadInputError(
            f"{benchmark_id(log)} is a {benchmark.type}, no benchmark.", remedy="Rename the log's task."
        )


def _batches(form: Format, path: Path, counted: Counted, *, now: datetime) -> Iterator[list[Arrival]]:
    """The records of the log, each once, in batches."""
    batch: list[Arrival] = []
    log, samples = opened(form, path)
    seen = SeenIds()
    for item in samples:
        known = len(counted.variants)
        counted.take(item)
        tried = list(counted.variants)[known:]
        where = item.where if isinstance(item, Sample | Recorded) and item.where else str(path)
        for wire in _wires(log, item, tried, where):
            arrival = _arrival(wire, where, now)
            is_case = wire["type"] == "test-case"
            if not seen.add(arrival.record.id):
                if is_case:
                    continue
                raise InvalidRecordError("the same sample and epoch come twice", field="id", where=where)
            if is_case:
                counted.case_ids.append(arrival.record.id)
            batch.append(arrival)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _wires(log: Log, item: Item, tried: Sequence[Variant | None], where: str) -> list[Json]:
    """Returns what was tried for the first time, and what the item becomes."""
    made = [_versioned(log, item.wire)] if isinstance(item, Recorded) else []
    try:
        return [
            *(version(log, variant) for variant in tried),
            *(records(log, item) if isinstance(item, Sample) else made),
        ]
    except (ValueError, RecursionError) as error:
        raise _unfit(error, where) from None


def _says_version(wire: Json) -> bool:
    return bool(obj(wire.get("fields")).get("promptVersionRef"))


def _versioned(log: Log, wire: Json) -> Json:
    """The agent-run as one of the log's version, where it names none itself: two logs are two versions, to be compared."""
    return (
        wire
        if _says_version(wire)
        else {**wire, "fields": {**obj(wire["fields"]), "promptVersionRef": version_id(log)}}
    )


def foreign_names(wire: Json) -> list[str]:
    """The names of the foreign scores of an agent-run on the wire."""
    scores = obj(obj(obj(wire.get("fields")).get("extra"))).get("foreignScores")
    return [str(obj(score).get("name")) for score in listed_values(scores)]


def _unfit(error: ValueError | RecursionError, where: str) -> InvalidRecordError:
    reason = "nested too deeply" if isinstance(error, RecursionError) else f"cannot be kept: {error}"
    return InvalidRecordError(reason, where=where)


def _arrival(wire: Json, where: str, now: datetime) -> Arrival:
    try:
        record = record_from_wire(wire, new_id=str(wire["id"]), now=now)
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field=error.field, where=where, remedy=error.remedy) from None
    except EvalsError:
        raise
    except (ValueError, RecursionError) as error:
        raise _unfit(error, where) from None
    return Arrival(record, partial(str, where))


def _grown(benchmark: Record[Fields] | None, log: Log, case_ids: Sequence[str], *, at: datetime) -> Record[Fields]:
    """The benchmark of the log's task with those cases behind the ones that it has."""
    held = of_type(benchmark, Benchmark)
    if held is None:
        fields = Benchmark(
            name=log.task, description=f"Imported from {log.format} logs.", test_case_ids=tuple(case_ids)
        )
        return Record(benchmark_id(log), fields, log.task, at, at)
    together = tuple(dict.fromkeys((*held.fields.test_case_ids, *case_ids)))
    return replace(held.touched(held.fields.model_copy(update={"test_case_ids": together}), at), deleted_at=None)
