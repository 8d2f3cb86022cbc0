"""A model's cause and its receipt: the step of the log that it names, and the words of that step that it quotes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.failing.failure_types import ASKED_OF_MODELS, FailureType
from minions_evals_mcp.domain.results import ModelCause
from minions_evals_mcp.domain.values import Count, Unit, Value, is_blank

NO_STEP = 0
LEAST_QUOTE = 3
"""A quote of fewer characters stands nearly everywhere; where a value is shorter than that, it is quoted whole."""
SHOWN = 120
MOST_SURE = 0.9
"""What a model says of its own sureness counts for no more."""


def _asked_of_models(kind: FailureType) -> FailureType:
    """Refuses a type that only rules may name."""
    if kind not in ASKED_OF_MODELS:
        raise ValueError(f"a model cannot name {kind}")
    return kind


class ModelExplanation(Value):
    """A model's explanation of a failure, as it came."""

    description: str = ""
    root_cause: str = ""
    failure_type: Annotated[FailureType, AfterValidator(_asked_of_models)]
    confidence: Unit
    step: Count | None = None
    quote: str = ""


def with_receipt(answer: ModelExplanation, log: Sequence[Json] | None, *, by: str, at: datetime) -> ModelCause:
    """Returns what the model said, where its receipt holds; else only why it was not kept."""
    refused = _fault(answer, log)
    if refused:
        return ModelCause(by=by, at=at, refused=refused)
    return ModelCause(
        by=by,
        at=at,
        failure_type=answer.failure_type,
        description=answer.description,
        root_cause=answer.root_cause,
        step=answer.step,
        quote=answer.quote if answer.step else "",
        confidence=min(answer.confidence, MOST_SURE),
    )


def model_sentence(cause: ModelCause) -> str:
    """Returns what a model said and what bears it out, in one or two sentences; for one whose cause was not kept, why."""
    if cause.refused:
        return f"{cause.by} was asked, but its answer was discarded: {cause.refused}"
    receipt = f"step {cause.step}: “{cause.quote}”" if cause.step else "according to it, the log shows no cause"
    return f"{cause.by} says {cause.failure_type}: {cause.root_cause or cause.description} ({receipt})"


def _fault(answer: ModelExplanation, log: Sequence[Json] | None) -> str:
    """Returns what is wrong with the receipt, in words; empty where it holds."""
    if is_blank(answer.root_cause) and is_blank(answer.description):
        return "it gives no cause"
    if answer.step is None:
        return "it names no step of the log, and does not state that the log shows none"
    if answer.step == NO_STEP:
        return ""
    if not log or answer.step > len(log):
        return f"it names step {answer.step} of a log of {len(log or ())} steps"
    if not _stands_in(answer.quote, log[answer.step - 1]):
        return f"its quote is not in step {answer.step}: “{answer.quote[:SHOWN]}”"
    return ""


def _stands_in(quote: str, step: Json) -> bool:
    """Returns whether those words stand so in the step as the model was shown it, or in a value of it."""
    words = quote.strip()
    if len(words) < LEAST_QUOTE:
        return bool(words) and words in {text.strip() for text in _texts(step)}
    texts = [text for text in _texts(step) if text]
    if any(words in text for text in texts):
        return True
    return words in json.dumps(step, ensure_ascii=False) and any(
        text in words for text in texts
    )  # keys alone say nothing


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
        case str():
            yield value
        case _:
            yield json.dumps(value)
