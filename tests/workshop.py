"""What tests of the engine are made with: an open engine whose clock and ids can be foreseen, and records in one line."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import BenchmarkRun, EvalFailure, EvalJudgment, EvalMetric, TestRun
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.engine.run.run_test_case import run_test_case
from minions_evals_mcp.models.registry import ProviderSettings
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store import events, records
from minions_evals_mcp.store.connection import make_durable, open_raw
from minions_evals_mcp.store.events import OutboxRow
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.migrate import migrate
from tests.hang import HANG_S

START = datetime(2026, 11, 21, 9, tzinfo=UTC)
F = TypeVar("F", bound=Fields)
Json = dict[str, JsonValue]


SECOND = timedelta(seconds=1)


@dataclass
class SteppingClock:
    """Each look at it is a second later than the one before, also in the store's threads: nothing is called between the two."""

    now: datetime = START

    def __call__(self) -> datetime:
        self.now = now = self.now + SECOND
        return now


@dataclass
class CountedIds:
    """`job1`, `job2`, …: one for each run that is started."""

    last: int = 0

    def __call__(self) -> str:
        self.last = last = self.last + 1
        return f"job{last}"

    @property
    def following(self) -> str:
        """The id that is given out next."""
        return f"job{self.last + 1}"


def config_in(folder: Path, *, model_url: str | None = None, concurrency: int = 4) -> EngineConfig:
    """The set-up of an engine on a store in that folder; with `model_url` a model judges (the fake server's)."""
    place_store(folder)
    config = EngineConfig(folder / "evals.db", shipped_folder("skills"), concurrency=concurrency)
    if model_url is None:
        return config
    providers = ProviderSettings(
        access={"anthropic": ProviderAccess("key", model_url)}, attempts=2, retry_base_s=0.001, retry_cap_s=0.002
    )
    return replace(config, providers=providers, judge_model="anthropic:fake-judge", call_timeout_s=HANG_S)


def place_store(folder: Path) -> Path:
    """The folder's store, an empty one of the newest schema where it had none: a copy costs a tenth of the migrations."""
    path = folder / "evals.db"
    if folder.is_dir() and not path.exists():
        path.write_bytes(_empty_store())
    return path


@cache
def _empty_store() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "evals.db"
        with closing(open_raw(path)) as db:
            make_durable(db)
            migrate(db, path)
        return path.read_bytes()


@asynccontextmanager
async def opened(config: EngineConfig) -> AsyncGenerator[Engine]:
    """An open engine with a stepping clock and counted ids."""
    async with open_engine(config) as engine:
        engine.clock = SteppingClock()
        engine.new_id = CountedIds()
        yield engine


def minion(ident: str, kind: str, **fields: JsonValue) -> Record[Fields]:
    """The record of that type with fields as on the wire."""
    return record_from_wire({"id": ident, "type": kind, "fields": fields}, new_id=ident, now=START)


def case(ident: str, **fields: JsonValue) -> Record[Fields]:
    """A test case whose inputs are `{"q": its id}`."""
    usual: Json = {"name": ident, "inputs": {"q": ident}}
    return minion(ident, "test-case", **{**usual, **fields})


def answer(ident: str, case_id: str, text: str | Json, **fields: JsonValue) -> Record[Fields]:
    """An agent-run that answers the case with the text, or with the whole output."""
    outputs: Json = {"output": text} if isinstance(text, str) else text
    usual: Json = {"agentId": "agent", "inputs": {"q": case_id}, "outputs": outputs}
    return minion(ident, "agent-run", **{**usual, **fields})


def rubric(ident: str, threshold: float, **criteria: Json) -> list[Record[Fields]]:
    """A rubric with its criteria in order, each `ident/name`."""
    idents: list[JsonValue] = [f"{ident}/{name}" for name in criteria]
    parts = [
        minion(f"{ident}/{name}", "rubric-criterion", **{"rubricId": ident, "name": name, **fields})
        for name, fields in criteria.items()
    ]
    return [minion(ident, "rubric", name=ident, passingThreshold=threshold, criteriaIds=idents), *parts]


def by_rule(guide: str, **fields: JsonValue) -> Json:
    """A criterion that is judged by those assertions."""
    return {"judgeType": "heuristic", "scoringGuide": guide, **fields}


def says(word: str, **fields: JsonValue) -> Json:
    """A criterion that asks for a word, judged by rule."""
    return by_rule(f"[{{type: icontains, value: {word}}}]", **fields)


def benchmark(ident: str, *case_ids: str, **fields: JsonValue) -> Record[Fields]:
    """A benchmark over those cases."""
    idents: list[JsonValue] = list(case_ids)
    return minion(ident, "benchmark", **{"name": ident, "dimension": "quality", "testCaseIds": idents, **fields})


