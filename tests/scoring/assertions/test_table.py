"""The table as a whole: what is known, how weights and thresholds make one verdict, and what holds for every type."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import HOLDING, Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import NOT_RECORDED
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.scoring import assertions
from minions_evals_mcp.scoring.assertions.kinds.own import FUNCTION
from minions_evals_mcp.scoring.assertions.table import (
    HOMES,
    NAMES,
    NAMES_ELSEWHERE,
    SCORER_VERSION,
    check,
    check_all,
    needs,
    vet,
)
from minions_evals_mcp.scoring.checks import (
    Aggregate,
    Checked,
    Evidence,
    Grade,
    GradeNeed,
    Ran,
    RegexNeed,
    ServiceNeed,
    SimilarityNeed,
    SnippetNeed,
    Subject,
    SynonymNeed,
    Unchecked,
    Unmet,
)
from tests.reference.assertion_examples import EXAMPLES as REFERENCE

EXAMPLES = tuple(
    Assertion.model_validate({"type": name, **example.assertion}, strict=False)
    for name, example in REFERENCE.items()
    if name != FUNCTION  # which only the program that has it can ask
)
ON_ANY_TEXT = tuple(
    example for example in EXAMPLES if example.type not in {"retrieval", *HOLDING} or example.type == "assert-set"
)
"""Those that give a verdict on any text: what was retrieved stands in a list of ids alone, turns in a conversation."""
SERVED: dict[str, Callable[[bool], JsonValue]] = {
    "moderation": lambda liked: {} if liked else {"hate": "hate"},
    "classification": lambda liked: {"nothate": 0.9 if liked else 0.1},
    "webhook": lambda liked: {"pass": liked},
}
YES = Assertion(type="contains", value="a")
NO = Assertion(type="contains", value="z")
ASKED: dict[str, JsonValue] = {"query": "How long?", "context": ["Returns: 30 days."]}
TOLD: dict[str, JsonValue] = {
    "logProbs": [-0.5],
    "metadata": {},
    "providerResponse": {"guardrails": {"flagged": False}},
    "trace": {"traceId": "1", "spans": [{"name": "tool", "startTime": 0, "endTime": 900}]},
}
"""What checks look at besides: the test's variables, and what the provider told."""
SUBJECT = Subject(
    "a",
    latency_ms=5,
    cost_usd=0.5,
    variables=ASKED,
    tool_calls=(),
    prompt="How long?",
    tell=lambda: TOLD,
    state={},
    finish_reason="length",
)


def aggregate(assertions: list[Assertion], threshold: float | None = None) -> Aggregate:
    """The verdict over the output "a"."""
    result = check_all(assertions, SUBJECT, threshold=threshold)
    assert isinstance(result, Aggregate)
    return result


def evidence_for(assertions: list[Assertion], subject: Subject) -> Evidence:
    """What the outside says, which follows from the text alone: a long one is liked."""
    wanted = needs(assertions, subject)
    liked = len(subject.text) > 1
    return Evidence(
        regexes={need: liked for need in wanted if isinstance(need, RegexNeed)},
        snippets={need: Ran(liked) for need in wanted if isinstance(need, SnippetNeed)},
        similarities={need: 0.9 if liked else 0.1 for need in wanted if isinstance(need, SimilarityNeed)},
        grades={
            need: Grade(liked, 0.75 if liked else 0.25, "said so") for need in wanted if isinstance(need, GradeNeed)
        },
        synonyms={need: {} for need in wanted if isinstance(need, SynonymNeed)},
        services={need: SERVED[need.kind](liked) for need in wanted if isinstance(need, ServiceNeed)},
    )


def verdict(assertions: list[Assertion], subject: Subject, threshold: float | None = None) -> Aggregate:
    """The verdict with all that is needed of the outside."""
    result = check_all(assertions, subject, threshold=threshold, evidence=evidence_for(assertions, subject))
    assert isinstance(result, Aggregate)
    return result


def test_vet_and_the_table_agree_on_the_known_types() -> None:
    assert {example.type for example in EXAMPLES} == set(NAMES) - {FUNCTION}
    for example in EXAMPLES:
        vet(example)
        vet(example.model_copy(update={"type": f"not-{example.type}"}))


