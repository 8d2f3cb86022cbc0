"""How often the player of a user spoiled a conversation of a run: an error of the instrument, beside the figures that rest on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.conversations import UserLabel
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.jobs import kept_job, root_run
from minions_evals_mcp.stats.intervals import wilson
from minions_evals_mcp.store import jobs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.talks import PlayedTalk, spoiled_counts


class UserErrors(Value):
    """The rate of spoiled conversations (0 to 1) with its 95 % interval, and what was wrong in how many.

    Each attempt at a conversation counts. Those of a script count only where it did something wrong. A person's word counts before
    the user check's: `overruled` is how often they differ, `judgedRunId` the run that judges by people's words.
    """

    conversations: int
    spoiled: int
    rate: float
    interval: tuple[float, float]
    kinds: dict[str, int]
    overruled: int = Field(default=0, exclude_if=lambda count: not count)
    judged_run_id: str = Field(default="", exclude_if=lambda ident: not ident)

    @property
    def sentence(self) -> str:
        """The rate in words."""
        low, high = (100 * end for end in self.interval)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items(), key=lambda kind: -kind[1]))
        said = (
            f"user errors: the simulated user spoiled {self.spoiled} of {self.conversations} conversations"
            f" ({100 * self.rate:.1f} %, 95 %: {low:.1f}–{high:.1f} %){f': {kinds}' if kinds else ''}."
        )
        if self.spoiled:
            said += " They have no verdict." if self.spoiled > 1 else " It has no verdict."
        if self.overruled:
            said += f" People overruled the user check in {self.overruled} of the conversations."
        return said + (f" The run {self.judged_run_id} uses people's labels." if self.judged_run_id else "")


def read_user_errors(db: Db, job_id: str) -> UserErrors | None:
    """The user errors of that job, or of the one that had its conversations; None where nobody played a user who can do wrong."""
    root = root_of(db, job_id)
    counts = spoiled_counts(db, root)
    spoiled = sum(counts.spoiled.values())
    interval = wilson(spoiled, counts.checked)
    if interval is None:
        return None
    judged = _judged_run(db, root) if counts.overruled else ""
    return UserErrors(
        conversations=counts.checked,
        spoiled=spoiled,
        rate=spoiled / counts.checked,
        interval=interval,
        kinds=counts.spoiled,
        overruled=counts.overruled,
        judged_run_id="" if judged == job_id else judged,
    )


def root_of(db: Db, job_id: str) -> str:
    """The run that had the conversations which that one judges."""
    job = kept_job(db, job_id)
    return root_run(db, job) if job.kind == "benchmark" else job.id


def judged_anew(
    root_id: str, played: Sequence[PlayedTalk], said: Mapping[tuple[str, int, int], UserLabel]
) -> str | None:
    """The key of the run that judges those conversations by what people said of them; None where nobody contradicts the check."""
    overruled: list[JsonValue] = [
        [talk.key.position, talk.key.trial, label.sound]
        for talk in played
        if talk.is_last
        and (label := said.get((talk.case_id, talk.key.trial, talk.attempt))) is not None
        and label.sound == bool(talk.checked)
    ]
    return f"user-labels:{digest([root_id, overruled])}" if overruled else None


def _judged_run(db: Db, root: str) -> str:
    key = judged_anew(root, talks.played(db, root), talks.counting_labels(db, root))
    job = None if key is None else jobs.job_by_key(db, key)
    return "" if job is None else job.id


class PlayedUser(Value):
    """The user of a conversation of a run: what the check found (empty: nothing), and what a person says of it, if anyone does.

    `checkedBy` is the second model that has read it, if one has.
    """

    place: str
    checked: str
    label: UserLabel | None = None
    checked_by: str = ""


def read_user(db: Db, job_id: str, *, case_id: str, trial: int) -> PlayedUser | None:
    """The user of that conversation; None where the output is none, or where nobody could judge it anew."""
    root = kept_job(db, root_of(db, job_id))
    if root.kind != "benchmark" or root.state not in {"completed", "failed"}:
        return None
    found = [talk for talk in talks.played(db, root.id, case_id=case_id) if talk.is_last and talk.key.trial == trial]
    if len(found) != 1:
        return None
    label = talks.counting_labels(db, root.id).get((case_id, trial, found[0].attempt))
    talk = found[0]
    return PlayedUser(
        place=f"{talk.key.position + 1}.{trial}", checked=talk.checked, label=label, checked_by=talk.checked_by
    )


Said = dict[tuple[str, int, int], UserLabel]
"""People's words by case, trial and attempt."""


def read_talks(
    db: Db, *, job_id: str, case_id: str | None, most: int
) -> tuple[list[talks.TalkRow], Said, UserErrors | None]:
    """The conversations of a job in order, of one case where it is named, what people say of them, and how many were spoiled."""
    root = root_of(db, job_id)
    found = talks.of_job(db, root, case_id=case_id, most=most)
    return found, talks.counting_labels(db, root), read_user_errors(db, root)
