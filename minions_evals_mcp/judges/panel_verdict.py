"""One verdict from several models: the median of their scores, which for pass or fail is the majority, with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, Verdict
from minions_evals_mcp.judges.task import Criterion, Said

SAME = 1e-9
SUREST = 0.9
"""Models of a panel err alike: that all say the same is no certainty."""


def panel_verdict(criterion: Criterion, answers: Sequence[Said]) -> Said:
    """Returns what the panel says: of an even number the lower middle. More than half of its members must have scored.

    `confidence` is the share of members that gave the panel's score.
    """
    verdicts = [verdict for verdict in answers if isinstance(verdict, Verdict)]
    if 2 * len(verdicts) <= len(answers):
        errors = [verdict for verdict in answers if isinstance(verdict, JudgeErrored)]
        unfit = [verdict for verdict in answers if isinstance(verdict, NotJudgeable)]
        return unfit[0] if 2 * len(unfit) > len(answers) or not errors else errors[0]
    score = median_low(verdict.score for verdict in verdicts)
    agreeing = [verdict for verdict in verdicts if abs(verdict.score - score) <= SAME]
    costs = [verdict.cost_usd for verdict in verdicts]
    return criterion.verdict(
        score,
        _rationale(verdicts, agreeing[0], len(answers)),
        judged_by=",".join(verdict.judged_by for verdict in verdicts),
        judged_by_type="llm",
        confidence=min(SUREST, len(agreeing) / len(answers)),
        input_tokens=sum(verdict.input_tokens or 0 for verdict in verdicts),
        output_tokens=sum(verdict.output_tokens or 0 for verdict in verdicts),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def _rationale(verdicts: Sequence[Verdict], speaker: Verdict, members: int) -> str:
    scores = [verdict.score for verdict in verdicts]
    spread = "all alike" if max(scores) - min(scores) <= SAME else f"from {min(scores):g} to {max(scores):g}"
    scores_said = ", ".join(f"{verdict.judged_by} {verdict.score:g}" for verdict in verdicts)
    silent = f"; {members - len(verdicts)} gave no score" if len(verdicts) < members else ""
    return f"panel of {members}, {spread} ({scores_said}{silent}). {speaker.judged_by}: {speaker.rationale}"
