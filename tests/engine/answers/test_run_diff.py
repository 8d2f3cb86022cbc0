"""Two benchmark-runs case by case."""

from __future__ import annotations

import pytest

from minions_evals_mcp.engine.answers.run_diff import RunDiff, diff_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, NotFoundError
from tests.workshop import Json, answer, bench, benchmark, by_rule, case, rubric, save, says

SHARES = by_rule(
    "[{type: icontains, value: a}, {type: icontains, value: b}, {type: icontains, value: c}, {type: icontains, value: d}]"
)


async def two_runs(engine: Engine, before: dict[str, str], after: dict[str, str]) -> RunDiff:
    """Cases by what either version answered; a quarter of a point for each of the letters a to d, two letters pass."""
    names = list({**before, **after})
    await save(
        engine, rubric("r", 0.5, letters=SHARES), [case(name, rubricId="r") for name in names], benchmark("b", *names)
    )
    for version, said in (("one", before), ("two", after)):
        await save(
            engine, [answer(f"{version}/{name}", name, text, promptVersionRef=version) for name, text in said.items()]
        )
        await bench(engine, "b", prompt_version_ref=version, key=version)
    return await diff_runs(engine, "one", "two", limit=100)


async def test_every_case_says_how_it_changed_and_the_largest_loss_comes_first(engine: Engine) -> None:
    before = {"flip": "abcd", "fall": "abcd", "same": "ab", "rise": "ab", "mend": "", "slip": "ab"}
    after = {"flip": "", "fall": "ab", "same": "ba", "rise": "abcd", "mend": "abc", "slip": "a"}
    found = await two_runs(engine, before, after)
    assert [(one.test_case_id, one.kind, round(one.loss, 2)) for one in found.changes] == [
        ("flip", "newly-failing", 1.0),
        ("fall", "worse", 0.5),
        ("slip", "newly-failing", 0.25),
        ("rise", "better", -0.5),
        ("mend", "newly-passing", -0.75),
    ]
    assert found.counts == {"newly-failing": 2, "worse": 1, "newly-passing": 1, "better": 1, "same": 1}
    assert (found.shared, found.alike, found.more, found.evidence) == (6, 6, 0, "undecidable")
    assert (found.before.passed, found.after.passed, found.before.trials) == (5, 4, 6)
    assert (found.before.score, found.after.score) == (pytest.approx(3.5 / 6), pytest.approx(3.0 / 6))
    assert (found.before.version, found.after.version) == ("one", "two")


async def test_what_changed_in_an_output_is_told_word_by_word(engine: Engine) -> None:
    found = await two_runs(engine, {"c": "a good b"}, {"c": "a poor b"})
    (change,) = found.changes
    assert change.output_diff is not None
    assert [(part.op, part.text) for part in change.output_diff] == [
        ("equal", "a "), ("delete", "good"), ("insert", "poor"), ("equal", " b"),
    ]  # fmt: skip


async def test_a_limit_cuts_the_list_and_says_how_many_are_left(engine: Engine) -> None:
    names = [f"c{number}" for number in range(5)]
    await two_runs(engine, dict.fromkeys(names, "ab"), dict.fromkeys(names, ""))
    found = await diff_runs(engine, "one", "two", limit=2)
    assert (len(found.changes), found.more, found.counts) == (2, 3, {"newly-failing": 5})


async def test_cases_that_were_not_measured_alike_are_named_and_left_out_of_the_figures(engine: Engine) -> None:
    names = ("kept", "edited")
    await save(engine, [case(name, expectedOutputs={"output": "a"}) for name in names], benchmark("b", *names))
    await save(engine, [answer(f"one/{name}", name, "a", promptVersionRef="one") for name in names])
    await bench(engine, "b", prompt_version_ref="one", key="one")
    await save(engine, case("edited", expectedOutputs={"output": "zebra"}))
    await save(engine, [answer(f"two/{name}", name, "a", promptVersionRef="two") for name in names])
    await bench(engine, "b", prompt_version_ref="two", key="two")
    found = await diff_runs(engine, "one", "two", limit=10)
    (change,) = found.changes
    assert (change.kind, change.unlike) == ("not-alike", ("testCase",))
    assert (found.shared, found.alike, found.before.passed, found.after.passed) == (2, 1, 1, 1)


async def test_a_case_that_only_one_run_has_is_named(engine: Engine) -> None:
    found = await two_runs(engine, {"both": "ab", "gone": "ab"}, {"both": "ab", "new": "ab"})
    assert {(one.test_case_id, one.kind) for one in found.changes} == {("gone", "only-before"), ("new", "only-after")}
    assert (found.shared, found.alike) == (1, 1)


async def test_trials_of_a_case_count_as_one_case(engine: Engine) -> None:
    await save(engine, rubric("r", 1, word=says("good")), case("c", rubricId="r"), benchmark("b", "c"))
    for version, texts in (("one", ("good", "good")), ("two", ("good", "bad"))):
        runs = [answer(f"{version}/{at}", "c", text, promptVersionRef=version) for at, text in enumerate(texts)]
        await save(engine, runs)
        await bench(engine, "b", prompt_version_ref=version, key=version, trials=2)
    found = await diff_runs(engine, "one", "two", limit=10)
    (change,) = found.changes
    assert change.after is not None
    assert (change.kind, change.loss, change.after.passed, change.after.trials) == ("newly-failing", 0.5, 1, 2)


async def test_the_scores_of_two_runs_differ_by_the_difference_that_is_tested(engine: Engine) -> None:
    """A case with more trials counts no more than another: `v2` was tried thrice on the case that it fails."""
    await save(
        engine, [case(name, expectedOutputs={"output": "good"}) for name in ("x", "y")], benchmark("b", "x", "y")
    )
    said = {("v1", "x"): ["good"], ("v1", "y"): ["bad"], ("v2", "x"): ["good"], ("v2", "y"): ["bad", "bad", "good"]}
    for (version, name), texts in said.items():
        records = [
            answer(f"{version}/{name}/{n}", name, text, promptVersionRef=version) for n, text in enumerate(texts)
        ]
        await save(engine, records)
    for version in ("v1", "v2"):
        await bench(engine, "b", prompt_version_ref=version, key=version, trials=3)
    found = await diff_runs(engine, "v1", "v2", limit=10)
    assert found.before.score is not None
    assert found.after.score is not None
    assert found.after.score - found.before.score == pytest.approx(found.reading.delta)
    assert found.after.trials == 4


async def test_runs_without_a_common_case_are_refused_and_so_is_a_run_that_is_not_there(engine: Engine) -> None:
    more: Json = {"expectedOutputs": {"output": "a"}}
    await save(engine, case("c", **more), case("d", **more), answer("1", "c", "a"), answer("2", "d", "a"))
    await save(engine, benchmark("b", "c"), benchmark("e", "d"))
    await bench(engine, "b", key="one")
    await bench(engine, "e", key="two")
    with pytest.raises(BadInputError, match="no case in common"):
        await diff_runs(engine, "one", "two", limit=1)
    with pytest.raises(NotFoundError, match="missing"):
        await diff_runs(engine, "one", "missing", limit=1)
