"""Retrieval metrics without a model: recall, precision, hit rate, reciprocal rank and nDCG of what was retrieved."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import is_finite
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.text import TEXT_LIMIT
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

RETRIEVAL = "retrieval"
LISTS = ("retrieved", "documents", "docs", "contexts", "context", "results", "sources", "citations", "ids")
"""Where the retrieved documents stand in an output that is an object and names no path."""
IDS = ("id", "docId", "doc_id", "documentId", "document_id", "source", "url", "title")
"""Where an id stands in a document that is an object."""
_KEYS = frozenset(("metric", "relevant", "k", "retrieved"))
Ranked = Sequence[str]
Gains = Mapping[str, float]


def recall(ranked: Ranked, gains: Gains, _k: int | None) -> float:
    """The share of the relevant documents that were retrieved."""
    return _hits(ranked, gains) / len(gains)


def precision(ranked: Ranked, gains: Gains, k: int | None) -> float:
    """The share of the k places, or of all that was retrieved, that hold a relevant document."""
    places = len(ranked) if k is None else k
    return _hits(ranked, gains) / places if places else 0.0


def hit_rate(ranked: Ranked, gains: Gains, _k: int | None) -> float:
    """1 where a relevant document was retrieved, else 0; its mean over cases is the hit rate."""
    return float(_hits(ranked, gains) > 0)


def reciprocal_rank(ranked: Ranked, gains: Gains, _k: int | None) -> float:
    """1 by the place of the first relevant document, 0 without one; its mean over cases is the MRR."""
    return next((1 / place for place, ident in enumerate(ranked, 1) if ident in gains), 0.0)


def ndcg(ranked: Ranked, gains: Gains, k: int | None) -> float:
    """The discounted gain of what was retrieved, by that of the best order; gains are linear, the discount is log2(place + 1).

    As trec_eval and scikit-learn compute it (Järvelin and Kekäläinen 2002, without the exponent).
    """
    best = sorted(gains.values(), reverse=True)[:k]
    return _discounted([gains.get(ident, 0.0) for ident in ranked]) / _discounted(best)


METRICS: dict[str, Callable[[Ranked, Gains, int | None], float]] = {
    "recall": recall,
    "precision": precision,
    "hit-rate": hit_rate,
    "mrr": reciprocal_rank,
    "ndcg": ndcg,
}


def retrieval(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The `metric` of the retrieved documents reaches `threshold`; `relevant` are the ids that should be found.

    `metric` is recall, precision, hit-rate, mrr or ndcg; `k` counts the first k documents only (default all); `relevant` is
    a list of ids, or a mapping of ids to gains for ndcg. The documents stand in the output: a list of ids or of objects
    with an id, at the path `retrieved`, else the output itself or its `retrieved`, `documents`, `contexts`, … A document
    counts once, at its first place.
    """
    value = assertion.value
    assert isinstance(value, dict)  # vetted
    found = _documents(_answered(subject), value.get("retrieved"))
    if isinstance(found, Unmet):
        return found
    k = value.get("k")
    limit = k if isinstance(k, int) else None
    gains, ranked = _gains(value["relevant"]), found[:limit]
    name = str(value["metric"])
    score = METRICS[name](ranked, gains, limit)
    threshold = 1.0 if assertion.threshold is None else assertion.threshold
    missing = [ident for ident in gains if ident not in set(ranked)]
    reason = (
        f"{name}{'' if limit is None else f'@{limit}'} {score:.3f}, threshold {threshold:g};"
        f" {len(gains) - len(missing)} of {len(gains)} relevant documents among {len(ranked)} retrieved"
        + (f", missing {excerpt(', '.join(missing))}" if missing else "")
    )
    return UnweightedResult(score >= threshold - 1e-9, reason, score)


