"""The answer to a config as a file: HTML that stands alone, JUnit XML, results line by line, YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator

import yaml
from markupsafe import Markup

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.config_eval.matrix import Cell, ColumnFigures, ConfigTestRow, Matrix
from minions_evals_mcp.report import ab_words
from minions_evals_mcp.report.charts import marks
from minions_evals_mcp.report.charts.trend import chart_css
from minions_evals_mcp.report.documents.page import own_file, page_templates, policy
from minions_evals_mcp.report.junit import attributes, xml_text
from minions_evals_mcp.report.matrix.cells import MARKS, why_open
from minions_evals_mcp.report.matrix.verdict import verdict


def matrix_html(matrix: Matrix) -> str:
    """One file that opens anywhere and needs no network: a row for each test, a column for each prompt and provider."""
    own = (
        own_file("design.css"),
        chart_css(),
        own_file("eval.css"),
        f":root {{ --columns: {len(matrix.columns) + 1}; }}\n",
    )
    style = "".join(own)
    counts = {
        "all": len(matrix.rows),
        "failed": sum(row.verdict == "failed" for row in matrix.rows),
        "differ": sum(map(differs, matrix.rows)),
    }
    return (
        page_templates()
        .get_template("eval.html.j2")
        .render(
            matrix=matrix,
            counts=counts,
            verdict=verdict(matrix),
            signs={name: mark for name, (mark, _) in MARKS.items()},
            marks=marks,
            differs=differs,
            heat=_heat,
            figures=ab_words,
            style=Markup(style),  # noqa: S704  our own files
            policy=policy(style=style, script=""),
        )
    )


def differs(row: ConfigTestRow) -> bool:
    """Whether the columns that the test asks for came out differently."""
    return len({cell.verdict for cell in row.cells if cell.asked}) > 1


def _heat(cell: Cell) -> str:
    """The class of a cell's colour: of five steps from red to green by its score, neutral where it has none."""
    if cell.score is None or cell.verdict not in {"passed", "failed"}:
        return "heat-2"
    step = min(4, max(0, int(cell.score * 5)))
    return f"heat-{max(step, 3) if cell.success else min(step, 1)}"


def matrix_junit(matrix: Matrix) -> str:
    """A test suite for each column, a test case for each test that asks for it."""
    suites = [_suite(matrix, number, column) for number, column in enumerate(matrix.columns)]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites{attributes({'name': matrix.title})}>",
            *suites,
            "</testsuites>\n",
        ]
    )


def _suite(matrix: Matrix, number: int, column: ColumnFigures) -> str:
    cells = [(row, cell) for row in matrix.rows for cell in row.cells if cell.column == number and cell.asked]
    lines = [_testcase(column, row, cell) for row, cell in cells]
    counts = {kind: sum(f"<{kind}" in line for line in lines) for kind in ("failure", "error", "skipped")}
    about = {
        "name": f"[{number}] {column.provider}: {column.prompt}", "tests": len(cells),
        "failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"],
    }  # fmt: skip
    return "\n".join([f"<testsuite{attributes(about)}>", *lines, "</testsuite>"])


def _testcase(column: ColumnFigures, row: ConfigTestRow, cell: Cell) -> str:
    about: dict[str, object] = {"name": f"{row.index + 1}. {row.title}", "classname": column.provider}
    if row.trial > 1:
        about["name"] = f"{about['name']} (trial {row.trial})"
    if cell.latency_ms is not None:
        about["time"] = f"{cell.latency_ms / 1000:.3f}"
    return f"<testcase{attributes(about)}>{_outcome(cell)}</testcase>"


def _outcome(cell: Cell) -> str:
    if cell.success:
        return ""
    if cell.verdict == "open":
        return f"<skipped{attributes({'message': why_open(cell)})}/>"
    if cell.verdict == "error":
        why = why_open(cell)
        return f"<error{attributes({'message': why or 'no output'})}>{xml_text(why)}</error>"
    why = "; ".join(_reasons(cell)) or ("another output was selected" if cell.passed else "failed")
    message = attributes({"message": why, "type": "assertion"})
    return f"<failure{message}>{xml_text(why + chr(10) + 'output: ' + (cell.output or ''))}</failure>"


def _reasons(cell: Cell) -> Iterator[str]:
    return (f"{score.type}: {score.reason}" for score in cell.scores if not score.passed)


def result_lines(results: Json) -> str:
    """Each result of a results file in a line of its own."""
    inner = results["results"]
    assert isinstance(inner, dict), "a results file of ours"
    rows = inner["results"]
    assert isinstance(rows, list), "a results file of ours"
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def yaml_text(results: Json) -> str:
    """The results file as YAML."""
    return yaml.safe_dump(results, allow_unicode=True, sort_keys=False)
