"""The forms of a report, by the extension of the file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

from minions_evals_mcp.engine.answers.report_data import report_cases
from minions_evals_mcp.engine.answers.report_values import Report, ReportedCase
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.junit import junit
from minions_evals_mcp.report.markdown import markdown
from minions_evals_mcp.report.rows import csv_text, json_text

Form = Callable[[Engine, Report], AsyncGenerator[str]]
"""A report's figures as a text, piece by piece; the form itself asks for the cases."""


async def _markdown(engine: Engine, report: Report) -> AsyncGenerator[str]:
    store = engine.config.named_db
    async with aclosing(report_cases(engine, report)) as cases, aclosing(markdown(report, cases, store)) as pieces:
        async for piece in pieces:
            yield piece


def _of_cases(document_parts: Callable[[Report, AsyncIterator[ReportedCase]], AsyncGenerator[str]]) -> Form:
    async def form(engine: Engine, report: Report) -> AsyncGenerator[str]:
        async with aclosing(report_cases(engine, report)) as cases, aclosing(document_parts(report, cases)) as pieces:
            async for piece in pieces:
                yield piece

    return form


async def _page(engine: Engine, report: Report) -> AsyncGenerator[str]:
    from minions_evals_mcp.report.documents.page import page  # noqa: PLC0415  charts and templates, which no other form needs

    async with aclosing(page(engine, report)) as pieces:
        async for piece in pieces:
            yield piece


FORMS: dict[str, Form] = {
    ".html": _page,
    ".md": _markdown,
    ".xml": _of_cases(junit),
    ".json": _of_cases(json_text),
    ".csv": _of_cases(csv_text),
}


def form_of(file: Path) -> Form:
    """Returns what writes a report into a file of that name; raises `BadInputError` for an extension that has no form."""
    form = FORMS.get(file.suffix.lower())
    if form is None:
        known = ", ".join(FORMS)
        raise BadInputError(
            f"a report cannot be written as {file.suffix or file.name!r}.", remedy=f"Name a file that ends in {known}."
        )
    return form
