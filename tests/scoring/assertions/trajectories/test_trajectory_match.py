"""`trajectory:match`: alternatives, optional, forbidden and unordered steps, argument matchers, partial credit, edits."""

from __future__ import annotations

from itertools import permutations
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, needs, vet
from minions_evals_mcp.scoring.assertions.trajectories.steps import CalledStep, steps_of
from minions_evals_mcp.scoring.assertions.trajectories.trajectory_match import LogEdit, LogMatch, matched
from minions_evals_mcp.scoring.assertions.trajectories.trajectory_plan import (
    TrajectoryPlan,
    WantedStep,
    plan_of,
    vet_plan,
)
from minions_evals_mcp.scoring.checks import Checked, Evidence, RegexNeed, Subject, Unchecked, Unmet

Json = dict[str, JsonValue]


def subject(*calls: str | tuple[str, Json]) -> Subject:
    """An output whose log has those calls."""
    log = [ToolCall(tool=one) if isinstance(one, str) else ToolCall(tool=one[0], arguments=one[1]) for one in calls]
    return Subject("", tool_calls=tuple(log))


def asked(value: JsonValue, threshold: float | None = None) -> Assertion:
    """The vetted assertion."""
    assertion = Assertion(type="trajectory:match", value=value, threshold=threshold)
    vet(assertion)
    return assertion


def found(value: JsonValue, *calls: str | tuple[str, Json], threshold: float | None = None) -> Checked:
    """The verdict over a log."""
    result = check(asked(value, threshold), subject(*calls))
    assert isinstance(result, Checked), result
    return result


def called(name: str, args: Json, **more: JsonValue) -> Json:
    """A step with arguments."""
    return {"name": name, "args": args, **more}


@pytest.mark.parametrize(
    ("value", "calls", "score", "edits"),
    [
        (["search", "get_*"], ["search", "log", "get_order"], 1, "as asked for"),
        (["search", "get_order"], ["get_order", "search"], 0.5, "add search at the start"),
        (["a", "b"], [], 0, "add a at the start; add b at the start"),
        (["a", "b", "c"], ["a", "c"], 2 / 3, "add b after call 1"),
        ([{"anyOf": ["web", "docs"]}], ["docs"], 1, "as asked for"),
        ([{"anyOf": ["web", "docs"]}], ["other"], 0, "add web or docs at the start"),
        (["a", {"name": "log", "optional": True}], ["a"], 1, "as asked for"),
        ({"steps": ["a"], "extra": "refused"}, ["a", "b"], 2 / 3, "remove call 2 (b)"),
        ({"steps": [{"name": "log", "optional": True}], "extra": "refused"}, ["log"], 1, "as asked for"),
        ({"extra": "refused"}, [], 1, "as asked for"),
        ({"forbidden": ["delete_*"]}, ["get", "delete_all"], 0, "remove call 2 (delete_all)"),
        ({"steps": ["*"], "forbidden": ["rm"]}, ["rm", "ls"], 0.5, "remove call 1 (rm)"),
        ([{"unordered": ["a", "b"]}, "c"], ["b", "a", "c"], 1, "as asked for"),
        ([{"unordered": ["a", "b"]}, "c"], ["c", "b", "a"], 2 / 3, "add c after call 3"),
        ([{"unordered": [{"anyOf": ["a", "b"]}, "b"]}], ["b", "a"], 1, "as asked for"),
        ([called("s", {"q": "x", "n": 1})], [("s", {"q": "x", "n": 2})], 0.5, "change n in call 1 (s)"),
        (["a", called("s", {"n": 1})], ["a", ("s", {"n": 2})], 0.5, "change n in call 2 (s)"),
    ],
)
def test_a_log_is_given_credit_and_told_what_would_make_it_right(
    value: JsonValue, calls: list[str | tuple[str, Json]], score: float, edits: str
) -> None:
    result = found(value, *calls)
    assert result.score == pytest.approx(score)
    assert result.reason == f"score {score:.3f}, threshold 1: {edits}"
    assert result.passed is (score == 1)