def vet_retrieval(assertion: Assertion) -> None:
    """Refuses a value without a known `metric` and relevant ids, and an assertion without the threshold it needs."""
    value = assertion.value
    if not isinstance(value, dict) or value.keys() - _KEYS or not {"metric", "relevant"} <= value.keys():
        raise InvalidRecordError(
            f'must be {{"metric", "relevant"}}, with "k" and "retrieved" where needed, not {excerpt(value)}',
            field="value",
        )
    if value["metric"] not in METRICS:
        raise InvalidRecordError(
            f"must be one of {', '.join(METRICS)}, not {excerpt(value['metric'])}", field="value.metric"
        )
    k = value.get("k")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise InvalidRecordError(f"must be a whole number from 1 on, not {excerpt(k)}", field="value.k")
    path = value.get("retrieved")
    if path is not None and (not isinstance(path, str) or not path.strip()):
        raise InvalidRecordError(f"must be a dotted path in the output, not {excerpt(path)}", field="value.retrieved")
    _gains(value["relevant"])
    if assertion.threshold is None and value["metric"] != "hit-rate":
        raise InvalidRecordError(
            f"is missing; it is the least {value['metric']} that passes, 0 to 1", field="threshold"
        )
    if assertion.threshold is not None and not 0 <= assertion.threshold <= 1:
        raise InvalidRecordError(f"must be 0 to 1, not {assertion.threshold:g}", field="threshold")


def _gains(relevant: JsonValue) -> dict[str, float]:
    """The gain of each relevant id; ids of a list gain 1, those of gain 0 are not relevant."""
    pairs = relevant.items() if isinstance(relevant, dict) else [(ident, 1) for ident in _listed(relevant)]
    gains: dict[str, float] = {}
    for ident, gain in pairs:
        name = _id(ident)
        if name is None:
            raise InvalidRecordError(f"contains {excerpt(ident)}, which is not an id", field="value.relevant")
        if isinstance(gain, bool) or not isinstance(gain, int | float) or not is_finite(gain) or gain < 0:
            raise InvalidRecordError(
                f"gives {name} the gain {excerpt(gain)}; it must be 0 or more", field="value.relevant"
            )
        if gain > 0:
            gains[name] = float(gain)
    if not gains:
        raise InvalidRecordError("names no relevant document", field="value.relevant")
    return gains


def _listed(relevant: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(relevant, list):
        raise InvalidRecordError(
            f"must be a list of ids, or a mapping of ids to gains, not {excerpt(relevant)}", field="value.relevant"
        )
    return relevant


def _answered(subject: Subject) -> JsonValue:
    """The output as a value: the whole record, the value, or the JSON that its text is."""
    if subject.record is not None:
        return subject.record
    if subject.value is not None:
        return subject.value
    if len(subject.text) > TEXT_LIMIT:
        return None
    try:
        return json.loads(subject.text)
    except (ValueError, RecursionError):
        return None


def _documents(answered: JsonValue, path: JsonValue) -> list[str] | Unmet:
    """The ids of what was retrieved, each once; unmet where the output holds no such list."""
    held = _at(answered, path) if isinstance(path, str) else _unnamed(answered)
    where = f"at {path!r}" if isinstance(path, str) else "as a list, or under one of " + ", ".join(LISTS[:4])
    if not isinstance(held, list):
        return Unmet(
            f"the output has no retrieved documents {where}; name the path in value.retrieved", not_judgeable=True
        )
    ids = [_id(document) for document in held]
    if None in ids:
        return Unmet(
            f"retrieved document {ids.index(None) + 1} has no id: a text, a number, or an object with one of {', '.join(IDS[:5])}",
            not_judgeable=True,
        )
    return list(dict.fromkeys(ident for ident in ids if ident is not None))


def _unnamed(answered: JsonValue) -> JsonValue:
    if not isinstance(answered, dict):
        return answered
    return next((answered[name] for name in LISTS if isinstance(answered.get(name), list)), None)


def _at(value: JsonValue, path: str) -> JsonValue:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _id(document: JsonValue) -> str | None:
    if isinstance(document, dict):
        return next((ident for name in IDS if (ident := _id(document.get(name))) is not None), None)
    if isinstance(document, bool) or not isinstance(document, str | int | float):
        return None
    text = f"{document:g}" if isinstance(document, float) else str(document).strip()
    return text or None


def _hits(ranked: Ranked, gains: Gains) -> int:
    return sum(ident in gains for ident in ranked)


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


TYPES: dict[str, AssertionKind] = {
    RETRIEVAL: AssertionKind(retrieval, vet_retrieval),
}
