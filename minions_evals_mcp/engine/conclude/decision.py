"""The verdict on paired outputs: harm at a fixed level, a gain at the level of the attempt, and both with outputs that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minions_evals_mcp.engine.conclude.attempts import Attempt
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.attempts import BUDGET
from minions_evals_mcp.stats.comparison import CasePair, ComparisonVerdict, Difference, compare
from minions_evals_mcp.store.queries.run_pairs import CaseScores

MARGIN = 0.05
"""A difference whose whole interval lies within this counts as none."""


@frozen_type
class Decision:
    """The difference at the `level` that decides, and the verdict; `missing` states which outputs leave it open."""

    difference: Difference
    level: float
    verdict: ComparisonVerdict
    missing: str = ""


def decided(pairs: Sequence[CasePair], with_missing: Sequence[CasePair] | None, attempt: Attempt) -> Decision:
    """The verdict on those pairs; `with_missing` are all of them with each missing output as a failure, None where none is.

    A fall is decided at .05 in every attempt: to find harm late costs more than a false alarm. A gain is decided at the
    attempt's level. "improved" and "equivalent" must hold with the missing outputs, too.
    """
    difference = measured(pairs, level=attempt.level, next_level=attempt.next_level)
    if difference.delta < 0:
        harm = measured(pairs, level=BUDGET, next_level=attempt.next_level)
        if harm.verdict == "regressed":
            return Decision(harm, BUDGET, "regressed")
    why = left_open(difference.verdict, pairs, with_missing, level=1 - attempt.level)
    return Decision(difference, attempt.level, "inconclusive" if why else difference.verdict, why)


def measured(pairs: Sequence[CasePair], *, level: float, next_level: float) -> Difference:
    """The difference at the error `level`; what it says of a fall goes by the level at which falls are decided."""
    return compare(pairs, margin=MARGIN, level=1 - level, next_level=1 - next_level, fall_level=1 - BUDGET)


def left_open(
    verdict: ComparisonVerdict, pairs: Sequence[CasePair], with_missing: Sequence[CasePair] | None, *, level: float
) -> str:
    """Why the missing outputs leave an improvement or an equivalence open; empty where they do not."""
    if with_missing is None or verdict not in {"improved", "equivalent"}:
        return ""
    held = compare(with_missing, margin=MARGIN, level=level).verdict
    if held == verdict:
        return ""
    missing = _missing_outputs(pairs, with_missing)
    return f"{missing}: if missing outputs count as failures, the verdict would be {held}, not {verdict}"


def pairs_with_missing(
    pairs: Sequence[CasePair], a: Mapping[str, CaseScores], b: Mapping[str, CaseScores]
) -> list[CasePair] | None:
    """The pairs with a failure for each output that one run has and the other lacks; None where none is missing."""
    complete = [_padded(pair, len(a[pair.case_id].passed) - len(b[pair.case_id].passed)) for pair in pairs]
    lacking = [*(_lacking(case_id, a[case_id], of_b=True) for case_id in a if case_id not in b)]
    lacking += [_lacking(case_id, b[case_id], of_b=False) for case_id in b if case_id not in a]
    return None if complete == [*pairs] and not lacking else [*complete, *lacking]


def _padded(pair: CasePair, more_in_a: int) -> CasePair:
    """The pair with failures in the run that has fewer trials of the case."""
    if not more_in_a:
        return pair
    a, b, passed_a, passed_b = pair.a, pair.b, pair.passed_a, pair.passed_b
    if more_in_a > 0:
        b, passed_b = (*b, *(0.0,) * more_in_a), (*passed_b, *(False,) * more_in_a)
    else:
        a, passed_a = (*a, *(0.0,) * -more_in_a), (*passed_a, *(False,) * -more_in_a)
    return CasePair(pair.case_id, a, b, passed_a, passed_b, pair.weight, pair.group)


def _lacking(case_id: str, scores: CaseScores, *, of_b: bool) -> CasePair:
    """A case that one run alone has, with as many failures in the other."""
    there, passed = tuple(scores.fractions), tuple(scores.passed)
    failed, not_passed = (0.0,) * len(there), (False,) * len(there)
    group = scores.group or ""
    if of_b:
        return CasePair(case_id, there, failed, passed, not_passed, scores.possible, group)
    return CasePair(case_id, failed, there, not_passed, passed, scores.possible, group)


def _missing_outputs(pairs: Sequence[CasePair], with_missing: Sequence[CasePair]) -> str:
    number = sum(len(pair.a) + len(pair.b) for pair in with_missing) - sum(len(pair.a) + len(pair.b) for pair in pairs)
    own = {pair.case_id for pair in pairs}
    number -= sum(len(pair.a) for pair in with_missing if pair.case_id not in own)
    return f"{number} {'output is' if number == 1 else 'outputs are'} missing"
