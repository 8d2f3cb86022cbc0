"""Seals, the runs that they hide, and the ledger of what was told of sealed content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from minions_evals_mcp.domain.seals import Verdict
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db


@frozen_type
class Seal:
    """A benchmark that is sealed, whole or as the share of another; `ended_at` once it is sealed no more."""

    seq: int
    benchmark_id: str
    open_benchmark_id: str | None
    share: float | None
    seed: int | None
    sealed_by: str
    at: datetime
    ended_at: datetime | None = None
    ended_by: str | None = None
    reason: str | None = None


@frozen_type
class SealedCase:
    """A case under a seal: digests of what it says, and the rubric that judges it."""

    case_id: str
    content_digest: str
    inputs_digest: str
    rubric_id: str | None


@frozen_type
class Exposure:
    """A verdict that was told of a sealed benchmark: the how manyth on its contents, and what it compared."""

    comparison_id: str
    benchmark_id: str
    version_a: str
    version_b: str
    verdict: Verdict
    attempt: int
    at: datetime


sealed_outputs = (
    "SELECT o.record_id AS id FROM main.sealed_output o JOIN main.seal s ON s.seq = o.seal_seq WHERE s.ended_at IS NULL"
    " UNION ALL SELECT id FROM main.minion WHERE type = 'agent-run' AND json_extract(fields, '$.extra.sealed') = 1"
    " AND EXISTS (SELECT 1 FROM main.seal WHERE ended_at IS NULL)"
)
"""The recorded outputs that are hidden while a seal stands, and the only ones that sealed cases are judged by.

