"""Definitions and copies: the `minion` table, and the one look-up over every type."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Fields, Json, RubricCriterion, TestBranch
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import AgentRun, ProposalDraft, SkillDefinition
from minions_evals_mcp.domain.outputs import ERASED
from minions_evals_mcp.domain.records import TYPES, Record, fields_from_json, of_type
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.errors import NotFoundError, SealedError, unseal
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import list_them
from minions_evals_mcp.stats.limits import Limit, limit_gate
from minions_evals_mcp.store import events, runs, sealed_content
from minions_evals_mcp.store.connection import AT_MOST, Db, insert_rows
from minions_evals_mcp.store.rows import OWN_JUDGE_FIRST, TABLES, WHOLE, record_of, select, table_of

_COLUMNS = "seq, id, type, title, fields, tags, status, created_at, updated_at, created_by, deleted_at"
CHUNK = 500
"""So many rows are made before they are written."""
F = TypeVar("F", bound=Fields)


def _record(row: tuple[Any, ...]) -> Record[Fields]:
    _, ident, kind, title, fields, tags, status, created_at, updated_at, created_by, deleted_at = row
    created = from_millis(created_at)
    if kind == "test-case" and sealed_content.is_encrypted(fields):
        fields, title, tags = sealed_content.opened(fields, record=ident)
    return Record(
        id=ident,
        fields=fields_from_json(TYPES[kind], fields, record=ident),
        title=title,
        created_at=created,
        updated_at=created if updated_at == created_at else from_millis(updated_at),
        tags=() if tags == "[]" else tuple(from_json(tags)),
        status=status,
        created_by=created_by,
        deleted_at=None if deleted_at is None else from_millis(deleted_at),
    )


@frozen_type
class Unread(Generic[F]):
    """A definition or copy as its row stands, to be read where its fields are needed."""

    kind: type[F]
    row: tuple[Any, ...]

    @property
    def id(self) -> str:
        """The record's id."""
        return self.row[1]

    def read(self) -> Record[F]:
        """The record."""
        return cast("Record[F]", _record(self.row))


def minion(db: Db, ident: str) -> Record[Fields] | None:
    """The definition or copy under that id, hidden ones too."""
    row = db.execute(f"SELECT {_COLUMNS} FROM minion WHERE id = ?", (ident,)).fetchone()
    return None if row is None else _record(row)


def minions(db: Db, idents: Iterable[str]) -> dict[str, Record[Fields]]:
    """The definitions and copies under those ids, as far as they exist."""
    return {row[1]: _record(row) for row in _rows(db, idents)}


def unread(db: Db, idents: Iterable[str], kind: type[F]) -> dict[str, Unread[F]]:
    """The definitions or copies of that type under those ids, hidden ones too."""
    return {row[1]: Unread(kind, row) for row in _rows(db, idents) if row[2] == kind.slug}


