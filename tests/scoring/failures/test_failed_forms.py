"""What counts as a broken form, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject
from minions_evals_mcp.scoring.classification.classify import classify
from tests.scoring.failures.failed_outputs import QUIET, lost, saying


@pytest.mark.parametrize(
    ("text", "expected", "signal"),
    [
        ('{"a": 1,}', None, "json: "),
        ("```json\n{'a': 1}\n```", None, "json: Expecting property name"),
        ('Here: {"a": 1}', None, "json: words around the JSON"),
        ("Here: {a: 1}", None, "json: Expecting value at character 0"),
        ("a is 1", None, "json: words instead of JSON"),
        ("", None, "json: JSON was wanted and nothing came"),
        ('{"a": NaN}', None, "json: NaN is not JSON"),
        ("x" + "[" * 100_000, None, "json: Expecting value"),
        ("[" * 100_000, None, "json: nested too deeply"),
        ("[1]", {"output": '{"a": 1}'}, "schema: the value is array, not object"),
        ('{"a": {"b": "1"}}', {"output": {"a": {"b": 1}}}, "schema: a.b is string, not number"),
        ('{"a": 1}', {"output": {"a": 2, "b": None}}, "schema: key 'b' is missing"),
        ('{"a": true}', {"output": {"a": 1}}, "schema: a is boolean, not number"),
    ],
)
def test_a_broken_form_is_a_format_error_that_names_its_fault(text: str, expected: Json | None, signal: str) -> None:
    analysis = classify(saying(text, replace(QUIET, wants_json=True, expected=expected)))
    assert analysis.failure_type == "format-error"
    assert analysis.signals[0].startswith(signal)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"output": '```json\n{"a": 2}\n```'}, {"output": '{"a": 1}'}),
        ({"output": '{"a": 1.5, "b": null}'}, {"output": {"a": 1, "b": "x"}}),
        ({"output": '{"a": 1, "more": 2}'}, {"output": {"a": 2}}),
        ({"output": '{"a": 1}'}, {"output": "as you like"}),
        ({"label": "ham", "share": 0.2}, {"label": "spam", "share": 0.2}),
    ],
)
def test_sound_json_of_the_right_shape_is_no_format_error(output: Json, expected: Json) -> None:
    text = str(output.get("output") or output["label"])
    assert (
        classify(replace(QUIET, output=output, text=text, expected=expected, wants_json=True)).failure_type
        == "wrong-output"
    )


def test_an_agent_that_failed_for_another_reason_owes_no_json() -> None:
    silent = replace(QUIET, output={}, text="{}", wants_json=True, agent_error="KeyError: 'a'")
    assert classify(silent).failure_type == "wrong-output"
    assert classify(replace(silent, agent_error="JSONDecodeError: line 1")).failure_type == "format-error"


def test_a_form_criterion_that_cost_the_most_is_a_format_error_by_rule_though_not_for_sure() -> None:
    form, facts = lost("output format", 0, 0.5), lost("facts", 0, 0.5)
    alone = classify(replace(QUIET, criteria=(form,)))
    assert (alone.failure_type, alone.sure) == ("format-error", False)
    assert classify(replace(QUIET, criteria=(form, facts))).failure_type == "wrong-output"
    assert classify(replace(QUIET, criteria=(lost("facts", 0, 1, "not valid XML"),))).failure_type == "format-error"


@pytest.mark.parametrize("kind", ["is-json", "contains-json", "is-xml", "is-html", "is-sql"])
def test_what_a_check_of_the_form_says_names_a_broken_form_to_the_classifier(kind: str) -> None:
    found = check(Assertion(type=kind), Subject("It is <what it is"))
    assert isinstance(found, Checked)
    assert not found.passed
    said = lost("facts", 0, 1, found.reason)
    assert classify(saying("It is <what it is", replace(QUIET, criteria=(said,)))).failure_type == "format-error"


# ------------------------------------------------------------------ hallucination


@pytest.mark.parametrize(
    "rationale",
    [
        "failed is-xml: mismatched tag",
        "passed icontains: contains 'a'; failed word-count: 30 words, at most 20",
        "failed starts-with: does not start with 'Dear'",
        "failed regex: does not match the pattern '^(YES|NO)$'",
        "failed is-json: '41' does not fit",
        "failed finish-reason: finish reason 'length', looked for 'stop'",
        "The reply is in the wrong format.",
    ],
)
def test_every_failed_check_of_the_form_is_a_format_error(rationale: str) -> None:
    failed = saying("It is what it is.", replace(QUIET, criteria=(lost("checks", 0, 1, rationale),)))
    assert classify(failed).failure_type == "format-error"


@pytest.mark.parametrize(("said", "kind"), [("Milan", "wrong-output"), ("It is Rome", "format-error")])
def test_an_output_that_does_not_start_with_the_answer_is_of_the_wrong_form_only_where_it_holds_it(
    said: str, kind: str
) -> None:
    match = lost("checks", 0, 1, "failed starts-with: does not start with 'Rome'")
    checks = (Assertion(type="starts-with", value="Rome"),)
    failed = replace(QUIET, criteria=(match,), checks=checks, expected={"output": "Rome"})
    assert classify(saying(said, failed)).failure_type == kind


@pytest.mark.parametrize(
    "rationale",
    [
        "failed regex: does not match the pattern '[0-9]+ euros'",
        "failed icontains: does not contain 'is-json'",
        "failed not-contains: contains 'x'",
        "failed regex: does not match the pattern '^green$'",
    ],
)
def test_a_failed_check_of_the_content_is_no_format_error(rationale: str) -> None:
    failed = saying("blue", replace(QUIET, criteria=(lost("checks", 0, 1, rationale),)))
    assert classify(failed).failure_type == "wrong-output"


def test_a_key_that_was_expected_beside_others_is_missed() -> None:
    failed = replace(saying("Fine rooms"), expected={"summary": "Fine rooms", "mood": "glad"})
    assert classify(failed).failure_type == "format-error"


@pytest.mark.parametrize(("text", "is_form"), [("Paris", False), ("Paris ", False), ("paris.", True), ("PARIS", True)])
def test_an_answer_that_is_the_expected_one_is_not_called_spelt_in_another_way(text: str, *, is_form: bool) -> None:
    """Something else failed: another tool's check of the calls, a judge."""
    analysis = classify(saying(text, replace(QUIET, expected={"output": "Paris"})))
    assert (analysis.failure_type == "format-error") == is_form
    assert any("spelt in another way" in signal for signal in analysis.signals) == is_form
