"""What costs a model tokens and says nothing: empty parts, digits beyond the third, rows that differ in nothing but their ids."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json

EMPTY: tuple[JsonValue, ...] = (None, "", [], {})
UUID_LENGTH, SHORT_ID = 36, 8
OF_ONE = frozenset({"testRunId", "testCaseId", "title", "trial"})
"""What tells one row from others that are alike."""


def compacted(value: JsonValue) -> JsonValue:
    """The value without empty parts of its objects, and with three digits of each fraction."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return three_digits(value)
        case list():
            return [compacted(part) for part in value]
        case _:
            return compact_object(value)


def compact_object(value: Mapping[str, JsonValue]) -> Json:
    """The object without its empty parts, and with three digits of each fraction."""
    parts = ((name, compacted(part)) for name, part in value.items())
    return {name: part for name, part in parts if not is_empty(part)}


def is_empty(value: JsonValue) -> bool:
    """Whether the value says nothing; zero and false do."""
    return not isinstance(value, bool | int | float) and value in EMPTY


def three_digits(number: float) -> float:
    """A fraction below 1 to three digits, any other number to two decimals; whole numbers as they are."""
    return round(number, 2) if abs(number) >= 1 else float(f"{number:.3g}")


def short_part(ident: str, run_id: str) -> str:
    """The id of a unit of that run, by the beginning of the run's: tools that read take it so."""
    if len(run_id) != UUID_LENGTH or not ident.startswith(f"{run_id}:"):
        return ident
    return run_id[:SHORT_ID] + ident[UUID_LENGTH:]


def short_run(run_id: str) -> str:
    """The beginning of a run's id where nobody chose it: tools that read take it so."""
    return run_id[:SHORT_ID] if len(run_id) == UUID_LENGTH else run_id


def with_short_ids(row: Json, run_id: str) -> Json:
    """The row with the id of its unit shortened."""
    ident = row.get("testRunId")
    return {**row, "testRunId": short_part(ident, run_id)} if isinstance(ident, str) else row


def once(rows: Iterable[Json], ident: str, *, own: Collection[str] = OF_ONE) -> list[Json]:
    """The rows; one that says the same as one before names that by its `ident` (`sameAs`) instead of repeating it."""
    shown, first = list[Json](), dict[str, JsonValue]()
    for row in rows:
        said = json.dumps({name: value for name, value in row.items() if name not in own})
        same = first.setdefault(said, row[ident])
        is_first = same == row[ident]
        shown.append(row if is_first else {name: row[name] for name in row if name in own} | {"sameAs": same})
    return shown
