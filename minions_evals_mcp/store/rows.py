"""Result types as typed tables: the columns that queries ask for, and the rest as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

from pydantic.alias_generators import to_camel
from pydantic_core import from_json, to_json

from minions_evals_mcp.domain import audits, results
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.json_fields import fields_text
from minions_evals_mcp.domain.records import Record, fields_from_json, title_of
from minions_evals_mcp.domain.values import from_millis, iso, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import any_known, counted, masked
from minions_evals_mcp.store.connection import Db, insert_rows, sqlite
from minions_evals_mcp.store.events import Event, append

F_co = TypeVar("F_co", bound=Fields, covariant=True)
F = TypeVar("F", bound=Fields)


@frozen_type
class Table(Generic[F_co]):
    """The table of a result type. `at` is the column of its time; `extra` are columns that are no fields."""

    name: str
    kind: type[F_co]
    columns: tuple[str, ...]
    at: str
    extra: tuple[str, ...] = ()
    has_rest: bool = True

    @cached_property
    def all_columns(self) -> tuple[str, ...]:
        """Every column but `seq`, in the order in which rows are written."""
        stamped = () if self.at in self.columns else (self.at,)
        return ("id", *self.columns, *stamped, *self.extra, *(("rest",) if self.has_rest else ()))

    @cached_property
    def columns_set(self) -> frozenset[str]:
        """The fields that have a column of their own."""
        return frozenset(self.columns)

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """Returns where times stand in a row."""
        return tuple(place for place, name in enumerate(self.all_columns) if name in TIMES)

    @cached_property
    def flags(self) -> tuple[int, ...]:
        """Returns where yes or no stands in a row."""
        return tuple(place for place, name in enumerate(self.all_columns) if name in FLAGS)

    @cached_property
    def taken(self) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
        """Takes the values of the columns out of what the fields hold: by their names each would take three times as long."""
        return cast("Callable[[Mapping[str, Any]], tuple[Any, ...]]", itemgetter(*self.columns))

    @cached_property
    def into(self) -> str:
        """Returns where a row goes, in SQL."""
        return f"{self.name} ({','.join(self.all_columns)})"


TABLES: dict[str, Table[Fields]] = {
    table.kind.slug: table
    for table in (
        Table(
            "test_run",
            results.TestRun,
            (
                "test_case_id", "benchmark_run_id", "agent_run_id", "prompt_version_ref", "trial", "outcome", "passed",
                "total_score", "max_possible_score", "judge_type", "ran_at",
            ),
            "ran_at",
        ),
        Table(
            "eval_failure",
            results.EvalFailure,
            ("test_run_id", "benchmark_run_id", "failure_type", "severity", "resolved_at"),
            "created_at",
        ),
        Table(
            "eval_judgment",
            results.EvalJudgment,
            (
                "test_run_id", "criterion_id", "score", "min_score", "max_score", "rationale", "judged_by",
                "judged_by_type", "judged_at", "confidence", "handed_in_by", "origin",
            ),
            "judged_at",
            has_rest=False,
        ),
        Table(
            "benchmark_run",
            results.BenchmarkRun,
            (
                "benchmark_id", "prompt_version_ref", "purpose", "overall_score", "passed_count", "total_count",
                "error_count", "is_regression", "ran_at",
            ),
            "ran_at",
            ("judged_alike", "series"),
        ),
        Table("eval_metric", results.EvalMetric, ("benchmark_run_id", "dimension", "score", "max_score"), "created_at"),
        Table(
            "prompt_comparison",
            results.PromptComparison,
            (
                "benchmark_id", "prompt_version_a", "prompt_version_b", "benchmark_run_id_a", "benchmark_run_id_b",
                "score_a", "score_b", "tie_threshold", "winner", "verdict", "compared_at",
            ),
            "compared_at",
        ),
        Table(
            "approval",
            results.Approval,
            (
                "prompt_version_ref", "comparison_id", "decision", "decided_by", "decided_by_type", "override_reason",
                "decided_at",
            ),
            "decided_at",
        ),
        Table("test_branch_execution", results.TestBranchExecution, ("branch_id", "status"), "created_at"),
        Table(
            "judge_licence",
            results.JudgeLicence,
            ("criterion_id", "judge_digest", "state", "labels", "computed_at"),
            "computed_at",
        ),
        Table(
            "audit",
            audits.Audit,
            ("subject", "digest", "cheat_pass_rate", "mutation_score", "case_count", "audited_at"),
            "audited_at",
        ),
    )
}  # fmt: skip
UNSELECTED = "json_extract(rest, '$.selection') IS NULL"
"""The benchmark-runs of all active cases of their benchmark."""
WHOLE = f"purpose <> 'comparison' AND {UNSELECTED} AND json_extract(rest, '$.cached') IS NULL"
"""The benchmark-runs that are their benchmark's standing, as `BenchmarkRun.is_standing` has it: no side of a comparison, no
selection of its cases, and not of outputs that all came from a cache. Last score, trend, gates and lists read these.
"""
BY_OWN_JUDGE = "json_extract(rest, '$.judgedBy') IS NULL"
"""The benchmark-runs in which each criterion's own judge judged."""
OWN_JUDGE_FIRST = f"{BY_OWN_JUDGE} DESC, ran_at DESC, seq DESC"
"""The order in which gates read a standing: the newest run of the benchmark's own judge, then the newest of another."""
WIRE_NAMES = {column: to_camel(column) for table in TABLES.values() for column in table.columns}
"""What each column is called in the record."""
TIMES = frozenset(
    {"ran_at", "judged_at", "compared_at", "decided_at", "resolved_at", "created_at", "computed_at", "audited_at"}
)
FLAGS = frozenset({"passed", "is_regression"})