def test_the_threshold_says_how_near_is_enough() -> None:
    assert found(["a", "b"], "a", threshold=0.5).passed
    assert not found(["a", "b"], "a", threshold=0.51).passed


ORDER: Json = {"id": 5, "price": 9.95, "city": "Paris", "tags": ["a", {"k": 1}], "to": {"zip": "1", "name": "B"}}


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (called("o", {"id": 5.0}), True),
        (called("o", {"id": True}), False),
        (called("o", {"tags": ["a", {}]}), True),
        (called("o", {"tags": ["a", {}]}, mode="exact"), False),
        (called("o", {"tags": ["a"]}), False),
        (called("o", {"to": {"zip": "1"}}), True),
        (called("o", {"to": {"$exact": {"zip": "1"}}}), False),
        (called("o", {"to": {"$exact": {"zip": "1", "name": {"$ignore": True}}}}), True),
        (called("o", {"to": {"missing": {"$ignore": True}, "zip": "1"}}), True),
        (called("o", {"city": {"$regex": "^Par"}}), True),
        (called("o", {"city": {"$regex": "^par"}}), False),
        (called("o", {"id": {"$regex": "^5$"}}), True),
        (called("o", {"tags": {"$regex": "a"}}), False),
        (called("o", {"price": {"$number": 10, "$tolerance": 0.05}}), True),
        (called("o", {"price": {"$number": 10, "$tolerance": 0.04}}), False),
        (called("o", {"id": {"$number": 5}}), True),
        (called("o", {"city": {"$number": 5}}), False),
        (called("o", {"none": {"$ignore": True}}), True),
        (called("o", {"none": 1}), False),
        (called("o", {"none": 1}, ignore="no*"), True),
        (called("o", {"id": 5, "price": 9.95, "city": "Paris"}, mode="exact", ignore=["t*"]), True),
        (called("o", {"id": 5}, mode="exact"), False),
        (called("o", {"to": {"$partial": {"zip": "1"}}}, mode="exact", ignore=["id", "price", "city", "tags"]), True),
    ],
)
def test_arguments_are_matched(wanted: Json, fits: bool) -> None:
    assert found([wanted], ("o", ORDER)).passed is fits


def test_a_pattern_that_needs_look_around_is_searched_elsewhere_first() -> None:
    assertion = asked([called("s", {"q": {"$regex": "(?=p)par"}, "n": 1})])
    log = subject(("s", {"q": "paris", "n": 2}), ("s", {"q": "rome", "n": 1}), "other")
    first, second = needs([assertion], log)
    assert isinstance(first, RegexNeed)
    assert isinstance(second, RegexNeed)
    assert (first.text, second.text) == ("paris", "rome")
    half = check(assertion, log, Evidence(regexes={first: True, second: False}))
    assert isinstance(half, Checked)
    assert half.score == 0.5
    late = check(assertion, log, Evidence(regexes={first: Unmet("time limit"), second: True}))
    assert late == Unchecked("trajectory:match", "time limit")
    assert isinstance(check(assertion, log), Unchecked)


def test_what_is_too_much_to_compare_is_not_compared() -> None:
    groups: list[JsonValue] = [{"unordered": [*"aaaaaaaa"]} for _ in range(100)]
    assertion = asked(groups)
    many = subject(*["a"] * 100)
    result = check(assertion, many)
    assert isinstance(result, Unchecked)
    assert "too many to compare" in result.reason
    assert needs([assertion], many) == ()
    long = check(asked([called("s", {"q": {"$regex": "a"}})]), subject(("s", {"q": "a" * 1_000_001})))
    assert isinstance(long, Unchecked)
    assert "1,000,001 characters" in long.reason


