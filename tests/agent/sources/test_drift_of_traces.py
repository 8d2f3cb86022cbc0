"""Other requests than before, and a judge that people contradict more often, are told once each."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from agent.settings import Working
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.operations.agent_work import drifts_of_traces
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store.queries.traces_judged import TAG
from tests.shared.engine.labelled import alternating, judged_run, labelled
from tests.shared.request_drift import requests, traces_to_alarm
from tests.workshop import START, answer, benchmark, rubric, save

if TYPE_CHECKING:
    from agent.daemon import Agent


def case(ident: str, asked: str, **fields: JsonValue) -> Record[Fields]:
    """A case as the intake makes it of a trace."""
    wire: Json = {
        "id": ident,
        "type": "test-case",
        "tags": [TAG],
        "fields": {"name": "T", "inputs": {"q": asked}, **fields},
    }
    return record_from_wire(wire, new_id="none", now=START)


async def settled(engine: Engine) -> list[tuple[str, str]]:
    """What the agent puts into the outbox, by type and key, in two looks."""
    agent = SimpleNamespace(engine=engine, rhythm=Working().rhythm())
    for _ in range(2):
        await TraceIntake(cast("Agent", agent), TraceJudging()).settle()
    return await engine.store.read(lambda db: db.execute("SELECT type, id FROM outbox ORDER BY seq").fetchall())


async def test_other_requests_are_told_once_and_then_they_are_usual(engine: Engine) -> None:
    drawn = random.Random(5)  # noqa: S311  a simulation
    check: Json = {"assertions": [{"type": "contains", "value": "yes"}]}
    texts = requests(drawn, (500, 0.0), (60, 0.5))
    await save(engine, [case(f"t{at}", text, **check) for at, text in enumerate(texts[:500])])
    assert await drifts_of_traces(engine) == []
    await save(engine, [case(f"n{at}", text, **check) for at, text in enumerate(texts[500:])])
    (drift,) = await drifts_of_traces(engine)
    assert (drift.of, drift.figure) == ("requests", "share of unknown words")
    assert drift.words.startswith("Requests in production changed: ")
    assert abs(drift.seen.began_at - 300) < 10
    assert [kind for kind, _ in await settled(engine)] == ["task", "agent-message"]
    assert await drifts_of_traces(engine) == []


async def test_a_judge_that_people_contradict_more_often_is_told(engine: Engine) -> None:
    names = [f"c{number:03}" for number in range(70)]
    await save(engine, rubric("r", 0.5, tone={"description": "Is it polite?", "maxScore": 1, "weight": 1.0}))
    await save(engine, [case(name, name, rubricId="r") for name in names], benchmark("b", *names))
    await save(engine, [answer(f"a{name}", name, f"Output of {name}.") for name in names])
    truth = alternating(70)
    run = await judged_run(engine, [held if at < 45 else not held for at, held in enumerate(truth)])
    await labelled(engine, run, truth)
    (drift,) = await drifts_of_traces(engine)
    assert (drift.of, drift.subject, drift.seen.before) == ("judge", "r/tone", 0.0)
    assert drift.seen.after > 0.5
    assert abs(drift.seen.began_at - 45) < 8
    assert drift.words.startswith("The judge of r/tone and people differ by ")
    await settled(engine)
    assert await drifts_of_traces(engine) == []


def test_a_fifth_of_other_requests_is_seen_within_fifty_traces_and_a_quiet_fleet_stays_quiet() -> None:
    drawn = random.Random(3)  # noqa: S311  a simulation
    assert sorted(traces_to_alarm(drawn, 0.2) for _ in range(3))[1] < 50
    assert traces_to_alarm(drawn, 0.0) == float("inf")
