"""The pytest plugin, in a real pytest process over a project of a user's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hang import HANG_S
from tests.shared.cli.installed import program
from tests.shared.cli.standby import STANDBYS, Asked
from tests.shared.cli.terminal import inherited
from tests.shared.store.small_store import raw

QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-q")
SUITE = """
minions:
  - {id: capital, type: test-case, fields: {name: Capital of France, inputs: {q: France}, expectedOutputs: {output: Paris}}}
  - {id: river, type: test-case, fields: {name: River of Cologne, inputs: {q: Cologne}, expectedOutputs: {output: Rhine}}}
  - {id: nobody, type: test-case, fields: {name: Nobody answered, inputs: {q: Rome}, expectedOutputs: {output: Tiber}}}
  - {id: old, type: test-case, fields: {name: Old, inputs: {q: old}, status: deprecated}}
  - {id: r1, type: agent-run, fields: {agentId: geo, inputs: {q: France}, outputs: {output: It is Paris.}}}
  - {id: r2, type: agent-run, fields: {agentId: geo, inputs: {q: Cologne}, outputs: {output: It is the Main.}}}
  - {id: geography, type: benchmark, fields: {name: Geography, testCaseIds: [capital, river]}}
"""


@dataclass
class Project:
    """A user's project with tests of its own."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    @property
    def store(self) -> Path:
        """What the tests' judgments are kept in."""
        return self.folder / "kept" / "evals.db"

    def environment(self) -> dict[str, str]:
        return {**inherited(), "MINIONS_EVALS_DB": str(self.store)}

    def run(self, *arguments: str) -> str:
        """What pytest says, and its exit code in the last line."""
        asked = Asked([*QUIET, *arguments], str(self.folder), self.environment(), "pytest")
        code, out, err = STANDBYS.carried_out(asked, b"", HANG_S)
        return f"{out.decode()}{err.decode()}\nexit {code}"

    def started(self) -> str:
        """The same by a process that is started for it: it has imported nothing before."""
        command = [sys.executable, "-m", "pytest", *QUIET]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_S,
        ).stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    return made


def test_each_case_of_a_suite_is_a_test_with_its_rationale_as_the_message(project: Project) -> None:
    project.write("geo.evals.yaml", SUITE)
    said = project.run("-rs")
    assert "1 failed, 1 passed, 1 skipped" in said
    assert "wrong-output: Expected “Rhine”, got “It is the Main.”" in said
    assert "implicit:river: 0 of 1 by" in said
    assert "no recorded agent-run with these inputs" in said
    assert "Traceback" not in said
    assert "1 passed" in project.run("geo.evals.yaml::capital")


def two_workers() -> tuple[str, str, str]:
    """What `-n 2` stands for, with workers that are forked."""
    return ("--dist=load", "--tx", f"2*popen//python={program('python')}")


def test_several_workers_judge_a_suite_without_getting_in_each_others_way(project: Project) -> None:
    project.write("geo.evals.yaml", SUITE)
    assert "1 failed, 1 passed, 1 skipped" in project.run(*two_workers())


def test_a_suite_that_does_not_parse_is_a_collection_error_with_file_line_and_reason(project: Project) -> None:
    project.write("bad.evals.yaml", "minions:\n  - {id: a, type: test-case, fields: {nam: x}}\n")
    said = project.run()
    assert "bad.evals.yaml:2: test-case a: fields.name: is missing" in said
    assert "exit 2" in said


def test_a_test_checks_an_output_and_reads_the_verdict(project: Project) -> None:
    project.write(
        "test_reply.py",
        """
import pytest

WANTED = [{"type": "icontains", "value": "refund"}, {"type": "regex", "value": "(?<=day )\\\\d+"}]

def test_good(evals):
    assert evals.check("A Refund by day 30", assertions=WANTED)["score"] == 1

def test_bad(evals):
    evals.check("no", assertions=WANTED)

def test_threshold(evals):
    assert evals.check("refund", assertions=WANTED, threshold=0.5)["pass"]

def short(output, case):
    return len(output) < 10 and case.expected == "day"

def test_names_and_functions(evals):
    assert len(evals.check("day 30", checks=["icontains", short], expected="day")["results"]) == 2

def test_unknown(evals):
    evals.check("x", assertions=[{"type": "nonsense"}])

@pytest.mark.anyio
async def test_async(evals):
    evals.check({"output": "refund day 3"}, assertions=WANTED)

@pytest.fixture
def anyio_backend():
    return "asyncio"
""",
    )
    said = project.run()
    assert "2 failed, 4 passed" in said
    assert "AssertionError: score 0.0: icontains: " in said
    assert "nonsense" in said
    assert 'evals.check("no", assertions=WANTED)' in said
    assert "raise AssertionError" not in said, "what is shown of a failure is the test's own line"


