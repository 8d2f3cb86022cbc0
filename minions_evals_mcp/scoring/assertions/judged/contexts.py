"""`context-recall`, `context-relevance`, `context-faithfulness`: what an answer has to do with the texts that it was made from.

The context is the variable `context` (a text, or a list of texts), or what `contextTransform`, JavaScript or a file of Python, makes
of the output; `context-recall` falls back to the prompt. A model goes through statements one by one; the score is the share that
holds, and passes from `threshold` (.5). Where promptfoo 0.123.1 and we differ: a test without what the check needs is no
verdict; there it is an error.
"""

from __future__ import annotations

import json
from functools import partial
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.graded import graded_share, shown_variables, template_of, vet_share
from minions_evals_mcp.scoring.assertions.kinds.snippets import transform_run, vet_source
from minions_evals_mcp.scoring.checks import (
    Evidence,
    GradeNeed,
    GradeType,
    Need,
    Ran,
    SnippetNeed,
    Subject,
    TransformedNeed,
    Unmet,
)
from minions_evals_mcp.scoring.values import UnweightedResult

Context = str | list[str]


def context_recall(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model says which statements of `value` the context supports: their share passes from `threshold` (.5)."""
    return _checked(assertion, subject, evidence)


def context_relevance(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model says which parts of the context the variable `query` needs: their share passes from `threshold` (.5)."""
    return _checked(assertion, subject, evidence)


def context_faithfulness(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model says which statements of the output the context supports: their share passes from `threshold` (.5)."""
    return _checked(assertion, subject, evidence)


def vet_context(assertion: Assertion) -> None:
    """Refuses a `threshold` outside 0 to 1, and a `contextTransform` that is no code."""
    vet_share(assertion)
    if assertion.context_transform is not None:
        try:
            vet_source(assertion.context_transform)
        except InvalidRecordError as error:
            raise InvalidRecordError(error.reason, field="contextTransform") from None


def vet_recall(assertion: Assertion) -> None:
    """Refuses, besides, a `value` that is no text: what the context should hold."""
    vet_context(assertion)
    if not isinstance(assertion.value, str) or not assertion.value.strip():
        raise InvalidRecordError("must be the text that the context should contain", field="value")


def _transform(assertion: Assertion, subject: Subject) -> SnippetNeed | None:
    return None if assertion.context_transform is None else transform_run(assertion.context_transform, subject)


def context_needs(assertion: Assertion, subject: Subject) -> tuple[Need, ...]:
    """Returns what such a check needs: its context first, where code makes that, and then the grade."""
    snippet = _transform(assertion, subject)
    if snippet is None:
        need = _grade(assertion, subject, _told_context(assertion, subject))
        return () if isinstance(need, Unmet) else (need,)
    return (snippet, TransformedNeed(snippet, partial(_behind, assertion, subject)))


def _behind(assertion: Assertion, subject: Subject, ran: Ran) -> tuple[Need, ...]:
    need = _grade(assertion, subject, _context(ran.value))
    return () if isinstance(need, Unmet) else (need,)


def _checked(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    snippet = _transform(assertion, subject)
    if snippet is None:
        context = _told_context(assertion, subject)
    else:
        ran = evidence.snippets.get(snippet)
        context = (
            _context(ran.value)
            if isinstance(ran, Ran)
            else Unmet(f"contextTransform: {ran.error if ran else 'was not run'}")
        )
    need = _grade(assertion, subject, context)
    return need if isinstance(need, Unmet) else graded_share(need, assertion, evidence)


def _told_context(assertion: Assertion, subject: Subject) -> Context | Unmet:
    """The variable `context`, else for recall the prompt."""
    value = subject.variables.get("context")
    if not value and assertion.base_type == "context-recall" and subject.prompt:
        return subject.prompt
    return _context(value)


def _context(value: JsonValue) -> Context | Unmet:
    match value:
        case str() if value:
            return value
        case list() if value and all(isinstance(passage, str) and passage for passage in value):
            return [passage for passage in value if isinstance(passage, str)]
        case _:
            return Unmet(
                "it needs a context: the variable `context` (a text, or a list of texts) or a contextTransform that returns one"
            )


def _grade(assertion: Assertion, subject: Subject, context: Context | Unmet) -> GradeNeed | Unmet:
    """The question to the model, with the texts that it goes through."""
    if isinstance(context, Unmet):
        return context
    kind = cast("GradeType", assertion.base_type)
    query = subject.variables.get("query")
    if kind != "context-recall" and not isinstance(query, str):
        return Unmet(f"{kind} needs the variable `query`: what was asked")
    question = str(assertion.value) if kind == "context-recall" else str(query)
    judge = assertion.provider.name if assertion.provider else ""
    template = template_of(kind, assertion)  # code in a model's place has one, and is told the variables
    variables = {} if template is None else {"vars": shown_variables(subject)}
    given = json.dumps({"context": context, **variables}, ensure_ascii=False)
    return GradeNeed(kind, question, subject.text, judge, template or "", given)


TYPES: dict[str, AssertionKind] = {
    "context-faithfulness": AssertionKind(context_faithfulness, vet_context, context_needs),
    "context-recall": AssertionKind(context_recall, vet_recall, context_needs),
    "context-relevance": AssertionKind(context_relevance, vet_context, context_needs),
}
