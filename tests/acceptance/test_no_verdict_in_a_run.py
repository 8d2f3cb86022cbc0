"""Every outcome of a benchmark-run at every export, page, tool, plug-in and exit code: what has no verdict is no pass anywhere."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.shipped import shipped_folder
from tests.cli.suites import answer, benchmark, case, record, suite
from tests.hang import HANG_S
from tests.shared.cli.terminal import ROOT, Json, Terminal
from tests.shared.fakes.scripted_model import scripted_model
from tests.shared.server.hosts import hosted
from tests.shared.view.visitor import visitor
from tests.workshop import place_store

BY_MODEL: Json = {"type": "llm-rubric", "value": "kind"}
OUTCOMES: dict[str, list[Json]] = {
    "passed": [case("passed"), answer("a1", "passed", "green")],
    "failed": [case("failed"), answer("a2", "failed", "red")],
    "skipped": [case("skipped")],
    "target-error": [
        case("target-error"),
        record("a3", "agent-run", agentId="a", inputs={"q": "target-error"}, status="failed", errorMessage="HTTP 503: overloaded"),
    ],
    "judge-error": [
        record("judge-error", "test-case", name="judge-error", inputs={"q": "judge-error"}, assertions=[BY_MODEL]),
        answer("a4", "judge-error", "green"),
    ],
    "user-error": [
        record(
            "user-error", "test-case", name="user-error", inputs={"q": "user-error"},
            assertions=[{"type": "contains", "value": "green"}],
            conversation={"player": "model", "goal": "Learn the colour", "opening": "Hello"},
        ),
        record(
            "a7", "agent-run", agentId="a", inputs={"q": "user-error"},
            outputs={
                "output": "green",
                "messages": [
                    {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Which one?"},
                    {"role": "user", "content": "How can I help you?"}, {"role": "assistant", "content": "green"},
                ],
            },
        ),
    ],
    "partly": [
        record(
            "partly", "test-case", name="partly", inputs={"q": "partly"}, assertions=[{"type": "contains", "value": "green"}, BY_MODEL]
        ),
        answer("a5", "partly", "green"),
    ],
    "awaiting": [record("awaiting", "test-case", name="awaiting", inputs={"q": "awaiting"}), answer("a6", "awaiting", "green")],
}  # fmt: skip
"""The records that lead to each outcome; "partly" passes the check that rules decide, and nobody says what the other is."""
CODES = {"passed": 0, "failed": 1}
ENDED = [name for name in OUTCOMES if name != "awaiting"]
JUDGED = ("--judge-model", "openai:judge")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Generator[Terminal]:
    """A terminal whose store holds a run of all outcomes but what waits, and one of what waits."""
    folder = tmp_path_factory.mktemp("outcomes")
    place_store(folder)
    with scripted_model() as address:
        terminal = Terminal(folder).with_env(OPENAI_API_KEY="sk-of-nobody-at-all", OPENAI_BASE_URL=f"{address}/v1")
        records = [one for several in OUTCOMES.values() for one in several]
        whole = suite(*records, benchmark("b", *ENDED), benchmark("w", "passed", "awaiting"))
        assert terminal.run("import", terminal.file("s.json", whole)).code == 0
        assert terminal.run("run-benchmark", "b", *JUDGED, "--key", "run").code == 3
        assert terminal.run("run-benchmark", "w", "--key", "waits").code == 0, "no gate was asked for"
        yield terminal


def _json(text: str) -> set[str]:
    return {one["testCaseId"] for one in json.loads(text)["cases"] if (one.get("tried") or {}).get("passed")}


def _csv(text: str) -> set[str]:
    return {row["testCaseId"] for row in csv.DictReader(io.StringIO(text)) if row["status"] == "passed"}


def _junit(text: str) -> set[str]:
    root = ET.fromstring(text)  # noqa: S314  our own file
    passing = {str(one.get("name")) for one in root.iter("testcase") if len(one) == 0}
    counts = {name: int(root[0].get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    assert counts["tests"] - counts["failures"] - counts["errors"] - counts["skipped"] == len(passing)
    return passing


def _page(text: str) -> set[str]:
    assert 'class="answer good"' not in text, "outputs without a verdict lie behind it"
    rows = [json.loads(line.split("\t")[0]) for line in text.splitlines() if line.startswith('["')]
    return {str(row[0]) for row in rows if row[3] == "passed"}


REPORTS: dict[str, Callable[[str], set[str]]] = {
    ".json": _json, ".csv": _csv, ".xml": _junit, ".html": _page,
}  # fmt: skip


@pytest.mark.parametrize("form", REPORTS)
def test_no_report_calls_a_pass_what_has_no_verdict(at: Terminal, form: str) -> None:
    assert at.run("report", "run", "-o", f"r{form}").code == 0
    assert REPORTS[form]((at.folder / f"r{form}").read_text()) == {"passed"}


def test_the_comment_for_a_pull_request_names_what_has_no_verdict(at: Terminal) -> None:
    at.run("report", "run", "-o", "r.md")
    text = (at.folder / "r.md").read_text()
    assert set(re.findall("◌ not scored: <code>([^<]*)</code>", text)) == set(ENDED) - {"passed", "failed"}
    assert "1 of 2 passed" in text


def _promptfoo(text: str) -> set[str]:
    found = json.loads(text)["results"]
    passing = [one for one in found["results"] if one["success"] or (one["gradingResult"] or {}).get("pass")]
    assert found["stats"]["successes"] == len(passing)
    return {str(one["vars"]["q"]) for one in passing}


def _inspect(text: str) -> set[str]:
    return {
        str(one["id"]) for one in json.loads(text)["samples"] for score in one.get("scores", {}).values() if score["value"] == "C"
    }  # fmt: skip


def _events(text: str) -> set[str]:
    records = json.loads(text)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    passing: set[str] = set()
    for one in records:
        named = {part["key"]: part["value"].get("stringValue") for part in one["attributes"]}
        if named.get("gen_ai.evaluation.score.label") == "pass":
            passing.add(str(named.get("minions.test_case_id")))
    return passing


EXPORTS: dict[str, Callable[[str], set[str]]] = {
    "promptfoo": _promptfoo, "inspect-json": _inspect, "junit": _junit, "otel-events": _events,
}  # fmt: skip


@pytest.mark.parametrize("form", EXPORTS)
def test_no_other_tools_file_calls_a_pass_what_has_no_verdict(at: Terminal, form: str) -> None:
    told = at.run("export", "run", "--format", form, "-o", f"x.{form}")
    assert told.code == 0, told.err
    assert EXPORTS[form]((at.folder / f"x.{form}").read_text()) == {"passed"}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_case_without_a_verdict_ends_no_command_with_0(at: Terminal, outcome: str) -> None:
    told = at.run("run-test-case", outcome, *JUDGED)
    assert told.code == CODES.get(outcome, 3 if outcome != "skipped" else told.code), told.err
    assert told.code != 0 or outcome == "passed"
    assert ("✓ passed" in told.out) == (outcome == "passed")


@pytest.mark.parametrize(
    "gates", [("--min-score", "0"), ("--fail-on-regression",), ("--min-score", "0", "--allow-skipped")]
)
def test_no_gate_passes_a_run_with_outputs_that_nobody_judged(at: Terminal, gates: tuple[str, ...]) -> None:
    for benchmark_id in ("b", "w"):
        told = at.run("run-benchmark", benchmark_id, *JUDGED, *gates)
        assert told.code == 3, (benchmark_id, told.err)


def config(at: Terminal) -> EngineConfig:
    return EngineConfig(at.db, shipped_folder("skills"))


@pytest.mark.anyio
async def test_no_tool_says_that_it_passed(at: Terminal) -> None:
    async with hosted(config(at)) as host:
        found: Any = await host.call("get_run", runId="run", detail="full")
        assert (found["benchmarkRun"]["passedCount"], found["benchmarkRun"]["totalCount"]) == (1, 2)
        assert {one["testCaseId"] for one in found["unscored"]} == set(ENDED) - {"passed", "failed"}
        waits: Any = await host.call("get_run", runId="waits", detail="full")
        assert "benchmarkRun" not in waits
        assert (waits["state"], waits["waiting"]) == ("awaiting-judgments", 1)


@pytest.mark.anyio
async def test_no_cell_of_the_page_says_that_it_passed(at: Terminal) -> None:
    async with open_engine(config(at)) as engine, visitor(engine) as client:
        job = await get_job(engine, "run")
        page = (await client.get(f"/run?id={job.id}")).text
        assert re.findall('<td class="passed short">', page) == ['<td class="passed short">']
        assert len(re.findall('<td class="unscored short">', page)) == len(ENDED) - 2
        newest = (await client.get("/benchmark?id=b")).text
        assert 'class="answer good"' not in newest


PLUGIN = """
import pytest

@pytest.mark.parametrize("case", {cases})
def test_case(case, evals):
    evals.run_benchmark(case, min_score=0)
"""


def test_no_test_of_the_plugin_is_green_without_a_verdict(at: Terminal, tmp_path: Path) -> None:
    names = [name for name in OUTCOMES if name not in {"passed", "failed"}]
    one_each = suite(*(benchmark(f"only-{name}", name) for name in OUTCOMES))
    at.run("import", at.file("each.json", one_each))
    (tmp_path / "test_each.py").write_text(PLUGIN.format(cases=[f"only-{name}" for name in OUTCOMES]))
    environment = {**at.environment, "MINIONS_EVALS_JUDGE_MODEL": "openai:judge", "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_each.py", "--tb=no", "-rA"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    green = set(re.findall(r"PASSED .*only-([\w-]+)", ended.stdout))
    assert green.isdisjoint(names), ended.stdout
    assert "passed" in green, ended.stdout
