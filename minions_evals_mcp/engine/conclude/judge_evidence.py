"""The worth of a comparison's judges as evidence: their standing, the corrected difference of passes, and the verdict that follows."""

from __future__ import annotations

from datetime import datetime
from statistics import NormalDist

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.conclude.attempts import Attempt
from minions_evals_mcp.engine.licences.corrected import CorrectedFigure, corrected_pass_difference
from minions_evals_mcp.engine.licences.standing import JudgeStanding, judge_standing
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.attempts import BUDGET, attempt_level
from minions_evals_mcp.stats.comparison import ComparisonVerdict
from minions_evals_mcp.store.connection import Db

LEVEL = attempt_level(1)
"""The error of a first attempt."""


@frozen_type
class JudgeEvidence:
    """The standing of the judges of both runs, and the difference of passes as people would have found it, if labels say."""

    standing: JudgeStanding
    corrected: CorrectedFigure | None
    error: float = LEVEL

    def verdict(self, raw: ComparisonVerdict, *, margin: float) -> ComparisonVerdict:
        """The corrected figure's verdict where there is one: labels stand above what the judge says."""
        if self.corrected is None:
            return raw
        low, high = self.corrected.interval
        if low > 0:
            return "improved"
        if high < 0:
            return "regressed"
        return "equivalent" if -margin < low and high < margin else "inconclusive"

    def p_value(self) -> float:
        """Returns how likely so large a corrected difference is by chance: read off its interval, as that was made."""
        assert self.corrected is not None
        low, high = self.corrected.interval
        if high <= low:
            return 0.0 if self.corrected.value else 1.0
        reach = NormalDist().inv_cdf(1 - self.error / 2)
        return 2 * (1 - NormalDist().cdf(abs(self.corrected.value) / ((high - low) / 2) * reach))

    def applied(self, fields: PromptComparison, *, margin: float) -> PromptComparison:
        """The comparison with what is known of its judges."""
        figure = self.corrected
        sentence = None if figure is None else _in_words(figure, fields.verdict)
        return fields.model_copy(
            update={
                "verdict": self.verdict(fields.verdict, margin=margin),
                "level": fields.level if figure is None else self.error,
                "judge_state": self.standing.state,
                "judge_note": self.standing.in_words,
                "p_value": fields.p_value if figure is None else self.p_value(),
                "corrected_delta": None if figure is None else figure.value,
                "corrected_ci": None if figure is None else figure.interval,
                "corrected_labels": 0 if figure is None else figure.labels,
                "notes": "; ".join(part for part in (fields.notes, sentence) if part),
            }
        )


def _in_words(figure: CorrectedFigure, raw: ComparisonVerdict) -> str:
    low, high = (100 * end for end in figure.interval)
    return (
        f"corrected by {figure.labels} labels the passes differ by {100 * figure.value:+.0f} points ({low:+.0f} to {high:+.0f});"
        f" the judge alone gives {100 * figure.raw:+.0f}, {raw}"
    )


def judge_evidence(db: Db, run_a: str, run_b: str, *, at: datetime, error: float | None = None) -> JudgeEvidence:
    """Returns what is known of the judges of two runs; `error` is that at which the comparison is decided."""
    standing = judge_standing(db, [run_a, run_b], at=at)
    if standing.state == "none":
        return JudgeEvidence(standing, None)
    error = LEVEL if error is None else error
    return JudgeEvidence(standing, corrected_pass_difference(db, run_a, run_b, level=1 - error), error)


def judge_evidence_at(db: Db, run_a: str, run_b: str, *, at: datetime, attempt: Attempt) -> JudgeEvidence:
    """The judges' worth at the level that decides: .05 where labels show a fall, else that of the attempt."""
    evidence = judge_evidence(db, run_a, run_b, at=at, error=attempt.level)
    if evidence.corrected is None or evidence.corrected.value >= 0:
        return evidence
    harm = judge_evidence(db, run_a, run_b, at=at, error=BUDGET)
    return harm if harm.corrected is not None and harm.corrected.interval[1] < 0 else evidence
