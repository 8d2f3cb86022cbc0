"""`model-graded-closedqa`, `g-eval`, `answer-relevance`, `conversation-relevance`, `agent-rubric`, `trajectory:goal-success`.

Each asks a model one thing of an output, in our words. Where promptfoo 0.123.1 and we differ: a judge that fails is no
verdict; `g-eval` is one call, not two (its score is 0 to 1, passing from .7); `answer-relevance` is judged, not measured
between embeddings of questions made up for the answer; `agent-rubric` is graded by a model without tools of its own;
`trajectory:goal-success` reads the log of tool calls.
"""

from __future__ import annotations

import json
from typing import cast

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.graded import graded_share, judged_need, verdict_by_grade, vet_share
from minions_evals_mcp.scoring.assertions.trajectories.span_steps import NO_TRACE, is_traced, spans_of, steps_of_spans
from minions_evals_mcp.scoring.checks import Evidence, GradeNeed, GradeType, Subject, Unmet
from minions_evals_mcp.scoring.reserved_inputs import HIDDEN
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

G_EVAL_PASSES = 0.7
BY_PROMPT = frozenset({"answer-relevance", "conversation-relevance", "context-recall", "moderation", "webhook"})
"""Types that look at what the output was asked for with."""
MOST_STEPS = 60
"""So many steps of a log are shown to a judge."""


def closed_qa(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model says whether the output meets the criterion in `value`: score 1 or 0."""
    return verdict_by_grade(judged_need("model-graded-closedqa", assertion, subject), None, evidence)


def closed_qa_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grade that it rests on."""
    return (judged_need("model-graded-closedqa", assertion, subject),)


def g_eval(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model grades the output by each criterion in `value` from 0 to 1; the mean passes from `threshold` (.7)."""
    grades = [verdict_by_grade(need, None, evidence) for need in g_eval_needs(assertion, subject)]
    grades_given = [grade for grade in grades if not isinstance(grade, Unmet)]
    unmet = next((grade for grade in grades if isinstance(grade, Unmet)), None)
    if unmet is not None:
        return unmet
    score = sum(grade.score or 0.0 for grade in grades_given) / len(grades_given)
    limit = G_EVAL_PASSES if assertion.threshold is None else assertion.threshold
    return UnweightedResult(score >= limit, "\n\n".join(grade.reason for grade in grades_given), score)


def g_eval_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grades that it rests on: one for each criterion."""
    return tuple(
        judged_need("g-eval", assertion.model_copy(update={"value": criterion}), subject)
        for criterion in _criteria(assertion)
    )


def vet_criteria(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a criterion nor a list of some, and a `threshold` outside 0 to 1."""
    vet_share(assertion)
    if not _criteria(assertion) or not all(
        isinstance(criterion, str) and criterion.strip() for criterion in _criteria(assertion)
    ):
        raise InvalidRecordError(
            f"must be a criterion, or a list of some, not {excerpt(assertion.value)}", field="value"
        )


def vet_criterion(assertion: Assertion) -> None:
    """Refuses a `value` that is no text, or blank, and any `threshold`."""
    if not isinstance(assertion.value, str) or not assertion.value.strip():
        raise InvalidRecordError(f"must be the criterion, not {excerpt(assertion.value)}", field="value")
    if assertion.threshold is not None:
        raise InvalidRecordError(f"{assertion.base_type} has none", field="threshold")


def answer_relevance(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model scores how far the output answers the variable `query`, else the prompt; passes from `threshold` (.5)."""
    return _relevant(assertion, subject, evidence)


def conversation_relevance(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model says whether the output is relevant to the prompt, with all turns in it; passes from `threshold` (.5)."""
    return _relevant(assertion, subject, evidence)


def _relevant(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    needs = relevance_needs(assertion, subject)
    if not needs:
        return Unmet(f"{assertion.base_type} needs the prompt, which is unknown here")
    return graded_share(needs[0], assertion, evidence)


def relevance_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grade that it rests on; none where it is not known what was asked."""
    kind = cast("GradeType", assertion.base_type)
    query = subject.variables.get("query")
    question = query if kind == "answer-relevance" and isinstance(query, str) else subject.prompt
    judge = assertion.provider.name if assertion.provider else ""
    return (GradeNeed(kind, question, subject.text, judge),) if question else ()


def goal_success(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A model says, by the steps (of the trace, else the log of tool calls) and the output, whether the goal in `value` was reached."""
    needs = goal_needs(assertion, subject)
    if not needs:
        return NO_TRACE if is_traced(subject) else Unmet("there is no log of tool calls", not_judgeable=True)
    return verdict_by_grade(needs[0], assertion.threshold, evidence)


def goal_needs(assertion: Assertion, subject: Subject) -> tuple[GradeNeed, ...]:
    """The grade that it rests on; none where the steps are not known."""
    steps = _told_steps(subject)
    if steps is None:
        return ()
    judge = assertion.provider.name if assertion.provider else ""
    return (
        GradeNeed(
            "trajectory:goal-success",
            _goal(assertion, subject),
            subject.read,
            judge,
            given=json.dumps({"steps": steps}),
        ),
    )


def vet_goal(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a goal nor {goal}."""
    value = assertion.value.get("goal") if isinstance(assertion.value, dict) else assertion.value
    if not isinstance(value, str) or not value.strip():
        raise InvalidRecordError(f"must be the goal, or {{goal}}, not {excerpt(assertion.value)}", field="value")
    vet_share(assertion)


def _goal(assertion: Assertion, subject: Subject) -> str:
    """The goal; one in an object is filled with the test's variables."""
    if not isinstance(assertion.value, dict):
        return str(assertion.value)
    from minions_evals_mcp.scoring.nunjucks.templates import rendered  # noqa: PLC0415  jinja2 costs what few runs need

    variables: Json = {name: value for name, value in subject.variables.items() if name not in HIDDEN}
    return rendered(str(assertion.value["goal"]), variables)


def _told_steps(subject: Subject) -> list[str] | None:
    """The steps in words; None where they are not known."""
    if is_traced(subject):
        spans = spans_of(subject)
        if isinstance(spans, Unmet):
            return None
        return [
            f"{number}. {step.type}: {step.names[0]}"
            for number, step in enumerate(steps_of_spans(spans)[:MOST_STEPS], 1)
        ]
    if subject.tool_calls is None:
        return None
    return [
        _step(number, tool_call.tool, tool_call.arguments, tool_call.error)
        for number, tool_call in enumerate(subject.tool_calls[:MOST_STEPS], 1)
    ]


def _step(number: int, tool: str, arguments: Json, error: str | None) -> str:
    failed = f" failed: {error}" if error else ""
    return f"{number}. {tool}({json.dumps(arguments, ensure_ascii=False)}){failed}"


def _criteria(assertion: Assertion) -> list[object]:
    return [*assertion.value] if isinstance(assertion.value, list) else [assertion.value]


TYPES: dict[str, AssertionKind] = {
    "answer-relevance": AssertionKind(answer_relevance, vet_share, relevance_needs),
    "conversation-relevance": AssertionKind(conversation_relevance, vet_share, relevance_needs),
    "g-eval": AssertionKind(g_eval, vet_criteria, g_eval_needs),
    "model-graded-closedqa": AssertionKind(closed_qa, vet_criterion, closed_qa_needs, turned_there=False),
    "trajectory:goal-success": AssertionKind(goal_success, vet_goal, goal_needs),
}
