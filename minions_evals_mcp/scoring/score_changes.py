"""Two score cards side by side: what changed, and whether that is good."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.scoring.score_card import Counted, ScoreCard
from minions_evals_mcp.scoring.score_matrix import ScoreCell, ScoreMatrix

Effect = Literal["better", "worse", "same", "incomparable"]
Figure = str | float
UNITS_DIFFER = "The two scores are of different kinds ({before}, {after}), so their difference has no meaning."


class FigureChange(Value):
    """A figure before and after, None where it is missing.

    `delta` is after − before where both are numbers on one scale; `effect` reads its sign through `positive_metric`.
    """

    before: Figure | None
    after: Figure | None
    delta: float | None
    positive_metric: bool
    effect: Effect


class MatrixChange(Value):
    """A score matrix cell by cell."""

    title: str | None
    rows: tuple[tuple[FigureChange, ...], ...]


class CardChanges(Value):
    """The difference of one card from an earlier one; columns are matched by name, matrices by title, else by order."""

    score: FigureChange
    columns: dict[str, FigureChange]
    matrices: tuple[MatrixChange, ...]
    warnings: tuple[str, ...] = ()


def card_changes(before: ScoreCard, after: ScoreCard) -> CardChanges:
    """Returns what changed from the earlier card to the later one."""
    alike = before.unit == after.unit
    old, new = ({column.name: column for column in card.columns} for card in (before, after))
    return CardChanges(
        score=change(before.score, after.score, positive_metric=after.positive_metric, alike=alike),
        columns={
            name: _column_change(old.get(name), new.get(name))
            for name in (*new, *(name for name in old if name not in new))
        },
        matrices=tuple(_matrix_changes(before.score_matrix, after.score_matrix)),
        warnings=() if alike else (UNITS_DIFFER.format(before=before.unit, after=after.unit),),
    )


def change(
    before: Figure | None, after: Figure | None, *, positive_metric: bool = True, alike: bool = True
) -> FigureChange:
    """The change of one figure; `alike` says whether both are on one scale."""
    delta: float | None = None
    effect: Effect = "incomparable"
    if isinstance(before, float) and isinstance(after, float):
        if alike:
            delta, effect = after - before, _effect(before, after, positive_metric=positive_metric)
    elif before == after:
        effect = "same"
    if delta is not None and not math.isfinite(delta):
        delta = None
    return FigureChange(before=before, after=after, delta=delta, positive_metric=positive_metric, effect=effect)


def _effect(before: float, after: float, *, positive_metric: bool) -> Effect:
    if math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12):  # 0.1 + 0.2 is 0.3
        return "same"
    return "better" if (after > before) is positive_metric else "worse"


def _column_change(before: Counted | None, after: Counted | None) -> FigureChange:
    count = after or before
    assert count is not None, "a name comes from one of the two"
    return change(
        before and before.figure,
        after and after.figure,
        positive_metric=count.positive_metric,
        alike=before is not None and after is not None and before.kind == after.kind,
    )


def _matrix_changes(before: Sequence[ScoreMatrix], after: Sequence[ScoreMatrix]) -> list[MatrixChange]:
    old, new = _by_title(before), _by_title(after)
    nothing = ScoreMatrix(rows=())
    return [
        MatrixChange(title=key[0], rows=_rows(old.get(key, nothing), new.get(key, nothing)))
        for key in (*new, *(key for key in old if key not in new))
    ]


def _by_title(matrices: Sequence[ScoreMatrix]) -> dict[tuple[str | None, int], ScoreMatrix]:
    """Matrices under their title and the how-manyth of that title they are."""
    seen: Counter[str | None] = Counter()
    by_title: dict[tuple[str | None, int], ScoreMatrix] = {}
    for matrix in matrices:
        by_title[matrix.title, seen[matrix.title]] = matrix
        seen[matrix.title] += 1
    return by_title


def _rows(before: ScoreMatrix, after: ScoreMatrix) -> tuple[tuple[FigureChange, ...], ...]:
    return tuple(
        tuple(_cell_change(*cells) for cells in zip_longest(*rows))
        for rows in zip_longest(before.rows, after.rows, fillvalue=())
    )


def _cell_change(before: ScoreCell | None, after: ScoreCell | None) -> FigureChange:
    cell = after or before
    assert cell is not None, "a cell stands in one of the two"
    return change(before and before.value, after and after.value, positive_metric=cell.positive_metric)
