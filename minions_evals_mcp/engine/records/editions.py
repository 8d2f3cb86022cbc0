"""Recorded outputs that were edited in a file: each edit is an output of its own, and what was recorded stays as it was (HR1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.digests import json_text
from minions_evals_mcp.domain.neighbours import AgentRun, has_more_scores
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.domain.speaker import AGENTS, Speaker
from minions_evals_mcp.engine.records.batch import Arrival, is_final
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import write_events
from minions_evals_mcp.store.speakers import made_by_agents

EDITION = ":edit-"
"""What stands between the id of an output and the digest of what it was edited to."""
DIGITS = 8
LONGEST = 128


def with_editions(
    db: Db, arrivals: Sequence[Arrival], *, by: Speaker, now: datetime
) -> tuple[list[Arrival], list[str]]:
    """The arrivals, each edited output under an id of its own, and what is said of them; what it replaces is hidden.

    Of several editions the one that the file holds is shown, so an edit that is taken back shows the first again. An agent
    edits so what agents handed in, and nothing else.
    """
    kept = records.minions(
        db, (arrival.record.id for arrival in arrivals if isinstance(arrival.record.fields, AgentRun))
    )
    taken, notes = list[Arrival](), list[str]()
    for arrival in arrivals:
        record, stored = arrival.record, kept.get(arrival.record.id)
        if stored is None or not _is_edited(stored, record):
            taken.append(arrival)
            continue
        family = [stored, *records.minions(db, records.ids_beginning(db, stored.id + EDITION)).values()]
        edition = _edition(stored, record)
        replaced = [one for one in family if one.deleted_at is None and one.id != edition]
        if len(edition) > LONGEST or (by.source == AGENTS and not _are_agents(db, replaced)):
            taken.append(arrival)
            continue
        for one in replaced:
            records.save(db, replace(one, deleted_at=now, updated_at=now))
        said = json_text({"editedAs": edition} | ({"by": by.source} if by.source == AGENTS else {}))
        write_events(db, [("record-deleted", one.type, one.id, said) for one in replaced], at=now)
        title = f"agent-run {edition}" if record.title == f"agent-run {record.id}" else record.title
        taken.append(replace(arrival, record=replace(record, id=edition, title=title), over=None))
        if replaced:
            notes.append(_note(replaced[0].id, edition))
    return taken, notes


def _is_edited(stored: Record[Fields], arriving: Record[Fields]) -> bool:
    """Whether another output arrives under the id of a complete one, or one that an edition replaced."""
    before, after = of_type(stored, AgentRun), of_type(arriving, AgentRun)
    if before is None or after is None or not is_final(before.fields):
        return False
    return stored.deleted_at is not None or not _says_the_same(before, after)


def _says_the_same(before: Record[AgentRun], after: Record[AgentRun]) -> bool:
    if before.title != after.title:
        return False
    return before.fields == after.fields or has_more_scores(before.fields, after.fields)


def _edition(stored: Record[Fields], arriving: Record[Fields]) -> str:
    """The id under which it is kept: the output's own for what was recorded first."""
    before, after = of_type(stored, AgentRun), of_type(arriving, AgentRun)
    if before is not None and after is not None and _says_the_same(before, after):
        return stored.id
    return f"{stored.id}{EDITION}{arriving.content_digest()[:DIGITS]}"


def _are_agents(db: Db, replaced: Sequence[Record[Fields]]) -> bool:
    made = made_by_agents(db, [one.id for one in replaced])
    return all(one.id in made for one in replaced)


def _note(before: str, edition: str) -> str:
    return f"agent-run {before} was edited: it is kept as it was, hidden, and the new output is {edition}"
