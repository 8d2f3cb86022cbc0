"""`python` and `javascript` as checks: what the code gave is handed in, as it would come from the sandbox."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.kinds.snippets import CODE_LIMIT, own_code
from minions_evals_mcp.scoring.assertions.table import check, needs, vet
from minions_evals_mcp.scoring.checks import Checked, Evidence, Ran, SnippetError, SnippetNeed, Subject, Unchecked
from minions_evals_mcp.scoring.values import searched_text

pytestmark = pytest.mark.anyio
FIBONACCI = "Here it is:\n\n```python\ndef fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\n```\nEnjoy."


def need(code: str, output: str = "text", kind: str = "python", **variables: JsonValue) -> SnippetNeed:
    """What a check with that code asks for."""
    (found,) = needs((Assertion(type=kind, value=code),), Subject(output, variables=variables))
    assert isinstance(found, SnippetNeed)
    return found


def verdict(
    found: Ran | SnippetError, kind: str = "python", *, code: str = "f(output)", threshold: float | None = None
) -> tuple[bool, float]:
    """Pass and score of a check whose code came to that."""
    checked = checked_as(found, kind, code, threshold)
    assert isinstance(checked, Checked), checked
    return checked.passed, checked.score


def checked_as(found: Ran | SnippetError, kind: str, code: str, threshold: float | None = None) -> Checked | Unchecked:
    assertion = Assertion(type=kind, value=code, threshold=threshold)
    (wanted,) = needs((assertion,), Subject("text"))
    assert isinstance(wanted, SnippetNeed)
    return check(assertion, Subject("text"), Evidence(snippets={wanted: found}))


def raised(name: str) -> SnippetError:
    return SnippetError("raised", f"line 1: {name}: x", name)


@pytest.mark.parametrize("kind", ["python", "javascript"])
@pytest.mark.parametrize(
    ("given", "threshold", "passed", "score"),
    [
        (True, None, True, 1.0),
        (False, None, False, 0.0),
        (1, None, True, 1.0),
        (0.3, None, True, 0.3),
        (0, None, False, 0.0),
        (-2, None, False, -2.0),
        (10, 0.5, True, 10.0),
        (0.5, 0.5, True, 0.5),
        (0.4, 0.5, False, 0.4),
        ({"pass": True, "score": 0.4, "reason": "so"}, None, True, 0.4),
        ({"pass": False, "score": 0.9, "reason": "so"}, None, False, 0.9),
        ({"pass": True, "score": 1, "reason": ""}, None, True, 1.0),
    ],
)
def test_a_boolean_a_number_or_a_verdict_decides(
    kind: str, given: JsonValue, threshold: float | None, passed: bool, score: float
) -> None:
    assert verdict(Ran(given), kind, threshold=threshold) == (passed, score)
    negated = 1.0 - score if isinstance(given, bool) else score
    assert verdict(Ran(given), f"not-{kind}", threshold=threshold) == (not passed, negated)


def test_a_threshold_is_over_a_python_verdict_and_not_over_a_javascript_one() -> None:
    given = Ran({"pass": True, "score": 0.4, "reason": "so"})
    assert verdict(given, "python", threshold=0.5) == (False, 0.4)
    assert verdict(given, "javascript", threshold=0.5) == (True, 0.4)


@pytest.mark.parametrize(
    ("text", "passed", "score"),
    [("true", True, 1.0), ("False", False, 0.0), (" 0.7 ", True, 0.7), ('{"pass": true, "score": 0.2, "reason": "x"}', True, 0.2)],
)  # fmt: skip
def test_python_may_write_its_verdict_as_a_text_and_javascript_may_not(text: str, passed: bool, score: float) -> None:
    assert verdict(Ran(text), "python") == (passed, score)
    assert isinstance(checked_as(Ran(text), "javascript", "x"), Unchecked)


ONE_LINE_OR_BODY: list[tuple[str, str, JsonValue]] = [
    ("javascript", "output.length > 3", True),
    ("javascript", "{pass: true}", {"pass": True}),
    ("javascript", "const n = output.length; n > 3;", True),
    ("javascript", "let s = 'a;b'; s === `a;${'b'}`", True),
    ("javascript", "output === 'text'; false", True),
    ("javascript", "return true", "syntax"),
    ("javascript", "output.length > 3\n", True),
    ("javascript", "output.length > 3\n&& true", None),
    ("javascript", "const n = 1\nn", None),
    ("javascript", "if (output) {\n  return 2;\n}", 2),
    ("javascript", "0 / 0", "raised"),
    ("python", "float('nan')", "raised"),
    ("python", "len(output) > 3", True),
    ("python", "len(output) > 3; False", True),
    ("python", "return True", "syntax"),
    ("python", "len(output) > 3\n", None),
    ("python", "n = len(output)\nn > 3", None),
    ("python", "n = len(output)\nreturn n > 3\n", True),
    ("python", "assert len(output) == 4\n", None),
    ("python", "count = 0\ndef add():\n    global count\n    count += 1\nadd()\nreturn count", 1),
]
"""Code with what promptfoo has of it; "syntax" where it is none, "raised" where it fails the check, as NaN does."""


async def test_one_line_is_an_expression_and_lines_give_what_they_return() -> None:
    async with Snippets() as snippets:
        for kind, code, gives in ONE_LINE_OR_BODY:
            wanted = need(code, kind=kind)
            found = (await snippets.fetch([wanted]))[wanted]
            assert (found.value if isinstance(found, Ran) else found.kind) == gives, (kind, code)


def test_an_object_is_searched_as_javascript_writes_it() -> None:
    given: JsonValue = {"zeta": 1.0, "alpha": [True, None, "é", 1e21]}
    assert searched_text(given) == '{"zeta":1,"alpha":[true,null,"é",1e+21]}'
    assert searched_text("text") == "text"


@pytest.mark.parametrize("given", [None, "yes", [1], {"score": 1}, {"pass": "yes"}, {"pass": True, "score": "high"}])
@pytest.mark.parametrize("kind", ["python", "javascript", "not-python", "not-javascript"])
def test_what_is_no_verdict_is_a_failed_instrument(kind: str, given: JsonValue) -> None:
    found = checked_as(Ran(given), kind, "f(output)")
    assert isinstance(found, Unchecked)
    assert "the code must return" in found.reason


@pytest.mark.parametrize("kind", ["time-limit", "memory-limit", "output-limit", "unsupported", "syntax", "died"])
def test_a_limit_or_what_is_not_carried_out_is_a_failed_instrument_that_names_it(kind: str) -> None:
    broke = SnippetError(kind, f"the {kind} of it")  # pyright: ignore[reportArgumentType]  every kind but one
    for name in ("python", "javascript", "not-python", "not-javascript"):
        assert checked_as(broke, name, "f(output)") == Unchecked(name, f"the {kind} of it")


def test_what_is_raised_fails_the_check_and_a_name_of_nobodys_is_the_codes_mistake() -> None:
    assert verdict(raised("KeyError")) == (False, 0.0)
    assert verdict(raised("KeyError"), "not-python") == (False, 0.0)
    assert verdict(raised("AssertionError")) == (False, 0.0)
    assert verdict(raised("AssertionError"), "not-python") == (True, 1.0)
    assert isinstance(checked_as(raised("NameError"), "python", "f(output)"), Unchecked)
    assert isinstance(checked_as(raised("ReferenceError"), "javascript", "f(output)"), Unchecked)
    assert verdict(raised("NameError"), code="assert f(1) == 1") == (False, 0.0)


@pytest.mark.parametrize(
    ("code", "runs_after"),
    [
        ("assert fibonacci(10) == 55", True),
        ("list1 = [1, 3]\nresult = merge_lists(list1, [2])\nassert result == [1, 2, 3]", True),
        ("for n in range(3):\n    assert fibonacci(n) >= 0", True),
        ("import math\nassert math.isclose(area(1), math.pi)", True),
        ("assert len(output) > 3", False),
        ("def double(x):\n    return 2 * x\nassert double(2) == 4", False),
        ("class A:\n    pass\nassert A() and [one for one in context]", False),
        ("try:\n    x = json.loads(output)\nexcept ValueError as error:\n    assert not error", False),
        ("assert fibonacci(10) == 55\nreturn True", False),
        ("fibonacci(10) == 55", False),
        ("assert (", False),
    ],
)
def test_asserts_that_name_what_they_do_not_define_run_after_the_outputs_own_code(code: str, runs_after: bool) -> None:
    assert need(code, FIBONACCI).before == (own_code(FIBONACCI) if runs_after else "")
    assert need(code, FIBONACCI, "javascript").before == ""


def test_asserts_pass_when_nothing_is_raised() -> None:
    assert verdict(Ran(None), code="assert fibonacci(10) == 55") == (True, 1.0)
    assert verdict(Ran(None), "not-python", code="assert fibonacci(10) == 55") == (False, 0.0)
    assert isinstance(checked_as(Ran(None), "python", "x = 1"), Unchecked)
    assert isinstance(checked_as(Ran(None), "python", "assert output\nreturn None"), Unchecked)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("x = 1", "x = 1"),
        (FIBONACCI, "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)"),
        ("```\nx = 1\n```", "x = 1"),
        ("```sh\npip install x\n```\n\n```python\na = 1\n```\nand\n```py\nb = a\n```", "a = 1\nb = a"),
        ("~~~python\nx = '```'\n~~~", "x = '```'"),
        ("```python\nx = 1", "x = 1"),
        ("  ````Python title\nx = 1\n```\n  ````` ", "x = 1\n```"),
        ("```" + "a" * 1_000_000, "```" + "a" * 1_000_000),
        ("`" * 1_000_000, "`" * 1_000_000),
    ],
)
def test_the_code_of_an_output_stands_without_its_fence(output: str, code: str) -> None:
    assert own_code(output) == code


def test_the_code_finds_the_output_and_the_variables() -> None:
    assert need("len(output)", "é", n=[1]).variables == '{"output": "é", "context": {"vars": {"n": [1]}}}'
    assert need("len(output)", "a\ud800b").variables == '{"output": "a?b", "context": {"vars": {}}}'
    (whole,) = needs([Assertion(type="python", value="1")], Subject('{"a":[1]}', value={"a": [1]}))
    assert isinstance(whole, SnippetNeed)
    assert whole.variables == '{"output": {"a": [1]}, "context": {"vars": {}}}'


@pytest.mark.parametrize("value", [None, "", "  \n", 5, ["x"], "file://check.py", "x" * (CODE_LIMIT + 1)])
@pytest.mark.parametrize("kind", ["python", "javascript", "not-python"])
def test_what_is_no_code_is_refused(kind: str, value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type=kind, value=value))


def test_metrics_and_parts_that_code_gives_are_told_with_its_verdict() -> None:
    given: JsonValue = {
        "pass": True, "score": 0.5, "reason": "r", "namedScores": {"fit": 0.25, "tone": 1}, "namedScoreWeights": {"fit": 3},
        "componentResults": [{"pass": False, "score": 0, "reason": "short"}, {"pass": True}, "else"],
    }  # fmt: skip
    found = checked_as(Ran(given), "javascript", "f(output)")
    assert isinstance(found, Checked)
    assert found.named == (MetricScore("fit", 0.25, 3), MetricScore("tone", 1))
    assert [(part.passed, part.score, part.reason) for part in found.parts] == [(False, 0, "short"), (True, 1, "")]


def test_python_may_name_what_it_gives_with_underscores_and_javascript_may_not() -> None:
    given: JsonValue = {
        "pass": True, "score": 1, "reason": "r", "named_scores": {"fit": 0.5}, "component_results": [{"pass": True, "score": 1}],
    }  # fmt: skip
    python, javascript = (checked_as(Ran(given), kind, "f(output)") for kind in ("python", "javascript"))
    assert isinstance(python, Checked)
    assert isinstance(javascript, Checked)
    assert (python.named, len(python.parts)) == ((MetricScore("fit", 0.5),), 1)
    assert (javascript.named, javascript.parts) == ((), ())


@pytest.mark.parametrize(
    "given",
    [{"namedScores": {"fit": "high"}}, {"namedScores": {"fit": True}}, {"namedScores": [1]},
     {"namedScores": {"fit": 1}, "namedScoreWeights": {"fit": "x"}}, {"componentResults": [{"pass": True, "score": "x"}]}],
)  # fmt: skip
def test_figures_that_are_none_are_a_failed_instrument(given: dict[str, JsonValue]) -> None:
    whole: dict[str, JsonValue] = {"pass": True, "score": 1, "reason": "r"}
    assert isinstance(checked_as(Ran(whole), "javascript", "f(output)"), Checked)
    assert isinstance(checked_as(Ran({**whole, **given}), "javascript", "f(output)"), Unchecked)


@pytest.mark.parametrize("lacks", ["score", "reason"])
def test_a_verdict_without_its_score_or_reason_is_none(lacks: str) -> None:
    given: dict[str, JsonValue] = {"pass": True, "score": 1, "reason": "r"}
    del given[lacks]
    found = checked_as(Ran(given), "python", "f(output)")
    assert isinstance(found, Unchecked)
    assert f"{lacks} is missing" in found.reason


def test_code_that_was_not_run_gives_no_verdict() -> None:
    assert check(Assertion(type="python", value="1"), Subject("x")) == Unchecked("python", "the code was not run")
