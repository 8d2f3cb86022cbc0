"""The score card: one score for a table of results, out of its last column or of chosen ones."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, JsonValue, computed_field

from minions_evals_mcp.domain.values import Value, first_named, is_finite
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.score_matrix import CustomScore, ScoreMatrix

Row = Mapping[str, JsonValue]
"""One row of a table: column name to cell. A missing cell, null and blank text are empty."""

MIXED_KINDS = "Booleans count in percent and numbers as they are, so the mean mixes two scales."
MIXED_WAYS = "Some columns are better when higher and some when lower, and the mean mixes them."


class BooleanColumn(Value):
    """A column whose cells are all Booleans; its figure is the share of true in percent, 0–100."""

    kind: Literal["boolean"] = "boolean"
    name: str
    true: int
    count: int
    empty: int
    positive_metric: bool = True

    @computed_field
    @property
    def figure(self) -> float:
        """Percent true."""
        return 100 * self.true / self.count


class NumberColumn(Value):
    """A column whose cells are all numbers; its figure is their mean."""

    kind: Literal["number"] = "number"
    name: str
    figure: float
    count: int
    empty: int
    positive_metric: bool = True


class OtherColumn(Value):
    """A column that has no figure: its cells are text, objects, of several kinds, or all empty."""

    kind: Literal["other"] = "other"
    name: str
    count: int
    empty: int


Counted = BooleanColumn | NumberColumn
Column = Counted | OtherColumn


class ScoreCard(Value):
    """One score, the columns that it is the mean of, and the matrices that break it down.

    `unit` is percent where all columns are Booleans, mixed where some are. `positive_metric` says whether a rise of
    the score is good.
    """

    score: float
    unit: Literal["percent", "number", "mixed"]
    positive_metric: bool = True
    columns: tuple[Counted, ...] = ()
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    score_matrix: tuple[ScoreMatrix, ...] = Field(default=(), alias="score_matrix")


@dataclass(slots=True)
class _Tally:
    """The counts of one column so far."""

    true: int = 0
    booleans: int = 0
    others: int = 0
    numbers: array[float] = field(default_factory=lambda: array("d"))

    def count(self, cell: JsonValue) -> None:
        match cell:
            case None:
                pass
            case bool():
                self.booleans += 1
                self.true += cell
            case str():
                self.others += bool(cell.strip())
            case int() | float() if is_finite(cell):
                self.numbers.append(cell)
            case _:
                self.others += 1


class Tallies:
    """The columns of a table that comes row by row, in the order in which they first appear."""

    def __init__(self) -> None:
        self._rows = 0
        self._columns: dict[str, _Tally] = {}

    def add(self, row: Row) -> None:
        """Counts one row."""
        self._rows += 1
        for name, cell in row.items():
            tally = self._columns.get(name)
            if tally is None:
                tally = self._columns[name] = _Tally()
            tally.count(cell)

    def columns(self, *, falling: frozenset[str] = frozenset()) -> tuple[Column, ...]:
        """Every column so far; of those named in `falling` a fall is good."""
        return tuple(_column(name, tally, self._rows, name not in falling) for name, tally in self._columns.items())


def _column(name: str, tally: _Tally, rows: int, positive: bool) -> Column:  # noqa: FBT001  told of each column
    numbers = len(tally.numbers)
    count = tally.booleans + numbers + tally.others
    empty = rows - count
    if count and tally.booleans == count:
        return BooleanColumn(name=name, true=tally.true, count=count, empty=empty, positive_metric=positive)
    if count and numbers == count:
        return NumberColumn(name=name, figure=mean(tally.numbers), count=count, empty=empty, positive_metric=positive)
    return OtherColumn(name=name, count=count, empty=empty)


def mean(numbers: Sequence[float]) -> float:
    """The mean of at least one number; the order in which they come changes nothing."""
    try:
        return math.fsum(numbers) / len(numbers)
    except (
        OverflowError
    ):  # of the sum, or amid it in this order alone: the same sum, exactly, some powers of two smaller
        smaller = len(numbers).bit_length()
        return math.ldexp(math.fsum(math.ldexp(number, -smaller) for number in numbers) / len(numbers), smaller)


def score_card(columns: Sequence[Column], chosen: Sequence[str] = ()) -> ScoreCard:
    """The card of the chosen columns, without a choice of the last; of several the mean of their figures.

    Chosen columns that hold neither Booleans nor numbers are left out. Raises `BadInputError` for a column that is
    not there, and where none remains.
    """
    known = {column.name: column for column in columns}
    names = list(dict.fromkeys(chosen)) or list(known)[-1:]
    missing = [name for name in names if name not in known]
    if missing:
        raise BadInputError(f"unknown column {missing[0]!r}.", remedy=f"Columns are {_listed(list(known))}.")
    picked = [known[name] for name in names]
    counted = tuple(column for column in picked if not isinstance(column, OtherColumn))
    if not counted:
        usable = [column.name for column in columns if not isinstance(column, OtherColumn)]
        raise BadInputError(
            f"nothing to score: {_listed(names)} has neither only Booleans nor only numbers."
            if names
            else "nothing to score: the table is empty.",
            remedy=f"Choose with {argument('columns')} among {_listed(usable)}." if usable else "",
        )
    return _card(counted, tuple(column.name for column in picked if isinstance(column, OtherColumn)))


def _card(columns: tuple[Counted, ...], left_out: tuple[str, ...]) -> ScoreCard:
    kinds = {column.kind for column in columns}
    ways = {column.positive_metric for column in columns}
    mixed = len(kinds) > 1
    return ScoreCard(
        score=mean([column.figure for column in columns]),
        unit="mixed" if mixed else "percent" if kinds == {"boolean"} else "number",
        positive_metric=True in ways,
        columns=columns,
        left_out=left_out,
        warnings=tuple(warning for warning, holds in ((MIXED_KINDS, mixed), (MIXED_WAYS, len(ways) > 1)) if holds),
    )


def custom_card(score: CustomScore) -> ScoreCard:
    """The card of a score that code computed."""
    return ScoreCard(score=score.score, unit="number", score_matrix=score.score_matrix)


def _listed(names: Iterable[str]) -> str:
    return first_named([*map(repr, names)], 20)