REFUSED: list[tuple[JsonValue, str]] = [
    (None, "value: must be an object"),
    ([], "value.steps: must ask for at least one step"),
    ({"steps": "a"}, "value.steps: must ask for at least one step"),
    ([*("a" * 101)], "value.steps: asks for more than 100"),
    ({"steps": ["a"], "exta": "refused"}, "value: has no 'exta'"),
    ({"steps": ["a"], "extra": "no"}, "value.extra: must be allowed or refused"),
    ({"forbidden": [""]}, "value.forbidden.0: must be a name"),
    ([" "], "value.steps.0: must be a name"),
    ([{"args": {}}], 'value.steps.0: must have "name" or "pattern"'),
    ([{"name": "a", "arg": {}}], "value.steps.0: has no 'arg'"),
    ([{"name": "a", "type": "span"}], "value.steps.0.type: 'span' is not in the log"),
    ([{"name": "a", "args": 1}], "value.steps.0.args: must map"),
    ([{"name": "a", "mode": "loose"}], "value.steps.0.mode: must be partial or exact"),
    ([{"name": "a", "ignore": [1]}], "value.steps.0.ignore: must be a name"),
    ([{"name": "a", "optional": 1}], "value.steps.0.optional: must be true or false"),
    ([{"anyOf": []}], "value.steps.0.anyOf: must be a list"),
    ([{"anyOf": [{"name": "a", "optional": True}]}], r"value.steps.0.anyOf.0: has no 'optional'"),
    ([{"anyOf": ["a"], "args": {}}], "value.steps.0: has no 'args'"),
    ([{"unordered": [*"aaaaaaaaa"]}], "value.steps.0.unordered: must be a list of 1 to 8"),
    ([{"unordered": ["a", {"unordered": ["b"]}]}], r"value.steps.0.unordered.1: has no 'unordered'"),
    ([called("a", {"x": {"$like": 1}})], r"value.steps.0.args.x: must be one of \$exact"),
    ([called("a", {"x": {"$exact": 1, "$regex": "a"}})], "value.steps.0.args.x: must be one of"),
    ([called("a", {"x": [{"$regex": "("}]})], "value: the pattern '[(]' is refused"),
    ([called("a", {"x": {"$regex": ""}})], r"value.steps.0.args.x.\$regex: must be a pattern"),
    ([called("a", {"x": {"$number": "5"}})], r"value.steps.0.args.x.\$number: must be a number"),
    ([called("a", {"x": {"$number": 5, "$tolerance": -1}})], r"value.steps.0.args.x.\$tolerance: must be a number"),
    ([called("a", {"x": {"$ignore": False}})], r"value.steps.0.args.x.\$ignore: must be true"),
]


