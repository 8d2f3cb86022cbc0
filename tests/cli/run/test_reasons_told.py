"""Why something was not judged, in the words of every command: on one line, once, with what went wrong at the end of it."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.cli.suites import record
from tests.shared.cli.terminal import Terminal

BROKEN = """\
import json, sys

question = json.load(sys.stdin)["q"]
if {broken}:
    def deeper(depth):
        return deeper(depth - 1)
    deeper(5000)
print("blue")
"""
ERROR = "RecursionError: maximum recursion depth exceeded"
TARGET = ("--target", "command:python3 app.py")
CASES = {f"test-case:{number:032x}": colour for number, colour in enumerate(("sky", "grass", "sea"))}


def suite() -> dict[str, JsonValue]:
    """Cases as a table's rows become some: by ids that nobody reads, with titles."""
    cases = [
        record(
            ident, "test-case", name=f"What colour is {what}?", inputs={"q": what}, expectedOutputs={"output": "blue"}
        )
        for ident, what in CASES.items()
    ]
    return {"records": [*cases, record("b", "benchmark", name="b", testCaseIds=[*CASES])]}


@pytest.mark.parametrize("broken", ['question == "grass"', "True"], ids=["one", "all"])
def test_a_traceback_is_one_line_that_ends_with_the_error(at: Terminal, broken: str) -> None:
    at.file("app.py", BROKEN.format(broken=broken))
    assert at.run("import", at.file("s.json", suite())).code == 0
    grass = [*CASES][1]
    for command in (
        ("run-benchmark", "b", *TARGET, "--fail-on-regression"), ("runs",), ("runs", "latest"), ("run-test-case", grass, *TARGET),
        ("accept", "latest:2.1"), ("diff", "latest"),
    ):  # fmt: skip
        said = at.run(*command)
        told = said.out + said.err
        assert len(told.splitlines()) < 20, told
        assert "ended with code" not in told or ERROR in " ".join(told.split()), told


def test_a_refused_run_is_listed_with_its_reason_and_names_a_case_once(at: Terminal) -> None:
    assert at.run("import", at.file("s.json", suite())).code == 0
    (sky, *_) = CASES
    for command, refused in (("run-benchmark", "b"), ("run-test-case", sky)):
        said = at.run(command, refused)
        assert said.code == 2
        assert said.err.count(sky) == 1, said.err
    for width in ("60", "80", "120", "200"):
        listed = at.with_env(COLUMNS=width).run("runs").out
        assert "no recorded agent-run with these inputs" in " ".join(listed.split()), listed
        assert "What colour is sky?" in listed, "an id that nobody gave is no name"


def test_what_is_not_judged_is_listed_once(at: Terminal) -> None:
    outputs = [record("a", "agent-run", agentId="a", inputs={"q": "sky"}, outputs={"output": "blue"})]
    whole = suite()
    assert isinstance(whole["records"], list)
    assert at.run("import", at.file("s.json", {"records": [*whole["records"], *outputs]})).code == 0
    said = " ".join(at.run("run-benchmark", "b").out.split())
    assert said.count("no recorded agent-run with these inputs") == 1, said
    assert "2 could not be run" in said


def test_a_record_is_shown_with_the_titles_of_what_it_is_linked_to(at: Terminal) -> None:
    assert at.run("import", at.file("s.json", suite())).code == 0
    shown = at.run("show", "b").out
    for ident, what in CASES.items():
        assert f"b --groups--> {ident}  What colour is {what}?" in shown


def test_who_hides_a_case_hears_which_benchmark_lists_it(at: Terminal) -> None:
    assert at.run("import", at.file("s.json", suite())).code == 0
    sky, grass, _ = CASES
    assert "Still listed in b" in at.run("delete", sky).out
    assert at.run("delete", "b").code == 0
    assert "Still listed" not in at.run("delete", grass).out
