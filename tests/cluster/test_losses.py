"""Workers and coordinators that are lost on the way: nothing is lost with them, and little is called twice."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from dask.config import set as configured
from distributed.security import Security

from minions_evals_mcp.cluster import dispatch, place
from minions_evals_mcp.cluster.chunks import HELD, LIVE
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.pipeline import Place
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import jobs, leases
from minions_evals_mcp.store.jobs import Job
from tests.cluster.crowd import ROOT
from tests.cluster.eavesdropper import Overheard, between
from tests.cluster.inside import Inside, inside
from tests.cluster.test_run_on_cluster import on_cluster
from tests.hang import HANG_S
from tests.workshop import all_of, fleet

NOTED = "python:tests.cluster.napping:noted_nap"
CLI = (sys.executable, "-m", "minions_evals_mcp.cli")


REQUEST = RunRequest(subject_id="b", target=NOTED)


async def run_in(
    tasks: TaskGroup, engine: Engine, cluster: Place, ended: list[Job], request: RunRequest = REQUEST
) -> None:
    """Begins the benchmark on that cluster."""

    async def run() -> None:
        ended.append(await run_benchmark(engine, request, place=cluster))

    tasks.start_soon(run)


def patient(engine: Engine) -> Engine:
    """The engine, whose calls may wait at the gate."""
    engine.config = replace(engine.config, call_timeout_s=HANG_S)
    return engine


async def _rows(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    return await engine.store.read(lambda db: db.execute(sql).fetchall())


async def is_there(engine: Engine, sql: str, *rows: tuple[object, ...]) -> None:
    """Waits until a query finds these rows."""
    while not set(rows) <= set(await _rows(engine, sql)):  # noqa: ASYNC110  the run writes them
        await anyio.sleep(0.05)


_KEPT = "SELECT case_id FROM unit WHERE output IS NOT NULL OR test_run_id IS NOT NULL"
_LOST = "SELECT DISTINCT ending FROM unit_lease WHERE ending = 'lost'"


async def test_what_a_lost_worker_had_goes_out_again_and_nothing_else(engine: Engine, scheduler: Inside) -> None:
    size, at_once = 60, engine.config.concurrency
    await fleet(engine, size)
    ended, calling, there = list[Job](), set[str](), scheduler
    worker = await there.hire_process()
    await there.hire()
    with there.naps.gated(), anyio.fail_after(HANG_S):
        there.naps.let(*(f"c{number}" for number in range(0, size, 2)))
        opening = place.open_cluster(patient(engine), REQUEST, there.address)
        async with opening as cluster, anyio.create_task_group() as tasks:
            await run_in(tasks, engine, cluster, ended)
            await there.naps.are_under_way(at_once, worker.pid)
            calling = there.naps.under_way(worker.pid)
            came_back = there.naps.ends(worker.pid).keys() - calling
            await is_there(engine, _KEPT, *((case,) for case in came_back))
            worker.kill()
            there.naps.let_all()
    (job,) = ended
    assert job.state == "completed"
    assert len(await all_of(engine, TestRun)) == size
    shares = await engine.store.read(partial(leases.shares, job_id=job.id))
    assert sum(share.returned for share in shares) == size
    ((lost,),) = await _rows(engine, "SELECT total(sent - returned) FROM unit_lease WHERE ending = 'lost'")
    assert isinstance(lost, float)
    assert at_once <= lost <= HELD
    begun = there.naps.begun()
    assert len(begun) == size
    assert {case: times for case, times in begun.items() if times > 1} == dict.fromkeys(calling, 2)


OutOfReach = Callable[[subprocess.Popen[bytes], Overheard], AbstractContextManager[None]]


@contextmanager
def hanging(worker: subprocess.Popen[bytes], relay: Overheard) -> Generator[None]:
    """A worker that hangs for a while: its connections stay open, and nothing comes."""
    del relay
    worker.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        worker.send_signal(signal.SIGCONT)


@contextmanager
def cut_off(worker: subprocess.Popen[bytes], relay: Overheard) -> Generator[None]:
    """A worker that works on and is not heard for a while."""
    del worker
    with relay.cut():
        yield


@pytest.mark.parametrize("out_of_reach", [hanging, cut_off])
async def test_what_a_worker_had_that_is_out_of_reach_goes_out_again_and_its_late_answers_are_not_taken(
    engine: Engine, scheduler: Inside, monkeypatch: pytest.MonkeyPatch, out_of_reach: OutOfReach
) -> None:
    monkeypatch.setattr(place, "LEASE_S", 2.0)
    monkeypatch.setattr(dispatch, "TRIES", 1000)  # so short a lease may run out by itself where the machine is slow
    size, at_once = LIVE - 1, engine.config.concurrency
    await fleet(engine, size)
    ended, there = list[Job](), scheduler
    with there.naps.gated(), anyio.fail_after(HANG_S):
        worker = await there.hire_process()
        async with between(there.worker, monkeypatch) as relay:
            opening = place.open_cluster(patient(engine), REQUEST, there.address)
            async with opening as cluster, anyio.create_task_group() as tasks:
                await run_in(tasks, engine, cluster, ended)
                await there.naps.are_under_way(at_once, worker.pid)
                await there.hire()
                with out_of_reach(worker, relay):
                    await is_there(engine, _LOST, ("lost",))
                    there.naps.let(worker.pid)
                    if out_of_reach is cut_off:
                        await there.naps.have_ended(at_once, worker.pid)
                await there.naps.have_ended(at_once, worker.pid)
                assert not ended, "the other worker is at the gate"
                there.naps.let_all()
    (job,) = ended
    assert job.state == "completed"
    assert len(await all_of(engine, TestRun)) == size
    shares = await engine.store.read(partial(leases.shares, job_id=job.id))
    assert sum(share.returned for share in shares) == size
    assert await _rows(engine, "SELECT ending, returned FROM unit_lease WHERE chunk = 1 AND attempt = 1") == [
        ("lost", 0)
    ]
    begun = there.naps.begun()
    assert len(begun) == size
    times_lost = len(await _rows(engine, "SELECT 1 FROM unit_lease WHERE ending = 'lost'"))
    assert begun.total() - size <= times_lost * (at_once + 1), (
        "what it was calling, and the one that it was about to begin"
    )


def cli(folder: Path, address: str) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    command = [*CLI, "run-benchmark", "b", "--target", NOTED, "--key", "k", "--concurrency", "4", "--cluster", address]
    own = {**os.environ, "HOME": str(folder), "MINIONS_EVALS_CALL_TIMEOUT": str(HANG_S)}  # noqa: TID251  the child's
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(
            [*command, "--db", str(folder / "evals.db")], cwd=ROOT, env=own, stdout=said, stderr=said
        )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
async def test_a_coordinator_that_is_stopped_or_killed_goes_on_under_its_key(
    engine: Engine, tmp_path: Path, two_workers: Inside, how: signal.Signals
) -> None:
    size, at_once, there, ended = 100, 2 * 4, two_workers, list[Job]()
    await fleet(engine, size)
    with there.naps.gated(), anyio.fail_after(HANG_S):
        there.naps.let(*(f"c{number}" for number in range(0, size, 2)))
        first = cli(tmp_path, there.address)
        await there.naps.are_under_way(at_once, os.getpid())
        calling = there.naps.under_way(os.getpid())
        await is_there(engine, _KEPT, *((case,) for case in there.naps.begun().keys() - calling))
        first.send_signal(how)
        await anyio.to_thread.run_sync(first.wait)
        kept = await engine.store.read(jobs.jobs)
        assert [job.state for job in kept] == ["stopped" if how == signal.SIGINT else "running"]
        made = there.naps.begun().total()
        request = RunRequest(subject_id="b", target=NOTED, key="k")
        opening = place.open_cluster(patient(engine), request, there.address)
        async with opening as cluster, anyio.create_task_group() as tasks:
            await run_in(tasks, engine, cluster, ended, request)
            await there.naps.have_begun(made + 4)  # by now the workers know that the first one is gone
            there.naps.let_all()
    (job,) = ended
    assert job.state == "completed", (tmp_path / "said.txt").read_text()
    assert len(await all_of(engine, TestRun)) == size
    begun = there.naps.begun()
    assert len(begun) == size
    assert begun.total() - size <= at_once + 2, "what the two workers were calling, and were about to begin"
    assert await _rows(engine, "SELECT 1 FROM unit_lease WHERE ending = ''") == []


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A key and a certificate for 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cluster")])
    since = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(since)
        .not_valid_after(since + dt.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    own, public = folder / "key.pem", folder / "certificate.pem"
    plain = serialization.NoEncryption()
    own.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    public.write_bytes(made.public_bytes(pem))
    return own, public


async def test_over_tls_a_certificate_is_needed_and_taken_from_dasks_settings(engine: Engine, tmp_path: Path) -> None:
    await fleet(engine, 8)
    request = RunRequest(subject_id="b", target="python:tests.cluster.napping:nap")
    key, public = map(str, _certificate(tmp_path))
    security = Security(
        require_encryption=True, tls_ca_file=public,
        tls_scheduler_cert=public, tls_scheduler_key=key, tls_worker_cert=public, tls_worker_key=key,
    )  # fmt: skip
    async with inside(tmp_path, 1, security) as there:
        assert there.address.startswith("tls://127.0.0.1:")
        with pytest.raises(BadInputError, match="there is no certificate here"):
            await on_cluster(engine, there.address, request)
        assert await engine.store.read(jobs.jobs) == []
        mine = {"ca-file": public, "client.cert": public, "client.key": key}
        with configured({f"distributed.comm.tls.{name}": path for name, path in mine.items()}):
            job = await on_cluster(engine, there.address, request)
    assert job.state == "completed"
    assert len(await all_of(engine, TestRun)) == 8
