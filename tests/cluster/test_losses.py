"""Workers and coordinators that are lost on the way: nothing is lost with them, and little is called twice."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from minions_evals_mcp.cluster import place
from minions_evals_mcp.cluster.chunks import LIVE
from minions_evals_mcp.cluster.dispatch import SLOTS
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.store import jobs, leases
from minions_evals_mcp.store.jobs import Job
from tests.cluster.crowd import ROOT, crowd
from tests.cluster.napping import CALLS, NAP
from tests.cluster.test_run_on_cluster import LIMIT_S
from tests.workshop import all_of, fleet

NOTED = "python:tests.cluster.napping:noted_nap"
CLI = (sys.executable, "-m", "minions_evals_mcp.cli")


def calls(file: Path) -> Counter[str]:
    """How often each case was called."""
    return Counter(file.read_text().split()) if file.exists() else Counter()


_LOST = "SELECT total(sent - returned) FROM unit_lease WHERE ending = 'lost'"


async def reached(file: Path, count: int) -> None:
    """Waits until so many calls were made."""
    while calls(file).total() < count:  # noqa: ASYNC110  other processes write it
        await anyio.sleep(0.02)


async def test_what_a_lost_worker_had_goes_out_again_and_nothing_else(engine: Engine, tmp_path: Path) -> None:
    size, file = 240, tmp_path / "calls.txt"
    await fleet(engine, size)
    request = RunRequest(subject_id="b", target=NOTED)
    ended: list[Job] = []
    with crowd(tmp_path, 2, {CALLS: str(file)}) as there, anyio.fail_after(LIMIT_S):
        async with place.open_cluster(engine, request, there.address) as cluster, anyio.create_task_group() as tasks:

            async def run() -> None:
                ended.append(await run_benchmark(engine, request, place=cluster))

            tasks.start_soon(run)
            await reached(file, 60)
            there.kill(0)
    (job,) = ended
    assert job.state == "completed"
    assert len(await all_of(engine, TestRun)) == size
    shares = await engine.store.read(partial(leases.shares, job_id=job.id))
    assert sum(share.returned for share in shares) == size
    lost = await engine.store.read(lambda db: db.execute(_LOST).fetchone())
    assert 1 <= lost[0] <= SLOTS * LIVE, "two chunks full at the most"
    repeated = calls(file).total() - size
    assert len(calls(file)) == size
    assert 0 <= repeated <= SLOTS * LIVE, "no more than it had: what it was calling, and what had not come back yet"


@contextmanager
def stopped(worker: subprocess.Popen[bytes]) -> Generator[None]:
    """A worker that hangs for a while, as one does that cannot be reached: its connections stay open, and nothing comes."""
    worker.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        worker.send_signal(signal.SIGCONT)


async def _given_up(engine: Engine) -> None:
    """Waits until a lease has run out."""
    lost = "SELECT count(*) FROM unit_lease WHERE ending = 'lost'"
    while not (await engine.store.read(lambda db: db.execute(lost).fetchone()))[0]:  # noqa: ASYNC110  the run writes it
        await anyio.sleep(0.05)


async def test_what_a_worker_had_that_hangs_goes_out_again_and_its_late_answers_are_not_taken(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "LEASE_S", 3.0)
    size, file = 200, tmp_path / "calls.txt"
    await fleet(engine, size)
    request = RunRequest(subject_id="b", target=NOTED)
    ended: list[Job] = []
    with crowd(tmp_path, 2, {CALLS: str(file), NAP: "0.5"}) as there, anyio.fail_after(LIMIT_S):
        async with place.open_cluster(engine, request, there.address) as cluster, anyio.create_task_group() as tasks:

            async def run() -> None:
                ended.append(await run_benchmark(engine, request, place=cluster))

            tasks.start_soon(run)
            await reached(file, 40)
            with stopped(there.workers[0]):
                await _given_up(engine)
            assert not ended, "it awakes before the run is over, and answers"
    (job,) = ended
    assert job.state == "completed"
    assert len(await all_of(engine, TestRun)) == size
    shares = await engine.store.read(partial(leases.shares, job_id=job.id))
    assert sum(share.returned for share in shares) == size
    assert any(share.lost_chunks for share in shares)
    assert len(calls(file)) == size
    repeated = calls(file).total() - size
    assert repeated <= engine.config.concurrency + 1, "what it was calling, and the one that it was about to begin"


async def test_a_unit_that_takes_its_workers_down_is_named_and_costs_no_other(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "calls.txt"
    await fleet(engine, 12)
    request = RunRequest(subject_id="b", target="python:tests.cluster.napping:deadly_nap")
    with crowd(tmp_path, 1, {CALLS: str(file)}, restarting=True) as there, anyio.fail_after(2 * LIMIT_S):
        async with place.open_cluster(engine, request, there.address) as cluster:
            job = await run_benchmark(engine, request, place=cluster)
    rows = await engine.store.read(lambda db: jobs.units(db, job.id, first=0, last=12))
    assert {row.case_id: row.outcome for row in rows.values() if row.outcome != "scored"} == {"c7": "target-error"}
    assert "was lost, 3 times" in rows[7, 1].reason


def cli(folder: Path, address: str, **environment: str) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    command = [*CLI, "run-benchmark", "b", "--target", NOTED, "--key", "k", "--concurrency", "4", "--cluster", address]
    own = {**os.environ, "HOME": str(folder), **environment}  # noqa: TID251  the child's
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(
            [*command, "--db", str(folder / "evals.db"), "--json"],
            cwd=ROOT,
            env=own,
            stdout=subprocess.PIPE,
            stderr=said,
        )


async def _ended(process: subprocess.Popen[bytes]) -> dict[str, object]:
    out, _ = await anyio.to_thread.run_sync(process.communicate)
    return json.loads(out) if out.strip() else {}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
async def test_a_coordinator_that_is_stopped_or_killed_goes_on_under_its_key(
    engine: Engine, tmp_path: Path, how: signal.Signals
) -> None:
    size, file = 200, tmp_path / "calls.txt"
    await fleet(engine, size)
    with crowd(tmp_path, 2, {CALLS: str(file)}) as there, anyio.fail_after(LIMIT_S):
        first = cli(tmp_path, there.address)
        await reached(file, 60)
        first.send_signal(how)
        await _ended(first)
        kept = await engine.store.read(jobs.jobs)
        assert [job.state for job in kept] == ["stopped" if how == signal.SIGINT else "running"]
        second = await _ended(cli(tmp_path, there.address))
    assert second.get("state") == "completed", (tmp_path / "said.txt").read_text()
    assert second["outcomes"] == {"scored": size}
    assert len(calls(file)) == size
    assert calls(file).total() - size <= 2 * SLOTS * LIVE, "no more than the two workers had"
    out = await engine.store.read(lambda db: db.execute("SELECT count(*) FROM unit_lease WHERE ending = ''").fetchone())
    assert out == (0,)


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


async def test_over_tls_only_who_has_the_certificate_takes_part(engine: Engine, tmp_path: Path) -> None:
    await fleet(engine, 8)
    file = tmp_path / "calls.txt"
    key, certificate = _certificate(tmp_path)
    options = ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key)]
    variables = "DASK_DISTRIBUTED__COMM__TLS__"
    held = {
        f"{variables}CA_FILE": str(certificate),
        f"{variables}CLIENT__CERT": str(certificate),
        f"{variables}CLIENT__KEY": str(key),
    }
    with crowd(tmp_path, 1, {CALLS: str(file)}, ["--protocol", "tls", *options]) as there, anyio.fail_after(LIMIT_S):
        assert there.address.startswith("tls://127.0.0.1:")
        stranger = await _ended(cli(tmp_path, there.address))
        assert "outcomes" not in stranger
        assert calls(file).total() == 0
        ended = await _ended(cli(tmp_path, there.address, **held))
    assert ended["outcomes"] == {"scored": 8}
