"""The forms of a report, by the extension of the file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path

from minions_evals_mcp.engine.report_data import Report, ReportedCase
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.junit import junit
from minions_evals_mcp.report.markdown import markdown
from minions_evals_mcp.report.page import page
from minions_evals_mcp.report.rows import csv_text, json_text

Form = Callable[[Report, AsyncIterator[ReportedCase]], AsyncGenerator[str]]
FORMS: dict[str, Form] = {".html": page, ".md": markdown, ".xml": junit, ".json": json_text, ".csv": csv_text}


def form_of(file: Path) -> Form:
    """What writes a report into a file of that name; raises `BadInputError` for an extension that has no form."""
    found = FORMS.get(file.suffix.lower())
    if found is None:
        known = ", ".join(FORMS)
        raise BadInputError(
            f"a report cannot be written as {file.suffix or file.name!r}.", remedy=f"Name a file that ends in {known}."
        )
    return found