def test_what_an_agent_called_is_checked_where_it_is_known_and_else_the_remedy_is_said(project: Project) -> None:
    project.write(
        "test_calls.py",
        """
from minions_evals_mcp import Case, Output

WANTED = [{"type": "trajectory:tool-used", "value": "search"}]

def answer(question):
    return "Paris"

def test_handed_over(evals):
    evals.check(Output("Paris", tool_calls=[{"tool": "search", "arguments": {}}]), assertions=WANTED)

def test_not_recorded(evals):
    evals.check("Paris", assertions=WANTED)

def test_function(evals):
    assert evals.evaluate(answer, [Case({"question": "France?"})], checks=WANTED).passed
""",
    )
    said = project.run()
    remedy = "mark the tools with @tool, or give Output(text, tool_calls=[…])"
    assert "2 failed, 1 passed" in said
    assert said.count(remedy) >= 3  # both failures, and the summary
    assert "  not judged: test_calls.py::test_not_recorded/1" in said
    assert not [word for word in ("--key", "implicit:", "waiting.py", "kept_check") if word in said]


def test_a_test_runs_a_benchmark_and_holds_its_gates(project: Project) -> None:
    project.write("geo.yaml", SUITE)
    project.write(
        "test_bench.py",
        """
def test_reached(evals):
    assert evals.run_benchmark("geography", suite="geo.yaml", min_score=0.5).benchmark_run["passedCount"] == 1

def test_missed(evals):
    evals.run_benchmark("geography", suite="geo.yaml", min_score=0.9, literal=True)

def test_undecided(evals):
    evals.run_benchmark("geography", suite="geo.yaml", min_score=0.9)

def test_open(evals):
    assert evals.run_benchmark("geography", suite="geo.yaml").state == "completed"
""",
    )
    said = project.run()
    assert "2 failed, 2 passed" in said
    assert "geography: score 0.500 < 0.9 (95 % CI" in said
    assert "River of Cologne: Expected" in said
    assert "gate undecided: score 0.500 < 0.9" in said


def test_a_judge_that_is_no_judge_is_refused_by_name(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\nevals_judge = me\n")
    project.write("geo.evals.yaml", SUITE)
    assert "evals_judge is 'me' in pytest's settings. Use auto, heuristic, llm" in project.run("-k", "capital")


def test_a_project_without_suites_imports_nothing_of_the_engine(project: Project) -> None:
    project.write(
        "test_plain.py",
        """
import sys

def test_nothing_is_imported():
    assert not [name for name in sys.modules if name.startswith("minions_evals_mcp.") and "pytest_plugin" not in name]
    assert "pydantic" not in sys.modules
    assert "minions_evals_mcp.pytest_plugin" in sys.modules
""",
    )
    assert "1 passed" in project.started()


KEPT = """
import pytest
from minions_evals_mcp import Case

def answer(q):
    return {"France": "Paris", "Italy": "Milan"}[q]

CASES = [Case({"q": "France"}, expected="Paris"), Case({"q": "Italy"}, expected="Rome")]

def test_good(evals):
    evals.check("A refund", assertions=[{"type": "icontains", "value": "refund"}])

def test_bad(evals):
    evals.check("no", assertions=[{"type": "icontains", "value": "refund"}])

def test_evaluated(evals):
    result = evals.evaluate(answer, CASES, checks=["icontains"], name="geography")
    assert result.passed, result

@pytest.mark.evals(trials=2, min_pass_rate=0.5)
def test_half_of_the_cases_is_enough(evals):
    result = evals.evaluate(answer, CASES, checks=["icontains"])
    assert result.scored_count == 4 and result.passed

TRIED = []

@pytest.mark.evals(trials=5, min_pass_rate=0.8)
@pytest.mark.parametrize("falls", [1, 2])
async def test_often(evals, falls):
    TRIED.append(falls)
    evals.check("no" if TRIED.count(falls) <= falls else "yes", assertions=[{"type": "equals", "value": "yes"}])
"""


def test_what_a_test_judges_is_kept_trials_are_counted_and_the_end_sums_it_up(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\nanyio_mode = auto\n")
    project.write("test_kept.py", KEPT)
    said = project.run(*two_workers())
    assert "3 failed, 3 passed" in said
    assert "3 of 5 trials passed, 80% must: score 0.0: equals" in said
    assert "8 of 12 checks passed; 1 that did not is of tests that passed" in said
    assert "test_kept.py::test_often-asyncio-1" not in said.partition("checks passed")[2]
    assert "failed 2 times: test_kept.py::test_often-asyncio-2" in said
    assert (
        f"failed: test_kept.py::test_bad/1 (minions-evals history --db {project.store} test_kept.py::test_bad/1)"
        in said
    )
    assert "geography: failed; the first run of this name" in said
    assert f"saved in {project.store}" in said
    with raw(project.store) as db:
        kept = dict(db.execute("SELECT test_case_id, sum(passed) FROM test_run GROUP BY 1 ORDER BY 1").fetchall())
    assert (kept["test_kept.py::test_good/1"], kept["test_kept.py::test_bad/1"]) == (1, 0)
    assert "geography: failed; as the run before: 1 of 2 passed before, 1 of 2 now" in project.run("-k", "evaluated")


def test_a_mark_that_asks_for_what_cannot_be_is_refused(project: Project) -> None:
    project.write("test_mark.py", "import pytest\n@pytest.mark.evals(trial=2)\ndef test_it(evals): pass\n")
    assert "the mark evals takes trials= and min_pass_rate= only" in project.run()
