"""Runs that outlive a call: one key, one run, one process at a time; a killed one is taken up where it was."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
from filelock import FileLock, Timeout

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.values import one_line
from minions_evals_mcp.engine.asking_again import resume_step
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import (
    BadInputError,
    BusyError,
    ConflictError,
    NotFoundError,
)
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, JobState
from minions_evals_mcp.store.queries import run_lines

LATEST = "latest"
LOOK_S = 0.1
"""A lock that is held no longer than this was only looked at."""
TURN_S = 5.0
"""How long people who judge one run at a time wait for each other."""
SHORTEST = 4
"""So many characters of a run's id stand for it, at the least."""


async def start_job(
    engine: Engine, request: RunRequest, *, kind: Literal["test-case", "benchmark"], total: int, spec: Json
) -> Job:  # fmt: skip
    """The job under the request's key: a new one, or the one kept already if it was asked for alike.

    Raises `ConflictError` where the key belongs to another request, or the suite was edited since the run began.
    """
    now = engine.clock()
    ident = engine.new_id()
    new = Job(ident, request.key or ident, kind, request.subject_id, spec, "running", "", {}, total, now, now)
    job = await engine.store.write(lambda db: jobs.start(db, new))
    _vet_alike(job, new)
    return job


def _vet_alike(stored: Job, new: Job) -> None:
    for part, difference in (("request", "other settings"), ("measured", "another suite, judge or target")):
        before, now = stored.spec[part], new.spec[part]
        assert isinstance(before, dict)
        assert isinstance(now, dict)
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if names:
            raise ConflictError(
                f"the key {stored.key!r} belongs to the run {stored.id} with {difference}: {', '.join(names)} differ.",
                remedy=f"{resume_step(stored)} with the same arguments. Or use another {argument('key')}.",
            )


@asynccontextmanager
async def working_on(engine: Engine, job: Job, *, patience_s: float = LOOK_S) -> AsyncGenerator[None]:
    """Holds the job for this process; the lock falls with the process, however it dies.

    Raises `BusyError` where another works on it for longer than the patience.
    """
    path = lock_path(engine.config.db, job.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)
    if not await _held(lock, anyio.current_time() + patience_s):
        raise BusyError(
            f"the run {job.id} is being worked on by another process.",
            remedy=f"Wait for it: {Next('show-run', {'run_id': job.id}, 'shows its progress')}.",
        )
    try:
        yield
        path.unlink(missing_ok=True)  # only once the job's end is committed; a lock on the old file finds it done
    finally:
        lock.release()


async def _held(lock: FileLock, until: float) -> bool:
    """Whether the lock could be had by then; others go on meanwhile, who holds it perhaps among them."""
    while True:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if anyio.current_time() >= until:
                return False
            await anyio.sleep(LOOK_S / 4)
        else:
            return True


def lock_path(db: Path, job_id: str) -> Path:
    """Returns where the lock of a job lies: beside the store."""
    return db.with_name(db.name + ".locks") / f"{text_digest(job_id)}.lock"


def with_gone(engine: Engine, job: Job) -> Job:
    """The job; one that stands as running although no process holds it any more, with that and how it goes on as its reason.

    Another process that begins on it in this very moment waits out the look.
    """
    path = lock_path(engine.config.db, job.id)
    if job.state != "running" or not path.exists():
        return job
    try:
        FileLock(path, thread_local=False).acquire(timeout=0).lock.release()
    except (Timeout, OSError):
        return job
    return replace(job, reason="its process has ended")


async def set_state(engine: Engine, job: Job, state: JobState, *, reason: str = "") -> None:
    """Notes the job's state, even while the caller is being cancelled."""
    with anyio.CancelScope(shield=True):
        at = engine.clock()
        await engine.store.write(lambda db: jobs.set_state(db, job.id, state, reason=reason, at=at))


