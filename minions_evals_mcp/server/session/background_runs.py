"""Runs in the background: whoever asked may wait, look in later or leave; the work goes on, here or in the next start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.errors import BusyError, EvalsError
from minions_evals_mcp.operations import background
from minions_evals_mcp.operations.background import Job, Started
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.resuming import asks_nobody, resumed
from minions_evals_mcp.server.edge.logs import log

POLLED_S = 0.25
"""How often a run of another process is looked at."""
GRACE_S = 0.25
"""A run that ends so soon is answered whole at once, whatever was asked."""
QUICK_S = 10.0
"""How long a call waits by default for a run that asks no model and no target: its answer is then the verdict."""
CLOSED = "the server was closed; its next start resumes the run"
CANCELLED = "cancelled by the caller"
Tell = Callable[[float, float, str], Awaitable[None]]


@dataclass(slots=True, eq=False)
class _Active:
    """A run under way here: what its units came to, and the way to stop it."""

    job: Job
    done: Counter[Outcome] = field(default_factory=Counter[Outcome])
    changed: anyio.Event = field(default_factory=anyio.Event)
    ended: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    why: str = ""

    async def count(self, outcome: Outcome) -> None:
        """One more unit is committed."""
        self.done[outcome] += 1
        self.wake()

    def wake(self) -> None:
        """Tells whoever follows."""
        self.changed.set()
        self.changed = anyio.Event()

    def stop(self, why: str) -> None:
        """Cancels the work; what is judged is kept."""
        self.why = self.why or why
        self.scope.cancel()

    def progress_text(self) -> str:
        """The units so far, in words."""
        return ", ".join(f"{number} {name}" for name, number in self.done.items())


class Runs:
    """The runs that this process carries on."""

    def __init__(self, engine: Engine, tasks: TaskGroup) -> None:
        self._engine = engine
        self._tasks = tasks
        self._active: dict[str, _Active] = {}
        self._closed = False

    async def begin(self, starting: Callable[[], Awaitable[Started]], *, max_cost_usd: float | None) -> Job:
        """The job that was written down, under way; one that is done, or under way already, is not begun again.

        A caller that leaves meanwhile does not undo it. Raises what the vetting of the request does.
        """
        with anyio.CancelScope(shield=True):
            return await self._begun(starting, max_cost_usd)
        raise AssertionError("nobody cancels that scope")

    async def _begun(self, starting: Callable[[], Awaitable[Started]], max_cost_usd: float | None) -> Job:
        started = await starting()
        job = started.job
        if job.state != "completed" and job.id not in self._active:
            await background.note_begun(self._engine, job, max_cost_usd=max_cost_usd)
            self._carry_on(started)
        return job

    def _carry_on(self, started: Started) -> None:
        if started.job.id in self._active:  # whoever asked for the same at the same time was first
            return
        active = self._active[started.job.id] = _Active(started.job)
        if self._closed:
            active.stop(CLOSED)
        self._tasks.start_soon(self._finish, started, active)

    async def _finish(self, started: Started, active: _Active) -> None:
        job = started.job
        try:
            with active.scope:
                await started.finish(active.count)
        except EvalsError as error:  # the job's state says why; whoever waits is told that
            log().info("run-ended-early", run_id=job.id, code=error.code)
        except anyio.get_cancelled_exc_class():  # the server ends without a word: its client closed both pipes
            await background.note_stopped(self._engine, job, active.why or CLOSED)
            raise
        except Exception:  # noqa: BLE001  the other runs go on
            if self._closed or active.scope.cancel_called:  # what was cancelled may break as it ends
                await background.note_stopped(self._engine, job, active.why or CLOSED)
            else:
                log().exception("run-crashed", run_id=job.id)
                await background.note_stopped(self._engine, job, "the server failed; its log has the details")
        finally:
            if active.scope.cancelled_caught:
                await background.note_stopped(self._engine, job, active.why)
            active.ended = True
            del self._active[job.id]
            active.wake()

    def is_active(self, run_id: str) -> bool:
        """Returns whether the run is under way here, whatever the store says of it yet."""
        return run_id in self._active

    async def follow(self, job: Job, seconds: float, tell: Tell) -> None:
        """Returns when the run has ended or waits for judgments, or after so many seconds; tells of each case meanwhile."""
        with anyio.move_on_after(seconds):
            active = self._active.get(job.id)
            if active is not None:
                await _followed(active, tell)
            else:
                await self._polled(job, tell)

    def default_wait(self, job: Job) -> float:
        """How long a call waits for the job that names no time: until done where rules judge recorded outputs."""
        return QUICK_S if asks_nobody(self._engine, job) else 0.0

    async def _polled(self, job: Job, tell: Tell) -> None:
        reported = 0
        while (await background.now(self._engine, job.id)).state == "running":
            counts = await background.outcomes(self._engine, job)
            done = sum(counts.values())
            if done > reported:
                reported = done
                await tell(done, job.total, ", ".join(f"{number} {name}" for name, number in counts.items()))
            await anyio.sleep(POLLED_S)

    async def cancel(self, run_id: str) -> None:
        """Stops the run where it is; it can be resumed under its key. Raises `BusyError` where another process works on it."""
        job = await background.now(self._engine, run_id)
        active = self._active.get(job.id)
        if active is not None:
            active.stop(CANCELLED)
            while not active.ended:
                await active.changed.wait()
        else:
            await background.stop_elsewhere(self._engine, job, CANCELLED)

    def close(self) -> None:
        """Stops every run, and each that is being begun, so that the next start of a server takes it up."""
        self._closed = True
        for active in self._active.values():
            active.stop(CLOSED)

    async def take_up(self) -> None:
        """Carries on the runs that a server had begun and could not end, under the caps that they were asked for with."""
        for job, max_cost_usd in await background.left_open(self._engine, CLOSED):
            try:
                self._carry_on(await resumed(self._engine, job, max_cost_usd=max_cost_usd))
            except BusyError:
                continue
            except EvalsError as error:  # the suite was edited since, a key is missing: the others go on
                log().warning("run-not-resumed", run_id=job.id, code=error.code)


async def _followed(active: _Active, tell: Tell) -> None:
    reported = 0
    while not active.ended:
        changed = active.changed
        done = active.done.total()
        if done > reported:
            reported = done
            await tell(done, active.job.total, active.progress_text())
            continue
        await changed.wait()
