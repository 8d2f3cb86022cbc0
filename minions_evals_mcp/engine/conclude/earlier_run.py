"""A run beside the one before it: whether they can be compared, whether it fell, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, Digests, Evidence, SupportedFall
from minions_evals_mcp.engine.conclude.falls import base_after, supported_fall
from minions_evals_mcp.engine.conclude.setup import (
    changes,
    changes_of_shared,
    incomparable,
    measured_origins,
    outputs_exchanged,
    setup_of,
    setup_with,
)
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.skills import Skills
from minions_evals_mcp.stats.regression import pass_rate_dropped
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import shared_cases
from minions_evals_mcp.store.queries.side_by_side import all_edited, same_yardsticks


@frozen_type
class Concluding:
    """The material that the conclusion is drawn from, apart from the rows."""

    run_id: str
    request: RunRequest
    skills: Skills
    digests: Digests
    judged_alike: str
    series: str
    skipped: tuple[str, ...]
    unrun: str
    unscored: int
    at: datetime
    answered_by: str | None = None
    """The models that the judges' replies name."""
    stood_in: bool = False
    """Whether another than its own judge judged a criterion."""


@frozen_type
class Regression:
    """A fall of the pass rate against the previous run, on the cases that both have, and what changed since."""

    previous: runs.Earlier
    shared: shared_cases.Shared
    failing: Sequence[shared_cases.NewlyFailing]
    evidence: Evidence
    dropped_most: str | None
    changed: tuple[str, ...]


@frozen_type
class Origins:
    """The one version of the run's outputs, what the run is measured with, how that differs from the run before, and why a
    fall from that one is no regression.
    """

    version: str | None
    digests: Digests
    changed: tuple[str, ...] = ()
    incomparable: str = ""


@frozen_type
class EarlierRunStanding:
    """The run beside the newest one that was judged alike: on the cases that both have, whether it fell, and what changed."""

    newest: runs.Earlier | None
    alike: runs.Earlier | None
    shared: shared_cases.Shared | None
    regression: Regression | None
    origins: Origins
    canaries: tuple[str, ...] = ()
    fallen_since: str | None = None
    dropped_most: str | None = None
    fall: SupportedFall | None = None
    not_compared: str = ""

    @property
    def is_older(self) -> bool:
        """Whether the run that it is beside is not the newest one."""
        return self.newest is not None and self.alike is not None and self.newest != self.alike


def standing(db: Db, about: Concluding, benchmark_id: str, means: Sequence[runs.Mean]) -> EarlierRunStanding:
    """Returns how the run stands; one of a comparison is measured against none."""
    newest = runs.earlier(db, benchmark_id)
    alike = _newest_alike(db, about, benchmark_id, newest)
    compared = about.request.purpose != "comparison"
    origins = _origins(db, about, alike if compared else None)
    if compared and alike is not None and origins.incomparable:
        alike, origins = _same_target_earlier(db, about, benchmark_id, (alike, origins))
    canaries = tuple(runs.canaries_passed(db, about.run_id))
    why = _why_alone(db, about, newest, alike, origins.incomparable)
    if alike is None or not compared or origins.incomparable:
        return EarlierRunStanding(newest, alike, None, None, origins, canaries, not_compared=why)
    shared = shared_cases.shared(db, alike.id, about.run_id)
    if not shared.cases:
        why = _apart(alike.id, "the two runs share no unchanged case")
    whole = about.request.selection is None
    fallen = _fallen_most(runs.kept_means(db, alike.id), means) if whole else None
    regression = _regression(db, about, alike, shared, fallen, origins)
    since, beside_base = _fallen_since(db, about, alike, shared, origins)
    fall = supported_fall(since, beside_base) if since and beside_base else supported_fall(alike.id, shared)
    return EarlierRunStanding(newest, alike, shared, regression, origins, canaries, since, fallen, fall, why)


def _why_alone(
    db: Db, about: Concluding, newest: runs.Earlier | None, alike: runs.Earlier | None, incomparable_with: str
) -> str:
    """Returns why the run is compared with no earlier one, where there is one; empty where it is."""
    if newest is None:
        return ""
    if alike is not None:
        return _apart(alike.id, incomparable_with) if incomparable_with else ""
    if then := answered_otherwise(db, newest.id, about):
        return _apart(
            newest.id,
            f"the judge's model answered as {then} there and as {about.answered_by} here. A new series begins",
        )
    return _apart(newest.id, "the judge or the rubric changed")


def _apart(run_id: str, why: str) -> str:
    return f"not compared with run {run_id} because {why}"


def _same_target_earlier(
    db: Db, about: Concluding, benchmark_id: str, found: tuple[runs.Earlier, Origins]
) -> tuple[runs.Earlier, Origins]:
    """The newest earlier run of the run's own target, if it can be compared; else what was found.

    Two targets that take turns on one benchmark are each compared with their own last run.
    """
    target = about.request.target
    own = None if target is None else runs.earlier(db, benchmark_id, target=target)
    if own is None or own == found[0] or not _is_judged_alike(db, own, about):
        return found
    origins = _origins(db, about, own)
    return found if origins.incomparable else (own, origins)


