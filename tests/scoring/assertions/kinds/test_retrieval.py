"""Retrieval metrics: by hand, and against an independent computation over random rankings."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.retrieval import METRICS, retrieval, vet_retrieval
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult

Json = dict[str, Any]


def _assertion(threshold: float | None = 0.5, **value: Any) -> Assertion:
    return Assertion.model_validate({"type": "retrieval", "value": value, "threshold": threshold})


def _checked(subject: Subject, threshold: float | None = 0.5, **value: Any) -> UnweightedResult | Unmet:
    assertion = _assertion(threshold, **value)
    vet_retrieval(assertion)
    return retrieval(assertion, subject, NO_EVIDENCE)


def _score(subject: Subject, **value: Any) -> float:
    result = _checked(subject, **value)
    assert isinstance(result, UnweightedResult), result
    return float(result.score if result.score is not None else result.passed)


def _naive(metric: str, ranked: list[str], gains: dict[str, float], k: int | None) -> float:
    """The textbook's formulas over the first k, without our code."""
    top = ranked if k is None else ranked[:k]
    found = [ident for ident in top if ident in gains]
    if metric == "recall":
        return len(found) / len(gains)
    if metric == "precision":
        return len(found) / (k or len(top)) if k or top else 0.0
    if metric == "hit-rate":
        return 1.0 if found else 0.0
    if metric == "mrr":
        return 1 / (top.index(found[0]) + 1) if found else 0.0
    ideal = sorted(gains.values())[::-1]
    ideal = ideal if k is None else ideal[:k]
    dcg = sum(gains.get(ident, 0) / math.log2(place + 2) for place, ident in enumerate(top))
    return dcg / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("metric", METRICS)
def test_each_metric_is_that_of_the_textbook(metric: str, seed: int) -> None:
    drawn = random.Random(f"{metric}{seed}")  # noqa: S311  no secret
    ids = [f"d{number}" for number in range(drawn.randint(1, 20))]
    ranked = drawn.sample(ids, drawn.randint(0, len(ids)))
    gains = {ident: float(drawn.randint(1, 3)) for ident in drawn.sample(ids, drawn.randint(1, len(ids)))}
    k = drawn.choice((None, 1, 3, 10))
    value: Json = {"metric": metric, "relevant": gains} | ({} if k is None else {"k": k})
    assert _score(Subject(json.dumps(ranked)), **value) == pytest.approx(_naive(metric, ranked, gains, k))


def test_documents_are_found_where_outputs_usually_hold_them() -> None:
    wanted: Json = {"metric": "recall", "relevant": ["a", 7]}
    record: Json = {"output": "An answer.", "documents": [{"id": "a", "text": "…"}, {"id": 7}]}
    assert _score(Subject("An answer.", record={**record}), **wanted) == 1.0
    assert _score(Subject(json.dumps(["a", "b", 7])), **wanted) == 1.0
    assert _score(Subject("", value={"steps": {"found": [{"url": "a"}]}}), **wanted, retrieved="steps.found") == 0.5
    assert _score(Subject('["a", "a", "a"]'), metric="precision", relevant=["a"], k=2) == 0.5  # counted once


def test_the_reason_names_the_figure_and_what_is_missing() -> None:
    result = _checked(Subject('["a", "x"]'), 0.8, metric="recall", relevant=["a", "b"], k=5)
    assert isinstance(result, UnweightedResult)
    assert (result.passed, result.score) == (False, 0.5)
    assert result.reason == ("recall@5 0.500, threshold 0.8; 1 of 2 relevant documents among 2 retrieved, missing 'b'")


@pytest.mark.parametrize("text", ["No list.", '{"answer": "x"}', '[{"text": "no id"}]', "[null]", "5"])
def test_an_output_without_retrieved_documents_gets_no_verdict(text: str) -> None:
    result = _checked(Subject(text), metric="mrr", relevant=["a"])
    assert isinstance(result, Unmet)
    assert result.not_judgeable


@pytest.mark.parametrize(
    ("value", "threshold", "field"),
    [
        ({"relevant": ["a"]}, 0.5, "value"),
        ({"metric": "recall"}, 0.5, "value"),
        ({"metric": "map", "relevant": ["a"]}, 0.5, "value.metric"),
        ({"metric": "recall", "relevant": []}, 0.5, "value.relevant"),
        ({"metric": "recall", "relevant": "a"}, 0.5, "value.relevant"),
        ({"metric": "ndcg", "relevant": {"a": -1}}, 0.5, "value.relevant"),
        ({"metric": "ndcg", "relevant": {"a": 0}}, 0.5, "value.relevant"),
        ({"metric": "recall", "relevant": [" "]}, 0.5, "value.relevant"),
        ({"metric": "recall", "relevant": ["a"], "k": 0}, 0.5, "value.k"),
        ({"metric": "recall", "relevant": ["a"], "k": True}, 0.5, "value.k"),
        ({"metric": "recall", "relevant": ["a"], "retrieved": ""}, 0.5, "value.retrieved"),
        ({"metric": "recall", "relevant": ["a"], "top": 3}, 0.5, "value"),
        ({"metric": "recall", "relevant": ["a"]}, None, "threshold"),
        ({"metric": "recall", "relevant": ["a"]}, 2.0, "threshold"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_its_field(value: Json, threshold: float | None, field: str) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        vet_retrieval(_assertion(threshold, **value))
    assert refused.value.field == field


def test_a_hit_needs_no_threshold() -> None:
    assert _score(Subject('["a"]'), threshold=None, metric="hit-rate", relevant=["a"]) == 1.0
