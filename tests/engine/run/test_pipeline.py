"""The pipeline: bounded, stoppable, and nothing that was done is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored, UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, EvalJudgment, Outcome, TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.budget import Budget
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.yardstick import measures
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.pipeline import BREAKER, Health, Switch, run_units
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, start_benchmark
from minions_evals_mcp.engine.run.units import Bench, Unit
from minions_evals_mcp.engine.run.versions import RunVersions
from minions_evals_mcp.errors import ConflictError, InstrumentError, StoppedError, StoreError
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow
from minions_evals_mcp.store.seals import Seal
from minions_evals_mcp.targets.live import Target
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.presentation.typed import typed
from tests.workshop import (
    START,
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    fleet,
    measured,
    opened,
    rubric,
    save,
)

# Bounded


@dataclass
class Gate:
    """A target that answers nobody until it is opened."""

    opened: anyio.Event = field(default_factory=anyio.Event)
    waiting: int = 0
    most: int = 0

    def digest(self) -> str:
        """Nobody compares it."""
        return "gate"

    @property
    def takes_version(self) -> bool:
        """It waits for whatever it is asked."""
        return True

    async def produce(
        self,
        inputs: Json,  # noqa: ARG002  a target's signature
        version: Record[PromptVersion] | None,  # noqa: ARG002  as above
        *,
        timeout_ms: int | None,  # noqa: ARG002  as above
    ) -> Observed | TargetErrored:
        """Waits, then says good."""
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.opened.wait()
        self.waiting -= 1
        return Observed(output={"output": "good"})


@dataclass
class Priced(Gate):
    """An application of the user's that says what each of its outputs cost."""

    cost_usd: float | None = 0.01
    made: int = 0

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """As a gate that stands open."""
        self.made += 1
        self.opened.set()
        seen = await super().produce(inputs, version, timeout_ms=timeout_ms)
        return seen.model_copy(update={"cost_usd": self.cost_usd}) if isinstance(seen, Observed) else seen


@dataclass
class Drawn:
    """The units of a run, and how many of them were asked for."""

    units: list[Unit]
    count: int = 0

    async def __aiter__(self) -> AsyncIterator[list[Unit]]:
        for unit in self.units:
            self.count += 1
            yield [unit]


async def at_the_bench(engine: Engine, target: Target, size: int) -> tuple[Bench, Drawn]:
    """A bench with that target, and so many units that are to be carried out there."""
    await fleet(engine, size)
    request = RunRequest(subject_id="b", target="gate")
    judging = planning.judge_for(engine, request, Budget(None, None, print), model=None)
    frame = planning.frame_for(engine, None, target_digest="gate")
    await engine.store.write(lambda db: jobs.start(db, a_job("job", size)))
    found = await engine.store.read(lambda db: measures(db, [f"c{n}" for n in range(size)], {}))
    drawn = Drawn([Unit(UnitKey("job", position, 1), measure) for position, measure in enumerate(found)])
    return Bench(engine, request, judging, target, RunVersions(), frame), drawn


@dataclass
class Broken(Gate):
    """A target that breaks down, and says over what."""

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """Raises what no target should."""
        raise RuntimeError(f"cannot answer {inputs}, {version}, {timeout_ms}")


async def test_what_breaks_a_run_on_sealed_cases_says_nothing_of_them(engine: Engine) -> None:
    bench_, drawn = await at_the_bench(engine, Broken(), 2)
    bench_ = replace(bench_, seal=Seal(1, "b", None, None, None, "ada", START))
    progress = anyio.lowlevel.checkpoint_if_cancelled
    with pytest.raises(InstrumentError, match=r"^b could not be run \(RuntimeError\): the case is sealed") as stopped:
        await run_units(bench_, aiter(drawn), health=Health(Switch()), workers=1, progress=lambda _: progress())
    assert "cannot answer" not in f"{stopped.value} {stopped.value.__cause__}"


async def test_no_more_units_are_held_than_a_bounded_window_and_no_more_are_in_flight_than_workers(
    engine: Engine,
) -> None:
    size, workers = 200, 5
    gate = Gate()
    bench_, drawn = await at_the_bench(engine, gate, size)
    seen: list[Outcome] = []

    async def progress(outcomes: Sequence[Outcome]) -> None:
        seen.extend(outcomes)

    health = Health(Switch())
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:

            async def carry_on() -> None:
                await run_units(bench_, aiter(drawn), health=health, workers=workers, progress=progress)

            tasks.start_soon(carry_on)
            while gate.waiting < workers:
                await anyio.lowlevel.checkpoint()
            for _ in range(200):
                await anyio.lowlevel.checkpoint()
            assert gate.waiting == workers
            assert drawn.count == workers, "what nobody works on is not drawn"
            gate.opened.set()
    assert gate.most == workers
    assert seen == ["scored"] * size
    assert len(await all_of(engine, TestRun)) == size


