"""The table of assertion types: what each checks, what its value must be, and how several make one verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import cast

from minions_evals_mcp.domain.assertions import AGENT_TURNS, EVERY_TURN, HOLDING, NEGATION, SET, TURN, Assertion
from minions_evals_mcp.domain.outputs import CAPTURE, NOT_RECORDED
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.frozen_types import tuples_of
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.assertion_kind import AssertionKind, no_needs
from minions_evals_mcp.scoring.assertions import sets
from minions_evals_mcp.scoring.assertions.trajectories import turns
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Aggregate, Checked, Evidence, Need, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.max_score import SELECTING
from minions_evals_mcp.scoring.values import UnweightedResult

SCORER_VERSION = "assertions/7"
"""Part of every digest of a scorer; raised when a check can give another verdict for the same output."""

SLACK = 1e-9
_checked, _aggregate = tuples_of(Checked), tuples_of(Aggregate)


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


def _asks_inside(assertion: Assertion) -> bool:
    return asks_outside(assertion.assertions)


def _set_needs(assertion: Assertion, subject: Subject) -> tuple[Need, ...]:
    return needs(assertion.assertions, subject)


HOMES: dict[str, tuple[str, ...]] = {
    "judged.contexts": ("context-faithfulness", "context-recall", "context-relevance"),
    "judged.criteria": (
        "answer-relevance",
        "conversation-relevance",
        "g-eval",
        "model-graded-closedqa",
        "trajectory:goal-success",
    ),
    "kinds.foreign_scorer": ("foreign-scorer",),
    "kinds.graded": ("agent-rubric", "factuality", "llm-rubric", "model-graded-factuality"),
    "kinds.markup": ("contains-html", "contains-xml", "is-html", "is-xml"),
    "kinds.measures": ("cost", "latency", "levenshtein", "word-count"),
    "kinds.meteor": ("meteor",),
    "kinds.offered_tools": ("is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call"),
    "kinds.overlap": ("bleu", "gleu", "rouge-n"),
    "kinds.own": ("function",),
    "kinds.refusal": ("is-refusal",),
    "kinds.retrieval": ("retrieval",),
    "kinds.services": ("classifier", "moderation", "webhook"),
    "kinds.similar": ("similar", "similar:cosine", "similar:dot", "similar:euclidean"),
    "kinds.snippets": ("javascript", "python"),
    "kinds.sql": ("contains-sql", "is-sql"),
    "kinds.structure": ("contains-json", "equals", "is-json"),
    "kinds.text": (
        "contains",
        "contains-all",
        "contains-any",
        "icontains",
        "icontains-all",
        "icontains-any",
        "regex",
        "starts-with",
    ),
    "kinds.told_measures": ("guardrails", "perplexity", "perplexity-score", "skill-used"),
    "trajectories.effects": ("effect", "state"),
    "trajectories.plugin_graders": ("plugin-grader",),
    "trajectories.trace_spans": ("trace-error-spans", "trace-span-count", "trace-span-duration"),
    "trajectories.trajectory": (
        "finish-reason",
        "tool-call-f1",
        "trajectory:step-count",
        "trajectory:tool-args-match",
        "trajectory:tool-sequence",
        "trajectory:tool-used",
    ),
    "trajectories.trajectory_match": ("trajectory:match",),
}
"""The module below here that has each type's row: it is loaded where a type of it is met, most commands meet two or three."""

_HOLDING: dict[str, AssertionKind] = {
    SET: AssertionKind(_in_set, _vet_set, _set_needs, may_ask=_asks_inside),
    **dict.fromkeys(
        (TURN, EVERY_TURN, AGENT_TURNS), AssertionKind(_in_turns, _vet_turns, _turn_needs, may_ask=_asks_inside)
    ),
}
_MODULES = {name: module for module, names in HOMES.items() for name in names}

_BESIDE_TEXT = frozenset({
    *_HOLDING, "cost", "foreign-scorer", "latency", "skill-used",
    *(name for name, module in _MODULES.items() if module.startswith("trajectories.") and name != "finish-reason"),
})  # fmt: skip
"""Types that look at something else than the output's text: they have a verdict where nobody recorded that."""

NAMES: tuple[str, ...] = tuple(sorted({*_MODULES, *_HOLDING}))
"""Every type that we have, without `not-`."""