@pytest.mark.parametrize("kind", ["max-score", "select-best", "not-max-score"])
def test_a_type_that_chooses_among_outputs_is_refused_with_where_it_belongs(kind: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{kind} chooses among several outputs.*pick takes max-score"):
        vet(Assertion(type=kind))


@pytest.mark.parametrize("unknown", ["llm-rubrik", "not-not-contains", "not-", "Contains"])
def test_an_unknown_type_is_refused_by_name_with_what_is_known(unknown: str) -> None:
    with pytest.raises(UnsupportedError) as refusal:
        vet(Assertion(type=unknown), at="suite.yaml:3")
    assert str(refusal.value).startswith(f"suite.yaml:3: unknown assertion type {unknown!r}")
    nearest = refusal.value.remedy.partition("Nearest: ")[2].partition(". ")[0].split(", ")
    assert len(nearest) == 3
    assert {*nearest} <= {*NAMES}
    assert f"docs/reference/assertions.md lists all {len(NAMES)}" in refusal.value.remedy
    with pytest.raises(UnsupportedError):
        check(Assertion(type=unknown), SUBJECT)
    with pytest.raises(UnsupportedError):
        needs([Assertion(type=unknown)], SUBJECT)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("contain", "contains"),
        ("is_json", "is-json"),
        ("not-regexp", "not-regex"),
        ("exact_match", "equals"),
        ("not-exact-match", "not-equals"),
        ("GEval", "g-eval"),
        ("LLMJudge", "llm-rubric"),
    ],
)
def test_a_near_miss_is_answered_with_what_was_meant(typed: str, meant: str) -> None:
    with pytest.raises(UnsupportedError, match=f"did you mean '{meant}'"):
        vet(Assertion(type=typed))


def test_names_of_other_tools_are_none_of_ours_and_lead_to_ours() -> None:
    assert not NAMES_ELSEWHERE.keys() & set(NAMES)
    assert set(NAMES_ELSEWHERE.values()) <= set(NAMES)


def test_a_name_like_no_other_gets_no_hint() -> None:
    with pytest.raises(UnsupportedError, match="unknown assertion type 'xyzzy'\\. Nearest: "):
        vet(Assertion(type="xyzzy"))


def test_the_scorer_has_a_version() -> None:
    assert SCORER_VERSION == "assertions/7"


def test_a_result_carries_its_weight_and_metric() -> None:
    result = check(Assertion(type="contains", value="a", weight=2, metric="facts"), SUBJECT)
    assert result == Checked("contains", passed=True, score=1.0, reason="contains 'a'", weight=2, metric="facts")


def test_without_a_threshold_every_assertion_must_pass() -> None:
    assert aggregate([YES, YES]).passed
    mixed = aggregate([YES, NO])
    assert (mixed.passed, mixed.score) == (False, 0.5)
    assert [result.passed for result in mixed.results] == [True, False]


@pytest.mark.parametrize(
    ("threshold", "passed"), [(0.75, True), (0.75 + 1e-10, True), (0.7501, False), (0, True), (1, False)]
)
def test_with_a_threshold_the_weighted_mean_decides(threshold: float, passed: bool) -> None:
    heavy = YES.model_copy(update={"weight": 3.0})
    verdict = aggregate([heavy, NO], threshold)
    assert (verdict.score, verdict.passed) == (0.75, passed)


def test_an_assertion_of_weight_0_cannot_fail_and_does_not_count() -> None:
    free = NO.model_copy(update={"weight": 0.0})
    verdict = aggregate([YES, free])
    assert (verdict.passed, verdict.score) == (True, 1.0)
    assert verdict.results[1].passed
    assert verdict.results[1].score == 0.0


def test_where_all_weights_are_0_the_score_is_0_and_only_a_threshold_can_fail_it() -> None:
    free = [YES.model_copy(update={"weight": 0.0}), NO.model_copy(update={"weight": 0.0})]
    assert (aggregate(free).passed, aggregate(free).score) == (True, 0.0)
    assert not aggregate(free, 0.5).passed
    assert aggregate(free, 0).passed


def test_no_assertions_pass_with_score_1_whatever_the_threshold() -> None:
    assert aggregate([], 0.9) == Aggregate(passed=True, score=1.0, results=())