def a_job(ident: str, total: int) -> Job:
    """A job as it stands when it starts."""
    return Job(ident, ident, "test-case", "b", {}, "running", "", {}, total, START, START)


async def test_a_judge_is_asked_by_no_more_workers_at_once_than_were_set(tmp_path: Path) -> None:
    async with (
        serving() as server,
        opened(config_in(tmp_path, model_url=server.url, concurrency=3)) as engine,
    ):
        server.hold(crowd=3)
        await to_be_judged(engine, 24)
        await bench(engine, "b")
        assert server.judge == 24
        assert server.max_in_flight == 3


async def to_be_judged(engine: Engine, size: int) -> None:
    """The benchmark `b`, whose cases a model judges."""
    names = [f"c{n}" for n in range(size)]
    await save(engine, rubric("r", 1, a={}), [case(name, rubricId="r") for name in names], benchmark("b", *names))
    await save(engine, [answer(f"a-{name}", name, f"Output of {name}.") for name in names])


# Stopped


async def test_an_interrupted_run_is_stopped_and_goes_on_where_it_was(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=1)) as engine:
        await fleet(engine, 300)
        await save(engine, [answer(f"a{n}", f"c{n}", "good" if n % 3 else "bad") for n in range(300)])
        request = RunRequest(subject_id="b", key="k")
        with anyio.CancelScope() as scope:

            async def interrupt(outcome: Outcome) -> None:
                assert outcome == "scored"
                scope.cancel()

            await run_benchmark(engine, request, progress=interrupt)
        assert scope.cancelled_caught
        stopped = await summarize(engine, "k")
        assert (stopped.state, stopped.reason) == ("stopped", "interrupted")
        early = {one.id: one for one in await all_of(engine, TestRun)}
        assert 0 < len(early) < 300
        assert stopped.open == 300 - len(early)
        job = await run_benchmark(engine, request)
        assert job.state == "completed"
        late = {one.id: one for one in await all_of(engine, TestRun)}
        assert len(late) == 300
        assert {ident: late[ident] for ident in early} == early, "none was judged twice"
        assert len(await all_of(engine, EvalJudgment)) == 300
        assert len(await all_of(engine, BenchmarkRun)) == 1


async def test_an_interrupted_model_run_pays_for_no_judgment_twice(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=2)) as server,
        opened(config_in(tmp_path, model_url=server.url)) as engine,
    ):
        await to_be_judged(engine, 30)
        request = RunRequest(subject_id="b", key="k")
        with anyio.fail_after(HANG_S), anyio.CancelScope() as scope:
            seen = 0

            async def interrupt(_: Outcome) -> None:
                nonlocal seen
                seen += 1
                if seen == 7:
                    scope.cancel()

            await run_benchmark(engine, request, progress=interrupt)
        assert (await summarize(engine, "k")).state == "stopped"
        assert (await run_benchmark(engine, request)).state == "completed"
        assert server.judge <= 30 + engine.config.concurrency
        assert len(await all_of(engine, TestRun)) == 30


async def test_a_run_that_is_interrupted_while_calls_hang_stops_at_once(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(phang=1.0)) as server,
        opened(config_in(tmp_path, model_url=server.url)) as engine,
    ):
        await to_be_judged(engine, 8)
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_benchmark, engine, RunRequest(subject_id="b", key="k"))
                while server.in_flight < engine.config.concurrency:  # noqa: ASYNC110  the fake counts, it tells nobody
                    await anyio.sleep(0.001)
                tasks.cancel_scope.cancel()
        stopped = await summarize(engine, "k")
        assert (stopped.state, stopped.open, stopped.outcomes) == ("stopped", 8, {})
        server.configure(FakeSettings())
        assert (await bench(engine, "b", key="k")).state == "completed"


async def test_an_output_whose_keeping_is_broken_off_is_written_in_the_end(engine: Engine) -> None:
    await fleet(engine, 2)
    job = (await start_benchmark(engine, RunRequest(subject_id="b"))).job
    seen = Observed(output={"output": "paid for"})
    outputs = [UnitRow(UnitKey(job.id, place, 1), f"c{place}", observed=seen) for place in range(2)]
    kept = KeptVerdicts(engine, fresh=False)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await kept.keep_output(outputs[0])
    await kept.keep_output(outputs[1])
    await kept.settle()
    units = await engine.store.read(partial(jobs.units, job_id=job.id, first=0, last=2))
    assert [unit.observed for unit in units.values()] == [seen, seen]


