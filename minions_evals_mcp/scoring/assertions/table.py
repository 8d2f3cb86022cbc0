"""The table of assertion types: what each checks, what its value must be, and how several make one verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial

from minions_evals_mcp.domain.assertions import AGENT_TURNS, EVERY_TURN, HOLDING, NEGATION, SET, TURN, Assertion
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.frozen_types import frozen_type, tuples_of
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.assertions import judges, sets
from minions_evals_mcp.scoring.assertions.judged import contexts, criteria
from minions_evals_mcp.scoring.assertions.kinds import (
    foreign_scorer,
    graded,
    markup,
    measures,
    meteor,
    offered_tools,
    overlap,
    own,
    refusal,
    retrieval,
    services,
    similar,
    snippets,
    sql,
    structure,
    text,
    told_measures,
)
from minions_evals_mcp.scoring.assertions.trajectories import (
    effects,
    plugin_graders,
    trace_spans,
    trajectory,
    trajectory_match,
    turns,
)
from minions_evals_mcp.scoring.assertions.transforms import needs_behind, transformed, vet_transform
from minions_evals_mcp.scoring.assertions.value_code import needs_of_value, with_value
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Aggregate, Checked, Evidence, Need, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.max_score import SELECTING
from minions_evals_mcp.scoring.values import UnweightedResult

SCORER_VERSION = "assertions/7"
"""Part of every digest of a scorer; raised when a check can give another verdict for the same output."""

SLACK = 1e-9
_checked, _aggregate = tuples_of(Checked), tuples_of(Aggregate)


def _no_needs(_assertion: Assertion, _subject: Subject) -> tuple[Need, ...]:
    return ()


def _anything(_assertion: Assertion) -> None:
    return


@frozen_type
class AssertionKind:
    """One type: its check, what refuses a value that does not fit it, and what it needs of the outside."""

    check: Callable[[Assertion, Subject, Evidence], UnweightedResult | Unmet]
    vet: Callable[[Assertion], None] = _anything
    needs: Callable[[Assertion, Subject], tuple[Need, ...]] = _no_needs
    turned_there: bool = True
    """Whether promptfoo 0.123.1 turns its verdict round for `not-`, too; where it does not, a verdict by a config says so."""

    stands_alone: bool = False
    """Whether it needs no value: what a case expects is none of its own."""

    def note_on_turn(self, assertion: Assertion, subject: Subject) -> str:
        """Returns what the reason says of a verdict that was turned round; mostly nothing."""
        differs = subject.of_config and not self.turned_there
        return f"; {assertion.type} turns this round, which promptfoo does not" if differs else ""


def _in_set(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The assertions in `assert` hold together: their weighted mean reaches `threshold`, without one each passes.

    The score is the mean.
    """
    return sets.as_one(check_all(assertion.assertions, subject, threshold=assertion.threshold, evidence=evidence))


def _vet_set(assertion: Assertion) -> None:
    sets.vet_set(assertion)
    _vet_inner(assertion)


def _vet_inner(assertion: Assertion) -> None:
    for number, inner in enumerate(assertion.assertions):
        try:
            _vet(inner, "")
        except InvalidRecordError as error:
            raise InvalidRecordError(f"{inner.type}: {error.reason}", field=f"assert.{number}.{error.field}") from None