Never by what they ask: a guess at a sealed input is kept, read and judged as any other output.
"""
_SEAL = "seq, benchmark_id, open_benchmark_id, share, seed, sealed_by, at, ended_at, ended_by, reason"
_ARRIVES = (
    "EXISTS (SELECT 1 FROM event e WHERE e.subject_id = {ident} AND e.type = 'record-saved' AND e.at = ?2"
    " AND json_extract(e.detail, '$.new'))"
)
"""Whether a record is new in the batch that is being written."""
_EXPOSURE = "comparison_id, benchmark_id, version_a, version_b, verdict, attempt, at"


def _seal(row: tuple[Any, ...]) -> Seal:
    seq, benchmark_id, opened, share, seed, by, at, ended_at, ended_by, reason = row
    ended = None if ended_at is None else from_millis(ended_at)
    return Seal(seq, benchmark_id, opened, share, seed, by, from_millis(at), ended, ended_by, reason)


def _exposure(row: tuple[Any, ...]) -> Exposure:
    comparison_id, benchmark_id, version_a, version_b, verdict, attempt, at = row
    return Exposure(comparison_id, benchmark_id, version_a, version_b, verdict, attempt, from_millis(at))


def seals(db: Db) -> list[Seal]:
    """Every seal that ever was, oldest first."""
    return [_seal(row) for row in db.execute(f"SELECT {_SEAL} FROM seal ORDER BY seq")]


def seal_of(db: Db, benchmark_id: str) -> Seal | None:
    """The seal on that benchmark, or on the part of it that is sealed, as long as it stands."""
    row = db.execute(
        f"SELECT {_SEAL} FROM seal WHERE ended_at IS NULL AND ? IN (benchmark_id, open_benchmark_id)"
        " ORDER BY benchmark_id <> ? LIMIT 1",
        (benchmark_id, benchmark_id),
    ).fetchone()
    return None if row is None else _seal(row)


def is_sealed(db: Db, benchmark_id: str) -> bool:
    """Returns whether the benchmark itself is sealed."""
    seal = seal_of(db, benchmark_id)
    return seal is not None and seal.benchmark_id == benchmark_id


def is_open_part(db: Db, benchmark_id: str) -> bool:
    """Returns whether the benchmark is what is left open of one that is sealed in part."""
    seal = seal_of(db, benchmark_id)
    return seal is not None and seal.benchmark_id != benchmark_id


def sealed_among(db: Db, case_ids: Iterable[str]) -> set[str]:
    """Those of the cases that are sealed."""
    rows = db.execute(
        "SELECT case_id FROM sealed_case WHERE ended_at IS NULL AND case_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(case_ids)),),
    )
    return {row[0] for row in rows}


def hidden_among(db: Db, idents: Iterable[str]) -> set[str]:
    """Those of the records whose content is hidden: sealed cases, and recorded outputs that a seal hides."""
    chosen = list(idents)
    if db.execute("SELECT 1 FROM seal WHERE ended_at IS NULL LIMIT 1").fetchone() is None:
        return set()
    rows = db.execute(f"SELECT value FROM json_each(?) WHERE value IN ({sealed_outputs})", (json.dumps(chosen),))
    return {row[0] for row in rows} | sealed_among(db, chosen)


def sealed_cases(db: Db, seal: Seal) -> list[SealedCase]:
    """The cases under that seal."""
    rows = db.execute(
        "SELECT case_id, content_digest, inputs_digest, rubric_id FROM sealed_case WHERE seal_seq = ?", (seal.seq,)
    )
    return [SealedCase(*row) for row in rows]


def put(db: Db, seal: Seal, cases: Sequence[SealedCase], *, arriving: bool = False) -> None:
    """Writes a seal with its cases; the runs in which they stand already are hidden with it, and their recorded outputs.

    `arriving`: of a case that is new in the same batch, and so was never open, only the outputs of that batch, for any other is of
    it by a guess.
    """
    (seq,) = db.execute(
        "INSERT INTO seal (benchmark_id, open_benchmark_id, share, seed, sealed_by, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING seq",
        (seal.benchmark_id, seal.open_benchmark_id, seal.share, seal.seed, seal.sealed_by, to_millis(seal.at)),
    ).fetchone()
    db.executemany(
        "INSERT INTO sealed_case (seal_seq, case_id, content_digest, inputs_digest, rubric_id) VALUES (?, ?, ?, ?, ?)",
        [(seq, case.case_id, case.content_digest, case.inputs_digest, case.rubric_id) for case in cases],
    )
    hidden = (
        "SELECT DISTINCT job_id AS run FROM unit WHERE case_id IN (SELECT case_id FROM sealed_case WHERE seal_seq = ?1)"
    )
    sides = (
        "JOIN job j ON j.kind = 'comparison' AND run IN (SELECT id FROM job WHERE key IN (j.id || ':A', j.id || ':B'))"
    )
    db.execute(
        f"INSERT INTO sealed_run (run_id, seal_seq) WITH hidden AS ({hidden})"
        f" SELECT run, ?1 FROM hidden UNION SELECT j.id, ?1 FROM hidden {sides}",
        (seq,),
    )
    db.execute(
        "INSERT INTO sealed_output (seal_seq, record_id) SELECT DISTINCT ?1, k.id FROM agent_run_key k JOIN sealed_case c"
        " ON c.seal_seq = ?1 AND c.inputs_digest = k.inputs_digest"
        f" WHERE NOT ({_ARRIVES.format(ident='c.case_id')}) OR {_ARRIVES.format(ident='k.id')}",
        (seq, to_millis(seal.at) if arriving else -1),
    )


def end(db: Db, seal: Seal, *, by: str, reason: str, at: datetime) -> None:
    """Ends the seal: from now on its cases are like any others."""
    db.execute(
        "UPDATE seal SET ended_at = ?, ended_by = ?, reason = ? WHERE seq = ?", (to_millis(at), by, reason, seal.seq)
    )
    db.execute("UPDATE sealed_case SET ended_at = ? WHERE seal_seq = ?", (to_millis(at), seal.seq))


def note_run(db: Db, run_id: str, seal: Seal) -> None:
    """Keeps that a run is made under the seal."""
    db.execute(
        "INSERT INTO sealed_run (run_id, seal_seq) SELECT ?1, ?2"
        " WHERE NOT EXISTS (SELECT 1 FROM sealed_run WHERE run_id = ?1 AND seal_seq = ?2)",
        (run_id, seal.seq),
    )


def told_before(db: Db, digests: Iterable[str], *, but: str = "") -> int:
    """Returns how many verdicts were told of any of those contents, whatever benchmark they stood in."""
    (number,) = db.execute(
        "SELECT count(DISTINCT comparison_id) FROM exposed_case"
        " WHERE comparison_id <> ? AND content_digest IN (SELECT value FROM json_each(?))",
        (but, json.dumps(list(digests))),
    ).fetchone()
    return number


def came_sealed(db: Db, seal: Seal) -> bool:
    """Whether a case of the seal came in with it, and so was never open here."""
    arrives = _ARRIVES.format(ident="c.case_id")
    row = db.execute(
        f"SELECT 1 FROM sealed_case c WHERE c.seal_seq = ?1 AND {arrives} LIMIT 1", (seal.seq, to_millis(seal.at))
    )
    return row.fetchone() is not None


def told_in_all(db: Db, *, but: str = "") -> int:
    """Returns how many verdicts were told of any sealed content."""
    (number,) = db.execute("SELECT count(*) FROM exposure WHERE comparison_id <> ?", (but,)).fetchone()
    return number


def expose(db: Db, exposure: Exposure, cases: Sequence[SealedCase]) -> None:
    """Writes down that a verdict is told, and of which contents."""
    db.executemany(
        "INSERT INTO exposed_case (content_digest, comparison_id) VALUES (?, ?)",
        [(content, exposure.comparison_id) for content in {case.content_digest for case in cases}],
    )
    db.execute(
        f"INSERT INTO exposure ({_EXPOSURE}, cases) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            exposure.comparison_id, exposure.benchmark_id, exposure.version_a, exposure.version_b, exposure.verdict,
            exposure.attempt, to_millis(exposure.at), len(cases),
        ),
    )  # fmt: skip


def exposure(db: Db, comparison_id: str) -> Exposure | None:
    """The verdict that was told of that comparison."""
    row = db.execute(f"SELECT {_EXPOSURE} FROM exposure WHERE comparison_id = ?", (comparison_id,)).fetchone()
    return None if row is None else _exposure(row)


def exposures(db: Db, benchmark_id: str) -> list[Exposure]:
    """The verdicts that were told of a benchmark, oldest first."""
    rows = db.execute(f"SELECT {_EXPOSURE} FROM exposure WHERE benchmark_id = ? ORDER BY seq", (benchmark_id,))
    return [_exposure(row) for row in rows]


def runs_of_cases(db: Db, case_ids: Iterable[str]) -> int:
    """Returns how many test-runs there are of those cases."""
    (number,) = db.execute(
        "SELECT count(*) FROM test_run WHERE test_case_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(case_ids)),),
    ).fetchone()
    return number


def open_copies(db: Db, case_ids: Iterable[str]) -> list[str]:
    """Other cases that ask the same as one of those: what a seal hides stands in them, too."""
    chosen = json.dumps(list(case_ids))
    rows = db.execute(
        "SELECT id FROM minion WHERE type = 'test-case' AND deleted_at IS NULL AND id NOT IN (SELECT value FROM json_each(?1))"
        " AND fields -> '$.inputs' IN (SELECT fields -> '$.inputs' FROM minion WHERE id IN (SELECT value FROM json_each(?1)))"
        " AND fields -> '$.inputs' <> '{}' AND id NOT IN (SELECT case_id FROM sealed_case WHERE ended_at IS NULL) ORDER BY seq",
        (chosen,),
    )
    return [row[0] for row in rows]


def benchmarks_with(db: Db, case_ids: Iterable[str], *, but: str) -> list[tuple[str, str]]:
    """Other benchmarks that name some of the cases, each with one of them."""
    rows = db.execute(
        "SELECT m.id, min(n.value) FROM minion m, json_each(m.fields, '$.testCaseIds') n WHERE m.type = 'benchmark'"
        " AND m.deleted_at IS NULL AND m.id <> ? AND n.value IN (SELECT value FROM json_each(?)) GROUP BY m.id",
        (but, json.dumps(list(case_ids))),
    )
    return rows.fetchall()
