"""Score matrices: drill-downs of a score, each cell with the direction in which it is good."""

from __future__ import annotations

from pydantic import Field, JsonValue, ValidationError

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import InvalidRecordError


class ScoreCell(Value):
    """One figure or label; `positive_metric` says whether a rise is good."""

    value: str | float
    positive_metric: bool = Field(default=True, alias="positive_metric")


class ScoreMatrix(Value):
    """Rows of cells under their title."""

    title: str | None = None
    rows: tuple[tuple[ScoreCell, ...], ...]


class CustomScore(Value):
    """The return of scoring code."""

    score: float
    score_matrix: tuple[ScoreMatrix, ...] = Field(default=(), alias="score_matrix")


def custom_score(value: JsonValue) -> CustomScore:
    """The score, and matrices if any, that `{score, score_matrix?}` holds; raises `InvalidRecordError` naming the place."""
    if not isinstance(value, dict):
        raise InvalidRecordError("must be an object with a score, {score, score_matrix?}")
    unknown = min(value.keys() - {"score", "score_matrix"}, default=None)
    if unknown is not None:
        raise InvalidRecordError("unknown key; known are score, score_matrix", field=unknown)
    if "score" not in value:
        raise InvalidRecordError("is missing", field="score")
    try:
        return CustomScore(score=value["score"], score_matrix=score_matrices(value.get("score_matrix")))  # pyright: ignore[reportArgumentType]  checked here
    except ValidationError:
        raise InvalidRecordError("must be a number", field="score") from None


def score_matrices(value: JsonValue) -> tuple[ScoreMatrix, ...]:
    """The matrices of a `score_matrix`: a list of matrices, each a list of rows, each a list of cells; None is none."""
    matrices = [] if value is None else _listed(value, "score_matrix", "matrices")
    return tuple(_matrix(matrix, f"score_matrix.{number}") for number, matrix in enumerate(matrices))


def _matrix(value: JsonValue, at: str) -> ScoreMatrix:
    """A first row with one field more than every other begins with the title; one of their length has none."""
    rows = tuple(_row(row, f"{at}.{number}") for number, row in enumerate(_listed(value, at, "rows")))
    if len(rows) > 1 and all(len(rows[0]) == len(row) + 1 for row in rows[1:]):
        return ScoreMatrix(title=figure_text(rows[0][0].value), rows=(rows[0][1:], *rows[1:]))
    return ScoreMatrix(rows=rows)


def _row(value: JsonValue, at: str) -> tuple[ScoreCell, ...]:
    return tuple(_cell(cell, f"{at}.{number}") for number, cell in enumerate(_listed(value, at, "cells")))


def _cell(value: JsonValue, at: str) -> ScoreCell:
    try:
        return ScoreCell.model_validate(value if isinstance(value, dict) else {"value": value})
    except ValidationError:
        raise InvalidRecordError("must be a string, a number or {value, positive_metric?}", field=at) from None


def _listed(value: JsonValue, at: str, of: str) -> list[JsonValue]:
    if not isinstance(value, list):
        raise InvalidRecordError(f"must be a list of {of}", field=at)
    return value


def figure_text(figure: str | float) -> str:
    """A figure as a person reads it: six digits at most, whole numbers whole."""
    if isinstance(figure, str):
        return figure
    whole = float(figure).is_integer() and abs(figure) < 1e15
    return f"{figure:.0f}" if whole else f"{figure:.6g}"