_TYPES = frozenset({*NAMES, *(NEGATION + name for name in NAMES)})
_KNOWN: dict[str, tuple[AssertionKind, bool]] = {}
"""The rows of the types met so far, and whether the name turns the verdict round."""


def kind_of(name: str) -> AssertionKind | None:
    """The row of the type of that name, which has no `not-` before it."""
    if name in _MODULES:
        module = import_module(f"minions_evals_mcp.scoring.assertions.{_MODULES[name]}")
        types: dict[str, AssertionKind] = module.TYPES
        return types[name]
    return _HOLDING.get(name)


TRAJECTORY = "trajectory:"
_BARE = frozenset({"type", "value"})
"""The fields of most assertions: no judge of its own, no code, nothing inside, of which anything could be refused."""


def is_type(name: str) -> bool:
    """Returns whether there is a type of that name, `not-` before it or not."""
    return name in _TYPES


def vet(assertion: Assertion, *, at: str = "", of_config: bool = False) -> None:
    """Refuses an assertion that could not be checked; `at` says where it stands (file and line).

    Raises `UnsupportedError` for a type that we do not have, `InvalidRecordError` for a value or threshold that
    does not fit. What names a judge of its own is refused, too, unless it stands in a config that a person runs.
    """
    if not of_config:
        if not assertion.__pydantic_fields_set__ <= _BARE:
            from minions_evals_mcp.scoring.assertions.judges import refuse_own  # noqa: PLC0415  most say type and value alone

            refuse_own(assertion, at=at)
        if assertion.assertions or assertion.base_type.startswith(TRAJECTORY):
            from minions_evals_mcp.scoring.assertions.trajectories.trajectory import refuse_traced  # noqa: PLC0415  as above

            refuse_traced(assertion, at=at)
    _vet(assertion, at)


def _vet(assertion: Assertion, at: str) -> None:
    kind, _ = _KNOWN.get(assertion.type) or _met(assertion, at)
    is_bare = assertion.__pydantic_fields_set__ <= _BARE
    if not is_bare and assertion.assertions and assertion.base_type not in HOLDING:
        raise InvalidRecordError(
            f"only {', '.join(sorted(HOLDING))} hold assertions", field="assert", record=assertion.type, where=at
        )
    try:
        if is_bare or assertion.value_code is None:
            kind.vet(assertion)
        else:
            from minions_evals_mcp.scoring.assertions.kinds.snippets import vet_source  # noqa: PLC0415  code is rare

            vet_source(assertion.value_code.code)
        if not is_bare:
            _vet_rare(assertion)
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field=error.field, record=assertion.type, where=at) from None


def _vet_rare(assertion: Assertion) -> None:
    from minions_evals_mcp.scoring.assertions.judges import vet_own  # noqa: PLC0415  as above
    from minions_evals_mcp.scoring.assertions.transforms import vet_transform  # noqa: PLC0415  as above

    vet_own(assertion)
    vet_transform(assertion)


def needs(assertions: Sequence[Assertion], subject: Subject) -> tuple[Need, ...]:
    """Returns what must be fetched before these assertions can be checked."""
    needed: list[Need] = []
    for assertion in assertions:
        find = _needs_with_value if assertion.value_code else _kind(assertion).needs
        if assertion.transform is not None:
            from minions_evals_mcp.scoring.assertions.transforms import needs_behind  # noqa: PLC0415  as above

            needed.extend(needs_behind(assertion, subject, find))
        elif find is not no_needs:
            needed.extend(find(assertion, subject))
    return tuple(needed)


def _needs_with_value(assertion: Assertion, subject: Subject) -> tuple[Need, ...]:
    from minions_evals_mcp.scoring.assertions.value_code import needs_of_value  # noqa: PLC0415  as above

    kind = _kind(assertion)
    return needs_of_value(assertion, subject, kind.needs, kind.vet)


def asks_outside(assertions: Sequence[Assertion]) -> bool:
    """Returns whether any of the assertions may need something to be fetched, whatever the output."""
    return any(map(asks, assertions))


def asks(assertion: Assertion) -> bool:
    """Returns whether it may need something to be fetched, whatever the output."""
    held = assertion.__dict__
    if held["transform"] is not None or held["value_code"] is not None:
        return True
    kind = _kind(assertion)
    return kind.may_ask(assertion) if kind.may_ask else kind.needs is not no_needs