async def test_what_is_written_once_the_keeping_of_an_output_returned_comes_after_it(engine: Engine) -> None:
    await fleet(engine, 2)
    job = (await start_benchmark(engine, RunRequest(subject_id="b"))).job
    kept = KeptVerdicts(engine, fresh=False)
    for _ in range(20):  # what was queued before is looked through by who queues the next write
        await kept.queue(lambda _: None)
    await engine.store.write(lambda _: None)

    async def keep(place: int) -> None:
        seen = Observed(output={"output": "paid for"})
        await kept.keep_output(UnitRow(UnitKey(job.id, place, 1), f"c{place}", observed=seen))
        assert (place, 1) in await engine.store.write(partial(jobs.units, job_id=job.id, first=0, last=2))

    async with anyio.create_task_group() as tasks:
        for place in range(2):
            tasks.start_soon(keep, place)


async def test_an_output_that_cannot_be_kept_gets_no_verdict_and_is_kept_if_it_can_be_in_the_end(
    engine: Engine,
) -> None:
    await fleet(engine, 3)
    refusing = "CREATE TRIGGER no_room BEFORE INSERT ON unit WHEN NEW.outcome IS NULL BEGIN SELECT RAISE(ABORT, 'no room'); END"
    await engine.store.write(lambda db: db.execute(refusing))
    target = Priced()
    with pytest.raises(ConflictError, match="no room"):
        await ran(engine, target, key="k")
    assert await all_of(engine, TestRun) == []
    await engine.store.write(lambda db: db.execute("DROP TRIGGER no_room"))
    job = await ran(engine, target, key="k")
    units = await engine.store.read(partial(jobs.units, job_id=job.id, first=0, last=3))
    assert [unit.observed is not None for unit in units.values()] == [True] * 3


async def test_a_write_that_failed_stops_what_follows_and_is_tried_once_more_in_the_end(engine: Engine) -> None:
    tries: list[str] = []

    def full_at_first(_: Db) -> None:
        tries.append("again" if tries else "full")
        if tries == ["full"]:
            raise StoreError("the disk is full.")

    kept = KeptVerdicts(engine, fresh=False)
    await kept.queue(full_at_first)
    await engine.store.write(lambda _: None)
    for _ in range(2):
        with pytest.raises(StoreError, match="full"):
            await kept.queue(lambda _: tries.append("next"))
    await kept.settle()
    assert tries == ["full", "again"]


async def test_a_time_cap_stops_before_the_next_call_and_the_run_goes_on_under_its_key(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=5)) as server,
        opened(config_in(tmp_path, model_url=server.url, concurrency=1)) as engine,
    ):
        await to_be_judged(engine, 40)
        with pytest.raises(StoppedError, match=r"time cap of 0\.05 s.*key=k"):
            await bench(engine, "b", key="k", max_seconds=0.05)
        stopped = await summarize(engine, "k")
        assert stopped.state == "stopped"
        assert stopped.open > 0
        assert (await bench(engine, "b", key="k")).state == "completed"
        assert server.judge == 40


# Broken off


async def test_a_broken_instrument_stops_the_run_after_so_many_errors_in_a_row(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(p500=1.0)) as server,
        opened(config_in(tmp_path, model_url=server.url, concurrency=1)) as engine,
    ):
        await to_be_judged(engine, 3 * BREAKER)
        with pytest.raises(InstrumentError, match=f"{BREAKER} units in a row failed.*key=k"):
            await bench(engine, "b", key="k")
        stopped = await summarize(engine, "k")
        assert stopped.state == "stopped"
        assert stopped.open >= 3 * BREAKER - BREAKER - 2
        assert not await all_of(engine, TestRun)
        server.configure(FakeSettings())
        assert (await bench(engine, "b", key="k")).state == "completed"
        assert len(await all_of(engine, TestRun)) == 3 * BREAKER


async def test_a_key_that_is_refused_stops_the_run_at_its_first_call(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(p401=1.0)) as server,
        opened(config_in(tmp_path, model_url=server.url, concurrency=1)) as engine,
    ):
        await to_be_judged(engine, 20)
        with pytest.raises(InstrumentError):
            await bench(engine, "b", key="k")
        assert server.requests <= 2
        assert (await summarize(engine, "k")).state == "stopped"


