"""A benchmark carried out by the workers of a dask cluster: a real scheduler and workers, on loopback."""

from __future__ import annotations

import io
import os
import re
import socket
from contextlib import redirect_stdout, suppress
from functools import partial

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.cluster import crew
from minions_evals_mcp.cluster.place import open_cluster
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.report.tables import show_run
from minions_evals_mcp.store import jobs, leases, talks
from minions_evals_mcp.store.jobs import Job
from tests.cluster.inside import Inside
from tests.hang import HANG_S
from tests.shared.view.visitor import visitor
from tests.workshop import all_of, answer, bench, benchmark, case, fleet, rubric, save, says

NAP = "python:tests.cluster.napping:noted_nap"


async def on_cluster(engine: Engine, address: str, request: RunRequest) -> Job:
    """The run of a benchmark, carried out at that address."""
    with anyio.fail_after(HANG_S):
        async with open_cluster(engine, request, address) as place:
            return await run_benchmark(engine, request, place=place)


def told(run: TestRun) -> dict[str, object]:
    """What a test-run says but for times and ids."""
    dumped = run.model_dump(mode="json", exclude={"benchmark_run_id", "ran_at", "latency_ms", "duration_ms"})
    assert isinstance(dumped, dict)
    return dumped


async def on_both(engine: Engine, there: Inside, request: RunRequest) -> Job:
    """The same; no call ends before both workers have made some."""
    ended: list[Job] = []

    async def run() -> None:
        ended.append(await on_cluster(engine, there.address, request))

    with there.naps.gated():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await there.naps.are_under_way(2 * engine.config.concurrency, os.getpid())
            there.naps.let_all()
    return ended[0]


async def runs_of(engine: Engine, job: Job) -> dict[str, dict[str, object]]:
    """What each case's run of a job says."""
    found = [one.fields for one in await all_of(engine, TestRun) if one.fields.benchmark_run_id == job.id]
    return {run.test_case_id: told(run) for run in found}


async def test_a_target_is_called_by_the_workers_and_the_results_are_those_of_one_process(
    engine: Engine, two_workers: Inside
) -> None:
    await fleet(engine, 60)
    here = await bench(engine, "b", target=NAP)
    there = await on_both(engine, two_workers, RunRequest(subject_id="b", target=NAP))
    assert there.state == "completed"
    assert await runs_of(engine, there) == await runs_of(engine, here)
    assert len(await runs_of(engine, there)) == 60
    shares = await engine.store.read(partial(leases.shares, job_id=there.id))
    assert len(shares) == 2, "both workers took part"
    assert sum(share.returned for share in shares) == 60
    assert all(share.per_second > 0 and not share.out and not share.lost_chunks for share in shares)
    kept = await engine.store.read(lambda db: jobs.units(db, there.id, first=0, last=60))
    assert all(row.observed is not None for row in kept.values()), "outputs are kept as they were made"


async def test_recorded_outputs_are_judged_by_the_workers_by_the_chunk(engine: Engine, two_workers: Inside) -> None:
    size = 550
    names = [f"c{number}" for number in range(size)]
    cases = [case(name, rubricId="r", expectedOutputs={"output": "It is good."}) for name in names]
    answers = [answer(f"a{name}", name, "It is good." if number % 3 else "No.") for number, name in enumerate(names)]
    await save(engine, rubric("r", 0.5, word=says("good")), cases, answers, benchmark("b", *names))
    here = await bench(engine, "b")
    there = await on_cluster(engine, two_workers.address, RunRequest(subject_id="b"))
    assert await runs_of(engine, there) == await runs_of(engine, here)
    assert len(await all_of(engine, EvalFailure)) == 2 * (-(-size // 3))
    assert len(await all_of(engine, EvalJudgment)) == 2 * size
    sent = await engine.store.read(lambda db: db.execute("SELECT sent FROM unit_lease ORDER BY sent").fetchall())
    assert sent == [(50,), (500,)]


async def test_workers_are_started_here_for_the_length_of_the_run(engine: Engine) -> None:
    await fleet(engine, 4)
    request = RunRequest(subject_id="b", target="python:tests.cluster.napping:nap")
    with socket.socket() as other:
        with suppress(OSError):  # somebody else has it already
            other.bind(("127.0.0.1", 8787))  # where a cluster's figures stand that somebody started before
            other.listen()
        job = await on_cluster(engine, "local:1", request)
    assert job.state == "completed"
    assert len(await runs_of(engine, job)) == 4


async def test_an_address_that_is_none_is_refused_before_anything_runs(engine: Engine) -> None:
    await fleet(engine, 1)
    for address in ("http://host:1", "tcp://host", "local:0", "local:x", "4", "tcp://:8786"):
        with pytest.raises(BadInputError, match="names no cluster"):
            await on_cluster(engine, address, RunRequest(subject_id="b", target=NAP))
    assert await engine.store.read(jobs.jobs) == []


async def test_where_no_scheduler_answers_nothing_runs(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "ANSWER_S", 0.5)
    await fleet(engine, 1)
    with pytest.raises(InstrumentError, match="no scheduler answers"):
        await on_cluster(engine, "tcp://127.0.0.1:9", RunRequest(subject_id="b", target=NAP))
    assert await engine.store.read(jobs.jobs) == []


async def test_the_terminal_and_the_page_show_workers_and_their_throughput(engine: Engine, two_workers: Inside) -> None:
    await fleet(engine, 60)
    job = await on_both(engine, two_workers, RunRequest(subject_id="b", target=NAP))
    summary = await summarize(engine, job.id)
    assert sum(line.returned for line in summary.workers) == 60
    assert {line.worker.rpartition(":")[0] for line in summary.workers} == {"tcp://127.0.0.1"}
    with redirect_stdout(io.StringIO()) as out:
        show_run(summary)
    lines = [line for line in out.getvalue().splitlines() if line.startswith("tcp://127.0.0.1")]
    assert len(lines) == 2
    assert all(re.search(r": \d+ units, \d+ a second$", line) for line in lines), lines
    async with visitor(engine) as browser:
        page = (await browser.get(f"/run?id={job.id}")).text
    assert "2 workers of a cluster" in page
    assert all(line.worker in page for line in summary.workers)


async def test_conversations_are_had_by_the_workers_and_kept_by_the_coordinator(
    engine: Engine, two_workers: Inside
) -> None:
    names = [f"t{number}" for number in range(8)]
    talk: dict[str, JsonValue] = {"turns": ["a", "b", "c"]}
    checks: list[JsonValue] = [{"type": "contains", "value": "1: a"}]
    cases = [case(name, inputs={"q": name}, conversation=talk, turns={"1": checks}) for name in names]
    await save(engine, cases, benchmark("b", *names))
    target = "python:tests.cluster.napping:talks"
    here = await bench(engine, "b", target=target)
    there = await on_cluster(engine, two_workers.address, RunRequest(subject_id="b", target=target))
    assert there.state == "completed"
    assert await runs_of(engine, there) == await runs_of(engine, here)
    rows = await engine.store.read(partial(talks.of_job, job_id=there.id, most=100))
    assert [(row.case_id, row.ended, len(row.said.turns)) for row in rows] == [(name, "script", 3) for name in names]
