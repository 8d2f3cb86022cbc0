"""A report as one HTML file: no network, no markup from what was under test, and a policy that lets only our own script run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.report_lines import report_lines
from minions_evals_mcp.engine.answers.report_values import Report, Side
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.presentation import verdict_words
from minions_evals_mcp.presentation.typeset import typeset
from minions_evals_mcp.report import audits, sentences
from minions_evals_mcp.report.charts import marks
from minions_evals_mcp.report.charts.changes import histogram
from minions_evals_mcp.report.charts.trend import chart_css, history_chart
from minions_evals_mcp.report.documents.case_lines import Room, case_line, embedded
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.plain import printable, sentence_case
from minions_evals_mcp.report.prose import prose
from minions_evals_mcp.report.sentences import answer

COLUMNS = 10
"""So many criteria have a column of their own; a case shows the others when it is opened."""


@cache
def page_templates() -> Environment:
    """The templates of pages that stand on their own."""
    loader = PackageLoader("minions_evals_mcp.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )  # fmt: skip
    environment.filters.update(
        line=_line, prose=prose, iso=iso, figure=sentences.number, sentence_case=sentence_case, typeset=typeset
    )  # pyright: ignore[reportCallIssue, reportArgumentType]  jinja2 types its own filters only
    return environment


def _line(text: str, limit: int = 300) -> str:
    return printable(text, limit)


def own_file(name: str) -> str:
    """The text of a style or script of ours."""
    return files("minions_evals_mcp.report").joinpath(f"templates/{name}").read_text("utf-8")


def _hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(*, style: str, script: str) -> str:
    """The content security policy under which that style and that script, and nothing else, take effect."""
    return f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; base-uri 'none'; form-action 'none'"


def report_policy(report: Report) -> str:
    """The policy under which that report's page works."""
    return policy(style=_style(report), script=_script())


def _style(report: Report) -> str:
    shared = (own_file("design.css"), chart_css(), own_file("report.css"))
    return "\n".join((*shared, _grid(len(report.criteria[:COLUMNS]))))


@cache
def _script() -> str:
    return own_file("word_diff.js") + own_file("report.js")


async def page(engine: Engine, report: Report) -> AsyncGenerator[str]:
    """The file, piece by piece."""
    columns = report.criteria[:COLUMNS]
    style, script = _style(report), _script()
    template = page_templates().get_template("report.html.j2")
    fields = report.run.summary.benchmark_run
    yield template.render(
        report=report,
        answer=printable(answer(report), 600),
        benchmark_run=fields,
        columns=columns,
        names=_names(report),
        marks=marks,
        histogram=_histogram(report),
        chart=Markup(history_chart(report.run, report.history, names=report.names)),  # noqa: S704  made by charts.py, whose only text is escaped by its library
        policy=policy(style=style, script=script),
        style=Markup(style),  # noqa: S704  our own file
        labels=Markup(embedded(to_json(_labels(report)).decode())),  # noqa: S704  escaped by `embedded`
        words=sentences,
        verdicts=verdict_words,
        checks=audits,
        in_store=partial(in_store, store=engine.config.named_db),
    )
    room = Room()
    async with aclosing(report_lines(engine, report)) as pages:
        async for cases in pages:
            yield "".join([f"{case_line(case, room)}\n" for case in cases])
    yield f"</script>\n<script>{script}</script>\n</body>\n</html>\n"


@dataclass(frozen=True, slots=True)
class _Names:
    """Versions by name: those of both runs, and of any other by id."""

    before: str
    after: str
    of: dict[str, str]


def _names(report: Report) -> _Names:
    return _Names(_version(report.before, report.names), _version(report.run, report.names), report.names)


def _version(side: Side | None, names: dict[str, str]) -> str:
    fields = None if side is None else side.summary.benchmark_run
    version = None if fields is None else fields.get("promptVersionRef")
    return names.get(version, version) if isinstance(version, str) else ""


def _histogram(report: Report) -> Markup:
    """Returns how far the cases moved, where two runs stand side by side."""
    if report.diff is None:
        return Markup("")
    deltas = [-change.loss for change in report.diff.changes if change.before and change.after]
    return histogram(deltas, label="number of cases by size of change; listed below")


def _grid(criteria: int) -> str:
    """Inline styles are refused by the policy, so the number of columns stands in the stylesheet."""
    return f":root {{ --criteria: {max(criteria, 1)}; }}\n"


def _labels(report: Report) -> JsonValue:
    """Returns what the script needs to know of all cases."""
    return {
        "columns": [criterion.id for criterion in report.criteria[:COLUMNS]],
        "titles": {criterion.id: printable(criterion.title, 120) for criterion in report.criteria},
        "statuses": {**sentences.STATUS_WORDS},
        "kinds": {**sentences.KIND_WORDS} if report.diff is not None else {},
        "sides": ["output"]
        if report.before is None
        else [f"before: {_name(report.before, report.names)}", f"after: {_name(report.run, report.names)}"],
    }


def _name(side: Side, names: dict[str, str]) -> str:
    return _version(side, names) or side.summary.run_id
