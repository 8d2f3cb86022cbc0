"""Checks that a model decides: `llm-rubric` and `factuality`. The grade is evidence; a judge that failed gives none.

Where promptfoo 0.121.20 and we differ:
- A judge that fails, or whose reply breaks the form after it was sent back, is no verdict; there it fails the output.
- `not-factuality` turns the verdict round; there it says the same as `factuality`.
- An output that says nothing gets no pass and score 0, without a call.

What a `rubricPrompt` is filled with is promptfoo's: the test's variables and, before them, `output` and `rubric` of an
`llm-rubric`; `completion`, `ideal` and `input` (the prompt) of a `factuality`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, get_args

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, Grader
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, GradeNeed, GradeType, Subject, Unmet
from minions_evals_mcp.scoring.prompt_texts.code_judges import G_EVAL, TEMPLATES
from minions_evals_mcp.scoring.reserved_inputs import HIDDEN
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

LLM_RUBRIC: GradeType = "llm-rubric"
FACTUALITY: GradeType = "factuality"
ALIASES = {"model-graded-factuality": "factuality"}
GRADED: frozenset[str] = frozenset(get_args(GradeType)) | ALIASES.keys()
CATEGORIES = {"A": "subset", "B": "superset", "C": "agree", "D": "disagree", "E": "differButFactual"}
"""What a judge of facts finds, and under which name a config weighs it."""
_CATEGORY = re.compile(r"category ([A-E]):")
SLACK = 1e-9
HALF = 0.5
"""The share from which those pass that have no threshold of their own."""


def llm_rubric(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model grades the output by the rubric `value` (a text, a list or an object): its `pass`, and its `score` from 0 to 1.

    With a `threshold` the score must reach it too.
    """
    return verdict_by_grade(judged_need(LLM_RUBRIC, assertion, subject), assertion.threshold, evidence)


