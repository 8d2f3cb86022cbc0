"""The attempts to beat one prompt version, as the store knows them: comparisons, and those under way."""

from __future__ import annotations

import json
from collections.abc import Collection

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.stored_results import ALIKE

Pair = tuple[str, str]
_WITH = "(?1 IN (prompt_version_a, prompt_version_b) AND coalesce(json_extract(rest, '$.openPart'), 0) = 0)"
"""On the open part of a benchmark that is sealed in part nothing is decided: it is there to learn from."""


def compared(db: Db, version: str, *, but_for: Pair = ("", ""), before: str | None = None) -> list[tuple[str, str]]:
    """The comparisons (other version, benchmark) by which another version may have been shown to beat `version`.

    Two of the same runs are one; those of the runs `but_for` are left out. The comparisons by which the version beat another
    itself, up to the one on which its approval rests, are attempts to beat that one. `before`: only those that were recorded
    before that comparison.
    """
    rows = db.execute(
        "SELECT DISTINCT iif(prompt_version_a = ?1, prompt_version_b, prompt_version_a), benchmark_id,"
        " min(benchmark_run_id_a, benchmark_run_id_b) AS a, max(benchmark_run_id_a, benchmark_run_id_b) AS b"
        f" FROM prompt_comparison c WHERE {_WITH} AND seq < coalesce((SELECT seq FROM prompt_comparison WHERE id = ?2), 1e18)"
        " AND NOT EXISTS (SELECT 1 FROM approval p JOIN prompt_comparison w ON w.id = p.comparison_id"
        "  WHERE p.prompt_version_ref = ?1 AND p.decision = 'approved' AND c.seq <= w.seq"
        "  AND (c.prompt_version_a, c.prompt_version_b) = (w.prompt_version_a, w.prompt_version_b))",
        (version, before),
    )
    left_out = (min(but_for), max(but_for))
    return [(other, benchmark) for other, benchmark, *pair in rows if (*pair,) != left_out]


def unfinished(db: Db, version: str, *, but: str) -> list[tuple[str, str]]:
    """The comparisons (other version, benchmark) that began, have measured something, and are not recorded.

    They count as recorded ones do: one may choose which to end.
    """
    return db.execute(
        "SELECT iif(json_extract(j.spec, '$.request.versionA') = ?1, json_extract(j.spec, '$.request.versionB'),"
        "  json_extract(j.spec, '$.request.versionA')), j.subject_id"
        " FROM job j WHERE j.kind = 'comparison' AND j.id <> ?2"
        " AND ?1 IN (json_extract(j.spec, '$.request.versionA'), json_extract(j.spec, '$.request.versionB'))"
        " AND NOT EXISTS (SELECT 1 FROM prompt_comparison WHERE id = j.id)"
        " AND NOT EXISTS (SELECT 1 FROM seal WHERE open_benchmark_id = j.subject_id AND ended_at IS NULL)"
        " AND EXISTS (SELECT 1 FROM job s JOIN unit u ON u.job_id = s.id WHERE s.key IN (j.id || ':A', j.id || ':B')"
        "  AND (u.test_run_id IS NOT NULL OR u.output IS NOT NULL))",
        (version, but),
    ).fetchall()


def is_fresh(db: Db, run_id: str) -> bool:
    """Returns whether every output of the run was made in it: none is a recorded agent-run, or one of an earlier run."""
    (fresh,) = db.execute(
        "SELECT EXISTS (SELECT 1 FROM test_run r WHERE r.benchmark_run_id = ?1 AND r.agent_run_id IS NOT NULL)"
        " OR EXISTS (SELECT 1 FROM job WHERE id = ?1 AND (json_extract(spec, '$.request.rejudgeRunId') IS NOT NULL"
        "  OR (json_extract(spec, '$.request.cache') AND EXISTS (SELECT 1 FROM unit u WHERE u.job_id = ?1"
        "   AND json_extract(u.output, '$.reusedFrom') IS NOT NULL))))",
        (run_id,),
    ).fetchone()
    return not fresh


def alike(db: Db, run_id: str) -> str | None:
    """Returns what a run was measured with, and of what: equal where the data of two runs may be pooled; None for chosen cases."""
    row = db.execute(
        f"SELECT {ALIKE} FROM benchmark_run b WHERE b.id = ? AND json_extract(b.rest, '$.selection') IS NULL", (run_id,)
    ).fetchone()
    return None if row is None else row[0]


def poolable(db: Db, version: str, *, runs: Pair, before: str | None = None) -> list[tuple[str, str, str]]:
    """The recorded comparisons (id, run of A, run of B) whose data may be pooled with those two runs, oldest first.

    No run and no recorded output is in two of them: the same data would count twice. Where one looked after every case, the data chose
    their own number.
    """
    rows = db.execute(
        "SELECT id, benchmark_run_id_a, benchmark_run_id_b FROM prompt_comparison WHERE prompt_version_a = ?1"
        " AND seq < coalesce((SELECT seq FROM prompt_comparison WHERE id = ?2), 1e18)"
        " AND coalesce(json_extract(rest, '$.notes'), '') NOT LIKE 'sequential%' ORDER BY seq",
        (version, before),
    ).fetchall()
    wanted, used = (alike(db, runs[0]), alike(db, runs[1])), set(runs)
    poolable_runs: list[tuple[str, str, str]] = []
    for ident, run_a, run_b in rows:
        if None in wanted or used & {run_a, run_b} or (alike(db, run_a), alike(db, run_b)) != wanted:
            continue
        if _shares_outputs(db, used, (run_a, run_b)):
            continue
        used |= {run_a, run_b}
        poolable_runs.append((ident, run_a, run_b))
    return poolable_runs


def _shares_outputs(db: Db, used: Collection[str], runs: Pair) -> bool:
    """Returns whether those two runs judged a recorded output that one of the runs already used judged, too."""
    (shares,) = db.execute(
        "SELECT EXISTS (SELECT 1 FROM test_run x JOIN test_run y ON y.agent_run_id = x.agent_run_id AND y.benchmark_run_id IN (?, ?)"
        " WHERE x.benchmark_run_id IN (SELECT value FROM json_each(?)) AND x.agent_run_id IS NOT NULL)",
        (*runs, json.dumps([*used])),
    ).fetchone()
    return bool(shares)
