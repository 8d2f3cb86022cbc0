"""Checks of SQL: a statement that parses, and that touches the allowed tables and columns only.

The meaning is promptfoo's, the parser is sqlglot's, so that a statement on the edge of a dialect may be told apart
otherwise. Where promptfoo 0.121.20 (node-sql-parser) and we differ on purpose:
- `contains-sql` finds a fence anywhere, deep in a list or amid a line; there at the start of a line only.
- A name by itself (`hello`), an expression (`x = 1`) and a statement that sqlglot only passes through (`CALL p()`) are
  no SQL; there `x = 1` and `CALL p()` are.
- DB2, FlinkSQL and Noql are read by the general grammar; a `databaseType` that is not known, and other keys than the
  three, are refused when they are read; there no output ever passes, or they are passed over.
- A statement without a table counts as one of no table (`show::null::null`); the columns of a CREATE are not looked at,
  and a text in single quotes is none. BigQuery's UNION needs DISTINCT or ALL, and a bare `SHOW TABLES` is MySQL's.
- At most 100,000 characters are parsed.
- A column is known by the table that it is written with (`t.a` by the alias's own table), not by what the text suggests.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.sql_shape import is_statement
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.patterns import linear
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

if TYPE_CHECKING:
    from sqlglot import exp

SQL_LIMIT = 100_000
DEFAULT_DATABASE = "MySQL"
DIALECTS = {
    "athena": "athena",
    "bigquery": "bigquery",
    "db2": "",
    "flinksql": "",
    "hive": "hive",
    "mariadb": "mysql",
    "mysql": "mysql",
    "noql": "",
    "postgresql": "postgres",
    "redshift": "redshift",
    "snowflake": "snowflake",
    "sqlite": "sqlite",
    "transactsql": "tsql",
    "trino": "trino",
}
"""sqlglot's dialect for each of promptfoo's database types, whatever the case; "" is its general grammar."""

_KEYS = ("databaseType", "allowedTables", "allowedColumns")
_FENCE = late(r"[ \t]{0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>.*)")
_FENCE_WITHIN = late(
    r"(?<!`)(?P<fence>`{3,}+)(?P<language>[ \t]*+(?:sql\b|[^\s`]*+[ \t]*+(?=[\r\n])))?+(?P<body>[^`]*+(?:`{1,2}(?!`)[^`]*+)*+)"
    r"(?P=fence)(?!`)",
    re.IGNORECASE,
)
_QUOTED = late(r"(?m)^[ \t]*+>[ \t]?")
"""A quotation's mark at the start of a line."""
_LINES = late(r"\r\n?|\n")
_SKIPPED = late(
    r"(?<!\\)'(?:[^'\\]|\\.|'')*'|(?<!\\)\"(?:[^\"\\]|\\.)*+\"|`[^`]*+`|(--|#)[^\r\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL
)
_FOREIGN = {
    **dict.fromkeys(
        ("mysql", "mariadb"),
        late(
            r"(?ai)::|\[|\bgenerate_series(?=\s*\()|(?<![^\s;])set\s++[\w.@]++\s++to\b|\bexplain\s++\w++(?=\s*+(?:;|$))"
        ),
    ),
    **dict.fromkeys(("bigquery", "sqlite", "transactsql"), late("::")),
}
"""What sqlglot reads in every dialect, although that database has it not."""

_PROSE = late(r"(?ai)\bselect\s++(?:all|as(?!\s+(?:struct|value)\b))\s++\w++(?<!\bfrom)")
"""`select all NAME` is standard, but hardly written, and promptfoo's parser has it not; sqlglot drops an `as` here."""

_MODIFIER = "all|distinct"
_MYSQL_MODIFIER = (
    "all|distinctrow|distinct|high_priority|straight_join"
    "|sql_(?:big_result|buffer_result|cache|calc_found_rows|no_cache|small_result)"
)


