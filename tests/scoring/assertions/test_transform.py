"""`transform`: the check sees what the user's JavaScript makes of the output."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.engine.embedders import wordllama_embedder
from minions_evals_mcp.engine.judge.door import Judges, fetched, grade_needs, judge
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.sandbox.limits import Limits
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.table import asks_outside, needs, vet
from minions_evals_mcp.scoring.checks import Aggregate, Subject, Unchecked
from minions_evals_mcp.scoring.verdicts.examination import OutputChecks


class Checker:
    """Checks with real sandboxes."""

    def __init__(self, regexes: RegexSandbox, snippets: Snippets) -> None:
        self.regexes, self.snippets = regexes, snippets

    async def check(self, text: str, **asked: JsonValue) -> Aggregate | Unchecked:
        """The verdict of one assertion, with whatever it needs fetched."""
        assertion = Assertion.model_validate(asked)
        vet(assertion)
        checks = OutputChecks((assertion,), Subject(text, variables={"name": "Ada"}))
        (found,) = await judge([checks], Judges(self.regexes, self.snippets, wordllama_embedder))
        return found


@pytest.fixture
async def checker() -> AsyncGenerator[Checker]:
    """Real sandboxes."""
    async with RegexSandbox() as regexes, Snippets(limits=Limits(seconds=0.5)) as snippets:
        yield Checker(regexes, snippets)


@pytest.mark.parametrize(
    ("asked", "passed"),
    [
        ({"type": "equals", "value": "HELLO", "transform": "output.toUpperCase()"}, True),
        ({"type": "not-equals", "value": "HELLO", "transform": "output.toUpperCase()"}, False),
        ({"type": "equals", "value": "hello Ada", "transform": "`${output} ${context.vars.name}`"}, True),
        ({"type": "equals", "value": "hello!", "transform": "(output) => output + '!'"}, True),
        ({"type": "equals", "value": "hello?", "transform": "function (o, c) { return o + '?' }"}, True),
        ({"type": "equals", "value": 5, "transform": "output.length"}, True),
        ({"type": "is-json", "transform": "const said = output\nreturn {said}"}, True),
        ({"type": "contains", "value": "ell", "transform": "output.slice(3)"}, False),
    ],
)
async def test_the_check_sees_what_the_transform_returns(
    checker: Checker, asked: dict[str, JsonValue], passed: bool
) -> None:
    found = await checker.check("hello", **asked)
    assert isinstance(found, Aggregate)
    assert found.passed is passed


async def test_what_the_check_needs_is_asked_of_the_transformed_text(checker: Checker) -> None:
    found = await checker.check("hello", type="regex", value="(?<=L)O$", transform="output.toUpperCase()")
    assert isinstance(found, Aggregate)
    assert found.passed
    inner: list[JsonValue] = [
        {"type": "javascript", "value": "output === 'OLLEH'", "transform": "output.toUpperCase()"},
    ]
    held: dict[str, JsonValue] = {"type": "assert-set", "assert": inner, "transform": "[...output].reverse().join('')"}
    inside = await checker.check("hello", **held)
    assert isinstance(inside, Aggregate)
    assert inside.passed


async def test_a_model_is_asked_to_grade_the_transformed_text(checker: Checker) -> None:
    assertion = Assertion(type="llm-rubric", value="It is loud.", transform="output.toUpperCase()")
    subject = Subject("hello")
    wanted = needs((assertion,), subject)
    evidence = await fetched(wanted, Judges(checker.regexes, checker.snippets, wordllama_embedder))
    (grade,) = grade_needs(wanted, evidence)
    assert grade.text == "HELLO"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("output.nonsense()", "transform: "),
        ("while (true) {}", "transform: "),
        ("undefined", "transform: it returned nothing"),
        ("if (false) { return 1 }\nreturn", "transform: it returned nothing"),
    ],
)
async def test_a_transform_that_breaks_is_an_error_of_the_instrument(checker: Checker, code: str, why: str) -> None:
    found = await checker.check("hello", type="contains", value="x", transform=code)
    assert isinstance(found, Unchecked)
    assert found.reason.startswith(why)


@pytest.mark.parametrize("code", ["", "  ", "file://x.js", "x" * 20_001])
def test_what_is_no_code_is_refused_by_name(code: str) -> None:
    with pytest.raises(InvalidRecordError, match="transform"):
        vet(Assertion(type="contains", value="x", transform=code))


def test_a_record_without_a_transform_does_not_mention_it() -> None:
    assert "transform" not in Assertion(type="contains", value="x").model_dump(mode="json")


@pytest.mark.parametrize("kind", ["contains", "assert-set", "not-assert-set"])
def test_whatever_is_transformed_asks_outside_a_set_of_plain_checks_too(kind: str) -> None:
    inner = Assertion(type="contains", value="a")
    held = (inner,) if kind != "contains" else ()
    plain = Assertion(type=kind, value=None if held else "a", assertions=held)
    assert not asks_outside((inner, plain))
    assert asks_outside((inner, plain.model_copy(update={"transform": "output.trim()"})))
