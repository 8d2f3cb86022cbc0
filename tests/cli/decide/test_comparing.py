"""Comparing, approving and judging anew, as a person does it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from minions_evals_mcp.stats.tango import tango_interval
from tests.cli.suites import answer, benchmark, record, suite, two_versions
from tests.shared.cli.terminal import Terminal


@pytest.fixture(scope="module")
def _imported_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = Terminal(tmp_path_factory.mktemp("rising"))
    records = two_versions(range(2), range(10))
    records["relations"] = [{"sourceId": "v2", "targetId": "v1", "type": "follows"}]
    assert at.run("import", at.file("s.json", records)).code == 0
    return at.db


@pytest.fixture
def rising(_imported_once: Path, at: Terminal) -> Terminal:
    """Ten cases of which two pass under v1 and all under v2; v2 follows v1."""
    shutil.copy(_imported_once, at.db)
    return at


def test_the_answer_begins_with_what_to_do_and_how_sure_that_is(rising: Terminal) -> None:
    said, again = rising.many(["compare", "b", "--from", "v1", "--to", "v2", "--explain"], ["runs", "latest"])
    assert again.out == said.out, "the newest run is the comparison, not one of its sides"
    assert said.code == 0, said.err
    assert said.out.startswith("IMPROVED  Ship p@2: it scores 0.800 higher than p@1")
    assert said.out.split("\n")[1].startswith("Next: minions-evals approve v2 --by YOU")
    low, high = (100 * end for end in tango_interval(8, 0, 10, level=0.95))
    assert f"8 gained, 0 lost, +80 points (95 %: {low:+.0f} to {high:+.0f}, " in said.out, (
        "whatever level decides the score"
    )
    assert "minions-evals approve v2 --by YOU" in said.out


def test_a_better_version_is_approved_and_a_worse_one_is_a_failed_gate(rising: Terminal) -> None:
    refused = rising.run("approve", "v2", "--by", "maria")
    assert refused.code == 2
    assert "`minions-evals compare BENCHMARK --from v1 --to v2` compares them." in refused.err
    assert rising.run("compare", "b", "--from", "v1", "--to", "v2", "--fail-on-regression").code == 0
    alone = rising.run("approve", "v2", "--by", "maria")
    assert (alone.code, "10 outputs of v2" in alone.err, "at a terminal or with MINIONS_EVALS_PERSON_TOKEN" in alone.err) == (
        2, True, True,
    )  # fmt: skip
    approved = rising.person("maria").run("approve", "v2")
    assert (approved.code, approved.out) == (0, approved.out)
    assert approved.out.startswith("v2 approved by maria: improved: +0.800")
    (line,) = [line for line in rising.run("versions", "p").out.splitlines() if "approved by" in line]
    assert re.search(r"\bv2\b.*approved by maria on \d{4}-\d\d-\d\d", line), line
    assert rising.run("compare", "b", "--from", "v2", "--to", "v1", "--fail-on-regression").code == 1


def test_stored_runs_are_compared_and_judged_anew(rising: Terminal) -> None:
    runs: list[str] = []
    for version in ("v1", "v2"):
        told = rising.run("run-benchmark", "b", "--prompt-version", version, "--json").one()
        runs.append(str(told["runId"]))
    summary = rising.run("compare", *runs, "--json").one()
    assert (summary["verdict"], summary["recommendation"], summary["sampleSize"]) == ("improved", "ship", 10)
    again = rising.run("rejudge", runs[0], "--key", "anew", "--json").one()
    assert (again["state"], again["subjectId"]) == ("completed", "b")
    second = rising.run("compare", "anew", runs[1], "--json").one()
    assert second["comparisonId"] == summary["comparisonId"], "the same outputs, judged alike, are the same comparison"
    assert rising.run("rejudge", "anew", "--json").one()["state"] == "completed"


def test_an_output_that_could_not_be_judged_ends_a_comparison_with_3(rising: Terminal) -> None:
    hopeless = record(
        "c10", "test-case", name="c10", inputs={"q": "c10"}, assertions=[{"type": "python", "value": "import socket"}]
    )
    runs = [answer(f"c10/v{n}", "c10", "green", promptVersionRef=f"v{n}") for n in (1, 2)]
    more = suite(hopeless, *runs, benchmark("wider", *(f"c{number}" for number in range(11))))
    assert rising.run("import", rising.file("more.json", more)).code == 0
    found = rising.run("compare", "wider", "--from", "v1", "--to", "v2", "--json")
    assert (found.code, found.one()["verdict"]) == (3, "improved")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("b", "--to", "v2"), "--from is missing"),
        (("b", "--from", "v1"), "--to is missing"),
        (("b", "--from", "v1", "--to", "v1"), "name two versions"),
        (("x", "--from", "v1", "--to", "v2"), "no benchmark with the id 'x'"),
        (("r1", "r2"), "no benchmark-run with the id 'r1'"),
        (("r1", "r2", "--from", "v1"), "two runs take no versions to compare"),
        (("b", "--from", "v1", "--to", "v2", "--prompt-version", "v1"), "--from and --to name the prompt versions"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(rising: Terminal, arguments: tuple[str, ...], said: str) -> None:
    ended = rising.run("compare", *arguments)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(
    ("lost", "cases", "margin", "code", "said"),
    [
        (0, 200, "0.05", 0, "p@2 is not worse than p@1 by more than 0.05"),
        (0, 20, "0.05", 3, "Undecided whether p@2 is worse than p@1 by more than 0.05"),
        (0, 20, "50%", 0, "p@2 is not worse than p@1 by more than 0.5"),
        (60, 200, "0.1", 1, "gate failed: p@2 is worse than p@1 by more than 0.1"),
        (60, 200, "50%", 0, "p@2 is not worse than p@1 by more than 0.5"),
    ],
)
def test_a_margin_asks_whether_the_new_version_is_worse_by_no_more_than_that(
    at: Terminal, lost: int, cases: int, margin: str, code: int, said: str
) -> None:
    at.run("import", at.file("s.json", two_versions(range(cases), range(lost, cases), cases=cases)))
    told = at.run("compare", "b", "--from", "v1", "--to", "v2", "--margin", margin)
    assert (told.code, said in told.err) == (code, True), told.err
    if code == 3:
        assert "cases in all would decide it" in told.err
    found = at.run("compare", "b", "--from", "v1", "--to", "v2", "--margin", margin, "--json").one()["nonInferior"]
    assert isinstance(found, dict)
    assert found["gate"] == {0: "held", 1: "failed", 3: "undecided"}[code]


def test_a_margin_that_is_none_is_refused(at: Terminal) -> None:
    at.run("import", at.file("s.json", two_versions(range(2), range(2), cases=2)))
    for margin in ("0", "-1", "much", "200%"):
        refused = at.run("compare", "b", "--from", "v1", "--to", "v2", "--margin", margin)
        assert (refused.code, "--margin" in refused.err) == (2, True)
