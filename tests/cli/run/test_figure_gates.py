"""Gates on a figure: reached, missed beyond chance, or undecided with the number of cases that would decide."""

from __future__ import annotations

import re

import pytest

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal

GATE = ("run-benchmark", "b", "--min-score", "0.75")


def passing(count: int, cases: int) -> dict[str, object]:
    """The benchmark `b` of so many cases, of which the first pass."""
    names = [f"c{number}" for number in range(cases)]
    answers = [answer(f"{name}/a", name, "green" if at < count else "red") for at, name in enumerate(names)]
    return suite(*map(case, names), *answers, benchmark("b", *names))  # pyright: ignore[reportReturnType]  JSON


@pytest.mark.parametrize(
    ("count", "cases", "code"),
    [(15, 20, 0), (14, 20, 3), (9, 20, 1), (145, 200, 3), (130, 200, 1), (1, 2, 3), (0, 1, 3)],
)
def test_a_limit_passes_when_reached_and_fails_only_where_the_whole_interval_lies_below(
    at: Terminal, count: int, cases: int, code: int
) -> None:
    at.run("import", at.file("s.json", passing(count, cases)))  # pyright: ignore[reportArgumentType]  JSON
    ended, literal, passed, failed = at.many(
        GATE, [*GATE, "--literal"], [*GATE, "--undecided", "pass"], [*GATE, "--undecided", "fail"]
    )
    assert [one.code for one in (ended, literal, passed, failed)] == [
        code, int(code > 0), 1 if code == 1 else 0, int(code > 0),
    ]  # fmt: skip
    assert ("gate undecided" in ended.err) == (code == 3)


def test_an_undecided_gate_says_how_many_cases_would_decide_and_they_do(at: Terminal) -> None:
    at.run("import", at.file("s.json", passing(14, 20)))  # pyright: ignore[reportArgumentType]  JSON
    said = at.run(*GATE).err
    assert "score 0.700 < 0.75 (95 % CI 0.481 to 0.855), which is not significant" in said
    found = re.search("About ([0-9]+) cases in all would decide it at this score", said)
    assert found is not None, said
    needed = int(found[1])
    assert "--literal" in said
    assert "--undecided" in said
    more = at.with_env(MINIONS_EVALS_DB=str(at.folder / "more.db"))
    more.run("import", at.file("m.json", passing(round(0.7 * needed), needed)))  # pyright: ignore[reportArgumentType]  JSON
    assert more.run(*GATE).code == 1


def test_a_project_says_what_an_undecided_gate_becomes(at: Terminal) -> None:
    at.file("s.json", passing(14, 20))  # pyright: ignore[reportArgumentType]  JSON
    project = 'store = "evals.db"\nsuites = ["s.json"]\n[thresholds]\nmin-score = 0.75\n'
    at.file("minions-evals.toml", project)
    assert at.run("run").code == 3
    at.file("minions-evals.toml", project + 'undecided = "pass"\n')
    assert at.run("run").code == 0
    at.file("minions-evals.toml", project + 'undecided = "maybe"\n')
    assert at.run("run").code == 2


def test_the_gate_of_a_skill_is_undecided_where_chance_can_explain_the_score(at: Terminal) -> None:
    at.run("import", at.file("s.json", passing(14, 20)))  # pyright: ignore[reportArgumentType]  JSON
    gates: list[Json] = [{"benchmarkId": "b", "minScore": limit} for limit in (0.7, 0.75, 0.9)]
    skill = record("skill", "skill-definition", name="Skill", promptRef="p", qualityGates=[*gates])
    at.run("import", at.file("k.json", suite(skill)))
    at.run("run-benchmark", "b")
    told, shown = at.run("show", "skill", "--json").one(), at.run("show", "skill").out
    found = told["gates"]
    assert isinstance(found, list)
    assert [(one["gate"], one["holds"]) for one in found if isinstance(one, dict)] == [
        ("held", True), ("undecided", False), ("failed", False),
    ]  # fmt: skip
    assert "gate b ≥ 0.75: undecided (score 0.7; about" in shown


def test_a_case_without_a_verdict_ends_with_3_and_a_batch_of_such_too(at: Terminal) -> None:
    version = record("v", "prompt-version", content="Say", versionNumber=1, promptId="p")
    named: Json = {"promptId": "p", "promptVersionRef": "v"}
    waits = record("w", "test-case", name="w", inputs={"q": "w"}, **named)
    nothing = record("n", "test-case", name="n", inputs={"q": "n"}, expectedOutputs={"output": "x"})
    made = answer("a", "w", "an answer", promptVersionRef="v")
    at.run("import", at.file("s.json", suite(version, waits, nothing, made, benchmark("b", "w"))))
    waiting, missing, batch, run = at.many(
        ["run-test-case", "w"], ["run-test-case", "n"], ["batch-run-tests", "p", "w"], ["run", "b"]
    )
    assert [one.code for one in (waiting, batch)] == [3, 3]
    assert missing.code in {2, 3}
    assert "gates passed" not in run.out
