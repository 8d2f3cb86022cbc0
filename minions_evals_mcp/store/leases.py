"""The leases of a cluster's workers on units of a run, and until when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db

LeaseEnding = Literal["returned", "lost", "stopped"]


@frozen_type
class ChunkLease:
    """Units that went to a worker together: the chunk's number in its run, and how often it went out by now."""

    job_id: str
    chunk: int
    attempt: int
    worker: str
    units: Sequence[UnitKey]

    @property
    def id(self) -> str:
        """Returns what the chunk is called on the cluster: never the same twice."""
        return f"minions-evals-{self.job_id}-{self.chunk}-{self.attempt}"


def grant(db: Db, lease: ChunkLease, *, at: datetime, lasts: timedelta) -> None:
    """Writes down that the units go out."""
    units = json.dumps([[key.position, key.trial] for key in lease.units])
    db.execute(
        "INSERT INTO unit_lease (job_id, chunk, attempt, worker, units, sent, sent_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            lease.job_id, lease.chunk, lease.attempt, lease.worker, units, len(lease.units), to_millis(at),
            to_millis(at + lasts),
        ),
    )  # fmt: skip


def renew(db: Db, several: Sequence[ChunkLease], *, until: datetime) -> None:
    """The workers still work on those."""
    db.executemany(
        "UPDATE unit_lease SET expires_at = ? WHERE job_id = ? AND chunk = ? AND attempt = ? AND ending = ''",
        [(to_millis(until), lease.job_id, lease.chunk, lease.attempt) for lease in several],
    )


def end(db: Db, lease: ChunkLease, ending: LeaseEnding, *, returned: int, at: datetime) -> None:
    """The chunk is back, as far as it comes back."""
    db.execute(
        "UPDATE unit_lease SET ending = ?, returned = ?, ended_at = max(sent_at, ?) WHERE job_id = ? AND chunk = ? AND attempt = ?",
        (ending, returned, to_millis(at), lease.job_id, lease.chunk, lease.attempt),
    )


def take_over(db: Db, job_id: str, *, at: datetime) -> int:
    """Ends what an earlier start of the run left out there, for nobody waits for it; the number of the newest chunk."""
    db.execute(
        "UPDATE unit_lease SET ending = 'lost', ended_at = max(sent_at, ?) WHERE job_id = ? AND ending = ''",
        (to_millis(at), job_id),
    )
    return db.execute("SELECT coalesce(max(chunk), 0) FROM unit_lease WHERE job_id = ?", (job_id,)).fetchone()[0]


@frozen_type
class WorkerShare:
    """The work of one worker of a run: units that it returned, units that it has now, chunks lost with it, and units a second."""

    worker: str
    returned: int
    out: int
    lost_chunks: int
    per_second: float


def shares(db: Db, job_id: str) -> list[WorkerShare]:
    """The workers of a run, the busiest first; none for a run that was carried out in one process."""
    rows = db.execute(
        "SELECT worker, total(returned), total(iif(ending = '', sent, 0)), total(ending = 'lost'),"
        " max(coalesce(ended_at, sent_at)) - min(sent_at) FROM unit_lease WHERE job_id = ? GROUP BY worker ORDER BY 2 DESC, 1",
        (job_id,),
    )
    return [
        WorkerShare(worker, int(returned), int(out), int(lost), returned * 1000 / millis if millis else 0.0)
        for worker, returned, out, lost, millis in rows
    ]
