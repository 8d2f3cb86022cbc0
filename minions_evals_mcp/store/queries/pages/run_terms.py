"""The expression by which a list of runs is filtered, such as `score<0.7 by:ci -kind:ab-test refund`, and its SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.errors import BadInputError

REQUEST = "coalesce(json_extract(j.spec, '$.request.{}'), '')"
TEXTS = {
    "of": "coalesce(m.title, j.subject_id) || ' ' || j.subject_id",
    "version": REQUEST.format("promptVersionRef"),
    "target": REQUEST.format("target"),
    "by": REQUEST.format("triggeredBy"),
    "judge": "coalesce(json_extract(j.spec, '$.judgeModel'), '')",
    "id": "j.id || ' ' || j.key",
}
"""Fields that are searched for a part of their text."""
WORDS = {"kind": "j.kind", "state": "j.state"}
"""Fields that are one of a few words."""
FIGURES = {
    "score": "b.overall_score",
    "passed": "b.passed_count",
    "failed": "b.total_count - b.passed_count",
    "cases": "j.total",
    "cost": "j.spent ->> '$.costUsd'",
    "took": "iif(j.state = 'completed', (j.updated_at - j.created_at) / 1000.0, NULL)",
}
"""Fields that are compared: a share, numbers of cases, US dollars, seconds."""
MARKS = {"fall": "coalesce(b.is_regression, 0) = 1", "scored": "b.overall_score IS NOT NULL"}
ANYWHERE = " || ' ' || ".join((TEXTS["of"], TEXTS["id"], TEXTS["version"], TEXTS["target"]))
FIELDS = (*TEXTS, *WORDS, *FIGURES, "begun", "is")
_PIECE = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_TERM = re.compile(r"(-?)([a-z]+)(<=|>=|[:<>=])(.*)", re.DOTALL)
_OPERATORS = {":": "=", "=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(frozen=True, slots=True)
class RunTerm:
    """One condition: SQL of ours with a place for each parameter."""

    sql: str
    parameters: tuple[str | float, ...] = ()


def run_terms(expression: str) -> tuple[RunTerm, ...]:
    """The conditions of an expression, which all hold; a word without a field is looked for anywhere.

    Raises `BadInputError` where a field's value cannot be compared.
    """
    return tuple(_term(piece) for piece in _PIECE.findall(expression))


def _term(piece: str) -> RunTerm:
    match = _TERM.fullmatch(piece)
    if match is None or match[2] not in FIELDS:
        return _contains(ANYWHERE, piece)
    sign, field, operator, value = match.groups()
    term = _condition(field, operator, value.replace('"', ""))
    return RunTerm(f"NOT coalesce({term.sql}, 0)", term.parameters) if sign else term


def _condition(field: str, operator: str, value: str) -> RunTerm:
    if field in FIGURES:
        return RunTerm(f"({FIGURES[field]}) {_OPERATORS[operator]} ?", (_number(field, value),))
    if field == "begun":
        return _begun(operator, value)
    if operator not in ":=":
        raise BadInputError(f"{field} cannot be compared.", remedy=f"Use {field}:TEXT.")
    if field == "is":
        if value not in MARKS:
            raise BadInputError(f"unknown mark {value[:40]!r}.", remedy=f"Use is:{' or is:'.join(MARKS)}.")
        return RunTerm(MARKS[value])
    if field in WORDS:
        return RunTerm(f"{WORDS[field]} = ?", (value,))
    return _contains(TEXTS[field], value)


def _contains(sql: str, text: str) -> RunTerm:
    return RunTerm(f"instr(lower({sql}), ?) > 0", (text.replace('"', "").lower(),))


def _number(field: str, value: str) -> float:
    try:
        return float(value.removeprefix("$"))
    except ValueError:
        raise BadInputError(f"{field} needs a number, got {value[:40]!r}.", remedy=f"Use {field}<0.7.") from None


def _begun(operator: str, value: str) -> RunTerm:
    """A day stands for all of it: a run of that day is neither before nor after it."""
    try:
        day = datetime.fromisoformat(value).replace(tzinfo=UTC)
    except ValueError:
        raise BadInputError(f"{value[:40]!r} is not a day.", remedy="Use begun>=2026-11-01.") from None
    start, end = to_millis(day), to_millis(day) + 24 * 3600 * 1000
    match operator:
        case "<" | ">=":
            return RunTerm(f"j.created_at {operator} ?", (start,))
        case "<=" | ">":
            return RunTerm(f"j.created_at {'<' if operator == '<=' else '>='} ?", (end,))
        case _:
            return RunTerm("j.created_at >= ? AND j.created_at < ?", (start, end))
