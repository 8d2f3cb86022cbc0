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
    "SELECT w.key, f.id, f.prompt_version_ref, {own} FROM json_each(?) w JOIN agent_run_key f ON f.id ="
    " (SELECT k.id FROM agent_run_key k JOIN minion m ON m.id = k.id AND m.deleted_at IS NULL"
    "  WHERE k.inputs_digest = w.value ->> 0 AND (w.value ->> 1 IS NULL OR k.prompt_version_ref = w.value ->> 1)"
    "  AND (w.value ->> 2 IS NULL OR k.agent_id = w.value ->> 2){among} ORDER BY {first}k.at DESC, m.seq DESC LIMIT 1 OFFSET ?)"
)
_OWN = "(SELECT o.fields ->> '$.extra.log.case' FROM minion o WHERE o.id = f.id) IS w.value ->> 3"
_FIRST = "(m.fields ->> '$.extra.log.case' IS w.value ->> 3) DESC, coalesce(m.fields ->> '$.extra.log.epoch', 1), "
LOG = "log:"
"""How the ids of an imported log's version and cases begin: its own outputs come first, and its epochs in their order."""


class WantedAgentRun(NamedTuple):
    """The agent-run that is looked for: the newest (`nth` 0) with these inputs, of that version and agent where they are given.

    Of an imported log it is the first epoch of what the log has of the `case`, if it has any: another case may ask the same.
    """

    inputs_digest: str
    prompt_version_ref: str | None
    agent_id: str | None
    case: str | None
    nth: int


def wanted(
    inputs: Json,
    *,
    prompt_version_ref: str | None = None,
    agent_id: str | None = None,
    case: str | None = None,
    nth: int = 0,
) -> WantedAgentRun:
    """Returns what is looked for by the inputs themselves."""
    return WantedAgentRun(digest(inputs), prompt_version_ref, agent_id, case, nth)


def matching_agent_runs(
    db: Db, several: Sequence[WantedAgentRun], *, sealed: bool = False
) -> list[tuple[str, str | None] | None]:
    """The id and the version of each, None where there is none that fits; `sealed`: among those that a seal hides."""
    among = f" AND k.id IN ({sealed_outputs})" if sealed else ""
    matches: list[tuple[str, str | None] | None] = [None] * len(several)
    ordered = sorted(range(len(several)), key=lambda place: _group(several[place]))
    for (nth, of_log), group in groupby(ordered, key=lambda place: _group(several[place])):
        places = list(group)
        keys = json.dumps([several[place][:4] for place in places])
        found = _fitting(db, keys, among, nth, of_log=of_log)
        firsts = _fitting(db, keys, among, 0, of_log=of_log) if of_log and nth else found
        for number, (ident, version, is_own) in found.items():
            has_own = firsts[number][2]  # then an output of another case is no trial of this one
            if is_own or not has_own:
                matches[places[number]] = ident, version
    return matches


def _fitting(db: Db, keys: str, among: str, nth: int, *, of_log: bool) -> dict[int, tuple[str, str | None, bool]]:
    own, first = (_OWN, _FIRST) if of_log else ("0", "")
    rows = db.execute(_FITTING.format(own=own, first=first, among=among), (keys, nth))
    return {number: (ident, version, bool(is_own)) for number, ident, version, is_own in rows}


def _group(sought: WantedAgentRun) -> tuple[int, bool]:
    return sought.nth, any(
        name is not None and name.startswith(LOG) for name in (sought.prompt_version_ref, sought.case)
    )
