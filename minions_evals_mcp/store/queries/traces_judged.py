"""Production traces that were taken in to be judged: how many since a moment, and how the newest fared."""

from __future__ import annotations

from datetime import datetime

from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.store.connection import Db

TAG = "otlp"
"""What a case bears that was made of a production trace."""
_OURS = "m.type = 'test-case' AND m.tags = '[\"otlp\"]'"


def taken_since(db: Db, moment: datetime) -> int:
    """Returns how many traces were taken in since then."""
    query = f"SELECT count(*) FROM minion m WHERE {_OURS} AND m.created_at >= ?"
    return int(db.execute(query, (to_millis(moment),)).fetchone()[0])


def newest_verdicts(db: Db, limit: int) -> list[tuple[str, bool]]:
    """The newest test-runs of such cases and whether they passed, the newest first."""
    query = f"SELECT r.id, r.passed FROM test_run r JOIN minion m ON m.id = r.test_case_id WHERE {_OURS} ORDER BY r.seq DESC LIMIT ?"
    return [(ident, bool(passed)) for ident, passed in db.execute(query, (limit,))]


def has_agent_run(db: Db, prefix: str) -> bool:
    """Whether the store holds an agent-run whose id begins so."""
    query = "SELECT 1 FROM minion WHERE type = 'agent-run' AND id >= ? AND id < ? LIMIT 1"
    return db.execute(query, (prefix, prefix + "\U0010ffff")).fetchone() is not None
