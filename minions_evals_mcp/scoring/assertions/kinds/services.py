"""`moderation`, `classifier` and `webhook`: a service says it; one that fails gives no verdict.

Where promptfoo 0.123.1 and we differ: a service that fails is no verdict, there the output fails. What Llama Guard calls
unsafe without a hazard that is known, and passes there, is flagged here. A text in which a token classifier finds nothing
scores 0; there the check fails, also with `not-`. The answer of a webhook is read once: its `score` must lie from 0 to 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, ServiceKind, ServiceNeed, Subject, Unmet
from minions_evals_mcp.scoring.reserved_inputs import HIDDEN
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

BY_SERVICE: dict[str, ServiceKind] = {
    "moderation": "moderation", "classifier": "classification", "webhook": "webhook",
}  # fmt: skip
"""What is asked for each type."""
UNNAMED = "must name the classifier: huggingface:text-classification:MODEL"
SLACK = 2.0**-52
NOTHING = Unmet("it needs a service, and none is used here: put it into a test case")


def moderation(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A service flags nothing in the output, or nothing of the categories in `value` (a list of their names)."""
    if not subject.text:
        return UnweightedResult(passed=True, reason="there is no output to moderate", score=1.0)
    flags = _reply(assertion, subject, evidence)
    if isinstance(flags, Unmet):
        return flags
    assert isinstance(flags, dict)
    wanted = assertion.value if isinstance(assertion.value, list) else list(flags)
    flagged = [str(meaning) for name, meaning in flags.items() if name in wanted]
    if flagged:
        return UnweightedResult(passed=False, reason=f"flagged: {', '.join(flagged)}", score=0.0)
    return UnweightedResult(
        passed=True, reason="nothing flagged in those categories" if flags else "nothing is flagged", score=1.0
    )


def classifier(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A service gives the label in `value` (without: any) a score of at least `threshold` (1); that is the score."""
    labels = _reply(assertion, subject, evidence)
    if isinstance(labels, Unmet):
        return labels
    assert isinstance(labels, dict)
    scores = {name: score for name, score in labels.items() if isinstance(score, int | float)}
    wanted = assertion.value
    score = max(scores.values(), default=0.0) if wanted is None else scores.get(str(wanted), 0.0)
    limit = 1.0 if assertion.threshold is None else assertion.threshold
    label = "the most likely label" if wanted is None else f"the label {wanted}"
    return UnweightedResult(score >= limit - SLACK, f"{label} has the score {score:.2f}, threshold {limit:g}", score)


def webhook(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The address in `value` is sent {output, context: {prompt, vars}} and says {pass, score, reason}."""
    reply = _reply(assertion, subject, evidence)
    if isinstance(reply, Unmet):
        return reply
    if not isinstance(reply, dict) or not isinstance(reply.get("pass"), bool):
        return Unmet(f"the webhook did not return an object with a Boolean `pass`: {excerpt(reply)}")
    passed, score, reason = reply["pass"] is True, reply.get("score"), reply.get("reason")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1):
        return Unmet(f"the webhook's score is not a number from 0 to 1: {excerpt(score)}")
    return UnweightedResult(passed, str(reason or ("it passes" if passed else "it does not pass")), score)


def service_needs(assertion: Assertion, subject: Subject) -> tuple[ServiceNeed, ...]:
    """The answer that the check rests on; none for an output that is empty, where nothing is to be moderated."""
    kind = BY_SERVICE[assertion.base_type]
    if kind == "moderation" and not subject.text:
        return ()
    if kind == "webhook":
        return (ServiceNeed(kind, str(assertion.value), subject.text, _for_webhook(subject)),)
    given = subject.prompt if kind == "moderation" else ""
    return (ServiceNeed(kind, assertion.provider.name if assertion.provider else "", subject.text, given),)


def services_asked(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    """The assertions that a service decides, those inside sets too."""
    for assertion in assertions:
        if assertion.base_type in BY_SERVICE:
            yield assertion
        yield from services_asked(assertion.assertions)


def vet_moderation(assertion: Assertion) -> None:
    """Refuses a `value` that is no list of names, and any `threshold`."""
    value = assertion.value
    if value is not None and not (isinstance(value, list) and all(isinstance(category, str) for category in value)):
        raise InvalidRecordError(f"must be a list of categories, not {excerpt(value)}", field="value")
    if assertion.threshold is not None:
        raise InvalidRecordError("moderation has none", field="threshold")


def vet_classifier(assertion: Assertion) -> None:
    """Refuses a `value` that is no label."""
    if assertion.value is not None and not isinstance(assertion.value, str):
        raise InvalidRecordError(f"must be a label, not {excerpt(assertion.value)}", field="value")


def vet_webhook(assertion: Assertion) -> None:
    """Refuses a `value` that is no web address."""
    value = assertion.value
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        raise InvalidRecordError(f"must be a web address, not {excerpt(value)}", field="value")


def _reply(assertion: Assertion, subject: Subject, evidence: Evidence) -> JsonValue | Unmet:
    (need,) = service_needs(assertion, subject)
    return evidence.services.get(need, NOTHING)


def _for_webhook(subject: Subject) -> str:
    variables: Json = {name: value for name, value in subject.variables.items() if name not in HIDDEN}
    output = subject.text if subject.value is None else subject.value
    body: Json = {"output": output, "context": {"prompt": subject.prompt, "vars": variables}}
    return json.dumps(body)


TYPES: dict[str, AssertionKind] = {
    "classifier": AssertionKind(classifier, vet_classifier, service_needs),
    "moderation": AssertionKind(moderation, vet_moderation, service_needs),
    "webhook": AssertionKind(webhook, vet_webhook, service_needs),
}
