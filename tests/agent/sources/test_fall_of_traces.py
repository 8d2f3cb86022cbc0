"""A fall of the pass rate of production traces is told once; then another level is learnt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from agent.settings import Working
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.operations.agent_work import fall_of_traces
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store.queries.traces_judged import TAG
from tests.shared.quality_falls import verdicts
from tests.workshop import START, answer, bench, benchmark, save

if TYPE_CHECKING:
    from agent.daemon import Agent


async def judged(engine: Engine, name: str, passed: list[bool]) -> None:
    """So many verdicts on traces, each by a case of its own, as the intake makes them."""
    cases = [
        record_from_wire(
            {"id": f"{name}{place}", "type": "test-case", "tags": [TAG], "fields": {
                "name": "T", "inputs": {"q": f"{name}{place}"}, "assertions": [{"type": "contains", "value": "yes"}],
            }}, new_id="none", now=START,
        )
        for place in range(len(passed))
    ]  # fmt: skip
    runs = [answer(f"{name}{place}/o", f"{name}{place}", "yes" if held else "no") for place, held in enumerate(passed)]
    await save(engine, cases, runs, benchmark(name, *(record.id for record in cases)))
    await bench(engine, name)


async def told(engine: Engine) -> list[str]:
    """What is in the outbox, by type."""
    return [
        kind
        for (kind,) in await engine.store.read(lambda db: db.execute("SELECT type FROM outbox ORDER BY seq").fetchall())
    ]


async def test_a_fall_is_told_once_and_then_another_level_is_learnt(engine: Engine) -> None:
    drawn = np.random.default_rng(2)
    await judged(engine, "t1-", verdicts(drawn, (800, 0.9)))
    assert await fall_of_traces(engine) is None
    await judged(engine, "t2-", verdicts(drawn, (110, 0.4)))
    fall = await fall_of_traces(engine)
    assert fall is not None
    assert abs(fall.seen.began_at - 800) < 30
    before = await told(engine)
    agent = SimpleNamespace(engine=engine, rhythm=Working().rhythm())
    for _ in range(2):
        intake = TraceIntake(cast("Agent", agent), TraceJudging())
        await intake.settle()
    assert (await told(engine))[len(before) :] == ["task", "agent-message"]
    assert await fall_of_traces(engine) is None