def _rows(db: Db, idents: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    wanted = json.dumps(list(idents))
    return db.execute(f"SELECT {_COLUMNS} FROM minion WHERE id IN (SELECT value FROM json_each(?))", (wanted,))


def ids_of(db: Db, idents: Iterable[str], kind: type[Fields]) -> set[str]:
    """Those of the ids under which a definition or copy of that type is kept, hidden ones too; their content is not read."""
    wanted = json.dumps(list(idents))
    rows = db.execute(
        "SELECT id FROM minion WHERE type = ? AND id IN (SELECT value FROM json_each(?))", (kind.slug, wanted)
    )
    return {row[0] for row in rows}


def kept_digests(db: Db, idents: Sequence[str]) -> dict[str, str | None]:
    """Returns what is kept under those ids: the digests of definitions and copies, None for what is hidden, a result or an outbox row."""
    wanted = json.dumps(idents)
    rows = db.execute(
        "SELECT id, iif(deleted_at IS NULL, digest, NULL) FROM minion WHERE id IN (SELECT value FROM json_each(?))",
        (wanted,),
    )
    return {**dict.fromkeys(result_ids(db, idents)), **dict(rows.fetchall())}


def erased_among(db: Db, idents: Iterable[str]) -> list[str]:
    """Those of the records that lack content because it was erased, in the order in which they were kept."""
    rows = db.execute(
        "SELECT id FROM minion WHERE id IN (SELECT value FROM json_each(?)) AND fields GLOB ? ORDER BY seq",
        (json.dumps(list(idents)), f'*"{ERASED}@[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"*'),
    )
    return [row[0] for row in rows]


def get(db: Db, ident: str, kind: type[F], *, hidden: bool = True) -> Record[F] | None:
    """The record of that type under that id, hidden ones too unless said; None where it is of another type, or none is there."""
    if kind.slug not in TABLES:
        held = find(db, ident) if kind.slug in events.OUTBOX_TYPES else minion(db, ident)
        record = of_type(held, kind)
        return record if record is None or hidden or record.deleted_at is None else None
    table = table_of(kind)
    row = db.execute(select(table, "id = ?"), (ident,)).fetchone()
    return None if row is None else complete(db, record_of(table, row))


def require(db: Db, ident: str, kind: type[F], *, hidden: bool = True, remedy: str = "") -> Record[F]:
    """The same; raises `NotFoundError` where there is none."""
    record = get(db, ident, kind, hidden=hidden)
    if record is None:
        raise NotFoundError(kind.slug, ident, remedy=remedy or list_them(kind.slug))
    return record


def get_all(db: Db, idents: Iterable[str], kind: type[F]) -> dict[str, Record[F]]:
    """The definitions or copies of that type under those ids, hidden ones too."""
    pairs = minions(db, idents).items()
    return {ident: record for ident, held in pairs if (record := of_type(held, kind)) is not None}


def find(db: Db, ident: str) -> Record[Fields] | None:
    """The record of any type under that id."""
    record = minion(db, ident)
    if record is not None:
        return record
    for table in TABLES.values():
        row = db.execute(select(table, "id = ?"), (ident,)).fetchone()
        if row is not None:
            return complete(db, record_of(table, row))
    letters = events.outbox(db, ident=ident, limit=1)
    return letters[0].record if letters else None


def complete(db: Db, record: Record[F]) -> Record[F]:
    """A benchmark-run with the ids of its test-runs, which are kept on their own side only."""
    if record.type != "benchmark-run":
        return record
    rows = db.execute("SELECT id FROM test_run WHERE benchmark_run_id = ? ORDER BY seq", (record.id,))
    return replace(record, fields=record.fields.model_copy(update={"test_run_ids": tuple(row[0] for row in rows)}))


def page(
    db: Db, kind: str, *, after: int = 0, limit: int = 100, hidden: bool = False
) -> list[tuple[int, Record[Fields]]]:
    """A page of one type's records in the order in which they were written, each with the cursor to go on from."""
    if kind in TABLES:
        table = TABLES[kind]
        rows = db.execute(select(table, f"seq > ? ORDER BY seq {AT_MOST}"), (after, limit)).fetchall()
        return [(row[0], complete(db, record_of(table, row))) for row in rows]
    if kind in events.OUTBOX_TYPES:
        return [(letter.seq, letter.record) for letter in events.outbox(db, after=after, limit=limit, type_=kind)]
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM minion WHERE type = ? AND seq > ? AND (? OR deleted_at IS NULL) ORDER BY seq {AT_MOST}",
        (kind, after, hidden, limit),
    )
    return [(row[0], _record(row)) for row in rows]


def count(db: Db, kind: str, *, most: int) -> int:
    """The number of one type's records that lists show; of more than `most`, one more than that."""
    if kind in TABLES:
        query, values = f"SELECT 1 FROM {TABLES[kind].name}", ()
    elif kind in events.OUTBOX_TYPES:
        query, values = "SELECT 1 FROM outbox WHERE type = ?", (kind,)
    else:
        query, values = "SELECT 1 FROM minion WHERE type = ? AND deleted_at IS NULL", (kind,)
    return db.execute(f"SELECT count(*) FROM ({query} LIMIT {most + 1})", values).fetchone()[0]


def save(db: Db, record: Record[Fields]) -> bool:
    """Writes a definition or copy; false where it says what is kept already."""
    content = record.content_digest()
    row = db.execute("SELECT digest, deleted_at FROM minion WHERE id = ?", (record.id,)).fetchone()
    if row is not None and row[0] == content and row[1] is None and record.deleted_at is None:
        return False
    if row is None:
        add_all(db, [record])
        return True
    vet_unsealed(db, record)
    db.execute(
        "UPDATE minion SET title = ?, fields = ?, tags = ?, status = ?, digest = ?, updated_at = ?, deleted_at = ?"
        " WHERE id = ?",
        (*_content(record, content), record.id),
    )
    add_rows(db, (), _key_rows([record]))
    return True


def vet_unsealed(db: Db, record: Record[Fields]) -> None:
    """Raises `SealedError` for an edit of what is sealed, by its name; the triggers refuse it, whoever writes."""
    rubric = record.fields.rubric_id if isinstance(record.fields, RubricCriterion) else record.id
    row = db.execute(
        "SELECT s.benchmark_id FROM seal s WHERE s.ended_at IS NULL AND (s.benchmark_id = ?1 OR s.seq IN"
        " (SELECT seal_seq FROM sealed_case WHERE ended_at IS NULL AND (case_id = ?1 OR rubric_id IN (?1, ?2)))) LIMIT 1",
        (record.id, rubric),
    ).fetchone()
    if row is not None:
        raise SealedError(
            f"{record.type} {record.id} belongs to the sealed benchmark {row[0]} and is not edited.",
            remedy=f"{unseal(row[0])}.",
        )


