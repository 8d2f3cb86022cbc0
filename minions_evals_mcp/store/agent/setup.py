"""What the agent was last started with: its own skills, and whom it notifies and reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """`skills` and `integrations` as `status` lists them."""

    started_at: datetime
    skills: Sequence[Json]
    integrations: Sequence[Json]


def keep_setup(db: Db, setup: AgentSetup) -> None:
    """Keeps it in place of what was kept before."""
    db.execute("DELETE FROM agent_setup")
    db.execute(
        "INSERT INTO agent_setup (name, started_at, skills, integrations) VALUES ('agent', ?, ?, ?)",
        (to_millis(setup.started_at), json.dumps([*setup.skills]), json.dumps([*setup.integrations])),
    )


def kept_setup(db: Db) -> AgentSetup | None:
    """The set-up of the last start; None where no agent was started on the store."""
    row = db.execute("SELECT started_at, skills, integrations FROM agent_setup").fetchone()
    return None if row is None else AgentSetup(from_millis(row[0]), json.loads(row[1]), json.loads(row[2]))
