"""The figures of an evaluation: its verdict, how it stands against the run before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from minions_evals_mcp.engine.answers.gates import interval_of, regression_gate
from minions_evals_mcp.engine.answers.run_diff import RunDiff
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.stats.intervals import Bounds, rate_bounds, rate_bounds_like
from minions_evals_mcp.stats.limits import Limit, Undecided, limit_gate, settled
from minions_evals_mcp.stats.regression import Gate, fall_gate, pass_rate_dropped
from minions_evals_mcp.store.queries.judging.shared_checks import CheckMean
from minions_evals_mcp.store.queries.shared_cases import Shared


@dataclass(frozen=True, slots=True)
class ResultOptions:
    """The options that decide whether the result has passed, and where it is kept."""

    min_pass_rate: float | None
    fail_on_regression: bool
    config: EngineConfig
    is_default_store: bool
    undecided: Undecided | None = None
    literal: bool = False
    lacks_judge: bool = False
    """Whether no model is set up for what rules cannot judge, where nobody said who is to."""
    taken_name: str = ""
    """The name that was asked for, where another folder's evaluation has it in the store that they share."""


@dataclass(eq=False, repr=False)
class Figures:
    """A kept evaluation in figures; `passed` is its verdict."""

    summary: RunSummary
    asked: ResultOptions = field(repr=False)
    before: str | None = None
    """The id of the run of this name that it is compared with: the one before, or the last that held where that one fell."""
    changes: RunDiff | None = field(default=None, repr=False)
    beside: Shared | None = field(default=None, repr=False)
    """Both runs on the cases that were asked alike, what broke now counted as not passed: the figures of the gate."""
    check_means: tuple[tuple[CheckMean, CheckMean | None], ...] = field(default=(), repr=False)
    """Each check's average over the run, and over the run before where it has the check."""
    problem: str = ""
    """Why the run did not come to its end, if it did not."""

    @property
    def run_id(self) -> str:
        """The run's id in the store."""
        return self.summary.run_id

    @property
    def name(self) -> str:
        """The evaluation's name, which is its benchmark's id."""
        return self.summary.subject_id

    @property
    def passed_count(self) -> int:
        """Returns how many trials passed."""
        return _count(self.summary, "passedCount")

    @property
    def scored_count(self) -> int:
        """Returns how many trials have a verdict."""
        return _count(self.summary, "totalCount")

    @property
    def error_count(self) -> int:
        """Returns how many trials the task or a judge failed at: neither passed nor failed."""
        counts = self.summary.outcomes
        return sum(number for name, number in counts.items() if name in {"target-error", "judge-error", "user-error"})

    @property
    def pass_rate(self) -> float | None:
        """The share that passed of all that have a verdict; None where none has one."""
        return self.passed_count / self.scored_count if self.scored_count else None

    @property
    def score(self) -> float | None:
        """The mean score (0–1); None where nothing was scored."""
        fields = self.summary.benchmark_run
        value = None if fields is None else fields["overallScore"]
        return float(value) if isinstance(value, int | float) else None

    @property
    def is_regression(self) -> bool:
        """Whether the pass rate fell since the last passing run (docs/concepts/regressions-and-trends.md); `gate` weighs chance."""
        return self.summary.regression is not None

    @property
    def gate(self) -> Gate:
        """Returns what `fail_on_regression` makes of the run: held, failed, or undecided where too few cases changed to tell.

        What broke is no fall, but may hide one: undecided where it would be one if it had failed.
        """
        judged = regression_gate(self.summary)
        return "undecided" if judged != "failed" and self._may_hide_a_fall else judged

    @property
    def _may_hide_a_fall(self) -> bool:
        """Whether the run would have fallen if what broke had failed."""
        beside = self.beside
        if beside is None or not beside.broke:
            return False
        dropped = pass_rate_dropped(beside.previous_passed, beside.previous_total, beside.passed, beside.total)
        return beside.fall is not None or (dropped and fall_gate(beside.evidence, better=beside.better) != "held")

    @property
    def unjudged_count(self) -> int:
        """How many trials have no verdict although nothing broke: nobody has judged them yet, or nothing can be judged."""
        return self.missing_count - self.error_count

    @property
    def missing_count(self) -> int:
        """How many trials have no verdict: the task or a judge failed at them, or nobody has judged them."""
        return self.summary.units - self.scored_count

    @property
    def limit(self) -> Limit | None:
        """The pass rate beside `min_pass_rate`, where one was asked for and something was judged.

        Held if the rate reaches it even if everything that has no verdict failed; failed if its whole interval lies below even
        if all of that passed; else undecided.
        """
        asked, total = self.asked, self.summary.units
        if asked.min_pass_rate is None or not self.scored_count:
            return None
        trials = (self.summary.benchmark_run or {}).get("trials")
        cases = max(1, round(total / trials)) if isinstance(trials, int) else total

        def beside(passed: int) -> Limit:
            assert asked.min_pass_rate is not None
            interval = self._rate_bounds(passed)
            return limit_gate(passed / total, interval, asked.min_pass_rate, cases=cases, literal=asked.literal)

        worst, best = beside(self.passed_count), beside(self.passed_count + self.missing_count)
        if worst.gate == "held" or best.gate != "held":
            return worst if worst.gate == "held" else best
        return replace(best, gate="undecided")

    def _rate_bounds(self, passed: int) -> Bounds | None:
        """The interval of the pass rate if so many of all trials had passed: trials and groups count as in the run's own interval."""
        fields, total = self.summary.benchmark_run or {}, self.summary.units
        recorded = interval_of(fields.get("passRateCi"))
        if recorded is None or (fields.get("groups") is None and fields.get("trials", 1) == 1):
            return rate_bounds(passed, total)
        bounds = recorded[0] / 100, recorded[1] / 100
        return rate_bounds_like(passed, total, seen=(self.passed_count, self.scored_count), bounds=bounds)

    @property
    def passed(self) -> bool | None:
        """True if every case passed (or `min_pass_rate` is met), False if one failed (or it is missed), None if that is not decided.

        A case without a verdict is no pass and no fail: where the task or a judge broke, or nobody has judged, None, unless what
        has a verdict decides. With `min_pass_rate`, None too where the rate is below it within chance, unless `undecided`
        says what then, or `literal` has the figure alone decide. The run before counts with `fail_on_regression` only: None
        where too few cases tell whether the fall since then is chance, and the cases themselves have not failed.
        """
        undecided = None if self._may_hide_a_fall else self.asked.undecided
        fallen = settled(self.gate, undecided) if self.asked.fail_on_regression else "held"
        if fallen == "failed" or self._own_verdict is False:
            return False
        return None if fallen == "undecided" else self._own_verdict

    @property
    def _own_verdict(self) -> bool | None:
        """Returns what the cases say without the run before."""
        if not self.scored_count:
            return None
        if (limit := self.limit) is not None:
            by_chance = not self.missing_count  # a verdict that is missing is nobody's to decide
            gate = settled(limit.gate, self.asked.undecided if by_chance else None)
            return {"held": True, "failed": False, "undecided": None}[gate]
        if self.passed_count < self.scored_count:
            return False
        return None if self.missing_count else True


def _count(summary: RunSummary, name: str) -> int:
    value = 0 if summary.benchmark_run is None else summary.benchmark_run[name]
    return value if isinstance(value, int) else 0
