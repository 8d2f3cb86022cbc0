"""`assertScoringFunction`: a person's code that makes one verdict of all the assertions of a test.

It is given `namedScores` and `context` ({threshold, componentResults, tokensUsed}) and must give {pass, score, reason}.
A score outside 0 to 1 counts as the nearer of them. Where promptfoo 0.121.20 and we differ: code that breaks, or gives
anything else, is no verdict, there it fails the output; metrics stay those of the assertions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, ScoringCode
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.scoring.assertions.snippets import as_given
from minions_evals_mcp.scoring.assertions.transforms import called
from minions_evals_mcp.scoring.assertions.values import shown
from minions_evals_mcp.scoring.checks import Aggregate, Broke, Checked, Grade, GradeNeed, Ran, SnippetNeed, Unchecked
from minions_evals_mcp.scoring.metrics import metric_scores

NAME = "assertScoringFunction"
ARGUMENTS = "namedScores, context"


def scoring_need(
    scoring: ScoringCode,
    assertions: Sequence[Assertion],
    found: Aggregate,
    *,
    threshold: float | None,
    grades: Mapping[GradeNeed, Grade],
) -> SnippetNeed:
    """The run of the code on what the assertions found; the grades tell what the models used."""
    context: Json = {
        **({} if threshold is None else {"threshold": threshold}),
        "componentResults": [*_components(assertions, found.results)],
        "tokensUsed": _tokens(grades),
    }
    code = called(scoring.code, ARGUMENTS) if scoring.language == "javascript" else scoring.code
    named: Json = {**metric_scores(found.results)}
    return SnippetNeed(scoring.language, code.strip(), as_given({"namedScores": named, "context": context}))


def rescored(found: Aggregate, ran: Ran | Broke) -> Aggregate | Unchecked:
    """The same checks with the verdict that the code gave."""
    if isinstance(ran, Broke):
        return Unchecked(NAME, ran.error)
    match ran.value:
        case {"pass": bool(passed), "score": int() | float() as score, "reason": str(reason)} if not isinstance(
            score, bool
        ):
            return Aggregate(passed, min(1.0, max(0.0, float(score))), found.results, reason or "no reason is given")
        case _:
            return Unchecked(NAME, f"the code must give {{pass, score, reason}}, not {shown(ran.value)}")


def _components(assertions: Sequence[Assertion], results: Sequence[Checked]) -> Iterator[JsonValue]:
    """Each result with its assertion, those of a set after it."""
    for assertion, result in zip(assertions, results, strict=True):
        told = assertion.model_dump(mode="json", exclude_none=True)
        yield {"pass": result.passed, "score": result.score, "reason": result.reason, "assertion": told}
        if result.parts:
            yield from _components(assertion.assertions, result.parts)


def _tokens(grades: Mapping[GradeNeed, Grade]) -> Json:
    sent = sum(one.input_tokens for one in grades.values())
    received = sum(one.output_tokens for one in grades.values())
    return {
        "total": sent + received, "prompt": sent, "completion": received, "cached": 0, "numRequests": len(grades)
    }  # fmt: skip
