"""Score matrices: drill-downs of a score, each cell with the direction in which it is good."""

from __future__ import annotations

from pydantic import Field, JsonValue, ValidationError

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import InvalidRecordError


class Cell(Value):
    """One figure or label; `positive_metric` says whether a rise is good."""

    value: str | float
    positive_metric: bool = Field(default=True, alias="positive_metric")


class Matrix(Value):
    """Rows of cells under their title."""

    title: str | None = None
    rows: tuple[tuple[Cell, ...], ...]


class CustomScore(Value):
    """What scoring code returns."""

    score: float
    score_matrix: tuple[Matrix, ...] = Field(default=(), alias="score_matrix")


def custom_score(found: JsonValue) -> CustomScore:
    """The score, and matrices if any, that `{score, score_matrix?}` holds; raises `InvalidRecordError` naming the place."""
    if not isinstance(found, dict):
        raise InvalidRecordError("must be an object with a score, {score, score_matrix?}")
    unknown = min(found.keys() - {"score", "score_matrix"}, default=None)
    if unknown is not None:
        raise InvalidRecordError("unknown key; known are score, score_matrix", field=unknown)
    if "score" not in found:
        raise InvalidRecordError("is missing", field="score")
    try:
        return CustomScore(score=found["score"], score_matrix=score_matrices(found.get("score_matrix")))  # pyright: ignore[reportArgumentType]  checked here
    except ValidationError:
        raise InvalidRecordError("must be a number", field="score") from None


def score_matrices(found: JsonValue) -> tuple[Matrix, ...]:
    """The matrices of a `score_matrix`: a list of matrices, each a list of rows, each a list of cells; None is none."""
    matrices = [] if found is None else _listed(found, "score_matrix", "matrices")
    return tuple(_matrix(one, f"score_matrix.{number}") for number, one in enumerate(matrices))


def _matrix(found: JsonValue, at: str) -> Matrix:
    """A first row with one field more than every other begins with the title; one of their length has none."""
    rows = tuple(_row(one, f"{at}.{number}") for number, one in enumerate(_listed(found, at, "rows")))
    if len(rows) > 1 and all(len(rows[0]) == len(row) + 1 for row in rows[1:]):
        return Matrix(title=figure_text(rows[0][0].value), rows=(rows[0][1:], *rows[1:]))
    return Matrix(rows=rows)


def _row(found: JsonValue, at: str) -> tuple[Cell, ...]:
    return tuple(_cell(one, f"{at}.{number}") for number, one in enumerate(_listed(found, at, "cells")))


def _cell(found: JsonValue, at: str) -> Cell:
    try:
        return Cell.model_validate(found if isinstance(found, dict) else {"value": found})
    except ValidationError:
        raise InvalidRecordError("must be a string, a number or {value, positive_metric?}", field=at) from None


def _listed(found: JsonValue, at: str, of: str) -> list[JsonValue]:
    if not isinstance(found, list):
        raise InvalidRecordError(f"must be a list of {of}", field=at)
    return found


def figure_text(figure: str | float) -> str:
    """A figure as a person reads it: six digits at most, whole numbers whole."""
    if isinstance(figure, str):
        return figure
    whole = float(figure).is_integer() and abs(figure) < 1e15
    return f"{figure:.0f}" if whole else f"{figure:.6g}"
