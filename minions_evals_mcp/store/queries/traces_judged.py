"""Production traces that were taken in to be judged: how many since a moment, and how the newest fared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import is_label
from minions_evals_mcp.store.seals import sealed_outputs

TAG = "otlp"
"""What a case bears that was made of a production trace."""
FALL_TOLD = "otlp-fall:"
"""How the ids begin of what is told about a fall: the number of the test-run follows."""
_OURS = "m.type = 'test-case' AND m.tags = '[\"otlp\"]'"


def taken_since(db: Db, moment: datetime) -> int:
    """Returns how many traces were taken in since then."""
    query = f"SELECT count(*) FROM minion m WHERE {_OURS} AND m.created_at >= ?"
    return int(db.execute(query, (to_millis(moment),)).fetchone()[0])


def newest_verdicts(db: Db, limit: int) -> list[tuple[str, bool]]:
    """The newest test-runs of such cases and whether they passed, the newest first."""
    query = f"SELECT r.id, r.passed FROM test_run r JOIN minion m ON m.id = r.test_case_id WHERE {_OURS} ORDER BY r.seq DESC LIMIT ?"
    return [(ident, bool(passed)) for ident, passed in db.execute(query, (limit,))]


def verdicts_after(db: Db, seq: int, limit: int) -> list[tuple[int, str, bool]]:
    """The newest test-runs of such cases after that one, each with its number and whether it passed, the oldest first."""
    query = (
        f"SELECT r.seq, r.id, r.passed FROM test_run r JOIN minion m ON m.id = r.test_case_id WHERE {_OURS} AND r.seq > ?"
        " ORDER BY r.seq DESC LIMIT ?"
    )
    return [
        (number, ident, bool(passed)) for number, ident, passed in reversed(db.execute(query, (seq, limit)).fetchall())
    ]


def requests_after(db: Db, seq: int, limit: int) -> list[tuple[int, str, str]]:
    """The newest of such cases after that one, each with its number and its inputs as JSON, the oldest first."""
    query = (
        f"SELECT m.seq, m.id, m.fields ->> '$.inputs' FROM minion m WHERE {_OURS} AND m.deleted_at IS NULL AND m.seq > ?"
        " ORDER BY m.seq DESC LIMIT ?"
    )
    return [(number, ident, text or "") for number, ident, text in reversed(db.execute(query, (seq, limit)).fetchall())]


def traced_criteria(db: Db) -> list[str]:
    """The criteria by which people labelled outputs of such cases."""
    query = (
        f"SELECT DISTINCT j.criterion_id FROM minion m JOIN test_run r ON r.test_case_id = m.id"
        f" JOIN eval_judgment j ON j.test_run_id = r.id WHERE {_OURS} AND {is_label('j')} ORDER BY 1"
    )
    return [criterion for (criterion,) in db.execute(query)]


def last_told(db: Db, prefix: str) -> int:
    """The number of the newest row at which that was told; 0 where it never was."""
    query = "SELECT max(CAST(substr(id, ?) AS INTEGER)) FROM outbox WHERE id >= ? AND id < ?"
    return int(db.execute(query, (len(prefix) + 1, prefix, f"{prefix[:-1]};")).fetchone()[0] or 0)


def has_agent_run(db: Db, prefix: str) -> bool:
    """Whether the store holds an agent-run whose id begins so."""
    query = "SELECT 1 FROM minion WHERE type = 'agent-run' AND id >= ? AND id < ? LIMIT 1"
    return db.execute(query, (prefix, prefix + "\U0010ffff")).fetchone() is not None


def runs_of_agent(db: Db, agent_id: str, *, since: datetime | None, limit: int) -> list[str]:
    """The ids of the newest runs of that agent, the newest first; those that a seal hides are left out."""
    query = (
        "SELECT k.id FROM agent_run_key k JOIN minion m ON m.id = k.id AND m.deleted_at IS NULL"
        f" WHERE k.agent_id = ? AND k.at >= ? AND k.id NOT IN ({sealed_outputs}) ORDER BY k.at DESC, m.seq DESC LIMIT ?"
    )
    return [ident for (ident,) in db.execute(query, (agent_id, 0 if since is None else to_millis(since), limit))]


def failed_verdicts(db: Db, agent_run_ids: Sequence[str]) -> dict[str, str]:
    """By agent-run the reason of its newest verdict, where that failed it."""
    rows = db.execute(
        "SELECT r.agent_run_id, r.passed, f.rest ->> '$.description' FROM test_run r LEFT JOIN eval_failure f ON f.test_run_id = r.id"
        " WHERE r.agent_run_id IN (SELECT value FROM json_each(?)) ORDER BY r.seq",
        (json.dumps([*agent_run_ids]),),
    )
    newest = {ident: "" if passed else str(said or "it failed").partition("\n")[0] for ident, passed, said in rows}
    return {ident: said for ident, said in newest.items() if said}
