"""What a model read in production traces, and what it wrote of passages: kept, so that nothing is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import json_text
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db


def readings_of(db: Db, model: str, requests: Mapping[str, str]) -> dict[str, Json]:
    """The notes of that model by the id of the trace or passage, where it answered exactly the request whose digest is given for it."""
    query = (
        "SELECT r.trace_id, r.note FROM json_each(?) j JOIN trace_reading r"
        " ON r.trace_id = j.key AND r.model = ? AND r.request_digest = j.value"
    )
    return {ident: json.loads(note) for ident, note in db.execute(query, (json.dumps(requests), model))}


def keep_reading(db: Db, trace_id: str, model: str, request_digest: str, note: Json, *, at: datetime) -> None:
    """Keeps the note; the one that came first stays."""
    row = (trace_id, model, request_digest, to_millis(at), masked(json_text(note)))
    db.execute("INSERT INTO trace_reading VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
