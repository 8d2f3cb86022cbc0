"""Judges of an assertion's own: which types may name one, and who may write it down."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.assertions.kinds.graded import GRADED
from minions_evals_mcp.scoring.assertions.kinds.services import BY_SERVICE
from minions_evals_mcp.scoring.assertions.kinds.similar import SIMILAR
from minions_evals_mcp.scoring.max_score import SELECT_BEST

TOLD = frozenset(
    {"llm-rubric", "agent-rubric", "factuality", "model-graded-factuality", "model-graded-closedqa", SELECT_BEST}
)
"""Types whose model is told what to do, and may be told it in a person's own words."""
ASKING = GRADED | TOLD | {*SIMILAR, *BY_SERVICE} - {"webhook"}
"""Types that a model or a service decides."""


def refuse_own(assertion: Assertion, *, at: str = "") -> None:
    """Refuses a judge, or words to one, that the assertion or one inside it brings along.

    An address in it would be sent the operator's key: only a config that a person runs may name one.
    """
    for inner in _within(assertion):
        field = "provider" if inner.provider is not None else "rubricPrompt" if inner.rubric_prompt is not None else ""
        if field:
            raise InvalidRecordError(
                "only a config that a person runs with `eval` may choose the judge of an assertion and its prompt",
                field=field,
                record=inner.type,
                where=at,
            )


def refuse_elsewhere(assertion: Assertion, *, at: str = "") -> None:
    """Refuses a judge with an address or a key of its own, and words that are the name of a file."""
    for inner in _within(assertion):
        if inner.provider is not None and inner.provider.needs_config:
            raise InvalidRecordError(
                "only the config that defines a judge can give it an address, a key or code",
                field=f"{at}.provider",
                remedy=f"{Next('eval', {'config': 'CONFIG'}, 'runs that config')}.",
            )
        if inner.rubric_prompt is not None and inner.rubric_prompt.startswith("file://"):
            raise InvalidRecordError(
                "a record must contain the text itself, not a file name", field=f"{at}.rubricPrompt"
            )


def vet_own(assertion: Assertion) -> None:
    """Refuses a judge where no model decides, and words to one where none is told anything."""
    if assertion.provider is not None and assertion.base_type not in ASKING:
        raise InvalidRecordError("this type uses no model", field="provider")
    if assertion.rubric_prompt is None:
        return
    if assertion.base_type not in TOLD:
        raise InvalidRecordError("this type sends nothing to a model", field="rubricPrompt")
    from minions_evals_mcp.scoring.prompt_texts.grading_prompt import vet_words  # noqa: PLC0415  jinja2 costs what few runs need

    vet_words(assertion.rubric_prompt)


def _within(assertion: Assertion) -> Sequence[Assertion]:
    """The assertion, and those in the sets that it is made of."""
    if not assertion.assertions:
        return (assertion,)
    return [assertion, *chain.from_iterable(map(_within, assertion.assertions))]
