"""A gate on a fall says what it could not compare, and does not pass where that is everything."""

from __future__ import annotations

import re

from pydantic import JsonValue

from minions_evals_mcp.domain.tagged_values import obj
from tests.cli.suites import answer, benchmark, record, suite, two_versions
from tests.shared.cli.terminal import Json, Terminal

GATE = ("run-benchmark", "b", "--fail-on-regression")
NAMES = [f"c{number}" for number in range(8)]


def plain(names: list[str], *, want: str = "green", edited: int = 0, rubric: str = "") -> JsonValue:
    """Cases with recorded outputs that pass; `edited` of them ask for more than before."""
    records: list[Json] = []
    for number, name in enumerate(names):
        more: Json = {"description": "edited", "threshold": 0.5} if number < edited else {}
        checks: list[JsonValue] = [{"type": "icontains" if number < edited else "contains", "value": want}]
        measure: Json = {"rubricId": "r"} if rubric else {"assertions": checks, **more}
        fields: Json = {"name": name, "inputs": {"q": name}, **measure}
        records.append({"id": name, "type": "test-case", "fields": fields})
        records.append(answer(f"a/{name}", name, "green"))
    if rubric:
        records.append(record("r", "rubric", name="R", criteriaIds=["r/k"], passingThreshold=1))
        guide = f"[{{type: icontains, value: {rubric}}}]"
        criterion = record("r/k", "rubric-criterion", rubricId="r", name="k", scoringGuide=guide, judgeType="heuristic")
        records.append(criterion)
    return suite(*records, benchmark("b", *names))


def test_a_first_run_passes_and_says_that_there_is_none_before_it(at: Terminal) -> None:
    at.run("import", at.file("s.json", plain(NAMES)))
    first, second = at.many([*GATE], [*GATE])
    assert (first.code, second.code) == (0, 0)
    assert "There is no earlier run: --fail-on-regression has nothing to compare with yet." in first.err
    assert "earlier run" not in second.err
    assert "compared" not in second.err


def test_where_every_case_was_edited_the_gate_is_undecided_once(at: Terminal) -> None:
    at.run("import", at.file("s.json", plain(NAMES)))
    at.run(*GATE)
    at.run("import", at.file("s.json", plain(NAMES, edited=8)))
    literal, json, taken, after = at.many(
        [*GATE, "--literal", "--key", "l"],
        ["runs", "l", "--json"],
        [*GATE, "--key", "l", "--undecided", "pass"],
        [*GATE],
    )
    assert (literal.code, taken.code, after.code) == (3, 0, 0)
    assert re.search(r"gate undecided: not compared with run [0-9a-f]{8} because every shared case or", literal.err)
    assert "--undecided pass takes this run as the new baseline" in " ".join(literal.err.split())
    fields = json.one()["benchmarkRun"]
    assert isinstance(fields, dict)
    assert "every shared case or its checks were edited" in str(fields["notCompared"])


def test_other_cases_altogether_are_not_compared_and_a_part_of_them_is_said(at: Terminal) -> None:
    at.run("import", at.file("s.json", plain(NAMES)))
    at.run(*GATE)
    at.run("import", at.file("s.json", plain(NAMES[:6], edited=5)))
    part = at.run(*GATE)
    at.run("import", at.file("s.json", plain(["d1", "d2"])))
    other = at.run(*GATE)
    assert (part.code, other.code) == (0, 3)
    assert "compared 1 of 6 cases with" in part.err
    assert "the others are new or were edited since. 2 of its cases were not run again." in " ".join(part.err.split())
    assert "the two runs share no unchanged case" in other.err


def test_a_changed_rubric_leaves_nothing_to_compare(at: Terminal) -> None:
    at.run("import", at.file("s.json", plain(NAMES, rubric="green")))
    at.run(*GATE)
    at.run("import", at.file("s.json", plain(NAMES, rubric="gree")))
    changed = at.run(*GATE)
    assert changed.code == 3
    assert "the judge or the rubric changed" in changed.err


def test_two_targets_that_take_turns_are_each_compared_with_their_own_last_run(at: Terminal) -> None:
    at.run("import", at.file("s.json", plain(NAMES)))
    at.file("two.sh", "echo green\n")
    one, two = ("--target", "command:echo green ok"), ("--target", "command:sh two.sh")
    codes = [at.run(*GATE, *target).code for target in (one, two, one, two)]
    assert codes == [0, 3, 0, 0], "the second target has no run of its own to begin with"
    at.file("two.sh", "echo red\n")
    fell, held = at.run(*GATE, *two), at.run(*GATE, *one)
    assert (fell.code, held.code) == (1, 0)
    assert "another judge, rubric or target" in " ".join(held.out.split())


def test_cases_of_one_group_decide_neither_gate(at: Terminal) -> None:
    given = two_versions(range(10), (), cases=10)
    records = given["minions"]
    assert isinstance(records, list)
    for one in records:
        assert isinstance(one, dict)
        if one["type"] == "test-case":
            one["fields"] = {**obj(one["fields"]), "group": "g"}
    at.run("import", at.file("s.json", given))
    gate = "--fail-on-regression"
    compared, _, ran = at.many(
        ["compare", "b", "--from", "v1", "--to", "v2", gate],
        [*GATE, "--prompt-version", "v1"],
        [*GATE, "--prompt-version", "v2"],
    )
    assert (compared.code, ran.code) == (3, 3), "ten cases of one document are one"
    for ended in (compared, ran):
        assert "10 of 10 cases got worse and none better, and cases of more groups are needed to decide" in ended.err
