"""The relations of one record, in both directions, read from the ids that records hold."""

from __future__ import annotations

from minions_evals_mcp.domain.relations import RELATIONS, Relation, RelationType
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.records import follows
from minions_evals_mcp.store.rows import TABLES

_COLUMN = {
    ("test-run", "testCaseId"): ("test_case_id",),
    ("test-run", "benchmarkRunId"): ("benchmark_run_id",),
    ("eval-judgment", "testRunId"): ("test_run_id",),
    ("eval-judgment", "criterionId"): ("criterion_id",),
    ("benchmark-run", "benchmarkId"): ("benchmark_id",),
    ("eval-failure", "testRunId"): ("test_run_id",),
    ("prompt-comparison", "benchmarkRunId"): ("benchmark_run_id_a", "benchmark_run_id_b"),
}


def links(db: Db, ident: str, kind: str, *, limit: int = 100) -> list[Relation]:
    """What the record is linked to, and what links to it; at most `limit` of each relation."""
    found: list[Relation] = []
    for relation in RELATIONS:
        if relation.source == kind:
            targets = (
                _held(db, relation, ident, limit) if relation.holder_is_source else _holders(db, relation, ident, limit)
            )
            found.extend(Relation(ident, other, relation.name) for other in targets)
        if relation.target == kind:
            sources = (
                _holders(db, relation, ident, limit) if relation.holder_is_source else _held(db, relation, ident, limit)
            )
            found.extend(Relation(other, ident, relation.name) for other in sources)
    return [*found, *follows(db, ident)]


def _held(db: Db, relation: RelationType, ident: str, limit: int) -> list[str]:
    """The ids that the record under `ident` holds in the relation's field."""
    if relation.holder in TABLES:
        table = TABLES[relation.holder].name
        columns = _COLUMN[relation.holder, relation.field]
        union = " UNION ALL ".join(f"SELECT {column} FROM {table} WHERE id = ?" for column in columns)
        return [row[0] for row in db.execute(union, (ident,) * len(columns)) if row[0] is not None]
    rows = db.execute(
        "SELECT j.value FROM minion m, json_each(m.fields, '$.' || ?) j WHERE m.id = ? AND j.value IS NOT NULL LIMIT ?",
        (relation.field, ident, limit),
    )
    return [row[0] for row in rows]


def _holders(db: Db, relation: RelationType, ident: str, limit: int) -> list[str]:
    """The records whose field of the relation holds `ident`."""
    if relation.holder in TABLES:
        table = TABLES[relation.holder].name
        where = " OR ".join(f"{column} = ?" for column in _COLUMN[relation.holder, relation.field])
        values = (ident,) * len(_COLUMN[relation.holder, relation.field])
        return [
            row[0] for row in db.execute(f"SELECT id FROM {table} WHERE {where} ORDER BY seq LIMIT ?", (*values, limit))
        ]
    rows = db.execute(
        "SELECT DISTINCT m.id FROM minion m, json_each(m.fields, '$.' || ?) j WHERE m.type = ? AND j.value = ? LIMIT ?",
        (relation.field, relation.holder, ident, limit),
    )
    return [row[0] for row in rows]
