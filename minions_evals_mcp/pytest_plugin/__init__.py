"""The pytest plugin: the fixture `evals`, its mark, suites named `*.evals.yaml` of which each case is a test, a summary.

It imports nothing of the engine until a test asks for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pydantic import JsonValue

    from minions_evals_mcp.pytest_plugin.fixture import Evals
    from minions_evals_mcp.pytest_plugin.suites import SuiteOfCases

PROPERTY = "minions-evals"
SUITES = (".evals.yaml", ".evals.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of the plugin in pytest's own configuration file."""
    parser.addini("evals_target", "target that makes the outputs, as --target of minions-evals", default="")
    parser.addini("evals_judge", "who judges: auto (default), heuristic or llm", default="auto")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteOfCases | None:
    """A suite whose name says that its cases are tests."""
    if not file_path.name.endswith(SUITES):
        return None
    from minions_evals_mcp.pytest_plugin.suites import SuiteOfCases  # noqa: PLC0415  the engine is imported for a suite only

    return SuiteOfCases.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]  pytest leaves the arguments open


@pytest.fixture
def evals(request: pytest.FixtureRequest, tmp_path: Path) -> Evals:
    """Checks outputs, evaluates functions and runs benchmarks from a test, sync or async; what it judges is kept."""
    from minions_evals_mcp.pytest_plugin.fixture import Evals  # noqa: PLC0415  the engine is imported for a test that asks
    from minions_evals_mcp.pytest_plugin.repeating import trials_of  # noqa: PLC0415  as above

    node: pytest.Item = request.node

    def tell(entry: dict[str, JsonValue]) -> None:
        node.user_properties.append((PROPERTY, json.dumps(entry)))  # with the report it comes back from a worker

    return Evals(tmp_path, node.nodeid, trials_of(node.get_closest_marker("evals")), tell)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the mark known."""
    config.addinivalue_line(
        "markers", "evals(trials=1, min_pass_rate=1.0): run the test so often; so large a share of its runs must pass"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Has a marked test run several times; whoever calls it, sync or async, calls that."""
    if not isinstance(item, pytest.Function) or item.get_closest_marker("evals") is None:
        return
    from minions_evals_mcp.pytest_plugin.fixture import Evals  # noqa: PLC0415  the engine is imported for a test that asks
    from minions_evals_mcp.pytest_plugin.repeating import repeated  # noqa: PLC0415  as above

    fixture = item.funcargs.get("evals")
    if not isinstance(fixture, Evals):
        pytest.fail("a test with the mark evals takes the fixture `evals`.", pytrace=False)
    item.obj = repeated(item.obj, fixture)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what was judged, at the end of the test run."""
    entries = [
        {**json.loads(str(value)), "green": getattr(report, "passed", False)}
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == PROPERTY
    ]
    if not entries:
        return
    from minions_evals_mcp.pytest_plugin.summary import summary_lines  # noqa: PLC0415  where there is something to tell

    terminalreporter.section("evals")
    for line in summary_lines(entries):
        terminalreporter.write_line(line)