def is_sql(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The whole output is SQL of `databaseType` (default MySQL), and uses what is allowed only.

    `value`: {databaseType, allowedTables, allowedColumns}; a table is written `action::database::table`, a column
    `action::table::column` (null where there is none, `(.*)` for a star), each a pattern whatever the case. Two bare
    names before FROM (`SELECT a b FROM t`) are taken for a lost comma, and fail.
    """
    if len(subject.text) > SQL_LIMIT:
        return Unmet(f"the output has {len(subject.text):,} characters; at most {SQL_LIMIT:,} are parsed as SQL")
    error = flaw(subject.text, assertion.value)
    return UnweightedResult(not error, error or "is SQL")


def contains_sql(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """A fenced block (of SQL, or of no language) is SQL as `is-sql` means it; without one, the whole output is.

    A fence may stand anywhere: deep in a list, in a quotation, after words on its line.
    """
    if len(subject.text) > SQL_LIMIT:
        return Unmet(f"the output has {len(subject.text):,} characters; at most {SQL_LIMIT:,} are parsed as SQL")
    error = "contains no SQL"
    candidates = chain(list(fenced(subject.text)) or [subject.text], fenced_within(subject.text))
    for candidate in dict.fromkeys(candidates):
        flaw_found = flaw(candidate, assertion.value) if candidate.strip() else error
        if flaw_found is None:
            return UnweightedResult(passed=True, reason="contains SQL")
        error = flaw_found
    return UnweightedResult(passed=False, reason=error)


def vet_database(assertion: Assertion) -> None:
    """Refuses a `value` that is no {databaseType, allowedTables, allowedColumns}; none at all is well."""
    value = assertion.value
    if value is None or value == "":
        return
    if not isinstance(value, dict) or value.keys() - {*_KEYS}:
        raise InvalidRecordError(f"must be an object with {', '.join(_KEYS)}, not {excerpt(value)}", field="value")
    if str(value.get("databaseType") or DEFAULT_DATABASE).lower() not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise InvalidRecordError(f"{excerpt(value['databaseType'])} is not one of {known}", field="value.databaseType")
    for key in _KEYS[1:]:
        patterns = value.get(key)
        if patterns is not None and not isinstance(patterns, list):
            raise InvalidRecordError("must be a list of patterns", field=f"value.{key}")
        for pattern in patterns or ():
            if not isinstance(pattern, str):
                raise InvalidRecordError(f"must be a pattern, not {excerpt(pattern)}", field=f"value.{key}")
            linear(_anchored(pattern))


def flaw(text: str, value: JsonValue) -> str | None:
    """Returns why a text is not the SQL that a vetted `value` asks for; None where it is."""
    wanted = value if isinstance(value, dict) else {}
    database = str(wanted.get("databaseType") or DEFAULT_DATABASE).lower()
    statements = _statements(text, database)
    if isinstance(statements, str):
        return f"is not valid {database} SQL: {statements}"
    for key, used in (("allowedTables", _tables), ("allowedColumns", _columns)):
        allowed = wanted.get(key)
        if not isinstance(allowed, list):
            continue
        patterns = [str(pattern) for pattern in allowed]
        patterns += [_bare(pattern) for pattern in patterns] if used is _columns else []
        for name in sorted({name for statement in statements for name in used(statement)}):
            if not any(linear(_anchored(pattern))(name) for pattern in patterns):
                return f"uses {name}, which {key} does not allow"
    return None


def fenced(text: str) -> Iterator[str]:
    """The contents of the closed fences that are marked as SQL or not marked at all."""
    fence, body, is_wanted = "", list[str](), False
    for line in _LINES.split(text):
        mark = _FENCE.fullmatch(line)
        if not fence and mark:
            fence, body = mark["fence"], []
            is_wanted = mark["language"].strip().lower() in {"", "sql"}
        elif mark and not mark["language"].strip() and mark["fence"].startswith(fence):
            if is_wanted:
                yield "\n".join(body).strip()
            fence = ""
        elif fence:
            body.append(line)


def fenced_within(text: str) -> Iterator[str]:
    """The contents of fences that may begin and end amid a line, by the same marks."""
    for block in _FENCE_WITHIN.finditer(text):
        language = (block["language"] or "").strip().lower()
        if language in {"", "sql"}:
            yield _QUOTED.sub("", block["body"]).strip()


def _statements(text: str, database: str) -> list[exp.Expr] | str:
    import sqlglot  # noqa: PLC0415  imported at first use: 100 ms
    from sqlglot.errors import SqlglotError  # noqa: PLC0415  as above

    bare = _SKIPPED.sub(lambda match: " " if match[1] else " ? ", text)
    if _lost_comma(database).search(bare):
        return "a comma may be missing"
    if (foreign := _FOREIGN.get(database)) and (match := foreign.search(bare)):
        return f"{database} has no {match[0]}"
    if prose := _PROSE.search(bare):
        return f"{prose[0]!r} reads like prose"
    if text.count("`") % 2:
        return "a backtick is not closed"
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what it passes through, which we refuse
    try:
        match = sqlglot.parse(text, read=DIALECTS[database] or None)
    except SqlglotError as error:
        return str(error).partition("\n")[0][:200]
    statements = [statement for statement in match if statement is not None]
    if not statements:
        return "it is empty"
    strange = next((statement for statement in statements if not is_statement(statement, database)), None)
    if strange is not None:
        return f"{excerpt(strange.sql())} is not a statement"
    return statements


@lru_cache(maxsize=2)
def _lost_comma(database: str) -> re.Pattern[str]:
    modifier = _MYSQL_MODIFIER if database in {"mysql", "mariadb"} else _MODIFIER
    name = r"[a-z_][a-z0-9_]*+"
    return late(rf"(?ai)\bselect\s++(?:(?:{modifier})\s++)*+(?!(?:{modifier})\b){name}\s++{name}\s++from\b")


def _tables(statement: exp.Expr) -> Iterator[str]:
    from sqlglot import exp  # noqa: PLC0415  as above

    action, changed = _action(statement), _changed(statement)
    tables = list(statement.find_all(exp.Table))
    if not tables and action != "select":
        yield f"{action}::null::null"
    for table in tables:
        done = action if any(table is target for target in changed) else "select"
        yield f"{done}::{table.db or 'null'}::{table.name}"


def _columns(statement: exp.Expr) -> Iterator[str]:
    from sqlglot import exp  # noqa: PLC0415  as above

    action, changed = _action(statement), _changed(statement)
    if isinstance(statement, exp.Insert | exp.Delete):
        names = [column.name for column in statement.this.expressions] if isinstance(statement, exp.Insert) else []
        yield from (f"{action}::{changed[0].name}::{name}" for name in names or ["(.*)"])
    aliases = {table.alias: table.name for table in statement.find_all(exp.Table) if table.alias}
    is_set = [expression.this for expression in statement.expressions] if isinstance(statement, exp.Update) else []
    for column in statement.find_all(exp.Column, exp.Star):
        if isinstance(column, exp.Star) and isinstance(column.parent, exp.Column | exp.Count):
            continue
        table = column.table if isinstance(column, exp.Column) else ""
        done = action if any(column is target for target in is_set) else "select"
        yield f"{done}::{aliases.get(table, table) or 'null'}::{column.name if column.name != '*' else '(.*)'}"


def _changed(statement: exp.Expr) -> list[exp.Table]:
    """The tables that a statement changes."""
    from sqlglot import exp  # noqa: PLC0415  as above

    tables = [] if isinstance(statement, exp.Query) else list(statement.find_all(exp.Table, bfs=True))
    if isinstance(statement, exp.Update):
        return list(statement.this.find_all(exp.Table))
    return tables if isinstance(statement, exp.TruncateTable | exp.Drop) else tables[:1]


def _action(statement: exp.Expr) -> str:
    from sqlglot import exp  # noqa: PLC0415  as above

    if isinstance(statement, exp.Query):
        return "select"
    return "truncate" if isinstance(statement, exp.TruncateTable) else statement.key


def _anchored(pattern: str) -> str:
    return f"(?i)^{pattern}$"


def _bare(pattern: str) -> str:
    """The pattern of a column that is written without its table, where the pattern has one."""
    parts: Sequence[str] = pattern.split("::")
    return f"{parts[0]}::null::{parts[2]}" if len(parts) == 3 else pattern


TYPES: dict[str, AssertionKind] = {
    "contains-sql": AssertionKind(contains_sql, vet_database, stands_alone=True),
    "is-sql": AssertionKind(is_sql, vet_database, stands_alone=True),
}
