"""`assertScoringFunction`: a person's code that makes one verdict of all the assertions of a test.

It is given `namedScores` and `context` ({threshold, componentResults, tokensUsed}) and must give {pass, score, reason}.
A score outside 0 to 1 counts as the nearer of them. `namedScores` that it gives are the output's metrics in place of the
assertions', with the weights that those have there. Where promptfoo 0.121.20 and we differ: code that breaks, or gives
anything else, is no verdict, there it fails the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, ScoringCode
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.scoring.assertions.kinds.code_context import as_given
from minions_evals_mcp.scoring.assertions.kinds.snippets import as_called
from minions_evals_mcp.scoring.checks import (
    Aggregate,
    Checked,
    Grade,
    GradeNeed,
    Guards,
    Ran,
    SnippetError,
    SnippetNeed,
    Unchecked,
)
from minions_evals_mcp.scoring.metrics import metric_scores, metric_weights, named_scores
from minions_evals_mcp.scoring.values import excerpt

NAME = "assertScoringFunction"
ARGUMENTS = "namedScores, context"
GUARDS: Guards = (("context", ("threshold", "parentAssertionSet")),)


def scoring_need(
    scoring: ScoringCode,
    assertions: Sequence[Assertion],
    aggregate: Aggregate,
    *,
    threshold: float | None,
    grades: Mapping[GradeNeed, Grade],
) -> SnippetNeed:
    """The run of the code on what the assertions found; the grades tell what the models used."""
    context: Json = {
        **({} if threshold is None else {"threshold": threshold}),
        "componentResults": [*_components(assertions, aggregate.results)],
        "tokensUsed": _tokens(grades),
    }
    code = as_called(scoring.code, ARGUMENTS) if scoring.language == "javascript" else scoring.code
    named: Json = {**metric_scores(named_scores(aggregate.results))}
    return SnippetNeed(
        scoring.language, code.strip(), as_given({"namedScores": named, "context": context}), guards=GUARDS
    )


def rescored(aggregate: Aggregate, ran: Ran | SnippetError) -> Aggregate | Unchecked:
    """The same checks with the verdict that the code gave."""
    if isinstance(ran, SnippetError):
        return Unchecked(NAME, ran.error)
    match ran.value:
        case {"pass": bool(passed), "score": int() | float() as score, "reason": str(reason)} if not isinstance(
            score, bool
        ):
            named = ran.value.get("namedScores")
            if named is not None and not _are_scores(named):
                return Unchecked(NAME, f"the code must return namedScores as {{name: number}}, not {excerpt(named)}")
            share = min(1.0, max(0.0, float(score)))
            return Aggregate(passed, share, aggregate.results, reason or "no reason given", _weighed(aggregate, named))
        case _:
            return Unchecked(NAME, f"the code must return {{pass, score, reason}}, not {excerpt(ran.value)}")


def _are_scores(named: JsonValue) -> bool:
    return isinstance(named, dict) and all(
        isinstance(score, int | float) and not isinstance(score, bool) for score in named.values()
    )


def _weighed(aggregate: Aggregate, named: JsonValue) -> tuple[MetricScore, ...] | None:
    """The metrics that the code gave, if it gave any, with the weights that they have in the assertions."""
    if not isinstance(named, dict):
        return None
    weights = metric_weights(named_scores(aggregate.results))
    return tuple(
        MetricScore(name, float(score), weights.get(name, 1.0))
        for name, score in named.items()
        if isinstance(score, int | float)
    )


def _components(assertions: Sequence[Assertion], results: Sequence[Checked]) -> Iterator[JsonValue]:
    """Each result with its assertion, those of a set after it."""
    for assertion, result in zip(assertions, results, strict=True):
        wire = assertion.model_dump(mode="json", exclude_none=True)
        yield {"pass": result.passed, "score": result.score, "reason": result.reason, "assertion": wire}
        if assertion.assertions:
            yield from _components(assertion.assertions, result.parts)


def _tokens(grades: Mapping[GradeNeed, Grade]) -> Json:
    sent = sum(grade.input_tokens for grade in grades.values())
    received = sum(grade.output_tokens for grade in grades.values())
    return {
        "total": sent + received, "prompt": sent, "completion": received, "cached": 0, "numRequests": len(grades)
    }  # fmt: skip
