"""A log of another tool taken in the ordinary way: whole, or with the place that does not fit, not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.engine.cases.baselines import WentOn, save_batches
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved
from minions_evals_mcp.errors import EvalsError, InvalidRecordError
from minions_evals_mcp.interop.log_formats.table import Format, headed, opened
from minions_evals_mcp.interop.log_intake.benchmarks import CaseIds, grow_benchmarks, vet_benchmarks
from minions_evals_mcp.interop.log_intake.identity import Settling, content_of, identified
from minions_evals_mcp.interop.logs.records import records, version, version_id
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample, Recorded, SkippedSample, Variant
from minions_evals_mcp.interop.logs.seen_ids import CountedIds, SeenIds
from minions_evals_mcp.scoring.assertions.kinds.foreign_scorer import FOREIGN_SCORER, is_carried_out
from minions_evals_mcp.sessions.unfinished import is_unfinished
from minions_evals_mcp.store.connection import Db

BATCH = 200
LOG = "log:"
"""How the ids of what an imported log becomes begin."""


@dataclass(slots=True)
class Counted:
    """The counts of a log's reading; `trials`: so many outputs the case has that has most of one version.

    `checks` are what judges the samples, `beside` the keys that mean nothing here and are kept under `extra`, `errors` the
    samples that ended in an error there, `unfinished` the runs that end before the agent answered.
    """

    samples: int = 0
    outputs: int = 0
    trials: int = 1
    scores: Counter[str] = field(default_factory=Counter[str])
    unread: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    checks: Counter[str] = field(default_factory=Counter[str])
    beside: Counter[str] = field(default_factory=Counter[str])
    errors: int = 0
    unfinished: int = 0
    variants: dict[Variant | None, None] = field(default_factory=dict[Variant | None, None])

    def take(self, item: Item) -> None:
        """Counts the sample, its output and its scores."""
        match item:
            case LogSample():
                self._sample(item)
            case Recorded():
                self.samples += 1
                self.outputs += not is_unfinished(item.wire)
                self.unfinished += is_unfinished(item.wire)
                if not _says_version(item.wire):
                    self.variants[None] = None
                self.scores.update(foreign_names(item.wire))
            case SkippedSample(why):
                self.skipped[why] += 1
            case EvaluationLog():
                raise AssertionError(item)  # it comes once, first

    def _sample(self, sample: LogSample) -> None:
        self.samples += 1
        self.unread.update(sample.unread)
        self.checks.update({*map(_how, sample.assertions)})
        self.beside.update(sample.extra.keys())
        if sample.produced is not None:
            self.variants[sample.produced.variant] = None
            self.outputs += 1
            self.scores.update(score.name for score in sample.produced.scores)
            self.errors += sample.produced.error is not None
            self.beside.update(obj(sample.produced.extra.get("rest")).keys())

    def wire(self) -> Json:
        """What was read and what was not, for a program."""
        counts: dict[str, Counter[str]] = {
            "foreignScores": self.scores, "unreadChecks": self.unread, "skipped": self.skipped, "checks": self.checks,
            "keptBeside": self.beside,
        }  # fmt: skip
        return {
            "samples": self.samples, "outputs": self.outputs, "errors": self.errors,
            **({"unfinished": self.unfinished} if self.unfinished else {}),
            **{name: {key: counted[key] for key in counted} for name, counted in counts.items()},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of importing one log, and under which ids it can be judged here: `versions`, one for each thing that was tried."""

    form: Format
    log: EvaluationLog
    saved: Saved
    went_on: WentOn
    counted: Counted
    benchmarks: tuple[str, ...]
    versions: tuple[str, ...]

    def wire(self) -> Json:
        """The answer to a program."""
        counted = self.counted
        return {
            "format": self.form.name, "log": self.log.id, **counted.wire(), "promptVersionRefs": [*self.versions],
            **({"trials": counted.trials} if counted.trials > 1 else {}),
            **({"benchmarkId": self.benchmarks[0]} if self.benchmarks else {}),
            **({"benchmarkIds": [*self.benchmarks]} if len(self.benchmarks) > 1 else {}),
        }  # fmt: skip


def _how(assertion: Json) -> str:
    """The check in words: of another tool's scorer, whether it is carried out or its recorded score is the verdict."""
    if assertion.get("type") != FOREIGN_SCORER:
        return str(assertion.get("type"))
    value = obj(assertion.get("value"))
    how = "by its documented meaning" if is_carried_out(value) else "its recorded score is the verdict"
    return f"{value.get('tool')}'s {value.get('name', value.get('scorer'))}: {how}"


