"""The agent's own work as `status` shows it: schedules, what it was started with, and failures that need nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import from_millis, iso
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.discovery.drift import Drift, drifts
from minions_evals_mcp.engine.records.schedules import due_times, next_due
from minions_evals_mcp.engine.run_verdict import run_verdict
from minions_evals_mcp.errors import BadInputError, ConflictError, InvalidRecordError, NotFoundError
from minions_evals_mcp.stats.series.quality_fall import QualityFall, quality_fall
from minions_evals_mcp.store.agent import delivery, inbox, lease, telemetry
from minions_evals_mcp.store.agent.setup import AgentSetup, keep_setup, kept_setup
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.matching_cases import scheduled
from minions_evals_mcp.store.queries.traces_judged import FALL_TOLD, has_agent_run, last_told, verdicts_after

SHOWN = 10
MOST_MISSED = 1000


async def verdict_of(engine: Engine, job: Job) -> Json:
    """The verdict of a job as the reply to a message carries it."""
    return await engine.store.read(lambda db: run_verdict(db, job))


async def comparison_said(engine: Engine, comparison_id: str) -> Json:
    """What a comparison came to, as the reply to a message carries it."""
    found = await summarize_comparison(engine, comparison_id)
    return {
        "comparisonId": found.comparison_id, "benchmarkId": found.benchmark_id, "versionA": found.version_a,
        "versionB": found.version_b, "scoreA": found.score_a, "scoreB": found.score_b, "winner": found.winner,
        "verdict": found.verdict, "recommendation": found.recommendation, "reason": found.in_words,
    }  # fmt: skip


async def note_setup(engine: Engine, *, skills: list[Json], integrations: list[Json]) -> None:
    """Keeps what the agent is started with."""
    setup = AgentSetup(engine.clock(), skills, integrations)
    await engine.store.write(lambda db: keep_setup(db, setup))


async def keep_telemetry(engine: Engine, parts: list[Json]) -> list[int]:
    """Keep what an exporter sent until agent-runs were made of it; the numbers of the rows, one for each part."""
    at = engine.clock()
    return await engine.store.write(lambda db: telemetry.put(db, parts, at=at))


async def waiting_telemetry(engine: Engine) -> list[tuple[int, Json]]:
    """What is kept so, with the number of its row."""
    return await engine.store.read(telemetry.waiting)


async def drop_telemetry(engine: Engine, rows: tuple[int, ...]) -> None:
    """Drop those rows."""
    await engine.store.write(lambda db: telemetry.drop(db, rows))


async def has_run_of(engine: Engine, prefix: str) -> bool:
    """Whether the store holds an agent-run whose id begins so."""
    return await engine.store.read(lambda db: has_agent_run(db, prefix))


MOST_WATCHED = 6_000
"""A fall is looked for in so many verdicts at the most."""


@dataclass(frozen=True, slots=True)
class FallOfTraces:
    """A fall of the pass rate of production traces, the newest test-run of it, and the key under which it is told."""

    seen: QualityFall
    test_run_id: str
    key: str


async def fall_of_traces(engine: Engine) -> FallOfTraces | None:
    """A fall among the verdicts on production traces since the last one that was told; None where none is shown."""
    verdicts = await engine.store.read(lambda db: verdicts_after(db, last_told(db, FALL_TOLD), MOST_WATCHED))
    seen = quality_fall([passed for _, _, passed in verdicts])
    if seen is None:
        return None
    number, ident, _ = verdicts[seen.seen_at - 1]
    return FallOfTraces(seen, ident, f"{FALL_TOLD}{number}")


async def drifts_of_traces(engine: Engine) -> list[Drift]:
    """The drifts of production's requests and of their judges since each was last told."""
    return await drifts(engine)


def started_with(db: Any) -> tuple[list[Json], list[Json]]:
    """The skills and the integrations that the agent was last started with."""
    setup = kept_setup(db)
    return ([], []) if setup is None else ([*setup.skills], [*setup.integrations])


def schedules(db: Any, now: datetime) -> list[Json]:
    """The schedules in the order of their next times, each with the times missed; one that cannot be read says why."""
    position = lease.position(db, "schedules")
    since = from_millis(position) if position > 0 else now
    rows = [_schedule(benchmark_id, expression, since=since, now=now) for benchmark_id, expression in scheduled(db)]
    return sorted(rows, key=lambda row: (row["nextAt"] is None, str(row["nextAt"])))


def _schedule(benchmark_id: str, expression: str, *, since: datetime, now: datetime) -> Json:
    about: Json = {"benchmarkId": benchmark_id, "schedule": expression}
    name = f"benchmark {benchmark_id}"
    try:
        times = due_times(expression, after=since, until=now, most=MOST_MISSED, record=name)
        coming = next_due(expression, after=now, record=name)
    except InvalidRecordError as error:  # written before schedules were vetted
        return {**about, "nextAt": None, "missed": 0, "missedAt": [], "reason": error.reason}
    missed: list[JsonValue] = [iso(moment) for moment in times[:SHOWN]]
    return {**about, "nextAt": coming and iso(coming), "missed": len(times), "missedAt": missed}


@dataclass(frozen=True, slots=True)
class Dismissed:
    """What needs nothing more: a `message` or a `delivery`."""

    id: str
    what: str


def dismiss(db: Any, ident: str, *, reason: str, by: str, at: datetime) -> Dismissed:
    """Dismisses a dead letter or a refused delivery; raises `NotFoundError`, or `ConflictError` for what did not fail."""
    if not reason.strip():
        raise BadInputError("the reason is empty.", remedy="Say why no further action is needed.")
    message = inbox.message(db, ident)
    row = None if message is not None else delivery.delivery(db, ident)
    if message is None and row is None:
        raise NotFoundError("dead letter or refused delivery", ident, remedy="`minions-eval-agent status` shows them.")
    what = "message" if message is not None else "delivery"
    done = (inbox if message is not None else delivery).dismiss(db, ident, reason)
    if not done:
        state = message.state if message is not None else row.state if row is not None else ""
        raise ConflictError(
            f"the {what} {ident} is {state}.", remedy="Only a dead letter or a refused delivery can be dismissed."
        )
    append(db, Event("dismissed", what, ident, {"reason": reason, "by": by}), at=at)
    return Dismissed(ident, what)
