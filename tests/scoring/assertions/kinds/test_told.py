"""Checks of what a provider told beside its output: probabilities, skills, and calls of the tools that it offered."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

SKILLS: JsonValue = [
    {"name": "refunds"},
    {"name": "refunds"},
    {"name": "search", "is_error": True},
    {"name": "mail-out"},
]
PARAMETERS: JsonValue = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string"}},
    "additionalProperties": False,
}
TOOLS: JsonValue = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]


def checked(assertion: Assertion, subject: Subject) -> Checked:
    vet(assertion)
    found = check(assertion, subject)
    assert isinstance(found, Checked), found
    return found


@pytest.mark.parametrize(
    ("kind", "threshold", "passes", "score"),
    [("perplexity", None, True, 1), ("not-perplexity", None, True, 1), ("perplexity", 2.8, True, 1), ("perplexity", 2.7, False, 0),
     ("not-perplexity", 2.7, True, 1), ("perplexity-score", None, True, 0.2689414), ("perplexity-score", 0.26, True, 0.2689414),
     ("perplexity-score", 0.27, False, 0.2689414), ("not-perplexity-score", None, True, 0.7310586)],
)  # fmt: skip
def test_perplexity_is_that_of_the_mean_log_probability(
    kind: str, threshold: float | None, passes: bool, score: float
) -> None:
    found = checked(Assertion(type=kind, threshold=threshold), Subject("a", tell=lambda: {"logProbs": [-0.5, -1.5]}))
    assert (found.passed, found.score) == (passes, pytest.approx(score))


def test_an_output_without_probabilities_or_metadata_is_no_verdict() -> None:
    for kind in ("perplexity", "perplexity-score", "skill-used"):
        assert isinstance(check(Assertion(type=kind, value="a"), Subject("a")), Unchecked)


@pytest.mark.parametrize(
    ("kind", "value", "passes"),
    [("skill-used", "refunds", True), ("skill-used", ["refunds", "mail-out"], True), ("skill-used", ["refunds", "search"], False),
     ("not-skill-used", ["search", "other"], True), ("not-skill-used", ["search", "refunds"], False),
     ("skill-used", {"name": "refunds", "min": 2}, True), ("skill-used", {"name": "refunds", "max": 1}, False),
     ("skill-used", {"pattern": "MAIL*"}, True), ("skill-used", {"pattern": "mail"}, False),
        ("skill-used", {"name": "search", "max": 3}, True),
     ("not-skill-used", {"name": "search"}, True), ("not-skill-used", {"pattern": "m*", "max": 0}, False)],
)  # fmt: skip
def test_skills_are_those_that_were_used_without_an_error(kind: str, value: JsonValue, passes: bool) -> None:
    found = checked(Assertion(type=kind, value=value), Subject("a", tell=lambda: {"metadata": {"skillCalls": SKILLS}}))
    assert (found.passed, found.score) == (passes, float(passes))


@pytest.mark.parametrize("value", ["", [], ["a", " "], {}, {"name": "a", "min": -1}, {"name": "a", "max": True}, 3])
def test_a_value_that_names_no_skill_is_refused(value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type="skill-used", value=value))


def test_under_not_no_uses_are_counted() -> None:
    with pytest.raises(InvalidRecordError, match="counts no uses"):
        vet(Assertion(type="not-skill-used", value={"name": "a", "min": 1}))


def call(name: str, arguments: JsonValue) -> dict[str, JsonValue]:
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}


@pytest.mark.parametrize(
    ("value", "passes"),
    [([{"id": "1", "type": "function", "function": call("weather", {"city": "Rome"})}], True),
     ({"content": "I look.", "tool_calls": [{"function": call("weather", {"city": "Rome"})}]}, True),
     ([{"function": call("weather", {"town": "Rome"})}], False), ([{"function": call("weather", {"city": 3})}], False),
     ([{"function": call("wether", {"city": "Rome"})}], False), ([{"function": call("weather", "{city")}], False),
     ([{"function": {"name": "weather", "arguments": {"city": "Rome"}}}], False), ([], False), ({"tool_calls": []}, False), (None, False)],
)  # fmt: skip
def test_a_tools_call_fits_what_was_offered(value: JsonValue, passes: bool) -> None:
    subject = Subject("words" if value is None else json.dumps(value), value=value, offered={"tools": TOOLS})
    assert checked(Assertion(type="is-valid-openai-tools-call"), subject).passed is passes
    assert checked(Assertion(type="not-is-valid-openai-tools-call"), subject).passed is not passes


def test_a_config_is_told_where_not_turns_round_what_promptfoo_leaves() -> None:
    value: JsonValue = [{"function": call("weather", {"city": "Rome"})}]
    subject = Subject("a", value=value, offered={"tools": TOOLS}, of_config=True)
    assert "unlike promptfoo" in checked(Assertion(type="not-is-valid-openai-tools-call"), subject).reason
    assert "promptfoo" not in checked(Assertion(type="is-valid-openai-tools-call"), subject).reason
    assert (
        "promptfoo"
        not in checked(Assertion(type="not-is-valid-openai-tools-call"), subject._replace(of_config=False)).reason
    )


def test_without_tools_on_offer_no_call_is_valid() -> None:
    value: JsonValue = [{"function": call("weather", {"city": "Rome"})}]
    assert not checked(Assertion(type="is-valid-openai-tools-call"), Subject("a", value=value)).passed


@pytest.mark.parametrize("kind", ["is-valid-function-call", "is-valid-openai-function-call"])
def test_a_function_call_is_one_call_or_calls_in_geminis_form(kind: str) -> None:
    functions: JsonValue = [{"name": "weather", "parameters": PARAMETERS}]
    gemini: JsonValue = [{"functionDeclarations": functions}]
    right, wrong = call("weather", {"city": "Rome"}), call("weather", {})
    assert checked(Assertion(type=kind), Subject("a", value=right, offered={"functions": functions})).passed
    assert not checked(Assertion(type=kind), Subject("a", value=wrong, offered={"functions": functions})).passed
    assert not checked(Assertion(type=kind), Subject("words", offered={"functions": functions})).passed
    parts: JsonValue = [{"text": "I look."}, {"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]
    assert checked(Assertion(type=kind), Subject("a", value=parts, offered={"tools": gemini})).passed


def test_parameters_that_could_be_read_two_ways_are_no_verdict() -> None:
    odd: JsonValue = [{"type": "function", "function": {"name": "weather", "parameters": {"unevaluatedItems": False}}}]
    value: JsonValue = [{"function": call("weather", {})}]
    assert isinstance(
        check(Assertion(type="is-valid-openai-tools-call"), Subject("a", value=value, offered={"tools": odd})),
        Unchecked,
    )
