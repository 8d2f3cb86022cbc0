"""A turn that comes as spans, as log events or as both is one agent-run, whatever arrives first and however often the agent is killed."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import httpx2
import pytest

from agent.sources.otlp_http import otlp_app
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.interop.logs.otlp_requests import JSON, PROTOBUF
from minions_evals_mcp.operations.engine import Engine
from tests.shared.agent.desk import Json
from tests.shared.interop.session_shapes import Plan, plan
from tests.shared.interop.telemetry_shapes import DIALECTS, MODES, Piece
from tests.workshop import START

if TYPE_CHECKING:
    from agent.daemon import Agent

ORDERS = ("as-sent", "logs-first", "spans-first", "shuffled")


def ordered(pieces: list[Piece], order: str, drawn: random.Random) -> list[Piece]:
    """The pieces in the order in which they arrive; some come twice, as after an answer that was lost."""
    twice = [*pieces, *drawn.sample(pieces, len(pieces) // 5)]
    if order == "shuffled":
        drawn.shuffle(twice)
    elif order != "as-sent":
        first = "logs" if order == "logs-first" else "traces"
        twice.sort(key=lambda piece: piece.signal != first)
    return twice


def an_intake(engine: Engine) -> TraceIntake:
    """An intake on that store."""
    return TraceIntake(cast("Agent", SimpleNamespace(engine=engine)), TraceJudging())


async def told(engine: Engine, pieces: list[Piece], drawn: random.Random) -> list[Json]:
    """The fields of the agent-runs once all came, in either format; the agent is killed at three places on the way."""
    intake = an_intake(engine)
    killed = set(drawn.sample(range(len(pieces)), min(3, len(pieces))))
    for place, piece in enumerate(pieces):
        if place in killed:
            intake = an_intake(engine)  # nothing of the one before is left but the store
            await intake.take_up()
        protobuf = drawn.random() < 0.5
        transport = httpx2.ASGITransport(app=otlp_app(intake, None))
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            kind = PROTOBUF if protobuf else JSON
            answer = await client.post(
                f"/v1/{piece.signal}", content=piece.body(protobuf=protobuf), headers={"Content-Type": kind}
            )
        assert answer.status_code == 200
    runs = intake.whole()
    records = [record_from_wire(run, new_id="none", now=START) for run in runs]
    assert len({record.id for record in records}) == len(runs)
    return sorted(runs, key=lambda run: str(cast("Json", run["fields"])["triggeredAt"]))


def expected(made: Plan, dialect: str, mode: str) -> list[Json]:
    """What the plan says of each turn: what was asked and answered, and how many tokens were used."""
    is_asked = mode != "no-content"
    is_answered = is_asked and not (dialect == "claude-code" and mode == "spans")
    return [
        {
            "inputs": {"input": turn.prompt} if is_asked else {}, "outputs": {"output": turn.answer} if is_answered else {},
            "tokens": sum(turn.tokens) * turn.model_calls, "group": made.ident,
        }
        for turn in made.turns
    ]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_turn_is_one_agent_run(engine: Engine, dialect: str, mode: str, order: str) -> None:
    for seed in range(2):
        drawn = random.Random(f"{dialect}/{mode}/{order}/{seed}")  # noqa: S311  no secret
        made = plan(seed * 7 + 3)
        runs = await told(engine, ordered(DIALECTS[dialect](made, mode), order, drawn), drawn)
        fields = [cast("Json", run["fields"]) for run in runs]
        shown = [
            {"inputs": one["inputs"], "outputs": one["outputs"], "tokens": one.get("tokensUsed"), "group": one["group"]}
            for one in fields
        ]
        assert shown == expected(made, dialect, mode)
        if not (dialect == "genai" and mode == "only-events"):
            steps = [len(cast("list[Json]", one["toolCallsLog"])) for one in fields]
            assert steps == [len(turn.calls) for turn in made.turns]
        if dialect != "genai":
            failed = [sum("error" in step for step in cast("list[Json]", one["toolCallsLog"])) for one in fields]
            assert failed == [sum(call.code != 0 for call in turn.calls) for turn in made.turns]
        await engine.store.write(lambda db: db.execute("DELETE FROM telemetry"))