@pytest.mark.parametrize("at_once", [1, 4, 40])
async def test_an_application_that_breaks_each_time_stops_the_run_and_is_named(tmp_path: Path, at_once: int) -> None:
    """Its outputs would be judged by rule, by others than those who have them made: these are stopped first."""

    @dataclass
    class Broken(Priced):
        async def produce(
            self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
        ) -> TargetErrored:
            """It breaks."""
            del inputs, version, timeout_ms
            self.made += 1
            with anyio.CancelScope(shield=True):  # as a thread, which ends when it ends
                await anyio.sleep(0.002 * (self.made % 7))
            return TargetErrored("it raised TypeError")

    async with opened(config_in(tmp_path, concurrency=at_once)) as engine:
        await fleet(engine, 4 * BREAKER)
        with pytest.raises(
            InstrumentError, match=f"{BREAKER} units in a row failed, the last with: it raised TypeError"
        ):
            await ran(engine, Broken(), key="k")
        assert (await summarize(engine, "k")).state == "stopped"


async def test_single_errors_do_not_stop_a_run(engine: Engine) -> None:
    await fleet(engine, 6)
    await save(engine, [answer(f"a{n}", f"c{n}", "good") for n in range(1, 6)])
    await save(engine, answer("a0", "c0", {}, status="failed", errorMessage="HTTP 503"))
    job = await bench(engine, "b")
    assert job.state == "completed"
    assert (await summarize(engine, job.id)).outcomes == {"scored": 5, "target-error": 1}


async def test_the_order_of_a_runs_cases_is_the_benchmarks(engine: Engine) -> None:
    await fleet(engine, 12)
    run = await measured(engine, "v1", [True] * 12)
    by_id = {one.id: one.fields.test_case_id for one in await all_of(engine, TestRun)}
    assert all(by_id[f"job1:{n + 1}.1"] == f"c{n}" for n in range(12))
    assert set(run.test_run_ids) == set(by_id)


# What a target says that its outputs cost


async def ran(engine: Engine, target: Priced, **asked: JsonValue) -> Job:
    request = RunRequest.model_validate({"subject_id": "b", "target": "own", **asked})
    with anyio.fail_after(HANG_S):
        return await (await start_benchmark(engine, request, target=lambda _: target)).finish(quiet)


async def quiet(outcome: Outcome) -> None:
    del outcome


async def test_a_cap_that_the_last_output_reaches_stops_nothing(engine: Engine) -> None:
    await fleet(engine, 1)
    job = await ran(engine, Priced(), key="k", max_cost_usd=0.005)
    assert (job.state, job.reason) == ("completed", "")
    assert (await summarize(engine, "k")).outcomes == {"scored": 1}


async def test_a_cost_cap_holds_for_what_the_target_itself_says_and_a_higher_one_goes_on(engine: Engine) -> None:
    await fleet(engine, 20)
    target = Priced()
    with pytest.raises(StoppedError, match=r"cost cap of \$0.05 \(\$0.0500 spent, as reported by the target"):
        await ran(engine, target, key="k", max_cost_usd=0.05)
    assert target.made == 5
    with pytest.raises(StoppedError, match="a higher cap resumes it") as stopped:
        await ran(engine, target, key="k", max_cost_usd=0.05)
    assert typed(stopped.value.remedy_text) == (
        "Progress is saved: `minions-evals run-benchmark b --target own --max-cost-usd 0.1 --key k` resumes it with twice"
        " the cost cap. Without the key, everything is run again."
    )
    assert target.made == 5, "what was spent before counts"
    job = await ran(engine, target, key="k", max_cost_usd=1)
    assert (job.state, target.made) == ("completed", 20)
    assert job.spent == {"costUsd": pytest.approx(0.2), "ownCostUsd": pytest.approx(0.2)}


async def test_a_target_that_says_no_cost_runs_side_by_side_under_a_cap(engine: Engine) -> None:
    await fleet(engine, 20)
    target = Priced(cost_usd=None)
    job = await ran(engine, target, max_cost_usd=0.01)
    assert (job.state, target.made, job.spent) == ("completed", 20, {"untoldCosts": 20})
    assert target.most > 1


async def test_an_output_that_is_dearer_than_those_before_passes_the_cap_alone(engine: Engine) -> None:
    await fleet(engine, 20)
    target = Priced(cost_usd=5)
    with pytest.raises(StoppedError, match="cost cap"):
        await ran(engine, target, max_cost_usd=1)
    assert target.made == 1
