"""SQL: what is a statement, in which dialect, and which tables and columns it may touch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.sql import DIALECTS, fenced, flaw
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

WORDS = st.sampled_from(["SELECT", "a", "FROM", "t", ",", "(", ")", "'", "`", "1", "*", ";", "WHERE", "=", "--", "```"])
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=12).map(" ".join))


def passes(kind: str, output: str, value: JsonValue = None) -> bool:
    """Whether a vetted assertion passes, once it is seen that `not-` turns it round."""
    results: list[bool] = []
    for name in (kind, f"not-{kind}"):
        assertion = Assertion(type=name, value=value)
        vet(assertion)
        found = check(assertion, Subject(output))
        assert isinstance(found, Checked)
        results.append(found.passed)
    assert results[0] is not results[1]
    return results[0]


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ("SELECT a, b FROM t WHERE c = 'x y'", True),
        ("SELECT 1; DROP TABLE t", True),
        ("EXPLAIN SELECT 1", True),
        ("SELECT a b FROM t", False),
        ("SELECT DISTINCT a FROM t", True),
        ("SELECT sql_no_cache a FROM t", True),
        ("SELECT 'a' /* x y from */ FROM t -- select a b from t", True),
        ("SELECT a::date FROM t", False),
        ("SELECT `a FROM t", False),
        ("SELECT generate_series(1, 2)", False),
        ("SELEC 1", False),
        ("SELECT", False),
        ("hello", False),
        ("5", False),
        ("x = 1", False),
        ("Sure, here it is: SELECT 1", False),
        ("", False),
        (";", False),
    ],
)
def test_a_statement_of_mysql_is_sql(output: str, passed: bool) -> None:
    assert passes("is-sql", output) is passed


@pytest.mark.parametrize(
    "prose",
    [
        "select the best option from the list",
        "select the best from options",
        "Select option from the list",
        "Select an option",
        "Select all items from the list",
        "Select in order",
        "select as needed",
        "Select one; delete it",
        "Update the list",
        "Update the list set aside",
        "Delete the list",
        "Insert it",
        "Use the list",
        "Use this list",
        "Use this: it",
        "Analyze this",
        "Explain it",
        "Begin the work",
        "Set value to five",
        "Set the table",
        "Drop the ball",
        "Grant me a wish",
        "Create a table",
        "Start the work",
    ],
)
def test_prose_that_begins_like_sql_is_no_statement(prose: str) -> None:
    assert not passes("is-sql", prose)
    assert not passes("contains-sql", f"```\n{prose}\n```")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT `order`, t.group FROM t",
        "SELECT option_id FROM the_list",
        "SELECT a FROM t UNION ALL SELECT b FROM u",
        "UPDATE t SET a = 1, b = 2 WHERE c IN (SELECT d FROM u)",
        "UPDATE t AS x SET x.a = 1",
        "DELETE t FROM t JOIN u ON t.i = u.i",
        "DELETE FROM t AS x WHERE x.a = 1",
        "INSERT INTO t SET a = 1",
        "INSERT t VALUES (1)",
        "INSERT INTO t DEFAULT VALUES",
        "USE db",
        "ANALYZE TABLE t",
        "EXPLAIN SELECT a FROM t",
        "DESCRIBE t",
        "BEGIN",
        "START TRANSACTION READ ONLY",
        "SET x = 1",
        "SET NAMES utf8",
    ],
)
def test_what_a_statement_cannot_be_without_is_enough(statement: str) -> None:
    assert passes("is-sql", statement)


@pytest.mark.parametrize("database", ["TransactSQL", "BigQuery"])
def test_from_may_be_left_out_where_the_database_lets_it(database: str) -> None:
    assert passes("is-sql", "DELETE t WHERE a = 1", {"databaseType": database})
    assert not passes("is-sql", "DELETE the list", {"databaseType": database})
    assert not passes("is-sql", "DELETE t WHERE a = 1", {"databaseType": "PostgreSQL"})


@pytest.mark.parametrize("database", ["PostgreSQL", "postgresql", "Redshift", "Snowflake", "Trino"])
def test_the_dialect_decides(database: str) -> None:
    assert passes("is-sql", "SELECT a::date FROM t", {"databaseType": database})
    assert not passes("is-sql", "SELECT a::date FROM t", {"databaseType": "Sqlite"})


def test_every_database_reads_plain_sql() -> None:
    for database in DIALECTS:
        assert passes("is-sql", "SELECT a, b FROM t", {"databaseType": database}), database


@pytest.mark.parametrize(
    ("output", "allowed", "passed"),
    [
        ("SELECT a FROM T", ["select::null::t"], True),
        ("SELECT a FROM tt", ["select::null::t"], False),
        ("SELECT a FROM db.t JOIN u", ["select::db::t", "select::null::u"], True),
        ("UPDATE t SET a = 1", ["select::null::t"], False),
        ("UPDATE t JOIN u ON t.i = u.i SET u.a = 1", ["update::null::t", "select::null::u"], False),
        ("DELETE FROM t WHERE a IN (SELECT b FROM u)", ["delete::null::t", "select::null::u"], True),
        ("INSERT INTO t SELECT a FROM u", ["insert::null::t", "select::null::u"], True),
        ("INSERT INTO t SELECT a FROM u", ["(insert|select)::null::t"], False),
        ("SELECT 1; DROP TABLE t", ["select::.*"], False),
        ("TRUNCATE TABLE t", ["truncate::null::t"], True),
        ("WITH x AS (SELECT a FROM t) SELECT a FROM x", ["select::null::t"], False),
        ("SHOW TABLES", ["select::.*"], False),
        ("SELECT 1", [], True),
    ],
)
def test_only_allowed_tables_may_be_used(output: str, allowed: list[JsonValue], passed: bool) -> None:
    assert passes("is-sql", output, {"allowedTables": allowed}) is passed


@pytest.mark.parametrize(
    ("output", "allowed", "passed"),
    [
        ("SELECT a FROM t", ["select::null::a"], True),
        ("SELECT a FROM t", ["select::t::a"], True),
        ("SELECT u.a FROM t", ["select::t::a"], False),
        ("SELECT x.a FROM t AS x", ["select::t::a"], True),
        ("SELECT * FROM t", ["select::null::a"], False),
        ("SELECT t.* FROM t", ["select::t::(.*)"], True),
        ("SELECT count(*) FROM t", [], True),
        ("UPDATE t SET a = b", ["select::null::b"], False),
        ("UPDATE t SET a = b", ["select::null::b", "update::null::a"], True),
        ("INSERT INTO t (a) SELECT b FROM u", ["insert::t::a", "select::null::b"], True),
        ("INSERT INTO t VALUES (1)", ["insert::t::(.*)"], True),
        ("DELETE FROM t", ["delete::t::a"], False),
        ("SELECT a FROM t WHERE secret = 1", ["select::null::a"], False),
        ("SELECT a FROM t", ["select"], False),
    ],
)
def test_only_allowed_columns_may_be_used(output: str, allowed: list[JsonValue], passed: bool) -> None:
    assert passes("is-sql", output, {"allowedColumns": allowed}) is passed


def test_the_reason_names_what_is_not_allowed() -> None:
    assert flaw("SELECT a FROM t", {"allowedTables": []}) == "uses select::null::t, which allowedTables does not allow"


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ("Here:\n```sql\nSELECT 1\n```", True),
        ("~~~\nSELECT 1\n~~~", True),
        ("```python\nSELECT 1\n```", False),
        ("```sql\nSELEC 1\n```\n```sql\nSELECT 2\n```", True),
        ("```sql\n\n```", False),
        ("````sql\n```\nSELECT 1\n````", False),
        ("SELECT 1", True),
        ("Here: SELECT 1", False),
        ("", False),
        ("1. Run\n\n      ```sql\n      SELECT 1\n      ```", True),
        ("> ```sql\n> SELECT a\n> FROM t\n> ```", True),
        ("Run ```sql SELECT 1``` now.", True),
        ("Here: ```\nSELECT 1```", True),
        ("Run ```python\nSELECT 1\n``` now.", False),
        ("```python\nx\n```\n- ```sql\n  SELECT 1\n  ```", True),
        ("Run ```sql select the best option from the list```", False),
    ],
)
def test_a_fenced_block_or_else_the_whole_is_sql(output: str, passed: bool) -> None:
    assert passes("contains-sql", output) is passed


def test_a_fence_ends_with_its_own_mark() -> None:
    assert list(fenced("````\na\n```\n~~~\n````\n```sql\nopen")) == ["a\n```\n~~~"]


@pytest.mark.parametrize("kind", ["is-sql", "contains-sql"])
def test_too_long_an_output_is_not_checked(kind: str) -> None:
    assert isinstance(check(Assertion(type=kind), Subject("SELECT 1 " * 12_000)), Unchecked)


@pytest.mark.parametrize(
    "value",
    [
        "MySQL",
        {"database": "MySQL"},
        {"databaseType": "Oracle"},
        {"allowedTables": "t"},
        {"allowedTables": [1]},
        {"allowedColumns": ["("]},
    ],
)
def test_a_value_that_could_not_be_meant_is_refused(value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type="is-sql", value=value))


@given(st.sampled_from(["is-sql", "contains-sql"]), TEXTS, st.sampled_from([None, "Sqlite", "TransactSQL", "BigQuery"]))
def test_nothing_raises_and_not_inverts(kind: str, text: str, database: str | None) -> None:
    passes(kind, text, {"databaseType": database, "allowedTables": [".*"], "allowedColumns": [".*"]})
