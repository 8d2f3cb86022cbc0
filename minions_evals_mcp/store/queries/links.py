"""The relations of one record, in both directions, read from the ids that records hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.relations import RELATIONS, Relation, RelationType
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.records import find, follows, minions
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


@dataclass(frozen=True, slots=True)
class _Question:
    """One relation seen from one end: the query for the other end's ids, of an id and a limit."""

    relation: str
    is_source: bool
    query: str


def links(db: Db, ident: str, kind: str, *, limit: int = 100) -> list[Relation]:
    """Returns what the record is linked to, and what links to it; at most `limit` of each relation."""
    relations: list[Relation] = []
    for question in _questions(kind):
        others = [row[0] for row in db.execute(question.query, (ident, limit))]
        if question.is_source:
            relations.extend(Relation(ident, other, question.relation) for other in others)
        else:
            relations.extend(Relation(other, ident, question.relation) for other in others)
    return [*relations, *follows(db, ident)] if kind == PromptVersion.slug else relations


def linked_titles(db: Db, ident: str, relations: Iterable[Relation]) -> dict[str, str]:
    """The titles of the records at the other ends; of those that have none of their own, none."""
    others = {end for relation in relations for end in (relation.source_id, relation.target_id)} - {ident}
    there = [record for other in sorted(others) if (record := find(db, other)) is not None]
    return {one.id: one.title for one in there if one.title not in (one.id, f"{one.type} {one.id}")}


def listed_in(db: Db, ident: str, kind: str) -> list[str]:
    """The benchmarks that list the record, without hidden ones."""
    listing = [one.source_id for one in links(db, ident, kind) if one.type == "groups" and one.target_id == ident]
    return [other for other, record in minions(db, listing).items() if record.deleted_at is None]


@cache
def _questions(kind: str) -> tuple[_Question, ...]:
    """Returns what is asked about every record of that type: the same text each time is prepared by SQLite once."""
    questions: list[_Question] = []
    for relation in RELATIONS:
        for is_source, end in ((True, relation.source), (False, relation.target)):
            if end == kind:
                query = _held(relation) if is_source == relation.holder_is_source else _holders(relation)
                questions.append(_Question(relation.name, is_source, query))
    return tuple(questions)


def _held(relation: RelationType) -> str:
    """The ids that the record holds in the relation's field."""
    if relation.holder not in TABLES:
        return (
            f"SELECT j.value FROM minion m, json_each(m.fields, '$.{relation.field}') j"
            f" WHERE m.id = ? AND j.value IS NOT NULL {AT_MOST}"
        )
    table = TABLES[relation.holder].name
    columns = _COLUMN[relation.holder, relation.field]
    union = " UNION ALL ".join(
        f"SELECT {column} FROM {table} WHERE id = ?1 AND {column} IS NOT NULL" for column in columns
    )
    return f"{union} {AT_MOST}"


def _holders(relation: RelationType) -> str:
    """The records whose field of the relation holds the id."""
    if relation.holder not in TABLES:
        return (
            f"SELECT DISTINCT m.id FROM minion m, json_each(m.fields, '$.{relation.field}') j"
            f" WHERE m.type = '{relation.holder}' AND j.value = ? {AT_MOST}"
        )
    columns = _COLUMN[relation.holder, relation.field]
    where = " OR ".join(f"{column} = ?1" for column in columns)
    return f"SELECT id FROM {TABLES[relation.holder].name} WHERE {where} ORDER BY seq {AT_MOST}"
