"""A run's fall beside the newest earlier run that had not fallen itself: a regression stays one until it is better or accepted."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EVIDENCE_WORDS, BenchmarkRun, Evidence, SupportedFall
from minions_evals_mcp.engine.calibration import calibration_of
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.regression import Gate, fall_gate
from minions_evals_mcp.store import events, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import shared_cases

ACCEPTED = "run-accepted"
"""The kind of the event by which somebody takes a run as it is: later runs are measured against it, fallen or not."""


@frozen_type
class Fall:
    """The relation of a run to the earlier one that it fell from. `noise_floor` where the benchmark was calibrated."""

    since: str
    shared: shared_cases.Shared
    score_fell: float
    noise_floor: float | None

    @property
    def evidence(self) -> Evidence:
        """Returns whether the fall of the passes is more than chance."""
        return self.shared.evidence

    @property
    def is_within_noise(self) -> bool:
        """Returns whether the score fell by no more than two runs of one version do."""
        return self.noise_floor is not None and self.score_fell <= self.noise_floor

    @property
    def gate(self) -> Gate:
        """Returns what a gate that goes by evidence makes of it: a supported fall of passes or scores fails it, of any size."""
        if self.shared.fall is not None and not self.is_within_noise:
            return "failed"
        return fall_gate(self.evidence, better=self.shared.better, is_within_noise=self.is_within_noise)


def fall_of(db: Db, run: Record[BenchmarkRun]) -> Fall | None:
    """The run's fall since the run that it is measured against; None where it did not fall."""
    since = run.fields.fallen_since or _run_before(db, run) or (run.fields.fall and run.fields.fall.since)
    before = None if since is None else runs.benchmark_run(db, since)
    if before is None:
        return None
    series = runs.series_of(db, run.id)
    calibrated = calibration_of(db, run.fields.benchmark_id, measured_as=series)
    return Fall(
        before.id,
        shared_cases.shared(db, before.id, run.id, left_out=run.fields.fallen_since is not None),
        before.fields.overall_score - run.fields.overall_score,
        None if calibrated is None else calibrated.noise_floor,
    )


def still_fallen(fall: Fall) -> str:
    """Says of a run after a regression that it is no better: since when, and how far."""
    shared, below = fall.shared, f"Still below {fall.since}, the last passing run"
    if shared.fall == "scores" and shared.passed * shared.previous_total >= shared.previous_passed * shared.total:
        return f"{below}: scores fell by {fall.score_fell:.3f} since ({EVIDENCE_WORDS['supported']})."
    return (
        f"{below}: {shared.previous_passed} of {shared.previous_total} passed then, {shared.passed} of {shared.total} now"
        f" ({EVIDENCE_WORDS[fall.evidence]}); {shared.worse} {'case' if shared.worse == 1 else 'cases'} got worse since,"
        f" {shared.better} better."
    )


def _run_before(db: Db, run: Record[BenchmarkRun]) -> str | None:
    """The run that a regression was told against."""
    letters = events.outbox(db, ident=f"{run.id}:message", limit=1) if run.fields.is_regression else []
    payload: Json = letters[0].record.fields.model_dump(mode="json")["payload"] if letters else {}
    return str(payload["previousRunId"]) if "previousRunId" in payload else None


def base_after(db: Db, run_id: str, *, got_better: bool) -> str:
    """The run that one after it is measured against: it, if it held or was accepted; else the newest one that did.

    A fall that too few cases decide stands no longer than until a case gets better (`got_better`): what luck took, it gives back.
    """
    run = runs.benchmark_run(db, run_id)
    fall = None if run is None else fall_of(db, run)
    if fall is None or fall.gate == "held" or (fall.gate == "undecided" and got_better):
        return run_id
    return runs.newest_with_event(db, ACCEPTED, first=fall.since, last=run_id) or fall.since


def supported_fall(since: str, shared: shared_cases.Shared) -> SupportedFall | None:
    """The fall since that run as it is recorded, if passes or scores fell by more than chance."""
    if shared.fall is None:
        return None
    tested = shared.passes if shared.fall == "passes" else shared.scores
    return SupportedFall(
        since=since,
        of=shared.fall,
        delta=tested.total / shared.cases,
        p_value=tested.p_value,
        cases=shared.cases,
        changed=tested.changed,
    )


def fall_in_words(fall: SupportedFall) -> str:
    """The fall in one sentence, without its full stop."""
    figure = "the pass rate" if fall.of == "passes" else "the score"
    by = f"{-100 * fall.delta:.1f} points" if fall.of == "passes" else f"{-fall.delta:.3f}"
    return (
        f"{figure} fell by {by} since {fall.since}, which is statistically significant (p = {fall.p_value:.2g},"
        f" {fall.changed} of {fall.cases} cases changed)"
    )