def check(assertion: Assertion, subject: Subject, evidence: Evidence = NO_EVIDENCE) -> Checked | Unchecked:
    """The verdict of one vetted assertion.

    `not-` turns the verdict round and the score into 1 - score. With weight 0 a check cannot fail; its score is kept.
    """
    held = assertion.__dict__  # a field of a pydantic value is looked up four times as long
    name, weight = held["type"], held["weight"]
    kind, negated = _KNOWN.get(name) or _met(assertion)
    if held["transform"] is not None:
        from minions_evals_mcp.scoring.assertions.transforms import transformed  # noqa: PLC0415  as above

        changed = transformed(assertion, subject, evidence)
        if isinstance(changed, Unmet):
            return Unchecked(name, changed.reason)
        subject = changed
    if held["value_code"] is not None:
        from minions_evals_mcp.scoring.assertions.value_code import with_value  # noqa: PLC0415  as above

        known = with_value(assertion, subject, evidence, kind.vet)
        if isinstance(known, Unmet):
            return Unchecked(name, known.reason)
        if isinstance(known, UnweightedResult):
            return Checked(name, weight == 0, 0.0, known.reason, weight, assertion.metric)
        assertion = known
    try:
        result = _unrecorded(name, subject) or kind.check(assertion, subject, evidence)
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


def _unrecorded(name: str, subject: Subject) -> Unmet | None:
    """Why a check of the text has no verdict: nobody recorded what the agent said."""
    if (
        subject.finish_reason != NOT_RECORDED
        or subject.text not in {"", "{}"}
        or name.removeprefix(NEGATION) in _BESIDE_TEXT
    ):
        return None
    return Unmet(f"the output was not recorded: {CAPTURE}", not_judgeable=True)


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


NAMES_ELSEWHERE = {
    **dict.fromkeys(("exact-match", "exact", "equalsexpected", "equal"), "equals"),
    **dict.fromkeys(("includes", "substring", "match"), "contains"),
    **dict.fromkeys(("llm-judge", "llmjudge", "llm-as-a-judge", "judge", "rubric"), "llm-rubric"),
    **dict.fromkeys(("geval", "gevalmetric"), "g-eval"),
    **dict.fromkeys(("faithfulness", "faithfulnessmetric", "hallucination"), "context-faithfulness"),
    **dict.fromkeys(("answer-relevancy", "answerrelevancymetric", "relevancy"), "answer-relevance"),
    **dict.fromkeys(("json", "json-schema", "valid-json", "jsoncorrectnessmetric"), "is-json"),
    **dict.fromkeys(("semantic-similarity", "cosine-similarity", "embedding"), "similar"),
    **dict.fromkeys(("rouge", "rouge-l"), "rouge-n"),
}
"""What promptfoo's, DeepEval's, pydantic-evals' and other tools' users call a type, in small letters, with hyphens."""


def _kind(assertion: Assertion) -> AssertionKind:
    kind, _ = _KNOWN.get(assertion.type) or _met(assertion)
    return kind


def _met(assertion: Assertion, at: str = "") -> tuple[AssertionKind, bool]:
    """The row of a type that is met for the first time."""
    name = assertion.type
    if name not in _TYPES:
        raise _unknown(assertion, at)
    kind = kind_of(name)
    known = (kind, False) if kind else (cast("AssertionKind", kind_of(name.removeprefix(NEGATION))), True)
    _KNOWN[name] = known
    return known


def _unknown(assertion: Assertion, at: str) -> UnsupportedError:
    theirs = NAMES_ELSEWHERE.get(assertion.base_type.lower().replace("_", "-"))
    negated = NEGATION if assertion.type != assertion.base_type else ""
    near = [negated + theirs] if theirs else get_close_matches(assertion.type, _TYPES, n=1)
    place = f"{at}: " if at else ""
    hint = f"; did you mean {near[0]!r}?" if near else "."
    if assertion.base_type in SELECTING:
        return UnsupportedError(
            f"{place}{assertion.type} chooses among several outputs and cannot check one.",
            remedy=f"{Next('pick', reason='takes max-score in rows with several outputs')}."
            f" {Next('eval', {'config': 'CONFIG'}, 'takes both in a config')}.",
        )
    return UnsupportedError(
        f"{place}unknown assertion type {assertion.type!r}{hint}",
        remedy=f"{known_names(assertion.base_type, NAMES, 'docs/reference/assertions.md')} Each also with {NEGATION!r} before it.",
    )