async def save(
    engine: Engine, *batch: Record[Fields] | Iterable[Record[Fields]], relations: Iterable[Relation] = ()
) -> Saved:
    """Takes the records in as one batch."""
    flat = [one for part in batch for one in ([part] if isinstance(part, Record) else part)]
    return await save_records(engine, [Arrival(one) for one in flat], tuple(relations))


async def bench(engine: Engine, ident: str, **request: JsonValue) -> Job:
    """A run of the benchmark."""
    return await run_benchmark(engine, RunRequest.model_validate({"subject_id": ident, **request}))


async def try_case(engine: Engine, ident: str, **request: JsonValue) -> Job:
    """A run of the test case."""
    return await run_test_case(engine, RunRequest.model_validate({"subject_id": ident, **request}))


async def judged_case(engine: Engine, ident: str, **request: JsonValue) -> Record[TestRun]:
    """The one test-run that a run of the test case made."""
    job = await try_case(engine, ident, **request)
    return await found(engine, f"{job.id}:1.1", TestRun)


async def found(engine: Engine, ident: str, kind: type[F]) -> Record[F]:
    """The record under that id, which is of that type."""
    record = await engine.store.read(lambda db: records.find(db, ident))
    assert record is not None, f"there is no {ident}"
    assert isinstance(record.fields, kind), record.type
    return record  # pyright: ignore[reportReturnType]  checked above


async def all_of(engine: Engine, kind: type[F]) -> list[Record[F]]:
    """Every record of the type, oldest first."""
    rows = await engine.store.read(lambda db: records.page(db, kind.slug, limit=10_000))
    return [record for _, record in rows]  # pyright: ignore[reportReturnType]  of that type only


async def benchmark_run(engine: Engine, job: Job) -> BenchmarkRun:
    """What a benchmark's run was concluded as."""
    return (await found(engine, job.id, BenchmarkRun)).fields


async def judgments(engine: Engine, run_id: str) -> dict[str, EvalJudgment]:
    """The judgments of a test-run by criterion."""
    made = [one.fields for one in await all_of(engine, EvalJudgment)]
    return {one.criterion_id: one for one in made if one.test_run_id == run_id}


async def failure_of(engine: Engine, run_id: str) -> EvalFailure:
    """The eval-failure that a failed test-run was recorded with."""
    return (await found(engine, f"{run_id}:failure", EvalFailure)).fields


async def metrics(engine: Engine, job: Job) -> dict[str, EvalMetric]:
    """The eval-metrics of a benchmark-run by dimension."""
    made = [one.fields for one in await all_of(engine, EvalMetric)]
    return {one.dimension: one for one in made if one.benchmark_run_id == job.id}


async def outbox(engine: Engine, kind: str | None = None) -> list[OutboxRow]:
    """What is queued for neighbours, oldest first."""
    return await engine.store.read(lambda db: events.outbox(db, type_=kind, limit=1000))


async def counts(engine: Engine) -> dict[str, int]:
    """How many rows each table of the store holds."""
    tables = (
        "minion", "test_run", "eval_failure", "eval_judgment", "metric_score", "benchmark_run", "eval_metric", "outbox",
        "event", "unit", "verdict", "relation", "agent_run_key",
    )  # fmt: skip
    return await engine.store.read(
        lambda db: {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    )


async def fleet(engine: Engine, size: int, **fields: JsonValue) -> None:
    """The benchmark `b` over so many cases, each of which wants the word good."""
    names = [f"c{number}" for number in range(size)]
    cases = [case(name, expectedOutputs={"output": "good"}) for name in names]
    await save(engine, cases, benchmark("b", *names, **fields))


async def measured(engine: Engine, version: str, passes: Iterable[bool], **request: JsonValue) -> BenchmarkRun:
    """The run of `b` over answers of that version, of which those pass that are said to."""
    runs = [
        answer(f"{version}/c{number}", f"c{number}", "good" if passed else "bad", promptVersionRef=version)
        for number, passed in enumerate(passes)
    ]
    await save(engine, runs)
    return await benchmark_run(engine, await bench(engine, "b", prompt_version_ref=version, **request))


def first(passing: int, size: int) -> list[bool]:
    """The first so many cases pass, the others do not."""
    return [number < passing for number in range(size)]


def echoed(inputs: Json) -> str:
    """A target: says what it was asked."""
    return f"asked: {inputs['q']}"


def mapped(inputs: Json) -> Json:
    """A target whose output is a mapping."""
    return {"text": "mapped", "of": inputs}


def raising(inputs: Json) -> str:
    """A target that fails."""
    raise RuntimeError(f"no answer to {inputs['q']}")


async def endless(inputs: Json) -> str:
    """A target that never answers."""
    await anyio.sleep_forever()
    return str(inputs)


def silent(inputs: Json) -> None:
    """A target that returns what is no output."""
