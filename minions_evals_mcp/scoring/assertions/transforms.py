"""`transform`: JavaScript, or Python, that makes what is checked out of the output, run in a sandbox beforehand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.snippets import transform_run, vet_source
from minions_evals_mcp.scoring.checks import Evidence, Need, Ran, SnippetNeed, Subject, TransformedNeed, Unmet
from minions_evals_mcp.scoring.values import searched_text

Needs = Callable[[Assertion, Subject], tuple[Need, ...]]


def transform_need(assertion: Assertion, subject: Subject) -> SnippetNeed:
    """The run that makes what is checked; its code sees `output` and `context` ({vars, prompt, metadata})."""
    return transform_run(str(assertion.transform), subject)


def needs_behind(assertion: Assertion, subject: Subject, needs: Needs) -> tuple[Need, ...]:
    """The transform's run, and whatever the check will need of what it returns."""
    snippet = transform_need(assertion, subject)
    return (snippet, TransformedNeed(snippet, partial(_needs_of, assertion, subject, needs)))


def _needs_of(assertion: Assertion, subject: Subject, needs: Needs, ran: Ran) -> tuple[Need, ...]:
    changed = _changed(subject, ran)
    return () if isinstance(changed, Unmet) else needs(assertion, changed)


def transformed(assertion: Assertion, subject: Subject, evidence: Evidence) -> Subject | Unmet:
    """The output as the transform returned it: a text as it is, anything else as JSON; why not, where it returned nothing."""
    ran = evidence.snippets[transform_need(assertion, subject)]
    return _changed(subject, ran) if isinstance(ran, Ran) else Unmet(f"transform: {ran.error}")


def _changed(subject: Subject, ran: Ran) -> Subject | Unmet:
    value = ran.value
    if value is None:
        return Unmet("transform: it returned nothing")
    text = searched_text(value)
    return subject._replace(text=text, value=None if isinstance(value, str) else value, record=None)


def vet_transform(assertion: Assertion) -> None:
    """Refuses a `transform` that is no code: blank, too long, or the name of a file."""
    if assertion.transform is not None:
        try:
            vet_source(assertion.transform)
        except InvalidRecordError as error:
            raise InvalidRecordError(error.reason, field="transform") from None
