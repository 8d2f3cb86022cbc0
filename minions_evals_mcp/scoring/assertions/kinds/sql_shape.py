"""Signs that tell a statement of SQL from prose that a lenient parser can read as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

OPTIONAL_FROM = frozenset({"bigquery", "transactsql"})
"""The databases that delete from a table without the word FROM."""
_MYSQL = frozenset({"mysql", "mariadb"})
_NO_NAMES = frozenset({
    "and", "as", "by", "else", "for", "from", "group", "in", "into", "is", "like", "on", "or", "order", "then", "to",
    "when", "where", "with",
})  # fmt: skip
_MODES = frozenset({
    "isolation", "level", "serializable", "repeatable", "committed", "uncommitted", "read", "only", "write", "not",
    "deferrable", "with", "consistent", "snapshot", "immediate", "deferred", "exclusive",
})  # fmt: skip


def is_statement(statement: exp.Expr, database: str) -> bool:
    """Returns whether it has what its kind cannot be without; what the parser only passed through has not."""
    from sqlglot import exp  # noqa: PLC0415  imported at first use: 100 ms

    match statement:
        case exp.Select():
            return bool(statement.expressions) and not _takes_keywords_for_names(statement, database)
        case exp.Update():
            return bool(statement.expressions) and all(isinstance(part, exp.EQ) for part in statement.expressions)
        case exp.Delete():
            return bool(statement.this) or (database in OPTIONAL_FROM and not _is_renamed(statement))
        case exp.Insert():
            return bool(statement.args.get("expression") or statement.args.get("default"))
        case exp.Use():
            return not _is_renamed(statement)
        case exp.Analyze():
            return database not in _MYSQL or bool(statement.args.get("kind"))
        case exp.Transaction():
            modes = " ".join(map(str, statement.args.get("modes") or ())).replace(",", " ")
            return _MODES.issuperset(modes.lower().split())
        case _:
            return isinstance(statement, _others())


def _others() -> tuple[type[exp.Expr], ...]:
    from sqlglot import exp  # noqa: PLC0415  as above

    return (
        exp.Query, exp.Merge, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Describe, exp.Show, exp.Set,
        exp.Commit, exp.Rollback, exp.Grant, exp.Revoke, exp.Pragma,
    )  # fmt: skip


def _is_renamed(statement: exp.Expr) -> bool:
    """Returns whether more than a name stands where one must (`USE this query`, `Use this: …`): the parser takes the rest for an alias."""
    from sqlglot import exp  # noqa: PLC0415  as above

    return any(table.args.get("alias") for table in statement.find_all(exp.Table))


def _takes_keywords_for_names(select: exp.Select, database: str) -> bool:
    from sqlglot import exp  # noqa: PLC0415  as above

    words = _NO_NAMES | {"option"} if database in _MYSQL else _NO_NAMES
    chosen = [column.this for column in select.find_all(exp.Column) if not column.table]
    renamed = [alias.args["alias"] for alias in select.find_all(exp.Alias)] if database in _MYSQL else []
    names = [name for name in (*chosen, *renamed) if isinstance(name, exp.Identifier)]
    return any(not name.quoted and name.name.lower() in words for name in names)
