"""`plan`: how many cases, groups or trials find a difference, from the benchmark's own runs; `runs` says what this one finds."""

from __future__ import annotations

import pytest

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal


def noisy(cases: int, changed: int, **fields: str) -> Json:
    """The benchmark `b` of so many cases, of which version 2 answers so many otherwise: half of these better, half worse."""
    names = [f"c{number:03}" for number in range(cases)]
    versions = [record(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2)]
    told = [
        answer(f"{name}/v{n}", name, "green" if (at < changed and at % 2 == n % 2) or at >= changed else "red", promptVersionRef=f"v{n}")
        for at, name in enumerate(names)
        for n in (1, 2)
    ]  # fmt: skip
    grouped = [case(name, **({"group": f"g{at % 10}"} if fields else {})) for at, name in enumerate(names)]
    return suite(*versions, *grouped, *told, benchmark("b", *names))


def ran(at: Terminal) -> None:
    for version in (1, 2):
        assert at.run("run-benchmark", "b", "--prompt-version", f"v{version}").code == 0


def test_a_plan_names_the_cases_that_find_the_difference_and_what_those_at_hand_find(at: Terminal) -> None:
    at.run("import", at.file("s.json", noisy(100, 20)))
    none = at.run("plan", "b")
    assert (none.code, "has no finished run" in none.err) == (2, True)
    assert at.run("run-benchmark", "b", "--prompt-version", "v1").code == 0
    bound = at.run("plan", "b", "--json").one()
    assert (bound["isBound"], bound["units"], bound["unit"]) == (True, 100, "case")
    assert at.run("run-benchmark", "b", "--prompt-version", "v2").code == 0
    found = at.run("plan", "b", "--json").one()
    # 7.849 · (20/99 + .1 · .9) / .1² + 1.96² / 2 = 231.1
    assert (found["isBound"], found["unitsNeeded"], found["effect"]) == (False, 232, 0.1)
    least = found["minimumDetectable"]
    assert isinstance(least, float)
    assert 0.15 < least < 0.18
    larger = at.run("plan", "b", "--effect", f"{least:.4f}", "--json").one()["unitsNeeded"]
    assert larger in {100, 101}
    said = at.run("plan", "b").out
    assert "To find a difference of 0.1 in 80% of the comparisons you need 232 cases." in said
    assert "Your 100 cases find a difference of 0.16 or more." in said


def test_cases_in_groups_are_planned_in_groups(at: Terminal) -> None:
    at.run("import", at.file("s.json", noisy(100, 20, group="yes")))
    ran(at)
    found = at.run("plan", "b", "--json").one()
    assert (found["unit"], found["units"], found["cases"]) == ("group", 10, 100)
    assert "groups" in at.run("plan", "b").out


def test_each_run_says_what_difference_it_finds(at: Terminal) -> None:
    at.run("import", at.file("s.json", noisy(100, 20)))
    ran(at)
    planned = at.run("plan", "b", "--json").one()["minimumDetectable"]
    assert at.run("runs", "latest", "--json").one()["minimumDetectable"] == planned
    assert f"a comparison detects a difference of {planned:.2g} or more" in " ".join(
        at.run("runs", "latest").out.split()
    )


@pytest.mark.parametrize(
    ("option", "value"), [("--effect", "0"), ("--effect", "2"), ("--power", "0.2"), ("--trials", "0")]
)
def test_what_cannot_be_planned_is_refused_by_its_option(at: Terminal, option: str, value: str) -> None:
    at.run("import", at.file("s.json", noisy(4, 2)))
    ended = at.run("plan", "b", option, value)
    assert ended.code == 2
    assert option in ended.err
