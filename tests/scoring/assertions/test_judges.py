"""Judges of an assertion's own in the grammar: which types take one, what stays as it was, and code that makes a verdict."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, Grader, ScoringCode
from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.graded import GraderRequest, grades_asked
from minions_evals_mcp.scoring.assertions.kinds.similar import embedders_asked
from minions_evals_mcp.scoring.assertions.scoring_code import rescored, scoring_need
from minions_evals_mcp.scoring.assertions.table import check, check_all, needs, vet
from minions_evals_mcp.scoring.checks import (
    Aggregate,
    Checked,
    Evidence,
    Grade,
    GradeNeed,
    Ran,
    SimilarityNeed,
    SnippetError,
    Subject,
    Unchecked,
)

OWN = Grader(model="openai:m", params={"temperature": 0})
RUBRIC = Assertion(type="llm-rubric", value="is kind", provider=OWN, rubric_prompt="{{output}}")
SUBJECT = Subject('{"a": 1.0}', variables={"topic": "cats", "output": "hidden"}, prompt="Tell cats")


def test_what_names_no_judge_is_written_and_told_apart_as_before() -> None:
    inner = (
        Assertion(type="llm-rubric", value="is kind", weight=2, metric="tone"),
        Assertion(type="similar", value=["a"], transform="output"),
    )
    held = Assertion(type="assert-set", threshold=0.5, assertions=inner)
    case = TestCase(name="c", inputs={"q": "x"}, assertions=(held,), threshold=0.5)
    assert digest(held.model_dump(mode="json")) == "fff65d382fac7420d84c27e0501b9dba"
    assert digest(case.model_dump(mode="json")) == "ca1cf5abaee61221cb006d6e6bdab447"


def test_a_case_with_its_judge_and_its_code_is_kept_whole() -> None:
    case = TestCase(name="c", assertions=(RUBRIC,), scoring=ScoringCode(language="python", code="1"))
    assert TestCase.model_validate_json(case.model_dump_json()) == case
    assert json.loads(RUBRIC.model_dump_json())["provider"] == {"model": "openai:m", "params": {"temperature": 0}}


@pytest.mark.parametrize(
    ("kind", "field"), [("contains", "provider"), ("assert-set", "provider"), ("similar", "rubricPrompt")]
)
def test_only_types_that_a_model_decides_name_one(kind: str, field: str) -> None:
    held = (Assertion(type="contains", value="x"),) if kind == "assert-set" else ()
    own: dict[str, JsonValue] = {"provider": OWN.model_dump()} if field == "provider" else {"rubricPrompt": "x"}
    found = Assertion.model_validate({"type": kind, "value": None if held else "x", "assert": held, **own})
    with pytest.raises(InvalidRecordError) as refused:
        vet(found, of_config=True)
    assert refused.value.field == field


def test_an_own_judge_is_refused_wherever_it_is_not_a_persons_config() -> None:
    for one in (RUBRIC, Assertion(type="assert-set", assertions=(RUBRIC,))):
        with pytest.raises(InvalidRecordError, match=r"line 3: llm-rubric: provider: only a config"):
            vet(one, at="line 3")
        vet(one, of_config=True)


def test_a_need_names_the_judge_and_what_fills_its_words() -> None:
    (found,) = needs([RUBRIC], SUBJECT)
    assert isinstance(found, GradeNeed)
    assert (found.judge, found.template) == (OWN.name, "{{output}}")
    assert json.loads(found.given) == {"topic": "cats", "output": {"a": 1}, "rubric": "is kind"}
    facts = Assertion(type="not-factuality", value="ideal", rubric_prompt="x")
    (found,) = needs([facts], SUBJECT)
    assert isinstance(found, GradeNeed)
    assert json.loads(found.given) == {
        "topic": "cats", "output": "hidden", "completion": {"a": 1}, "ideal": "ideal", "input": "Tell cats",
    }  # fmt: skip
    bare = Assertion(type="llm-rubric", value="is kind")
    assert needs([bare], SUBJECT) == (GradeNeed("llm-rubric", "is kind", SUBJECT.text),)


def test_whom_assertions_ask_is_told_inside_sets_too() -> None:
    similar = Assertion(type="not-similar", value="x", provider=OWN)
    held = Assertion(type="assert-set", assertions=(RUBRIC, similar, Assertion(type="factuality", value="x")))
    assert [*grades_asked([held])] == [GraderRequest(OWN, "{{output}}"), GraderRequest(None, "")]
    assert [*embedders_asked([held, Assertion(type="similar", value="y")])] == [OWN, None]


def test_a_likeness_is_that_of_the_embedder_that_is_named() -> None:
    similar = Assertion(type="similar", value="x", provider=OWN)
    (need,) = needs([similar], Subject("y"))
    assert isinstance(need, SimilarityNeed)
    assert need.embedder == OWN.name
    other = Evidence(similarities={SimilarityNeed("y", "x"): 1.0})
    assert isinstance(check(similar, Subject("y"), other), Unchecked)
    assert check(similar, Subject("y"), Evidence(similarities={need: 0.9})).reason.startswith("similarity 0.900")


def test_scoring_code_is_given_every_result_with_its_assertion_and_what_models_used() -> None:
    rules = (
        Assertion(type="contains", value="a", metric="says", weight=2),
        Assertion(type="assert-set", assertions=(Assertion(type="contains", value="zz", metric="says"),)),
    )
    found = check_all(rules, SUBJECT, threshold=0.6)
    assert isinstance(found, Aggregate)
    grades = {
        GradeNeed("llm-rubric", "x", "y"): Grade(passed=True, score=1, reason="r", input_tokens=7, output_tokens=3)
    }
    need = scoring_need(
        ScoringCode(language="javascript", code="(n, c) => n;"), rules, found, threshold=0.6, grades=grades
    )
    told = json.loads(need.variables)
    assert need.code == "((n, c) => n)(namedScores, context)"
    assert told["namedScores"] == {"says": pytest.approx(2 / 3)}
    assert [(one["assertion"]["type"], one["pass"]) for one in told["context"]["componentResults"]] == [
        ("contains", True), ("assert-set", False), ("contains", False),
    ]  # fmt: skip
    assert told["context"]["tokensUsed"] == {"total": 10, "prompt": 7, "completion": 3, "cached": 0, "numRequests": 1}
    assert told["context"]["threshold"] == 0.6
    bare = scoring_need(ScoringCode(language="python", code="1"), rules, found, threshold=None, grades={})
    assert "threshold" not in json.loads(bare.variables)["context"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"pass": True, "score": 0.5, "reason": "r"}, (True, 0.5, "r")),
        ({"pass": False, "score": 4, "reason": "", "more": 1}, (False, 1.0, "no reason given")),
        ({"pass": True, "score": -1, "reason": "r"}, (True, 0.0, "r")),
    ],
)
def test_the_verdict_of_the_code_counts_within_0_and_1(value: JsonValue, wanted: tuple[bool, float, str]) -> None:
    results = (Checked("contains", passed=True, score=1, reason=""),)
    found = rescored(Aggregate(passed=True, score=1, results=results), Ran(value))
    assert isinstance(found, Aggregate)
    assert (found.passed, found.score, found.reason, found.results) == (*wanted, results)


@pytest.mark.parametrize(
    "value",
    [True, None, 1, {"pass": True}, {"pass": 1, "score": 1, "reason": "r"}, {"pass": True, "score": True, "reason": "r"},
     {"pass": True, "score": "1", "reason": "r"}, {"pass": True, "score": 1, "reason": "r", "namedScores": {"m": "high"}},
     {"pass": True, "score": 1, "reason": "r", "namedScores": [1]}],
)  # fmt: skip
def test_anything_else_is_no_verdict(value: JsonValue) -> None:
    found = rescored(Aggregate(passed=True, score=1, results=()), Ran(value))
    assert isinstance(found, Unchecked)
    assert "the code must return " in found.reason


def test_metrics_that_the_code_gives_stand_in_place_of_the_assertions_with_their_weights() -> None:
    results = (Checked("contains", passed=True, score=1, reason="", weight=3, metric="says"),)
    value: JsonValue = {"pass": True, "score": 1, "reason": "r", "namedScores": {"says": 0.5, "own": 0.25}}
    found = rescored(Aggregate(passed=True, score=1, results=results), Ran(value))
    assert isinstance(found, Aggregate)
    assert found.named == (MetricScore("says", 0.5, 3), MetricScore("own", 0.25, 1))


def test_code_that_breaks_is_no_verdict() -> None:
    found = rescored(Aggregate(passed=True, score=1, results=()), SnippetError("time-limit", "it took too long"))
    assert found == Unchecked("assertScoringFunction", "it took too long")
