"""The agent's status: its queue, its dead letters, what happened last, and how far it is behind."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import get_args

from pydantic import JsonValue

from agent.lease import is_alive_here
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Value, iso
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.messages.payloads import OWN
from minions_evals_mcp.messages.send_message import UNREADABLE
from minions_evals_mcp.operations.agent_work import MOST_MISSED, schedules, started_with
from minions_evals_mcp.presentation.next_steps import to_operator
from minions_evals_mcp.report.plain import shortened
from minions_evals_mcp.skills import load_skills
from minions_evals_mcp.store.agent import delivery, inbox, lease
from minions_evals_mcp.store.agent.event_feed import count_happened, happened, last_event
from minions_evals_mcp.store.agent.inbox import MessageState
from minions_evals_mcp.store.agent.lease import AgentLease
from minions_evals_mcp.store.agent.sources import sources_down
from minions_evals_mcp.store.connection import Db

SHOWN = 10
STATES = get_args(MessageState)


class Status(Value):
    """`messages`: all in the inbox; `sent`: those of them that the agent did not put to itself, for an event or a schedule.

    `lagSeconds`: the age of the oldest message that is not settled; `eventsBehind`: so many that start something.

    `schedules`: benchmarks with a schedule, when each is due next, and the times that were missed while no agent ran (of which
    the next start makes up for the last). `skills`, `integrations`: what the agent was last started with.

    `skillsRefused`: why the skills' folder does not load as it is now, so that no agent can start with it.

    `cannotWrite`: since when, and what is free on the disk, where the agent lives and its lease has run out all the same.
    """

    running: bool
    cannot_write: str
    holder: str | None
    messages: dict[str, int]
    sent: dict[str, int]
    lag_seconds: float
    events_behind: int
    sources_down: list[Json]
    deliveries: list[Json]
    refused: list[Json]
    dead_letters: list[Json]
    dismissed: list[Json] = []
    schedules: list[Json] = []
    skills: list[Json] = []
    skills_refused: str = ""
    integrations: list[Json] = []
    last_events: list[Json]


def status(db: Db, *, now: datetime, store: Path, skills_refused: str = "") -> Status:
    """The status as of that moment."""
    held = lease.lease(db)
    fresh = held is not None and held.expires_at > now
    is_here = held is not None and held.host == socket.gethostname()
    stalled = is_here and not fresh and is_alive_here(store)
    running = stalled or (fresh and not (is_here and not is_alive_here(store)))
    oldest, last = inbox.oldest_pending(db), last_event(db)
    skills, integrations = started_with(db)
    counted, sent = inbox.counts(db), inbox.counts(db, besides=OWN)
    return Status(
        running=running,
        cannot_write=_cannot_write(held, store) if held is not None and stalled else "",
        holder=held.holder if held is not None and running else None,
        messages={state: counted.get(state, 0) for state in STATES},
        sent={state: sent.get(state, 0) for state in STATES},
        lag_seconds=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
        events_behind=count_happened(db, after=lease.position(db, "events"), types=tuple(OWN)),
        sources_down=[source.wire() for source in sources_down(db)],
        deliveries=[letter.wire() for letter in delivery.queue(db)],
        refused=[letter.wire() for letter in delivery.refused(db, limit=SHOWN)],
        dead_letters=[letter.wire() for letter in inbox.dead_letters(db, limit=SHOWN)],
        dismissed=[{"id": ident, "reason": why} for ident, why in inbox.dismissed(db, limit=SHOWN)],
        schedules=schedules(db, now),
        skills=skills,
        skills_refused=skills_refused,
        integrations=integrations,
        last_events=[
            {"seq": event.seq, "at": iso(event.at), "type": event.type, "subjectId": event.subject_id}
            for event in reversed(happened(db, after=max(0, last - SHOWN)))
        ],
    )


def _cannot_write(held: AgentLease, store: Path) -> str:
    free_mb = shutil.disk_usage(store.parent).free / 1e6
    return f"nothing could be written since {iso(held.expires_at)}; {free_mb:,.1f} MB are free on the store's disk"


def refused_skills(folder: Path) -> str:
    """Why the skills in that folder do not load, with file and line; empty where they do."""
    try:
        load_skills(folder)
    except EvalsError as error:
        return error.text
    return ""


def _refused_skills(state: Status) -> list[str]:
    if not state.skills_refused:
        return []
    effect = "It keeps the skills it started with, and cannot start again" if state.running else "It cannot start"
    return [f"SKILLS REFUSED: {state.skills_refused}", f"  {effect} until the file is right."]


def _waits(counted: Mapping[str, int], state: Status) -> str:
    """The wait of the oldest pending message, behind a count with one; the other count may hold it."""
    if not counted.get("pending"):
        return ""
    which = "pending one" if counted["pending"] == state.messages["pending"] else "pending one of both kinds"
    return f"; the oldest {which} has waited {state.lag_seconds:.0f} s"


def in_words(state: Status) -> str:
    """The status for a person."""
    own = {name: number - state.sent[name] for name, number in state.messages.items()}
    lines = [
        f"agent: {f'running as {state.holder}' if state.running else 'not running'}",
        *([f"CANNOT WRITE: {state.cannot_write}"] if state.cannot_write else []),
        *_refused_skills(state),
        f"messages: {_counted(state.sent)}{_waits(state.sent, state)}",
        *(
            [f"internal messages (events and schedules): {_counted(own)}{_waits(own, state)}"]
            if any(own.values())
            else []
        ),
        f"unprocessed events: {state.events_behind}",
        *(
            f"source {source['source']} is down since {source['since']}: {_short(source['reason'])}"
            for source in state.sources_down
        ),
        *(_waiting(waiting) for waiting in state.deliveries),
        *(f"refused by {letter['addressee']}: {letter['id']}: {_short(letter['reason'])}" for letter in state.refused),
        *(f"dead: {letter['id']} ({letter['type']}): {_short(letter['reason'])}" for letter in state.dead_letters),
        *_what_can_be_done([*state.dead_letters, *state.refused]),
        *(f"dismissed: {letter['id']}: {_short(letter['reason'])}" for letter in state.dismissed),
        *map(_schedule, state.schedules),
        *(f"skill {skill['name']}: on {', '.join(map(str, _listed(skill['triggers'])))}" for skill in state.skills),
        *(f"integration {one['name']}: {one['does']} {one['how']}" for one in state.integrations),
        *(f"event {event['seq']} {event['at']} {event['type']} {event['subjectId']}" for event in state.last_events),
    ]
    return "\n".join(lines) + "\n"


def _schedule(row: Json) -> str:
    line = f"schedule {row['benchmarkId']} ({row['schedule']}): "
    if "reason" in row:
        return f"{line}{_short(row['reason'])}"
    if not row["missed"]:
        return f"{line}next {row['nextAt']}"
    number = f"{row['missed']}{' or more' if row['missed'] == MOST_MISSED else ''}"
    times = "time" if row["missed"] == 1 else "times"
    return f"{line}next {row['nextAt']}; missed {number} {times}, the last at {_listed(row['missedAt'])[0]}"


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _counted(messages: dict[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in messages.items())


def _what_can_be_done(failed: list[Json]) -> list[str]:
    if not failed:
        return []
    unreadable = [letter.get("type") == UNREADABLE for letter in failed]
    ways = ["to retry after the fix: minions-eval-agent retry ID"] if not all(unreadable) else []
    ways += ["send unreadable ones again, corrected"] if any(unreadable) else []
    return [
        f"  details: minions-eval-agent show ID; {'; '.join(ways)}; to drop it: minions-eval-agent dismiss ID --reason WHY"
    ]


def _waiting(letter: Json) -> str:
    failed = f"; failed {letter['attempts']} times: {_short(letter['reason'])}" if letter["attempts"] else ""
    return f"to {letter['addressee']}: {letter['rows']} wait{failed}"


def _short(reason: JsonValue) -> str:
    return shortened(to_operator(str(reason)), 200)