def strings(text: str | None) -> tuple[str, ...]:
    """A list of strings as it is kept in a row; empty where there is none."""
    return () if text is None else tuple(from_json(text))


def insert(db: Db, record: Record[Fields], **extra: str) -> None:
    """Writes a result row; the table's triggers refuse what a hard rule forbids."""
    insert_rows(db, TABLES[record.type].into, [values_of(record, extra)])
    if any_known() and isinstance(record.fields, results.TestRun):
        tell_marks(db, record, to_json(record.fields.actual_output).decode())


_NONE: Mapping[str, str] = {}


def values_of(record: Record[Fields], extra: Mapping[str, str] = _NONE) -> list[Any]:
    """The row that a result becomes, without any secret that this process knows."""
    table, fields = TABLES[record.type], record.fields
    values: list[Any] = [record.id, *table.taken(fields.__dict__)]
    if table.at not in table.columns:
        values.append(record.created_at)
    if table.extra:
        values.extend(extra[column] for column in table.extra)
    for place in table.moments:
        values[place] = _millis(values[place])
    for place in table.flags:
        values[place] = int(values[place])
    if any_known():
        values[1:] = [masked(value) if isinstance(value, str) else value for value in values[1:]]
    if table.has_rest:
        values.append(_rest(table, fields))
    return values


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else to_millis(moment)


def tell_marks(db: Db, record: Record[Fields], output: str) -> None:
    """Tells as an event which secrets were replaced by marks in an output that is kept, and how often each."""
    replaced = counted(output)
    if replaced:
        append(db, Event("secrets-marked", record.type, record.id, {"replaced": {**replaced}}), at=record.updated_at)


def _rest(table: Table[Fields], fields: Fields) -> str:
    return masked(fields_text(fields, exclude=table.columns_set))


def update_failure(db: Db, record: Record[results.EvalFailure]) -> None:
    """Writes a failure's new analysis or resolution; never the run that it belongs to."""
    table = TABLES["eval-failure"]
    fields = record.fields
    db.execute(
        "UPDATE eval_failure SET failure_type = ?, severity = ?, resolved_at = ?, rest = ? WHERE id = ?",
        (fields.failure_type, fields.severity, _millis(fields.resolved_at), _rest(table, fields), record.id),
    )


def table_of(kind: type[F]) -> Table[F]:
    """Returns where the results of that type are kept."""
    return cast("Table[F]", TABLES[kind.slug])


def select(table: Table[Fields], where: str = "1") -> str:
    """The query for whole records of a table."""
    return f"SELECT seq, {', '.join(table.all_columns)} FROM {table.name} WHERE {where}"


def record_of(table: Table[F], row: sqlite.Row | tuple[Any, ...]) -> Record[F]:
    """The record that a row of `select` holds."""
    named = dict(zip(("seq", *table.all_columns), row, strict=True))
    wire = {WIRE_NAMES[column]: _wire(column, named[column]) for column in table.columns if named[column] is not None}
    fields = fields_from_json(table.kind, _joined(wire, named.get("rest", "{}")), record=named["id"])
    at = from_millis(named[table.at])
    return Record(id=named["id"], fields=fields, title=title_of(fields, named["id"]), created_at=at, updated_at=at)


def _joined(wire: dict[str, Any], rest: str) -> str:
    """One JSON object of the columns and of the text of the others, which is parsed once, with its type; columns win."""
    others, columns = rest.strip()[1:-1].strip(), to_json(wire).decode()
    return f"{{{others},{columns[1:]}" if others else columns


def _wire(column: str, value: Any) -> Any:
    if column in TIMES:
        return iso(from_millis(value))
    return bool(value) if column in FLAGS else value
