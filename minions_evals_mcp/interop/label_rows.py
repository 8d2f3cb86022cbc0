"""Rows of labels that people gave elsewhere."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.engine.labels.label_import import ImportedLabel
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.table_rows import TableRow, read_rows

COLUMNS = ("testCaseId", "trial", "criterionId", "score", "rationale", "judgedBy")


def labels_in(path: Path) -> list[ImportedLabel]:
    """The labels of the file; other columns are left out, empty cells are absent. Raises `InvalidRecordError` naming the row."""
    labels = [_label(row) for row in read_rows(path)]
    if not labels:
        raise BadInputError(f"{path} holds no labels.", remedy=f"Its columns are {', '.join(COLUMNS)}.")
    return labels


def _label(row: TableRow) -> ImportedLabel:
    cells = {name: value_text(row.cells[name]) for name in COLUMNS if row.cells.get(name) not in (None, "")}
    for name in ("testCaseId", "score"):
        if name not in cells:
            raise InvalidRecordError("is missing", field=name, where=row.where)
    trial = cells.pop("trial", "1")
    try:
        return ImportedLabel.model_validate({**cells, "trial": int(trial), "where": row.where})
    except ValidationError as error:
        fault = error.errors()[0]
        raise InvalidRecordError(fault["msg"], field=".".join(map(str, fault["loc"])), where=row.where) from None
    except ValueError:
        raise InvalidRecordError(f"{trial} is no number", field="trial", where=row.where) from None
