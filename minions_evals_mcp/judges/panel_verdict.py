"""One verdict from several models: the median of their scores, which for pass or fail is the majority, with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, Verdict
from minions_evals_mcp.judges.task import Criterion, Said

SAME = 1e-9
SUREST = 0.9
"""Models of a panel err alike: that all say the same is no certainty."""


def panel_verdict(criterion: Criterion, said: Sequence[Said]) -> Said:
    """What the panel says: of an even number the lower middle. More than half of its members must have scored.

    `confidence` is the share of members that gave the panel's score.
    """
    verdicts = [one for one in said if isinstance(one, Verdict)]
    if 2 * len(verdicts) <= len(said):
        errors = [one for one in said if isinstance(one, JudgeErrored)]
        unfit = [one for one in said if isinstance(one, NotJudgeable)]
        return unfit[0] if 2 * len(unfit) > len(said) or not errors else errors[0]
    score = median_low(one.score for one in verdicts)
    agreeing = [one for one in verdicts if abs(one.score - score) <= SAME]
    costs = [one.cost_usd for one in verdicts]
    return criterion.verdict(
        score,
        _rationale(verdicts, agreeing[0], len(said)),
        judged_by=",".join(one.judged_by for one in verdicts),
        judged_by_type="llm",
        confidence=min(SUREST, len(agreeing) / len(said)),
        input_tokens=sum(one.input_tokens or 0 for one in verdicts),
        output_tokens=sum(one.output_tokens or 0 for one in verdicts),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def _rationale(verdicts: Sequence[Verdict], speaker: Verdict, members: int) -> str:
    scores = [one.score for one in verdicts]
    spread = "all alike" if max(scores) - min(scores) <= SAME else f"from {min(scores):g} to {max(scores):g}"
    said = ", ".join(f"{one.judged_by} {one.score:g}" for one in verdicts)
    silent = f"; {members - len(verdicts)} gave no score" if len(verdicts) < members else ""
    return f"panel of {members}, {spread} ({said}{silent}). {speaker.judged_by}: {speaker.rationale}"
