"""The report of an A/B test as a file: who wins and how sure that is, and each branch's figures with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from markupsafe import Markup
from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestResult
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.report import ab_words
from minions_evals_mcp.report.markdown import inert
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.report.rows import csv_row

COLUMNS = (
    "rank", "branch_id", "branch_name", "provider", "model", "is_control", "quality_score", "quality_interval", "pass_rate",
    "pass_rate_interval", "latency_ms", "median_latency_ms", "median_latency_interval", "p95_latency_ms",
    "p95_latency_interval", "estimated_cost", "median_cost", "median_cost_interval", "p95_cost", "p95_cost_interval", "total_cost",
    "runs", "failures", "wins",
)  # fmt: skip
Form = Callable[[AbTestResult, str], str]
"""An A/B test under its title, as a text."""


def _page(result: AbTestResult, title: str) -> str:
    from minions_evals_mcp.report.documents.page import own_file, page_templates, policy  # noqa: PLC0415  templates, needed here only

    style = "\n".join((own_file("design.css"), own_file("report.css")))
    return (
        page_templates()
        .get_template("ab_test.html.j2")
        .render(
            found=result,
            title=title,
            words=ab_words,
            policy=policy(style=style, script=""),
            style=Markup(style),  # noqa: S704  our own file
        )
    )


def _markdown(result: AbTestResult, title: str) -> str:
    return "\n".join(_markdown_lines(result, title)) + "\n"


def _markdown_lines(result: AbTestResult, title: str) -> Iterator[str]:
    yield f"**{inert(printable(f'{title}: {ab_words.headline(result)}', 400))}**\n"
    for sentence in (ab_words.how_sure(result), result.note):
        if sentence:
            yield f"{inert(printable(sentence, 400))}\n"
    yield "| branch | model | quality (95 %) | passed (95 %) | median time (95 %) | p95 time (95 %) | median cost (95 %) | runs |"
    yield "|---|---|---|---|---|---|---|--:|"
    for branch in result.branches:
        name = f"{branch.rank}. {branch.branch_name}" + (" (control)" if branch.is_control else "")
        figures = (
            (branch.quality_score, branch.quality_interval, ab_words.score),
            (branch.pass_rate, branch.pass_rate_interval, ab_words.percent),
            (branch.median_latency_ms, branch.median_latency_interval, ab_words.ms),
            (branch.p95_latency_ms, branch.p95_latency_interval, ab_words.ms),
            (branch.median_cost, branch.median_cost_interval, ab_words.dollars),
        )
        shown = [
            words(value) + (f" ({ab_words.between(interval, words)})" if interval else "")
            for value, interval, words in figures
        ]
        runs = f"{branch.runs}" + (f", {branch.failures} failed" if branch.failures else "")
        cells = (inert(printable(name, 80)), inert(printable(branch.model, 80)), *map(inert, shown), runs)
        yield "| " + " | ".join(cells) + " |"
    yield ""
    for branch in result.branches:
        if sentence := ab_words.against(branch):
            yield f"- {inert(printable(branch.branch_name, 80))} against the control: {inert(sentence)}"
    version = "" if result.prompt_version is None else f", prompt version {result.prompt_version}"
    yield f"\nRun `{result.run_id}`{version}"


def _json(result: AbTestResult, title: str) -> str:
    wire = {"title": title, "answer": ab_words.headline(result), **result.model_dump(mode="json")}
    return masked(to_json(wire, indent=2).decode()) + "\n"


def _csv(result: AbTestResult, title: str) -> str:
    del title
    fields = (branch.model_dump(mode="json", by_alias=False) for branch in result.branches)
    return "".join([csv_row(COLUMNS), *(csv_row([_plain(branch[name]) for name in COLUMNS]) for branch in fields)])


def _plain(value: JsonValue) -> JsonValue:
    """A cell; the ends of an interval stand in one."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value


FORMS: dict[str, Form] = {".html": _page, ".md": _markdown, ".json": _json, ".csv": _csv}


def ab_form_of(file: Path) -> Form:
    """Returns what writes an A/B test into a file of that name; raises `BadInputError` for an extension that has no form."""
    form = FORMS.get(file.suffix.lower())
    if form is None:
        raise BadInputError(
            f"an A/B test cannot be written as {file.suffix or file.name!r}.",
            remedy=f"Name a file that ends in {', '.join(FORMS)}.",
        )
    return form