def _is_judged_alike(db: Db, earlier: runs.Earlier, about: Concluding) -> bool:
    """Whether the shared cases have comparable judgments."""
    if answered_otherwise(db, earlier.id, about):
        return False
    return earlier.judged_alike == about.judged_alike or same_yardsticks(db, earlier.id, about.run_id)


def _newest_alike(db: Db, about: Concluding, benchmark_id: str, newest: runs.Earlier | None) -> runs.Earlier | None:
    """The newest earlier run, if the cases that both have were judged alike; else the newest that was judged alike altogether."""
    if newest is None or answered_otherwise(db, newest.id, about):
        return None
    if _is_judged_alike(db, newest, about):
        return newest
    alike = runs.earlier(db, benchmark_id, judged_alike=about.judged_alike)
    return None if alike is None or answered_otherwise(db, alike.id, about) else alike


def answered_otherwise(db: Db, before: str, about: Concluding) -> str:
    """The models that answered for the judges of that run, where others do now; empty where they are the same or not known."""
    then = runs.answering_models_in(db, run_id=before)
    return then if then is not None and about.answered_by is not None and then != about.answered_by else ""


def _origins(db: Db, about: Concluding, alike: runs.Earlier | None) -> Origins:
    """Returns what the run's outputs are of, beside those of the run before."""
    version, digests = measured_origins(db, about.run_id, about.digests)
    before = None if alike is None else runs.benchmark_run(db, alike.id)
    if before is None:
        return Origins(version, digests)
    then = setup_of(db, before.id, before.fields)
    now = setup_with(version, digests, about.request.target)
    seen = changes(then, now)
    if about.request.selection is not None:
        seen = changes_of_shared(db, before.id, about.run_id, seen)
    return Origins(version, digests, seen, incomparable(then, now) or _edited(db, before, about))


def _edited(db: Db, before: Record[BenchmarkRun], about: Concluding) -> str:
    """Returns that nothing in the run is measured as in the one before; empty where something is."""
    then, now = before.fields.digests, about.digests
    if (then.test_case, then.scorer, then.embedder) == (now.test_case, now.scorer, now.embedder):
        return ""
    return "every shared case or its checks were edited" if all_edited(db, before.id, about.run_id) else ""


def _regression(
    db: Db,
    about: Concluding,
    previous: runs.Earlier,
    shared: shared_cases.Shared,
    fallen: str | None,
    origins: Origins,
) -> Regression | None:
    if not _fell(about, shared):
        return None
    failing = shared_cases.newly_failing(db, previous.id, about.run_id)
    against_noise = shared.evidence
    changed = origins.changed or outputs_exchanged(db, previous.id, about.run_id)
    return Regression(previous, shared, failing, against_noise, fallen, changed)


def _fell(about: Concluding, shared: shared_cases.Shared) -> bool:
    """Returns whether the pass rate fell by more than the skill's limit; by more outputs of a case that failed before it did not."""
    rule = about.skills.run_benchmark.parameters
    dropped = pass_rate_dropped(
        shared.previous_passed,
        shared.previous_total,
        shared.passed,
        shared.total,
        points=rule.drop_points,
        relative=rule.relative,
    )
    return dropped and shared.worse > 0


def _fallen_since(
    db: Db, about: Concluding, previous: runs.Earlier, since_previous: shared_cases.Shared, origins: Origins
) -> tuple[str, shared_cases.Shared] | tuple[None, None]:
    """The last run that held, if the run before had fallen from it and this one is still below it, and both side by side."""
    base = runs.benchmark_run(db, base_after(db, previous.id, got_better=since_previous.better > 0))
    if base is None or base.id == previous.id or not same_yardsticks(db, base.id, about.run_id):
        return None, None
    now = setup_with(origins.version, origins.digests, about.request.target)
    if incomparable(setup_of(db, base.id, base.fields), now) or _edited(db, base, about):
        return None, None
    since = shared_cases.shared(db, base.id, about.run_id, left_out=True)
    return (base.id, since) if _fell(about, since) or since.fall else (None, None)


def _fallen_most(before: dict[str, float], now: Sequence[runs.Mean]) -> str | None:
    """The criterion or metric whose mean fell the most, with its figures."""
    falls = [(before[mean.title] - mean.score, mean) for mean in now if mean.title in before]
    if not falls:
        return None
    fall, worst = max(falls, key=lambda pair: pair[0])
    scale = "" if worst.max_score == 1 else f" of {worst.max_score:g}"
    return f"{worst.title} dropped from {before[worst.title]:.2f} to {worst.score:.2f}{scale}" if fall > 0 else None