Row = tuple[Any, ...]
"""What a definition or copy becomes in the `minion` table, in the order of `_WRITTEN`."""
KeyRow = tuple[str, str, str, str | None, int]
"""By what a recorded output is found again: its id, the digest of its inputs, agent, version, and time."""
_WRITTEN = "title, fields, tags, status, digest, updated_at, deleted_at, id, type, created_at, created_by"
DIGEST = 4
"""Where the digest stands in a `Row`."""


def add_all(db: Db, records: Sequence[Record[Fields]]) -> None:
    """Writes definitions and copies under ids under which nothing is kept yet."""
    for at in range(0, len(records), CHUNK):
        part = records[at : at + CHUNK]
        add_rows(db, map(row_of, part), _key_rows(part))


def add_rows(db: Db, rows: Iterable[Row], keys: Iterable[KeyRow]) -> None:
    """The same of rows that are made already, and of the keys of the recorded outputs among them."""
    insert_rows(db, f"minion ({_WRITTEN})", rows)
    insert_rows(
        db,
        "agent_run_key",
        keys,
        then="ON CONFLICT (id) DO UPDATE SET inputs_digest = excluded.inputs_digest, agent_id = excluded.agent_id,"
        " prompt_version_ref = excluded.prompt_version_ref, at = excluded.at",
    )


def row_of(record: Record[Fields]) -> Row:
    """The row that a definition or copy becomes."""
    content = record.content_digest()
    return (*_content(record, content), record.id, record.type, to_millis(record.created_at), record.created_by)


def read_row(row: Row) -> Record[Fields]:
    """The record that became that row."""
    title, fields, tags, status, _, updated_at, deleted_at, ident, kind, created_at, created_by = row
    return _record((0, ident, kind, title, fields, tags, status, created_at, updated_at, created_by, deleted_at))


def _content(record: Record[Fields], content: str) -> tuple[object, ...]:
    return (
        record.title, record.fields.model_dump_json(), json.dumps(record.tags) if record.tags else "[]", record.status, content,
        to_millis(record.updated_at), None if record.deleted_at is None else to_millis(record.deleted_at),
    )  # fmt: skip


def _key_rows(records: Iterable[Record[Fields]]) -> Iterable[KeyRow]:
    return filter(None, map(key_of, records))


def key_of(record: Record[Fields]) -> KeyRow | None:
    """By what a recorded output is found again; None for what is none."""
    run = record.fields
    if not isinstance(run, AgentRun):
        return None
    at = to_millis(run.triggered_at or record.created_at)
    return record.id, digest(run.inputs), run.agent_id, run.prompt_version_ref, at


def made_with(db: Db, agent_run_id: str) -> str | None:
    """The version that a recorded agent-run names."""
    row = db.execute("SELECT prompt_version_ref FROM agent_run_key WHERE id = ?", (agent_run_id,)).fetchone()
    return None if row is None else row[0]


def _typed(rows: Iterable[tuple[Any, ...]], kind: type[F]) -> list[Record[F]]:
    return [record for row in rows if (record := of_type(_record(row), kind)) is not None]


def log_with_content(db: Db, form: str, content: str) -> str | None:
    """The id of the log of another tool, of that format, that was imported from a file of these contents."""
    row = db.execute(
        "SELECT fields ->> '$.extra.log.id' FROM minion WHERE type = 'prompt-version'"
        " AND fields ->> '$.extra.log.content' = ? AND fields ->> '$.extra.log.format' = ? LIMIT 1",
        (content, form),
    ).fetchone()
    return None if row is None else str(row[0])


def proposals_of(db: Db, agent_run_id: str) -> list[Record[ProposalDraft]]:
    """The proposal-drafts of that agent-run, oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM minion WHERE type = 'proposal-draft' AND deleted_at IS NULL"
        " AND json_extract(fields, '$.agentRunId') = ? ORDER BY seq",
        (agent_run_id,),
    )
    return _typed(rows, ProposalDraft)


def branches_of(db: Db, test_case_id: str) -> list[Record[TestBranch]]:
    """The branches of a test case that are not hidden."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM minion WHERE type = 'test-branch' AND deleted_at IS NULL"
        " AND json_extract(fields, '$.testCaseId') = ? ORDER BY seq",
        (test_case_id,),
    )
    return _typed(rows, TestBranch)