def read_counted(form: Format, path: Path) -> tuple[EvaluationLog, Counted]:
    """What is read of a log, without keeping it; raises as `take_log` does for what cannot be read or holds no sample."""
    log, items = opened(form, path)
    counted = Counted()
    for item in items:
        counted.take(item)
    _vet_samples(counted, path)
    return log, counted


def _vet_samples(counted: Counted, path: Path) -> None:
    """Raises `InvalidRecordError` for a log of which nothing was read."""
    if not counted.samples:
        held = "; ".join(f"{number} × {why}" for why, number in counted.skipped.items())
        raise InvalidRecordError(f"holds no samples{f': {held}' if held else ''}", where=str(path))


async def take_log(engine: Engine, form: Format, path: Path, *, by: str) -> Taken:
    """Takes the log in; raises `InvalidRecordError` naming file and place, and then nothing is kept."""
    log, counted, settling = await _identified(engine, headed(form, path), path), Counted(), Settling()
    await engine.store.read(lambda db: vet_benchmarks(db, log))

    def batches() -> Iterator[Sequence[Arrival]]:
        nonlocal counted, settling
        counted, settling = Counted(), Settling()
        cases.clear()
        return _batches(form, path, log, counted, cases, now=engine.clock())

    def settle(db: Db, batch: Sequence[Arrival]) -> Sequence[Arrival]:
        return settling.settle(db, batch)

    with closing(CaseIds()) as cases:
        saved, went_on = await save_batches(engine, batches, by=by, settle=settle)
        _vet_samples(counted, path)
        grown, benchmarks = await grow_benchmarks(engine, log, cases, where=str(path))
    made = dict.fromkeys(version_id(log, variant) for variant in counted.variants)
    versions = tuple(version for version in settling.versions if version in made or version.startswith(LOG)) or tuple(
        made
    )
    return Taken(form, log, saved + grown, went_on, counted, benchmarks, versions)


async def _identified(engine: Engine, log: EvaluationLog, path: Path) -> EvaluationLog:
    content = "" if log.own_id else content_of(path)
    return await engine.store.read(lambda db: identified(db, log, content))


def _batches(
    form: Format, path: Path, log: EvaluationLog, counted: Counted, cases: CaseIds, *, now: datetime
) -> Iterator[list[Arrival]]:
    """The records of the log, each once, in batches."""
    batch: list[Arrival] = []
    _, samples = opened(form, path)
    seen, again = SeenIds(), CountedIds()
    for item in samples:
        known = len(counted.variants)
        counted.take(item)
        tried = list(counted.variants)[known:]
        where = item.where if isinstance(item, LogSample | Recorded) and item.where else str(path)
        for wire in _wires(log, item, tried, where):
            arrival = _arrival(wire, where, now)
            is_case = wire["type"] == "test-case"
            if not seen.add(arrival.record.id):
                if is_case:
                    again.add(arrival.record.id)
                    counted.trials = max(counted.trials, _trial(item, 1 + again.count(arrival.record.id)))
                    continue
                raise InvalidRecordError("the same sample and epoch come twice", field="id", where=where)
            if is_case:
                cases.add(arrival.record.id)
            batch.append(arrival)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _trial(item: Item, number: int) -> int:
    """Returns which of its version's outputs for a case it is, where that is the number of all that the log has for the case."""
    if not isinstance(item, LogSample) or item.produced is None:
        return 1
    return number if item.produced.variant is None else item.epoch


def _wires(log: EvaluationLog, item: Item, tried: Sequence[Variant | None], where: str) -> list[Json]:
    """Returns what was tried for the first time, and what the item becomes."""
    made = [_versioned(log, item.wire)] if isinstance(item, Recorded) else []
    try:
        return [
            *(version(log, variant) for variant in tried),
            *(records(log, item) if isinstance(item, LogSample) else made),
        ]
    except (ValueError, RecursionError) as error:
        raise _unfit(error, where) from None


def _says_version(wire: Json) -> bool:
    return bool(obj(wire.get("fields")).get("promptVersionRef"))


def _versioned(log: EvaluationLog, wire: Json) -> Json:
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
        raise InvalidRecordError(error.reason, field=error.field, where=where, remedy=error.remedy_text) from None
    except EvalsError:
        raise
    except (ValueError, RecursionError) as error:
        raise _unfit(error, where) from None
    return Arrival(record, partial(str, where))
