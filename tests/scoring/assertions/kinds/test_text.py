"""Checks of the text itself, and the patterns behind `regex`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.text import TEXT_LIMIT
from minions_evals_mcp.scoring.assertions.table import check, needs, vet
from minions_evals_mcp.scoring.checks import Checked, Evidence, RegexNeed, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.patterns import Elsewhere, compiled, linear
from minions_evals_mcp.scoring.values import js_text

PASSES: list[tuple[str, JsonValue, str, bool]] = [
    ("contains", "Paris", "The capital is Paris.", True),
    ("contains", "paris", "The capital is Paris.", False),
    ("contains", 0, "Total: 10", True),
    ("contains", 5.0, "5 items", True),
    ("contains", 0.00001, "at 0.00001 mol", True),
    ("icontains", "PARIS", "the capital is paris", True),
    ("icontains", "Rome", "the capital is paris", False),
    ("icontains", "STRASSE", "Hauptstrasse 1", True),
    ("contains-all", ["a", 1, True], "a 1 true", True),
    ("contains-all", ["a", "b"], "only a", False),
    ("contains-all", "a, b", "b then a", True),
    ("icontains-all", ["A", "B"], "b then a", True),
    ("icontains-all", ["A", "C"], "b then a", False),
    ("contains-any", ["x", "b"], "a b", True),
    ("contains-any", ["B", "x"], "a b", False),
    ("contains-any", '"1,000", none', "1,000 in stock", True),
    ("contains-any", '"1,000", none', "1 in stock", False),
    ("icontains-any", ["B", "x"], "a b", True),
    ("icontains-any", ["y", "x"], "a b", False),
    ("starts-with", "Yes", "Yes, it is", True),
    ("starts-with", "Yes", " Yes", False),
    ("starts-with", "yes", "Yes", False),
    ("starts-with", 4, "42", True),
    ("regex", r"\d{4}", "in 2026", True),
    ("regex", r"^\d{4}$", "in 2026", False),
    ("regex", "paris", "Paris", False),
    ("regex", 20, "in 2026", True),
    ("regex", "a", "", False),
]


@pytest.mark.parametrize(("kind", "value", "output", "passed"), PASSES)
def test_a_text_check_and_its_negation_say_what_stands_in_the_output(
    kind: str, value: JsonValue, output: str, passed: bool
) -> None:
    assertion = Assertion(type=kind, value=value)
    vet(assertion)
    result = check(assertion, Subject(output))
    turned = check(Assertion(type=f"not-{kind}", value=value), Subject(output))
    assert isinstance(result, Checked)
    assert isinstance(turned, Checked)
    assert (result.passed, result.score) == (passed, float(passed))
    assert (turned.passed, turned.score) == (not passed, float(not passed))
    assert result.reason == turned.reason


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("contains", None, "must be a text that is not empty"),
        ("contains", "", "must be a text that is not empty"),
        ("contains", True, "must be a text that is not empty"),
        ("icontains", ["a"], "must be a text that is not empty"),
        ("starts-with", {"a": 1}, "must be a text that is not empty"),
        ("contains-any", [], "the list is empty"),
        ("contains-any", " , ", "the list is empty"),
        ("contains-any", 5, "must be a list of texts or numbers"),
        ("contains-all", [["a"]], "must be a list of texts or numbers"),
        ("contains-all", [None], "must be a list of texts or numbers"),
        ("icontains-all", '"a', "does not end before a comma"),
        ("icontains-any", '"a" b, c', "does not end before a comma"),
        ("regex", "", "must be a text that is not empty"),
        ("regex", "x" * 1_001, "at most 1,000"),
        ("regex", "(a", "missing )"),
        ("regex", "(?=a", "missing )"),
        ("regex", "a**", "nothing to repeat"),
        ("regex", "(?>a)", "unknown group"),
        ("regex", r"\A", "JavaScript has no"),
        ("regex", r"[\p{L}]", "JavaScript has no"),
        ("regex", "a\\", "ends with a backslash"),
        ("regex", "[\\", "JavaScript has no"),
        ("regex", "[a", "missing ]"),
        ("regex", "[]", "empty class"),
        ("regex", r"\ud800", "half a character"),
        ("regex", "(?=" * 300 + ")" * 300, "is refused"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(kind: str, value: JsonValue, reason: str) -> None:
    with pytest.raises(InvalidRecordError) as refusal:
        vet(Assertion(type=kind, value=value), at="suite.yaml:7")
    assert reason in refusal.value.reason
    assert (refusal.value.field, refusal.value.record, refusal.value.where) == ("value", kind, "suite.yaml:7")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b", ["a", "b"]),
        (" a , b c ,, ", ["a", "b c"]),
        ('"a,b",c', ["a,b", "c"]),
        (r'"say \"hi\"", "a""b", "back\\slash"', ['say "hi"', 'a"b', "back\\slash"]),
        ('"", x', ["", "x"]),
        ('size 5" pipe', ['size 5" pipe']),
    ],
)
def test_a_text_with_commas_is_a_list_where_quotes_keep_a_comma(text: str, parts: list[str]) -> None:
    def missing(value: JsonValue) -> str:
        result = check(Assertion(type="contains-all", value=value), Subject("\x00"))
        assert isinstance(result, Checked)
        return result.reason

    assert missing(text) == missing([*parts])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"), (5.0, "5"), (-0.5, "-0.5"), (1e21, "1e+21"), (1.5e-7, "1.5e-7"), (1e-6, "0.000001"),
        (1e20, f"1{0:020}"), (True, "true"), (False, "false"), (None, "null"), ("x", "x"),
        (12345678901234567890, "12345678901234567890"),
    ],
)  # fmt: skip
def test_a_scalar_has_the_text_that_javascript_gives_it(value: JsonValue, text: str) -> None:
    assert js_text(value) == text


# What `new RegExp(pattern).test(text)` answers in Node 20, apart from the last four, which JavaScript refuses.
JAVASCRIPT: list[tuple[str, str, bool]] = [
    ("a.c", "abc", True),
    ("a.c", "a\nc", False),
    ("a.c", "a\rc", False),
    ("a.c", "a\u2028c", False),
    ("^a$", "a\n", False),
    (r"\s", "\xa0", True),
    (r"\s", "\x85", False),
    (r"^[\s\S]+x", "\n\xa0x", True),
    (r"[^\s]", " \ufeff", False),
    (r"^\S+$", "a\u2009b", False),
    (r"\d", "٣", False),
    (r"\bé", "é", False),
    (r"(?<y>\d{4})-\d", "2020-1", True),
    ("{name}", "{name}", True),
    ("a{,3}", "aaa", False),
    ("a{e}", "a{e}", True),
    (r"[\w-.]+@", "a.b-c@", True),
    ("^[a-]$", "-", True),
    (r"^[\d-x]$", "-", True),
    ("^[[]$", "[", True),
    ("^[^]$", "\n", True),
    (r"^[a&&b]$", "&", True),
    (r"\u0041\x42", "AB", True),
    (r"\ud83d\ude00", "😀", True),
    (r"\/a\/", "/a/", True),
    (r"^\cA\0$", "\x01\x00", True),
    (r"^[\b]$", "\x08", True),
    ("^]}$", "]}", True),
    (r"\_\-", "_-", True),
    (r"\v\f\t\n\r", "\x0b\x0c\t\n\r", True),
    (r"\Ba", "ba", True),
    ("x\ud800?", "x", True),
    ("(?i)PARIS", "paris", True),
    ("(?s)a.c", "a\nc", True),
    ("(?m)^b$", "a\nb\nc", True),
    ("(?P<name>a)", "a", True),
]


@pytest.mark.parametrize(("pattern", "text", "hit"), JAVASCRIPT)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str, text: str, hit: bool) -> None:
    search = compiled(pattern)
    if isinstance(search, Elsewhere):
        assert search.pattern == pattern
    else:
        assert search(text) is hit


@pytest.mark.parametrize(
    ("pattern", "rewritten"),
    [
        (r"(?=.\d)a$", "(?=[^\n\r\u2028\u2029]\\d)a\\z"),
        (r"(?<q>['x]).\k<q>", "(?P<q>['x])[^\n\r\u2028\u2029](?P=q)"),
        (r"(?<!\$)\b1", r"(?<!\$)\b1"),
        (r"(a)\1", r"(a)\1"),
        ("a{1,2000}", "a{1,2000}"),
    ],
)
def test_what_the_linear_engine_refuses_is_needed_from_elsewhere(pattern: str, rewritten: str) -> None:
    assertion = Assertion(type="regex", value=pattern)
    vet(assertion)
    assert needs([assertion, Assertion(type="contains", value="a")], Subject("text")) == (RegexNeed(rewritten, "text"),)
    with pytest.raises(InvalidRecordError, match="not supported here"):
        linear(pattern)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (True, Checked("regex", passed=True, score=1.0, reason=r"matches the pattern '(a)\\1'")),
        (False, Checked("regex", passed=False, score=0.0, reason=r"does not match the pattern '(a)\\1'")),
        (Unmet("time limit of 1 s"), Unchecked("regex", "time limit of 1 s")),
    ],
)
def test_a_search_made_elsewhere_decides_or_leaves_the_check_undone(
    answer: bool | Unmet, expected: Checked | Unchecked
) -> None:
    assertion = Assertion(type="regex", value=r"(a)\1")
    wanted = [need for need in needs([assertion], Subject("aa")) if isinstance(need, RegexNeed)]
    evidence = Evidence(dict.fromkeys(wanted, answer))
    assert check(assertion, Subject("aa"), evidence) == expected


def test_a_pattern_that_needs_a_search_elsewhere_is_unchecked_without_one() -> None:
    result = check(Assertion(type="regex", value=r"(a)\1"), Subject("aa"))
    assert result == Unchecked(
        "regex", "the pattern needs a search with look-around or back-references, and none was made"
    )


def test_a_text_over_the_limit_is_unchecked_and_needs_nothing() -> None:
    long = Subject("a" * (TEXT_LIMIT + 1))
    result = check(Assertion(type="regex", value="a"), long)
    assert isinstance(result, Unchecked)
    assert "1,000,001 characters" in result.reason
    assert needs([Assertion(type="regex", value="(?=a)")], long) == ()


def test_a_catastrophic_pattern_is_searched_in_linear_time() -> None:
    result = check(Assertion(type="regex", value="^(a+)+$"), Subject("a" * 100_000 + "b"))
    assert isinstance(result, Checked)
    assert not result.passed


def test_half_characters_in_the_output_are_searched_too() -> None:
    result = check(Assertion(type="regex", value="^a.b$"), Subject("a\ud800b"))
    assert isinstance(result, Checked)
    assert result.passed


@given(pattern=st.text(alphabet="ab.*+?()[]{}|^$\\d-1,<=!:sSuk&", max_size=12), text=st.text(max_size=20))
def test_any_pattern_is_refused_or_searched(pattern: str, text: str) -> None:
    assertion = Assertion(type="regex", value=pattern)
    try:
        vet(assertion)
    except InvalidRecordError:
        return
    result = check(assertion, Subject(text))
    assert isinstance(result, Checked) or needs([assertion], Subject(text))