def test_one_check_that_cannot_be_carried_out_leaves_the_whole_undone() -> None:
    latency = Assertion(type="latency", threshold=5)
    assert check_all([YES, latency, NO], Subject("a")) == Unchecked(
        "latency", "the latency of the output is unknown", not_judgeable=True
    )


@pytest.mark.parametrize("figure", [-1.0, math.nan, math.inf])
def test_a_figure_that_can_be_none_passes_no_limit(figure: float) -> None:
    found = check_all([Assertion(type="cost", threshold=5)], Subject("a", cost_usd=figure))
    assert isinstance(found, Unchecked)
    assert f"a cost of {figure:g} USD was reported" in found.reason


def test_evidence_reaches_every_check() -> None:
    asked = [YES, Assertion(type="regex", value="(?=a)"), Assertion(type="not-regex", value="(?=b)")]
    first, second = needs(asked, SUBJECT)
    assert isinstance(first, RegexNeed)
    assert isinstance(second, RegexNeed)
    met = check_all(asked, SUBJECT, evidence=Evidence({first: True, second: False}))
    assert isinstance(met, Aggregate)
    assert met.passed
    unmet = check_all(asked, SUBJECT, evidence=Evidence({first: True, second: Unmet("time limit of 1 s")}))
    assert unmet == Unchecked("not-regex", "time limit of 1 s")


def test_weights_beyond_all_measure_do_not_overflow() -> None:
    heavy = [one.model_copy(update={"weight": 1.7e308}) for one in (YES, YES, NO, NO)]
    assert aggregate(heavy).score == 0.5


WEIGHTS = st.floats(min_value=0, max_value=100, allow_nan=False)
WEIGHTED = st.lists(st.tuples(st.sampled_from(ON_ANY_TEXT), st.booleans(), WEIGHTS), min_size=1, max_size=6)
TEXTS = st.one_of(st.text(max_size=60), st.sampled_from(["a", "aaa", '{"a": 1}', "I can't help with that.", "a b c d"]))


def built(parts: list[tuple[Assertion, bool, float]]) -> list[Assertion]:
    """The examples, some negated, with weights."""
    return [
        example.model_copy(update={"type": ("not-" if negated else "") + example.type, "weight": weight})
        for example, negated, weight in parts
    ]


@settings(deadline=None)  # the first use of a type may import its parser
@given(st.sampled_from(ON_ANY_TEXT), TEXTS)
def test_not_inverts_pass_for_every_type_and_text(example: Assertion, text: str) -> None:
    subject = SUBJECT._replace(text=text, latency_ms=float(len(text)), cost_usd=float(len(text)))
    negated = example.model_copy(update={"type": f"not-{example.type}"})
    ((plain,), (turned,)) = (verdict([one], subject).results for one in (example, negated))
    assert plain.passed is not turned.passed
    assert 0 <= plain.score <= 1
    assert plain.score + turned.score == (0 if example.type == "is-refusal" and not text.strip() else 1)


@settings(deadline=None)  # the first use of a type may import its parser
@given(st.data(), WEIGHTED, TEXTS)
def test_the_verdict_is_the_same_in_any_order(
    data: st.DataObject, parts: list[tuple[Assertion, bool, float]], text: str
) -> None:
    assertions = built(parts)
    turned = data.draw(st.permutations(assertions))
    subject = SUBJECT._replace(text=text, cost_usd=5)
    one, other = verdict(assertions, subject), verdict(turned, subject)
    assert one.passed is other.passed
    assert math.isclose(one.score, other.score, abs_tol=1e-12)


@settings(deadline=None)  # the first use of a type may import its parser
@given(WEIGHTED, st.integers(min_value=0, max_value=5), st.floats(min_value=0, max_value=1))
def test_the_aggregate_never_falls_when_one_assertion_comes_to_pass(
    parts: list[tuple[Assertion, bool, float]], index: int, threshold: float
) -> None:
    assume(index < len(parts))
    assertions = built(parts)
    worse = [*assertions]
    better = [*assertions]
    worse[index] = NO.model_copy(update={"weight": assertions[index].weight})
    better[index] = YES.model_copy(update={"weight": assertions[index].weight})
    for limit in (None, threshold):
        low, high = verdict(worse, SUBJECT, limit), verdict(better, SUBJECT, limit)
        assert high.score >= low.score - 1e-12
        assert high.passed or not low.passed


