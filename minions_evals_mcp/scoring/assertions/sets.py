"""`assert-set`: assertions inside an assertion, with a weight and a threshold of their own.

Where promptfoo 0.121.20 and we differ:
- A set may hold sets, and `not-assert-set` turns its verdict round; there both stop the evaluation.
- A set of weight 0 cannot fail, like any other assertion; there it fails the test although it adds no score.
- A set without assertions is refused; there it passes with score 0.
"""

from __future__ import annotations

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Aggregate, Unchecked, Unmet
from minions_evals_mcp.scoring.failures.texts import cut
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

MOST_NESTED = 8
MOST_SHOWN = 400
"""Characters of the reasons of a set."""


def as_one(verdict: Aggregate | Unchecked) -> UnweightedResult | Unmet:
    """The verdict of a set's assertions as that of one assertion: its score is their weighted mean."""
    if isinstance(verdict, Unchecked):
        return Unmet(f"{verdict.type}: {verdict.reason}", not_judgeable=verdict.not_judgeable)
    return UnweightedResult(verdict.passed, _reason(verdict), verdict.score, parts=verdict.results)


def _reason(verdict: Aggregate) -> str:
    """The reasons of what failed, else of the only assertion; with the count where there are several."""
    results = verdict.results
    failed = [result for result in results if not result.passed]
    told = failed or (results if len(results) == 1 else ())
    reasons = cut("; ".join(f"{result.type}: {result.reason}" for result in told), MOST_SHOWN)
    if len(results) == 1:
        return reasons
    counted = f"{len(results) - len(failed)} of {len(results)} passed, score {verdict.score:.2f}"
    return f"{counted}; {reasons}" if reasons else counted


def vet_set(assertion: Assertion) -> None:
    """Refuses a set without assertions, with a `value`, or with sets too deep inside it."""
    if not assertion.assertions:
        raise InvalidRecordError("must contain at least one assertion", field="assert")
    if assertion.value is not None:
        raise InvalidRecordError(f"a set takes none, not {excerpt(assertion.value)}", field="value")
    if depth(assertion) > MOST_NESTED:
        raise InvalidRecordError(f"sets are nested more than {MOST_NESTED} deep", field="assert")


def depth(assertion: Assertion) -> int:
    """Returns how many sets stand inside one another, this one counted; 0 for any other assertion."""
    return 1 + max(map(depth, assertion.assertions), default=0) if assertion.assertions else 0
