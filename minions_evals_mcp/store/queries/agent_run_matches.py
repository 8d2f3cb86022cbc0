"""Recorded agent-runs by what was asked of them: for a page of cases in one statement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.seals import sealed_outputs

_FITTING = (
    "SELECT w.key, f.id, f.prompt_version_ref FROM json_each(?) w JOIN agent_run_key f ON f.id ="
    " (SELECT k.id FROM agent_run_key k JOIN minion m ON m.id = k.id AND m.deleted_at IS NULL"
    "  WHERE k.inputs_digest = w.value ->> 0 AND (w.value ->> 1 IS NULL OR k.prompt_version_ref = w.value ->> 1)"
    "  AND (w.value ->> 2 IS NULL OR k.agent_id = w.value ->> 2){among} ORDER BY {epoch}k.at DESC, m.seq DESC LIMIT 1 OFFSET ?)"
)
_EPOCH = "coalesce(m.fields ->> '$.extra.log.epoch', 1), "
LOG = "log:"
"""How the id of an imported log's version begins: its epochs are tried in their order."""


class WantedAgentRun(NamedTuple):
    """The agent-run that is looked for: the newest (`nth` 0) with these inputs, of that version and agent where they are given.

    Of an imported log's version it is the first epoch.
    """

    inputs_digest: str
    prompt_version_ref: str | None
    agent_id: str | None
    nth: int


def wanted(
    inputs: Json, *, prompt_version_ref: str | None = None, agent_id: str | None = None, nth: int = 0
) -> WantedAgentRun:
    """Returns what is looked for by the inputs themselves."""
    return WantedAgentRun(digest(inputs), prompt_version_ref, agent_id, nth)


def matching_agent_runs(
    db: Db, several: Sequence[WantedAgentRun], *, sealed: bool = False
) -> list[tuple[str, str | None] | None]:
    """The id and the version of each, None where there is none that fits; `sealed`: among those that a seal hides."""
    among = f" AND k.id IN ({sealed_outputs})" if sealed else ""
    matches: list[tuple[str, str | None] | None] = [None] * len(several)
    ordered = sorted(range(len(several)), key=lambda place: _group(several[place]))
    for (nth, of_log), group in groupby(ordered, key=lambda place: _group(several[place])):
        places = list(group)
        keys = json.dumps([several[place][:3] for place in places])
        for number, ident, version in db.execute(
            _FITTING.format(epoch=_EPOCH if of_log else "", among=among), (keys, nth)
        ):
            matches[places[number]] = ident, version
    return matches


def _group(sought: WantedAgentRun) -> tuple[int, bool]:
    return sought.nth, sought.prompt_version_ref is not None and sought.prompt_version_ref.startswith(LOG)
