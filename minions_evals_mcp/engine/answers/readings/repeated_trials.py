"""How reliable an agent is over repeated trials of the same cases: pass^k and pass@k of a run."""

from __future__ import annotations

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.stats.intervals import grouped_pass_rate
from minions_evals_mcp.stats.nested.repeated_trials import all_pass, any_passes
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.report_units import trials_by_case

NAMED = 4
"""So many k are said in words: the first ones, and the last."""


class Reliability(Value):
    """The shares (0 to 1) of cases of which k trials all pass, and of which at least one of k passes, for k from 1.

    `cases` have all `trials` judged; the interval (95 %) is that of the last `allPass`, over groups.
    """

    trials: int
    cases: int
    all_pass: tuple[float, ...]
    any_passes: tuple[float, ...]
    interval: tuple[float, float]

    @property
    def sentence(self) -> str:
        """The figures in words."""
        last = self.trials
        named = sorted({*range(1, min(last, NAMED) + 1), last})
        shares = ", ".join(f"pass^{k} {100 * self.all_pass[k - 1]:.1f} %" for k in named)
        low, high = self.interval
        return (
            f"reliability over {self.cases} {'case' if self.cases == 1 else 'cases'}: {shares} (all of k trials pass; 95 % for k = {last}:"
            f" {100 * low:.1f}–{100 * high:.1f} %). pass@{last} {100 * self.any_passes[-1]:.1f} % (at least one passes)"
        )


def read_reliability(db: Db, run_id: str, trials: int) -> Reliability | None:
    """The reliability of a benchmark-run; None where its cases ran once, or none has all its trials judged."""
    if trials == 1:
        return None
    whole = [one for one in trials_by_case(db, run_id) if one[0] >= trials]
    cases = [(judged, passed) for judged, passed, _ in whole]
    found = grouped_pass_rate((group, passed >= trials) for _, passed, group in whole)
    if found is None:
        return None
    ks = range(1, trials + 1)
    return Reliability(
        trials=trials,
        cases=len(cases),
        all_pass=tuple(all_pass(cases, k) or 0.0 for k in ks),
        any_passes=tuple(any_passes(cases, k) or 0.0 for k in ks),
        interval=found.bounds,
    )