def followed_by(db: Db, ident: str) -> str | None:
    """The version that this version follows."""
    row = db.execute("SELECT target_id FROM relation WHERE source_id = ? AND type = 'follows'", (ident,)).fetchone()
    return None if row is None else row[0]


def ids_beginning(db: Db, beginning: str) -> list[str]:
    """The ids of definitions and copies, hidden ones too, that begin so."""
    rows = db.execute("SELECT id FROM minion WHERE id >= ?1 AND id < ?1 || char(127) ORDER BY id", (beginning,))
    return [ident for (ident,) in rows]


def result_ids(db: Db, idents: Iterable[str]) -> set[str]:
    """Those of the ids under which a result or an outbox row is kept."""
    wanted = json.dumps(list(idents))
    names = (*(table.name for table in TABLES.values()), "outbox", "job")
    union = " UNION ALL ".join(f"SELECT id FROM {name} WHERE id IN (SELECT value FROM json_each(?))" for name in names)
    return {row[0] for row in db.execute(union, (wanted,) * len(names))}


def save_relation(db: Db, relation: Relation) -> bool:
    """Keeps a `follows` relation; false where it is kept already."""
    row = db.execute(
        "SELECT target_id FROM relation WHERE source_id = ? AND type = ?", (relation.source_id, relation.type)
    )
    target_row = row.fetchone()
    if target_row is not None and target_row[0] == relation.target_id:
        return False
    db.execute(
        "INSERT INTO relation (source_id, target_id, type) VALUES (?, ?, ?)"
        " ON CONFLICT (source_id, type) DO UPDATE SET target_id = excluded.target_id",
        (relation.source_id, relation.target_id, relation.type),
    )
    return True


def follows(db: Db, ident: str) -> list[Relation]:
    """The `follows` relations in which that version stands, on either side."""
    rows = db.execute(
        "SELECT source_id, target_id, type FROM relation WHERE source_id = ? OR target_id = ?", (ident, ident)
    )
    return [Relation(*row) for row in rows]


@frozen_type
class Gate:
    """A skill's quality gate beside its benchmark's standing; `score` is None where it never ran."""

    benchmark_id: str
    min_score: float
    score: float | None
    run_id: str | None
    limit: Limit | None = None
    judged_by: tuple[str, ...] = ()

    def wire(self) -> Json:
        """The gate as it stands in an answer."""
        gate = None if self.limit is None else self.limit.gate
        return {
            "benchmarkId": self.benchmark_id,
            "minScore": self.min_score,
            "score": self.score,
            "runId": self.run_id,
            "holds": gate == "held",
            "gate": gate,
            "casesNeeded": None if self.limit is None else self.limit.cases_needed,
            "judgedBy": [*self.judged_by],
        }


def gates(db: Db, record: Record[Fields]) -> list[Gate]:
    """The quality gates of a skill, each beside its benchmark's standing, and who judged it: of its own judge where there is one."""
    skill = of_type(record, SkillDefinition)
    gates_read: list[Gate] = []
    for gate in skill.fields.quality_gates if skill else ():
        row = db.execute(
            "SELECT overall_score, id, json_extract(rest, '$.scoreCi'), total_count, coalesce(json_extract(rest, '$.trials'), 1),"
            " json_extract(rest, '$.judgedBy')"
            f" FROM benchmark_run WHERE benchmark_id = ? AND {WHOLE} ORDER BY {OWN_JUDGE_FIRST} LIMIT 1",
            (gate.benchmark_id,),
        ).fetchone()
        if row is None:
            gates_read.append(Gate(gate.benchmark_id, gate.min_score, None, None))
            continue
        score, run_id, interval, total, trials, stood_in = row
        judges = runs.judges_of(db, run_id) if stood_in is None else tuple(from_json(stood_in))
        bounds = None if interval is None else cast("tuple[float, float]", tuple(from_json(interval)))
        limit = limit_gate(score, bounds, gate.min_score, cases=max(1, round(total / trials)))
        gates_read.append(Gate(gate.benchmark_id, gate.min_score, score, run_id, limit, judges))
    return gates_read


def counts(db: Db) -> Mapping[str, int]:
    """Returns how many records of each type the store holds."""
    counted: dict[str, int] = dict(
        db.execute("SELECT type, count(*) FROM minion WHERE deleted_at IS NULL GROUP BY type").fetchall()
    )
    for slug, table in TABLES.items():
        counted[slug] = db.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0]
    counted["outbox"] = events.count_outbox(db)
    return {slug: number for slug, number in counted.items() if number}