def agent_rubric(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model grades what an agent put out by the rubric `value`, as `llm-rubric` does."""
    return verdict_by_grade(judged_need("agent-rubric", assertion, subject), assertion.threshold, evidence)


def agent_rubric_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grade that `agent-rubric` rests on."""
    return (judged_need("agent-rubric", assertion, subject),)


def factuality(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model compares the facts of the output with those of `value`: only a contradiction fails, with score 0.

    A part of them, more than them, the same, or a difference that does not matter pass with score 1. `config` may give
    other scores: `subset`, `superset`, `agree`, `disagree`, `differButFactual`; what scores 0 fails.
    """
    graded = verdict_by_grade(judged_need(FACTUALITY, assertion, subject), None, evidence)
    category = None if isinstance(graded, Unmet) else _CATEGORY.match(graded.reason)
    if isinstance(graded, Unmet) or category is None or not isinstance(assertion.config, dict):
        return graded
    weight = assertion.config.get(CATEGORIES[category[1]])
    return graded._replace(passed=weight > 0, score=float(weight)) if isinstance(weight, int | float) else graded


def llm_rubric_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grade that `llm-rubric` rests on."""
    return (judged_need(LLM_RUBRIC, assertion, subject),)


def factuality_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grade that `factuality` rests on."""
    return (judged_need(FACTUALITY, assertion, subject),)


def vet_rubric(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a text that is not blank nor a list or an object, and a `threshold` outside 0 to 1.

    Where a template tells the model what to do there may be none.
    """
    value = assertion.value
    none_needed = value is None and assertion.rubric_prompt is not None
    if (
        not none_needed
        and not (isinstance(value, str) and value.strip())
        and not (isinstance(value, dict | list) and value)
    ):
        raise InvalidRecordError(f"must be a rubric, not {excerpt(value)}", field="value")
    vet_share(assertion)


def vet_share(assertion: Assertion) -> None:
    """Refuses a `threshold` outside 0 to 1."""
    if assertion.threshold is not None and not 0 <= assertion.threshold <= 1:
        raise InvalidRecordError(f"must be from 0 to 1, not {assertion.threshold:g}", field="threshold")


def vet_facts(assertion: Assertion) -> None:
    """Refuses a `value` that is no text, or blank, any `threshold`, and a `config` that weighs anything but categories."""
    if not isinstance(assertion.value, str) or not assertion.value.strip():
        raise InvalidRecordError(f"must be the text to compare with, not {excerpt(assertion.value)}", field="value")
    if assertion.threshold is not None:
        raise InvalidRecordError("factuality has none", field="threshold")
    weights = {} if assertion.config is None else assertion.config
    if not isinstance(weights, dict) or weights.keys() - CATEGORIES.values():
        raise InvalidRecordError(f"weighs {', '.join(CATEGORIES.values())}, nothing else", field="config")
    for name, weight in weights.items():
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise InvalidRecordError("must be a number from 0 to 1", field=f"config.{name}")


class GraderRequest(NamedTuple):
    """Whom an assertion asks for a grade (None: the run's judge), and what it tells it in place of our words."""

    judge: Grader | None
    template: str


def grades_asked(assertions: Iterable[Assertion]) -> Iterator[GraderRequest]:
    """Whom each assertion asks that a model decides, those inside sets too."""
    for assertion in assertions:
        if assertion.base_type in GRADED:
            yield GraderRequest(
                assertion.provider, template_of(ALIASES.get(assertion.base_type, assertion.base_type), assertion) or ""
            )
        yield from grades_asked(assertion.assertions)


def asks_grade(assertions: Iterable[Assertion]) -> bool:
    """Returns whether a model decides any of these assertions, those inside sets too."""
    return any(True for _ in grades_asked(assertions))


def judged_need(kind: GradeType, assertion: Assertion, subject: Subject) -> GradeNeed:
    """The question to a model whether the output is as `value` says."""
    value = assertion.value
    question = value if isinstance(value, str) else "" if value is None else canonical(value)
    judge = assertion.provider.name if assertion.provider else ""
    template = template_of(kind, assertion)
    if template is None:
        return GradeNeed(kind, question, subject.read, judge, quoted=assertion.quoted)
    rubric = value if isinstance(value, dict | list) else question
    given = json.dumps(_template_values(kind, question, rubric, subject), ensure_ascii=False)
    return GradeNeed(kind, question, subject.text, judge, template, given)


def template_of(kind: str, assertion: Assertion) -> str | None:
    """Returns what a person's words are that tell the judge, or those that code in its place is sent."""
    is_code = assertion.provider is not None and assertion.provider.code is not None
    return TEMPLATES.get(kind) if is_code and assertion.rubric_prompt is None else assertion.rubric_prompt


def _template_values(kind: GradeType, question: str, rubric: JsonValue, subject: Subject) -> Json:
    """Returns what fills a template; a rubric that is a list stays one."""
    from minions_evals_mcp.scoring.prompt_texts.grading_prompt import perhaps_json  # noqa: PLC0415  jinja2 costs what few runs need

    own: Json = {"output": perhaps_json(subject.text), "rubric": rubric}
    if kind == "model-graded-closedqa":
        own = {"completion": perhaps_json(subject.text), "criteria": question, "input": subject.prompt}
    if kind == G_EVAL:
        return {"input": perhaps_json(subject.prompt), "output": perhaps_json(subject.text)}
    if kind == FACTUALITY:
        own = {"completion": perhaps_json(subject.text), "ideal": question, "input": subject.prompt}
    return {**shown_variables(subject), **own}


def shown_variables(subject: Subject) -> Json:
    """The test's variables, without what stands among them under names of our own."""
    return {name: value for name, value in subject.variables.items() if name not in HIDDEN}


def graded_share(need: GradeNeed, assertion: Assertion, evidence: Evidence) -> UnweightedResult | Unmet:
    """The verdict on a score that passes from `threshold` (.5), whatever else the model said."""
    verdict = verdict_by_grade(need, None, evidence)
    if isinstance(verdict, Unmet):
        return verdict
    limit = HALF if assertion.threshold is None else assertion.threshold
    score = verdict.score or 0.0
    return verdict._replace(
        passed=score >= limit - SLACK, reason=f"{verdict.reason}; score {score:.2f}, threshold {limit:g}"
    )


OR_A_CONFIG = ", or into a config"


def verdict_by_grade(need: GradeNeed, threshold: float | None, evidence: Evidence) -> UnweightedResult | Unmet:
    """The verdict that a grade gives; why there is none, where no model gave one."""
    grade = evidence.grades.get(need)
    if grade is None:
        return evidence.ungraded.get(need) or Unmet(
            "it needs a judge model, and none is used here: put it into a test case that runs with a judge model"
            f"{OR_A_CONFIG}"
        )
    reached = threshold is None or grade.score >= threshold - SLACK
    below = "" if reached else f"; score {grade.score:g} is below the threshold {threshold:g}"
    return UnweightedResult(grade.passed and reached, f"{grade.reason}{below}", grade.score)


TYPES: dict[str, AssertionKind] = {
    "agent-rubric": AssertionKind(agent_rubric, vet_rubric, agent_rubric_needs),
    "factuality": AssertionKind(factuality, vet_facts, factuality_needs, turned_there=False),
    "llm-rubric": AssertionKind(llm_rubric, vet_rubric, llm_rubric_needs),
    "model-graded-factuality": AssertionKind(factuality, vet_facts, factuality_needs, turned_there=False),
}