def _in_turns(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The assertions in `assert` hold for what the agent said: in turn `value` of a conversation (`turn`), in each of its turns
    (`every-turn`), or in all its answers taken as one text (`agent-turns`).
    """
    return turns.in_turns(assertion, subject, partial(check_all, evidence=evidence))


def _vet_turns(assertion: Assertion) -> None:
    turns.vet_turns(assertion)
    _vet_inner(assertion)


def _turn_needs(assertion: Assertion, subject: Subject) -> tuple[Need, ...]:
    return tuple(
        need for _, seen in turns.turn_subjects(assertion, subject) for need in needs(assertion.assertions, seen)
    )


def _set_needs(assertion: Assertion, subject: Subject) -> tuple[Need, ...]:
    return needs(assertion.assertions, subject)


KINDS: dict[str, AssertionKind] = {
    SET: AssertionKind(_in_set, _vet_set, _set_needs),
    "agent-rubric": AssertionKind(graded.agent_rubric, graded.vet_rubric, graded.agent_rubric_needs),
    "answer-relevance": AssertionKind(criteria.answer_relevance, graded.vet_share, criteria.relevance_needs),
    "bleu": AssertionKind(overlap.bleu, overlap.vet_references),
    "classifier": AssertionKind(services.classifier, services.vet_classifier, services.service_needs),
    "contains": AssertionKind(text.contains, text.vet_scalar),
    "contains-all": AssertionKind(text.contains_all, text.vet_listed),
    "contains-any": AssertionKind(text.contains_any, text.vet_listed),
    "contains-html": AssertionKind(markup.contains_html, markup.vet_no_value, stands_alone=True),
    "contains-json": AssertionKind(structure.contains_json, structure.vet_optional_schema, stands_alone=True),
    "contains-sql": AssertionKind(sql.contains_sql, sql.vet_database, stands_alone=True),
    "contains-xml": AssertionKind(markup.contains_xml, markup.vet_elements, stands_alone=True),
    "context-faithfulness": AssertionKind(contexts.context_faithfulness, contexts.vet_context, contexts.context_needs),
    "context-recall": AssertionKind(contexts.context_recall, contexts.vet_recall, contexts.context_needs),
    "context-relevance": AssertionKind(contexts.context_relevance, contexts.vet_context, contexts.context_needs),
    "conversation-relevance": AssertionKind(
        criteria.conversation_relevance, graded.vet_share, criteria.relevance_needs
    ),
    "cost": AssertionKind(measures.cost, measures.vet_limit),
    "effect": AssertionKind(trajectory.on_log(effects.effect), effects.vet_effect),
    "equals": AssertionKind(structure.equals, structure.vet_given),
    "factuality": AssertionKind(graded.factuality, graded.vet_facts, graded.factuality_needs, turned_there=False),
    "finish-reason": AssertionKind(trajectory.finish_reason, trajectory.vet_reason),
    foreign_scorer.FOREIGN_SCORER: AssertionKind(foreign_scorer.foreign_scorer, foreign_scorer.vet_scorer),
    own.FUNCTION: AssertionKind(own.function, own.vet_named),
    "g-eval": AssertionKind(criteria.g_eval, criteria.vet_criteria, criteria.g_eval_needs),
    "gleu": AssertionKind(overlap.gleu, overlap.vet_references),
    "icontains": AssertionKind(text.icontains, text.vet_scalar),
    "icontains-all": AssertionKind(text.icontains_all, text.vet_listed),
    "icontains-any": AssertionKind(text.icontains_any, text.vet_listed),
    "is-html": AssertionKind(markup.is_html, markup.vet_no_value, stands_alone=True),
    "is-json": AssertionKind(structure.is_json, structure.vet_optional_schema, stands_alone=True),
    "is-refusal": AssertionKind(refusal.is_refusal, stands_alone=True),
    "is-sql": AssertionKind(sql.is_sql, sql.vet_database, stands_alone=True),
    "is-xml": AssertionKind(markup.is_xml, markup.vet_elements, stands_alone=True),
    "is-valid-function-call": AssertionKind(offered_tools.function_call, offered_tools.vet_nothing, turned_there=False),
    "is-valid-openai-function-call": AssertionKind(
        offered_tools.function_call, offered_tools.vet_nothing, turned_there=False
    ),
    "is-valid-openai-tools-call": AssertionKind(
        offered_tools.openai_tools_call, offered_tools.vet_nothing, turned_there=False
    ),
    "javascript": AssertionKind(snippets.javascript, snippets.vet_code, snippets.javascript_needs),
    "latency": AssertionKind(measures.latency, measures.vet_limit),
    "levenshtein": AssertionKind(measures.levenshtein, measures.vet_distance),
    "llm-rubric": AssertionKind(graded.llm_rubric, graded.vet_rubric, graded.llm_rubric_needs),
    "model-graded-closedqa": AssertionKind(
        criteria.closed_qa, criteria.vet_criterion, criteria.closed_qa_needs, turned_there=False
    ),
    "model-graded-factuality": AssertionKind(
        graded.factuality, graded.vet_facts, graded.factuality_needs, turned_there=False
    ),
    meteor.METEOR: AssertionKind(meteor.meteor, meteor.vet_meteor, meteor.meteor_needs),
    "moderation": AssertionKind(services.moderation, services.vet_moderation, services.service_needs),
    "guardrails": AssertionKind(told_measures.guardrails),
    "perplexity": AssertionKind(told_measures.perplexity),
    "perplexity-score": AssertionKind(told_measures.perplexity_score),
    plugin_graders.PLUGIN_GRADER: AssertionKind(
        plugin_graders.plugin_grader, plugin_graders.vet_grader, plugin_graders.grader_needs, turned_there=False
    ),
    "python": AssertionKind(snippets.python, snippets.vet_code, snippets.python_needs),
    "regex": AssertionKind(text.regex, text.vet_pattern, text.regex_needs),
    retrieval.RETRIEVAL: AssertionKind(retrieval.retrieval, retrieval.vet_retrieval),
    "rouge-n": AssertionKind(overlap.rouge_n, overlap.vet_reference),
    **dict.fromkeys(similar.SIMILAR, AssertionKind(similar.similar, similar.vet_similar, similar.similar_needs)),
    "skill-used": AssertionKind(told_measures.skill_used, told_measures.vet_skills),
    "starts-with": AssertionKind(text.starts_with, text.vet_scalar),
    "state": AssertionKind(effects.state, effects.vet_state),
    "tool-call-f1": AssertionKind(trajectory.tool_call_f1, trajectory.vet_names),
    "trace-error-spans": AssertionKind(trace_spans.error_spans, trace_spans.vet_errors, turned_there=False),
    "trace-span-count": AssertionKind(trace_spans.span_count, trace_spans.vet_count, turned_there=False),
    "trace-span-duration": AssertionKind(trace_spans.span_duration, trace_spans.vet_duration, turned_there=False),
    "trajectory:goal-success": AssertionKind(criteria.goal_success, criteria.vet_goal, criteria.goal_needs),
    "trajectory:match": AssertionKind(
        trajectory.on_log(trajectory_match.trajectory_match),
        trajectory_match.vet_trajectory,
        trajectory_match.trajectory_match_needs,
    ),
    "trajectory:step-count": AssertionKind(trajectory.on_steps(trajectory.step_count), trajectory.vet_step_count),
    "trajectory:tool-args-match": AssertionKind(
        trajectory.on_steps(trajectory.tool_args_match), trajectory.vet_arguments
    ),
    "trajectory:tool-sequence": AssertionKind(trajectory.on_steps(trajectory.tool_sequence), trajectory.vet_sequence),
    "trajectory:tool-used": AssertionKind(trajectory.on_steps(trajectory.tool_used), trajectory.vet_used),
    "webhook": AssertionKind(services.webhook, services.vet_webhook, services.service_needs),
    **dict.fromkeys((TURN, EVERY_TURN, AGENT_TURNS), AssertionKind(_in_turns, _vet_turns, _turn_needs)),
    "word-count": AssertionKind(measures.word_count, measures.vet_count),
}
"""Every type that we have, by its name without `not-`."""

_NAMES: dict[str, tuple[AssertionKind, bool]] = {
    **{name: (kind, False) for name, kind in KINDS.items()},
    **{NEGATION + name: (kind, True) for name, kind in KINDS.items()},
}


_BARE = frozenset({"type", "value"})
"""The fields of most assertions: no judge of its own, no code, nothing inside, of which anything could be refused."""


def is_type(name: str) -> bool:
    """Returns whether there is a type of that name, `not-` before it or not."""
    return name in _NAMES


def vet(assertion: Assertion, *, at: str = "", of_config: bool = False) -> None:
    """Refuses an assertion that could not be checked; `at` says where it stands (file and line).

    Raises `UnsupportedError` for a type that we do not have, `InvalidRecordError` for a value or threshold that
    does not fit. What names a judge of its own is refused, too, unless it stands in a config that a person runs.
    """
    if not of_config:
        if not assertion.__pydantic_fields_set__ <= _BARE:
            judges.refuse_own(assertion, at=at)
        trajectory.refuse_traced(assertion, at=at)
    _vet(assertion, at)


def _vet(assertion: Assertion, at: str) -> None:
    kind, _ = _NAMES.get(assertion.type) or _unknown(assertion, at)
    is_bare = assertion.__pydantic_fields_set__ <= _BARE
    if not is_bare and assertion.assertions and assertion.base_type not in HOLDING:
        raise InvalidRecordError(
            f"only {', '.join(sorted(HOLDING))} hold assertions", field="assert", record=assertion.type, where=at
        )
    try:
        if is_bare or assertion.value_code is None:
            kind.vet(assertion)
        else:
            snippets.vet_source(assertion.value_code.code)
        if not is_bare:
            judges.vet_own(assertion)
            vet_transform(assertion)
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field=error.field, record=assertion.type, where=at) from None


def needs(assertions: Sequence[Assertion], subject: Subject) -> tuple[Need, ...]:
    """Returns what must be fetched before these assertions can be checked."""
    needed: list[Need] = []
    for assertion in assertions:
        find = _needs_with_value if assertion.value_code else _kind(assertion)[0].needs
        if assertion.transform is not None:
            needed.extend(needs_behind(assertion, subject, find))
        elif find is not _no_needs:
            needed.extend(find(assertion, subject))
    return tuple(needed)


def _needs_with_value(assertion: Assertion, subject: Subject) -> tuple[Need, ...]:
    kind, _ = _kind(assertion)
    return needs_of_value(assertion, subject, kind.needs, kind.vet)


def asks_outside(assertions: Sequence[Assertion]) -> bool:
    """Returns whether any of the assertions may need something to be fetched, whatever the output."""
    return any(map(asks, assertions))


def asks(assertion: Assertion) -> bool:
    """Returns whether it may need something to be fetched, whatever the output."""
    held = assertion.__dict__
    if held["transform"] is not None or held["value_code"] is not None:
        return True
    find = _kind(assertion)[0].needs
    if find in (_set_needs, _turn_needs):
        return asks_outside(assertion.assertions)
    if find is text.regex_needs:
        return text.searched_elsewhere(assertion)
    return find is not _no_needs


def check(assertion: Assertion, subject: Subject, evidence: Evidence = NO_EVIDENCE) -> Checked | Unchecked:
    """The verdict of one vetted assertion.

    `not-` turns the verdict round and the score into 1 - score. With weight 0 a check cannot fail; its score is kept.
    """
    held = assertion.__dict__  # a field of a pydantic value is looked up four times as long
    name, weight = held["type"], held["weight"]
    kind, negated = _NAMES.get(name) or _unknown(assertion, "")
    if held["transform"] is not None:
        changed = transformed(assertion, subject, evidence)
        if isinstance(changed, Unmet):
            return Unchecked(name, changed.reason)
        subject = changed
    if held["value_code"] is not None:
        known = with_value(assertion, subject, evidence, kind.vet)
        if isinstance(known, Unmet):
            return Unchecked(name, known.reason)
        if isinstance(known, UnweightedResult):
            return Checked(name, weight == 0, 0.0, known.reason, weight, assertion.metric)
        assertion = known
    try:
        result = kind.check(assertion, subject, evidence)
    except RecursionError:
        return Unchecked(name, "the output or the value nests too deeply to be read")
    if isinstance(result, Unmet):
        return Unchecked(name, result.reason, not_judgeable=result.not_judgeable)
    passed, reason, score, negated_score, parts, named = result
    if negated:
        passed = not passed
        reason += kind.note_on_turn(assertion, subject)
        score = negated_score if score is None or negated_score is not None else 1.0 - score
    if score is None:
        score = 1.0 if passed else 0.0
    return _checked((name, passed or weight == 0, score, reason, weight, held["metric"], parts, named))


def check_all(
    assertions: Sequence[Assertion],
    subject: Subject,
    *,
    threshold: float | None = None,
    evidence: Evidence = NO_EVIDENCE,
    decides: bool = False,
) -> Aggregate | Unchecked:
    """The verdict of all assertions together: the weighted mean of their scores, 0 where all weights are 0.

    Passes where it reaches `threshold`, without one where every assertion passes. No assertions pass with score 1.
    With `decides`, where each must pass, one that failed does so beside one that the output cannot be judged by, which is then
    not among the results, nor in the score.
    """
    if not assertions:
        return Aggregate(passed=True, score=1.0, results=())
    results: list[Checked] = []
    total = weighted = 0.0
    all_pass = True
    unjudged: Unchecked | None = None
    for assertion in assertions:
        result = check(assertion, subject, evidence)
        if isinstance(result, Checked):
            results.append(result)
            _, passed, score, _, weight, _, _, _ = result
            all_pass = all_pass and passed
            total += weight
            weighted += weight * score
        elif decides and threshold is None and result.not_judgeable:
            unjudged = unjudged or result
        else:
            return result
    if unjudged is not None and all_pass:
        return unjudged
    if math.isinf(total):  # weights near the largest number there is: divided first, their sum is finite
        heaviest = max(result.weight for result in results)
        total = sum(result.weight / heaviest for result in results)
        weighted = sum(result.weight / heaviest * result.score for result in results)
    score = weighted / total if total else 0.0
    passed = all_pass if threshold is None else score >= threshold - SLACK
    return _aggregate((passed, score, tuple(results), "", None))


def _kind(assertion: Assertion) -> tuple[AssertionKind, bool]:
    return _NAMES.get(assertion.type) or _unknown(assertion, "")


def _unknown(assertion: Assertion, at: str) -> tuple[AssertionKind, bool]:
    near = get_close_matches(assertion.type, _NAMES, n=1)
    place = f"{at}: " if at else ""
    hint = f"; did you mean {near[0]!r}?" if near else "."
    if assertion.base_type in SELECTING:
        raise UnsupportedError(
            f"{place}{assertion.type} chooses among several outputs, it is no check of one.",
            remedy=f"{Next('pick', reason='takes max-score in rows with several outputs')}."
            f" {Next('eval', {'config': 'CONFIG'}, 'takes both in a config')}.",
        )
    raise UnsupportedError(
        f"{place}the assertion type {assertion.type!r} is not known{hint}",
        remedy=f"Known are {', '.join(KINDS)}, each also with {NEGATION!r} before it.",
    )
