"""What the agent called, in which order, with which arguments, and how it ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

LOG = (
    ToolCall(tool="search", arguments={"q": "x"}),
    ToolCall(tool="get_order", arguments={"id": 5, "tags": ["a", {"k": 1}], "request_id": "r"}),
    ToolCall(tool="shell", arguments={"command": "ls -l"}),
    ToolCall(tool="search", arguments={"q": "y", "n": 1}),
)
USED, ARGS = "trajectory:tool-used", "trajectory:tool-args-match"
SEQUENCE, STEPS = "trajectory:tool-sequence", "trajectory:step-count"
JSON_TEXT = st.sampled_from(
    ['{"tool_calls": [1, {"function": {"name": "a"}}]}', '{"toolCall": {}}', '"[]"', '[{"name": "b"}]', "{", "1", '"{"']
)
KEYS = (
    "tool.name",
    "args",
    "x.input_y",
    "query",
    "my.command",
    "codex.item.type",
    "search.query",
    "function name",
    "a.tool.b",
)
JSON_VALUES = st.sampled_from(
    [None, 1, True, "", " shell ", '{"command": ["a", 1]}', '["a"]', "{", "null", {"cmd": "x y"}, [1], "reasoning"]
)


def outcome(kind: str, value: JsonValue, subject: Subject, threshold: float | None = None) -> Checked:
    """The verdict of a vetted assertion that can be checked."""
    assertion = Assertion(type=kind, value=value, threshold=threshold)
    vet(assertion)
    found = check(assertion, subject)
    assert isinstance(found, Checked)
    return found


def passes(kind: str, value: JsonValue, log: tuple[ToolCall, ...] = LOG) -> bool:
    """Whether it passes, once it is seen that `not-` turns it round."""
    plain, turned = (outcome(name, value, Subject("", tool_calls=log)) for name in (kind, f"not-{kind}"))
    assert plain.passed is not turned.passed
    return plain.passed


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        ("search", True),
        ("SEA*", True),
        ("search?", False),
        ("nope", False),
        (["search", "get_*"], True),
        ("shell", False),
        ({"name": "search", "min": 2}, True),
        ({"name": "search", "max": 1}, False),
        ({"pattern": "nope", "min": 0, "max": 0}, True),
        ({"name": "ls", "type": "command"}, False),
    ],
)
def test_tools_are_used(value: JsonValue, passed: bool) -> None:
    assert passes(USED, value) is passed


def test_not_used_means_that_none_of_several_was_called() -> None:
    several = Subject("", tool_calls=LOG)
    assert not outcome(USED, ["search", "nope"], several).passed
    assert not outcome(f"not-{USED}", ["search", "nope"], several).passed
    assert outcome(f"not-{USED}", ["nope", "none"], several).passed


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        (["search", "search"], True),
        (["get_order", "search"], True),
        (["search", "search", "get_order"], False),
        ([{"name": "search"}, "get_order"], True),
        ({"steps": ["search", "get_order", "search"], "mode": "exact"}, True),
        ({"steps": ["search", "get_order"], "mode": "exact"}, False),
        ({"steps": ["search", "search", "search"], "mode": "exact"}, False),
        ({"steps": ["*"]}, True),
    ],
)
def test_tools_are_called_in_order(value: JsonValue, passed: bool) -> None:
    assert passes(SEQUENCE, value) is passed


ARGUMENTS: list[tuple[JsonValue, bool]] = [
    ({"name": "search", "args": {"q": "y"}}, True),
    ({"name": "search", "args": {"q": "y"}, "mode": "exact"}, False),
    ({"name": "search", "args": {"q": "y"}, "mode": "exact", "defaults": {"n": 1}}, True),
    ({"name": "search", "args": {"q": "y"}, "mode": "exact", "defaults": {"n": 2}}, False),
    ({"name": "get_*", "args": {"id": 5, "tags": ["a", {}]}}, True),
    ({"name": "get_*", "args": {"tags": ["a"]}}, False),
    ({"name": "get_*", "args": {"id": 5.0, "tags": ["a", {"k": 1}]}, "mode": "exact", "ignore": "*_id"}, True),
    ({"name": "get_*", "args": {"id": 6}, "ignore": ["id"]}, True),
    ({"name": "get_*", "arguments": {"id": True}}, False),
    ({"name": "get_*", "args": {"id": "5"}}, False),
    ({"name": "get_*", "args": None}, False),
    ({"name": "nope", "args": {}}, False),
    ({"name": "shell", "args": {}}, False),
]


@pytest.mark.parametrize(("value", "passed"), ARGUMENTS)
def test_a_call_has_the_arguments(value: JsonValue, passed: bool) -> None:
    assert passes(ARGS, value) is passed


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        ({"max": 4}, True),
        ({"max": 3}, False),
        ({"min": 5}, False),
        ({"type": "tool", "min": 3, "max": 3}, True),
        ({"type": ["tool", "command"], "min": 4}, True),
        ({"type": "command", "pattern": "ls*", "min": 1}, True),
        ({"name": "search", "min": 2}, True),
    ],
)
def test_steps_are_counted(value: JsonValue, passed: bool) -> None:
    assert passes(STEPS, value) is passed


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"cmd": ["git", " status "]}, ["git", "git status"]),
        ({"commands": ["a b", "c"]}, ["a b; c"]),
        ({"command": "  "}, []),
        ({}, []),
    ],
)
def test_a_shell_call_with_a_command_is_known_by_the_command(arguments: dict[str, JsonValue], names: list[str]) -> None:
    log = (ToolCall(tool="Local_Shell", arguments=arguments),)
    assert passes(STEPS, {"type": "command", "min": 1}, log) is bool(names)
    for name in names:
        assert passes(STEPS, {"name": name, "min": 1}, log)


def test_an_empty_log_is_no_steps() -> None:
    assert passes(STEPS, {"max": 0}, ())
    assert not passes(USED, "search", ())


def test_a_pattern_with_many_stars_takes_no_long_time() -> None:
    assert not passes(USED, "*a" * 60 + "b", (ToolCall(tool="a" * 5_000),))


@pytest.mark.parametrize(
    ("value", "text", "score"),
    [
        ("search, get_order, shell", "", 1),
        (["search"], "", 0.5),
        ("search,,nope", "", 0.4),
        ("nope", "", 0),
        ("search", '[{"name": "nope"}]', 0.5),
    ],
)
def test_f1_reads_the_log_first(value: JsonValue, text: str, score: float) -> None:
    assert outcome("tool-call-f1", value, Subject(text, tool_calls=LOG)).score == pytest.approx(score)


def test_f1_is_the_score_under_not_too() -> None:
    turned = outcome("not-tool-call-f1", "search", Subject("", tool_calls=LOG), 0.6)
    assert (turned.passed, turned.score) == (True, 0.5)


@pytest.mark.parametrize(
    ("value", "known", "passed"),
    [("stop", "STOP", True), ("stop", "length", False)],
)
def test_the_finish_reason_is_compared_in_any_case(value: str, known: str, passed: bool) -> None:
    subject = Subject("", finish_reason=known)
    assert outcome("finish-reason", value, subject).passed is passed
    assert outcome("not-finish-reason", value, subject).passed is not passed


@pytest.mark.parametrize("turned", ["", "not-"])
@pytest.mark.parametrize(("kind", "value"), [("finish-reason", "stop"), ("tool-call-f1", "search")])
def test_what_nobody_recorded_has_no_verdict_and_in_a_config_that_of_promptfoo(
    kind: str, value: str, turned: str
) -> None:
    assertion = Assertion(type=f"{turned}{kind}", value=value)
    found = check(assertion, Subject("Done."))
    assert isinstance(found, Unchecked)
    assert found.not_judgeable
    there = check(assertion, Subject("Done.", of_config=True))
    assert isinstance(there, Checked)
    assert there.passed is bool(turned)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("finish-reason", 5),
        ("finish-reason", ""),
        ("tool-call-f1", []),
        ("tool-call-f1", " , "),
        ("tool-call-f1", 5),
        (USED, []),
        (USED, 5),
        (USED, [{"name": "a"}]),
        (USED, {"min": 1}),
        (USED, {"name": "a", "count": 1}),
        (USED, {"name": "a", "min": "1"}),
        (USED, {"name": "a", "max": True}),
        (USED, "x" * 500),
        (SEQUENCE, []),
        (SEQUENCE, "a"),
        (SEQUENCE, {"steps": ["a"], "mode": "any"}),
        (SEQUENCE, {"mode": "exact"}),
        (SEQUENCE, [{"type": "tool"}]),
        (ARGS, "a"),
        (ARGS, {"name": "a"}),
        (ARGS, {"args": {}}),
        (ARGS, {"name": "a", "args": {}, "mode": "fuzzy"}),
        (ARGS, {"name": "a", "args": {}, "defaults": []}),
        (ARGS, {"name": "a", "args": {}, "ignore": [""]}),
        (STEPS, {"type": "tool"}),
        (STEPS, {"type": "reasoning", "max": 1}),
        (STEPS, 5),
    ],
)
def test_a_value_that_could_not_be_meant_is_refused(kind: str, value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type=kind, value=value))


@given(st.one_of(st.text(max_size=40), st.lists(JSON_TEXT, max_size=4).map("\n".join)), st.floats(0, 1))
def test_nothing_raises_on_arbitrary_output(text: str, threshold: float) -> None:
    plain = outcome("tool-call-f1", "a,b", Subject(text, tool_calls=()), threshold)
    turned = outcome("not-tool-call-f1", "a,b", Subject(text, tool_calls=()), threshold)
    assert plain.passed is not turned.passed


@given(st.lists(st.tuples(st.text(min_size=1).filter(str.strip), st.dictionaries(st.text(), st.text())), max_size=4))
def test_nothing_raises_on_arbitrary_logs(log: list[tuple[str, dict[str, str]]]) -> None:
    calls = tuple(ToolCall(tool=tool, arguments={**arguments}) for tool, arguments in log)
    passes(USED, "*", calls)
    passes(SEQUENCE, ["*", "?"], calls)
    passes(ARGS, {"name": "*", "args": {}, "ignore": "*"}, calls)
    assert passes(STEPS, {"min": 0}, calls)


def test_steps_that_only_a_trace_has_are_asked_for_in_configs_and_a_log_does_not_count_them_as_none() -> None:
    steps = Assertion(type=STEPS, value={"type": ["span", "tool"], "max": 5})
    inside = Assertion.model_validate({"type": "assert-set", "assert": [steps.model_dump(by_alias=True)]})
    vet(inside, of_config=True)
    with pytest.raises(InvalidRecordError, match="'span' is not in the log of tool calls; it has command, tool"):
        vet(inside)
    found = check(steps, Subject("", tool_calls=LOG))
    assert isinstance(found, Unchecked)
    assert "no steps of the type 'span'" in found.reason


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON_VALUES, max_size=4), max_size=4))
def test_nothing_raises_on_arbitrary_spans(attributes: list[dict[str, JsonValue]]) -> None:
    spans: list[JsonValue] = [
        {"name": f"mcp /{held}"[:9], "startTime": 1, "attributes": {**held}} for held in attributes
    ]
    traced = Subject("", tell=lambda: {"trace": {"traceId": "1", "spans": spans}})
    assert outcome(STEPS, {"min": len(spans), "max": len(spans)}, traced).passed
    outcome(ARGS, {"name": "*", "args": {"a": 1}, "ignore": "*"}, traced)