@pytest.mark.parametrize(("value", "reason"), REFUSED)
def test_what_could_not_be_looked_for_is_refused_by_its_place(value: JsonValue, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        vet(Assertion(type="trajectory:match", value=value))


Values = st.SearchStrategy[JsonValue]


def object_of(**parts: Values) -> Values:
    """An object with those keys."""
    return st.fixed_dictionaries({**parts}).map(lambda made: cast("JsonValue", made))


def some(members: Values, most: int, least: int = 1) -> Values:
    """A list of them."""
    return st.lists(members, min_size=least, max_size=most).map(lambda made: cast("JsonValue", made))


def one_of(*values: JsonValue) -> Values:
    """Any of those."""
    return st.sampled_from(values)


NAMES = one_of("a", "b", "c")
EXTRA = one_of("allowed", "refused")
ARGS = st.dictionaries(st.sampled_from(["x", "y", "z"]), one_of(1, 2, {"$ignore": True}), max_size=2)
CALL = object_of(name=NAMES, args=ARGS.map(lambda made: cast("JsonValue", made)), optional=one_of(True, False))
WANTED = st.one_of(NAMES, CALL, object_of(anyOf=some(NAMES, 2)))
GROUP = st.one_of(WANTED, object_of(unordered=some(WANTED, 3)))
VALUES = object_of(steps=some(GROUP, 3), forbidden=some(NAMES, 1, 0), extra=EXTRA)
PLAIN = object_of(steps=some(st.one_of(NAMES, object_of(unordered=some(NAMES, 3))), 3), extra=EXTRA)
TOOLS = st.sampled_from(["a", "b", "c"])
LOGS = st.lists(
    st.tuples(TOOLS, st.dictionaries(st.sampled_from(["x", "y", "z"]), st.sampled_from([1, 2]), max_size=2)), max_size=4
)


def members(plan: TrajectoryPlan) -> list[tuple[int, WantedStep]]:
    """Every step that is asked for, with the number of its group."""
    return [(number, wanted) for number, group in enumerate(plan.groups) for wanted in group]


def cheapest(plan: TrajectoryPlan, steps: list[CalledStep]) -> float:
    """The least that any pairing of steps and calls costs, by trying them all."""
    asked_for = members(plan)
    forbidden = [any(matcher.fits(step) for matcher in plan.forbidden) for step in steps]
    slots: list[int | None] = [*range(len(steps)), *(None for _ in asked_for)]
    best = float("inf")
    for pairing in set(permutations(slots, len(asked_for))):
        cost = cost_of(plan, steps, forbidden, list(pairing))
        best = best if cost is None else min(best, cost)
    return best


def cost_of(
    plan: TrajectoryPlan, steps: list[CalledStep], forbidden: list[bool], pairing: list[int | None]
) -> float | None:
    """What one pairing costs; None where it breaks the order, or pairs what does not fit."""
    cost = 0.0
    last = dict.fromkeys(range(len(plan.groups)), -1)
    for (number, wanted), at in zip(members(plan), pairing, strict=True):
        if at is None:
            cost += not wanted.optional
            continue
        misfit = None if forbidden[at] else wanted.misfit(steps[at], lambda _pattern, _text: False)
        if misfit is None or any(at < taken for group, taken in last.items() if group < number):
            return None
        last[number] = max(last[number], at)
        cost += misfit.share
    left = set(range(len(steps))) - {at for at in pairing if at is not None}
    return cost + sum(forbidden[at] or plan.extra_refused for at in left)


def aligned(
    value: JsonValue, log: list[tuple[str, dict[str, int]]]
) -> tuple[TrajectoryPlan, list[CalledStep], LogMatch]:
    """The plan, the steps and how they were matched."""
    vet_plan(value)
    plan = plan_of(value)
    steps = steps_of(ToolCall(tool=name, arguments=cast("Json", args)) for name, args in log)
    return plan, steps, matched(plan, steps, lambda _pattern, _text: False)


@settings(deadline=None)
@given(VALUES, LOGS)
def test_the_edits_are_the_cheapest_that_there_are(value: JsonValue, log: list[tuple[str, dict[str, int]]]) -> None:
    plan, steps, match = aligned(value, log)
    removable = sum(plan.extra_refused or any(matcher.fits(step) for matcher in plan.forbidden) for step in steps)
    most = plan.required + removable
    best = cheapest(plan, steps)
    assert match.score == pytest.approx(1 - best / most if most else 1)
    assert 0 <= match.score <= 1
    assert (not match.edits) is (best == 0)


@settings(deadline=None)
@given(PLAIN, st.lists(TOOLS, max_size=6))
def test_the_edits_make_it_right(value: JsonValue, names: list[str]) -> None:
    plan, _, match = aligned(value, [(name, {}) for name in names])
    kept: list[list[str]] = [[], *([name] for name in names)]
    for edit in match.edits:
        apply(edit, kept)
    again = matched(plan, steps_of(ToolCall(tool=name) for place in kept for name in place), lambda _p, _t: False)
    assert again == LogMatch(1.0, ())


def apply(edit: LogEdit, kept: list[list[str]]) -> None:
    """Adds a call after the one that it names, or takes one away."""
    if edit.kind == "add":
        kept[edit.at].append(edit.name)
    else:
        kept[edit.at].remove(edit.name)


def test_a_long_log_is_compared_in_a_moment() -> None:
    steps: list[JsonValue] = [{"unordered": ["a", "b", "c", "d"]} for _ in range(20)]
    assert found(steps, *["d", "c", "b", "a"] * 20).passed