def waiting_reason(outputs: int, users: int = 0) -> str:
    """Why a run does not go on: so many outputs wait to be judged, and so many conversations for their user."""
    parts = [f"{outputs} {'output waits' if outputs == 1 else 'outputs wait'} to be judged"] if outputs else []
    if users:
        parts.append(
            f"{users} {'conversation waits' if users == 1 else 'conversations wait'} for the next message of the user"
        )
    return "; ".join(parts)


async def get_job(engine: Engine, run_id: str) -> Job:
    """The job under that id or key; raises `NotFoundError`."""
    return await engine.store.read(lambda db: kept_job(db, run_id))


async def comparison_of(engine: Engine, job: Job) -> Job:
    """The comparison that the run is a side of, as long as that waits for no judgments, or the trial that it is a part of."""
    comparison_id = request_of(job).comparison_id if job.kind == "benchmark" else None
    if comparison_id is not None and job.state != "awaiting-judgments":
        job = await get_job(engine, comparison_id)
    trial = None
    if job.kind == "comparison":
        trial = await engine.store.read(lambda db: jobs.job_by_key(db, job.key.rpartition(":")[0]))
    return trial if trial is not None and trial.kind == "trial" else job


def kept_job(db: Db, run_id: str) -> Job:
    """As `get_job`, within a read."""
    job = find_job(db, run_id)
    if job is None:
        raise NotFoundError("run", run_id, remedy=f"{Next('runs', reason='lists them')}.")
    return job


def find_job(db: Db, ident: str) -> Job | None:
    """The job under that id or key; `latest` is the newest run, and the beginning of one id is that id.

    Raises `BadInputError` where it is the beginning of several.
    """
    return jobs.job(db, ident) or jobs.job_by_key(db, ident) or _meant(db, ident)


def _meant(db: Db, run_id: str) -> Job | None:
    """The newest run, or the only one whose id begins so; raises `BadInputError` where several do."""
    if run_id == LATEST:
        return next(iter(jobs.jobs(db, limit=1)), None)
    begun = run_lines.ids_beginning(db, run_id) if len(run_id) >= SHORTEST else []
    if len(begun) > 1:
        raise BadInputError(
            f"{run_id} is the beginning of several run ids: {', '.join(begun)}.", remedy="Give more characters."
        )
    return jobs.job(db, begun[0]) if begun else None


def run_and_case(db: Db, ident: str) -> Iterator[tuple[Job, str]]:
    """What RUN:CASE may mean, RUN being an id, its beginning, a key or `latest`; either may hold colons."""
    for place, sign in enumerate(ident):
        job = find_job(db, ident[:place]) if sign == ":" and place else None
        if job is not None:
            yield job, ident[place + 1 :]


def request_of(job: Job) -> RunRequest:
    """The request that a job was started with."""
    return RunRequest.model_validate(job.spec["request"], strict=False)


def root_run(db: Db, job: Job) -> str:
    """The run that made the outputs which this one judges."""
    source = request_of(job).rejudge_run_id
    if source is None:
        return job.id
    made = jobs.job(db, source)
    return source if made is None else root_run(db, made)


async def find_benchmark_run(engine: Engine, ident: str) -> str:
    """The id of the benchmark-run under that id or key; raises `NotFoundError`, or `BadInputError` for a run without figures."""
    ident_found = await engine.store.read(partial(_find, ident=ident))
    if ident_found is None:
        job = await engine.store.read(partial(find_job, ident=ident))
        if job is not None:
            why = f": {one_line(job.reason)}" if job.reason else ""
            raise BadInputError(
                f"the run {ident} has no benchmark results ({job.state}){why}.",
                remedy=f"{Next('show-run', {'run_id': ident}, 'shows it')}.",
            )
        raise NotFoundError("benchmark-run", ident, remedy=f"{Next('runs', reason='lists the runs')}.")
    return ident_found


def _find(db: Db, *, ident: str) -> str | None:
    if ident == LATEST and runs.benchmark_run(db, LATEST) is None:
        return runs.newest_id(db)
    job = find_job(db, ident)
    run_id = ident if job is None else job.id
    return run_id if runs.benchmark_run(db, run_id) is not None else None
