"""The assertions that CSV cells under `__expected` stand for."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import NEGATION
from minions_evals_mcp.scoring.assertions.table import NAMES
from minions_evals_mcp.scoring.max_score import MAX_SCORE, SELECT_BEST

LISTED = frozenset({"contains-all", "contains-any", "icontains-all", "icontains-any"})
WITH_THRESHOLD = frozenset({
    "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost", "latency",
    "levenshtein", "perplexity", "perplexity-score", "rouge-n", "similar", "starts-with",
})  # fmt: skip
SIMILAR, OTHERS = 0.8, 0.75
FOREIGN = ("pi", "ruby", "search-rubric")
"""Types that we do not have: a cell that names one is refused by it, and is no text to be equal to."""
_SHORT = re.compile(
    rf"(?P<type>(?:{NEGATION})?(?:{'|'.join(sorted(map(re.escape, (*NAMES, MAX_SCORE, SELECT_BEST, *FOREIGN)), key=len, reverse=True))}))"
    r"(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>[\s\S]*))?"
)


def in_short(text: str) -> JsonValue:
    """The assertion that a cell under `__expected` stands for: `type(threshold): value`, else the very text."""
    for prefix in ("javascript:", "fn:", "eval:"):
        if text.startswith(prefix):
            return {"type": "javascript", "value": text.removeprefix(prefix).strip()}
    for prefix, kind in (("grade:", "llm-rubric"), ("llm-rubric:", "llm-rubric"), ("python:", "python")):
        if text.startswith(prefix):
            return {"type": kind, "value": text.removeprefix(prefix).strip()}
    if text.startswith("file://"):
        kind = (
            "python"
            if ".py" in Path(text).suffix
            else "javascript"
            if Path(text).suffix.startswith(".js")
            else "equals"
        )
        return {"type": kind, "value": text}
    match = _SHORT.fullmatch(text)
    if match is None:
        return {"type": "equals", "value": text}
    return _shorthand(match["type"], match["threshold"], match["value"])


def _shorthand(kind: str, threshold: str | None, value: str | None) -> JsonValue:
    made: dict[str, JsonValue] = {"type": kind}
    base = kind.removeprefix(NEGATION)
    if base in LISTED:
        parts = next(csv.reader([value or ""], skipinitialspace=True), list[str]())
        made["value"] = [part.strip() for part in parts]
    elif value is not None and value.strip():
        made["value"] = value.strip()
    if base in WITH_THRESHOLD:
        made["threshold"] = float(threshold) if threshold else SIMILAR if base == "similar" else OTHERS
    return made