@settings(deadline=None)  # the first use of a type may import its parser
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), WEIGHTS), min_size=1, max_size=5),
    st.floats(min_value=0, max_value=1),
    st.sampled_from([None, 0.3, 0.8]),
)
def test_the_aggregate_is_monotone_in_every_score(
    parts: list[tuple[float, float, float]], threshold: float, own: float | None
) -> None:
    """Graded assertions can have any score; the same tests with every score raised never come out lower."""
    assertions = [
        Assertion(type="llm-rubric", value=str(number), weight=weight, threshold=own)
        for number, (_, _, weight) in enumerate(parts)
    ]
    wanted = needs(assertions, SUBJECT)
    low, high = (
        check_all(
            assertions,
            SUBJECT,
            threshold=threshold,
            evidence=Evidence(
                grades={
                    need: Grade(passed=True, score=choose(a, b), reason="")
                    for need, (a, b, _) in zip(wanted, parts, strict=True)
                    if isinstance(need, GradeNeed)
                }
            ),
        )
        for choose in (min, max)
    )
    assert isinstance(low, Aggregate)
    assert isinstance(high, Aggregate)
    assert high.score >= low.score - 1e-12
    assert high.passed or not low.passed
    assert all(one.passed or not other.passed for one, other in zip(high.results, low.results, strict=True))


ODD_TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="<>&;/!?[]{}()\"'`,:#=-_ \n\t\\aA1é\u2028\ud800", max_size=120),
    st.sampled_from(
        ["[" * 3_000, "{" * 3_000, "<a>" * 3_000, "(" * 3_000, "```sql\n", "\x00", "&#x110000;", "9" * 5_000]
    ),
)
CALLS = st.lists(
    st.builds(ToolCall, tool=st.text(min_size=1, max_size=8).filter(lambda name: bool(name.strip()))), max_size=3
).map(tuple)


@settings(deadline=None)  # the first use of a type may import its parser
@given(st.sampled_from(EXAMPLES), st.booleans(), ODD_TEXTS, CALLS)
def test_no_type_raises_on_any_text(example: Assertion, negated: bool, text: str, calls: tuple[ToolCall, ...]) -> None:
    assertion = example.model_copy(update={"type": f"not-{example.type}"}) if negated else example
    subject = Subject(text, latency_ms=1, cost_usd=1, tool_calls=calls, finish_reason=text)
    found = check(assertion, subject, evidence_for([assertion], subject))
    assert isinstance(found, Unchecked) or 0 <= found.score <= 1
    assert found.reason
    bare = check(assertion, Subject(text))
    assert isinstance(bare, Checked | Unchecked)


@pytest.mark.parametrize("home", sorted(HOMES))
def test_a_module_has_the_rows_that_the_table_looks_for_there(home: str) -> None:
    module = import_module(f"minions_evals_mcp.scoring.assertions.{home}")

    assert sorted(module.TYPES) == sorted(HOMES[home])


def test_no_module_with_rows_is_left_out() -> None:
    folder = Path(assertions.__file__).parent
    with_rows = {
        f"{file.parent.name}.{file.stem}" for file in folder.rglob("*.py") if "\nTYPES: " in file.read_text("utf-8")
    }

    assert with_rows == HOMES.keys()


@pytest.mark.parametrize("of", ["", "not-"])
@pytest.mark.parametrize(
    ("kind", "value"),
    [("contains", "a"), ("equals", ""), ("regex", "a*"), ("is-json", None), ("finish-reason", "stop")],
)
def test_a_check_of_a_text_that_nobody_recorded_has_no_verdict(of: str, kind: str, value: JsonValue) -> None:
    asked = Assertion(type=of + kind, value=value)
    unrecorded = check(asked, Subject("", finish_reason=NOT_RECORDED))
    assert isinstance(unrecorded, Unchecked)
    assert unrecorded.not_judgeable
    assert isinstance(check(asked, Subject("", finish_reason="stop")), Checked)


def test_a_check_of_the_calls_of_an_output_that_nobody_recorded_has_one() -> None:
    used = Assertion(type="trajectory:tool-used", value="ls")
    calls = (ToolCall(tool="ls", arguments={}),)
    assert isinstance(check(used, Subject("", finish_reason=NOT_RECORDED, tool_calls=calls)), Checked)
