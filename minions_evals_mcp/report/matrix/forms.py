"""The forms of a matrix, by the extension of the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.matrix.matrices import matrix_csv, matrix_json
from minions_evals_mcp.report.matrix.matrix_files import matrix_html, matrix_junit
from minions_evals_mcp.report.matrix.matrix_markdown import matrix_markdown


def _json(matrix: Matrix) -> str:
    return json.dumps(matrix_json(matrix), ensure_ascii=False, indent=2) + "\n"


MATRIX_FORMS: dict[str, Callable[[Matrix], str]] = {
    ".html": matrix_html,
    ".md": matrix_markdown,
    ".csv": matrix_csv,
    ".xml": matrix_junit,
    ".json": _json,
}


def matrix_form_of(file: Path) -> Callable[[Matrix], str]:
    """The function that writes a matrix as a file of that name holds it; raises `BadInputError` for an unknown extension."""
    form = MATRIX_FORMS.get(file.suffix.lower())
    if form is None:
        raise BadInputError(
            f"a matrix cannot be written as {file.suffix or file.name!r}.",
            remedy=f"Name a file that ends in {', '.join(MATRIX_FORMS)}.",
        )
    return form
