"""What an A/B test sends and writes down: parameters, keys, caps, cancelling and going on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.engine.ab_test.results import ab_test_result
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, run_ab_test, start_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.errors import (
    ConflictError,
    NotFoundError,
    StoppedError,
)
from minions_evals_mcp.store.check import check_store
from tests.hang import HANG_S
from tests.shared.engine.ab_workshop import (
    ANTHROPIC,
    OPENAI,
    ab,
    branch,
    executions,
    laboratory,
    prepared,
)
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.shared.presentation.typed import typed
from tests.workshop import Json, counts, save


async def events_of(engine: Engine, kind: str) -> list[Json]:
    rows = await engine.store.read(
        lambda db: db.execute("SELECT detail FROM event WHERE type = ? ORDER BY seq", (kind,)).fetchall()
    )
    return [json.loads(row[0]) for row in rows]


async def test_what_a_branch_does_not_give_is_sent_with_the_documented_default(lab: Engine, server: Server) -> None:
    server.heard = []
    await prepared(
        lab,
        branch("a", temperature=0.9, topP=0.95, maxTokens=1000, otherParams={"seed": 7}),
        branch("b", ANTHROPIC, otherParams={"temperature": 0.3}),
    )
    found = await ab(lab)
    sent = {one["model"]: one for one in map(json.loads, server.heard)}
    plain = {"model", "messages", "stream", "stream_options", "max_tokens"}
    assert sent[OPENAI].keys() - plain == {"temperature", "top_p", "seed"}
    assert (sent[OPENAI]["temperature"], sent[OPENAI]["top_p"], sent[OPENAI]["max_tokens"]) == (0.9, 0.95, 1000)
    assert sent[ANTHROPIC].keys() - plain == {"temperature", "top_p"}
    assert [sent[ANTHROPIC][name] for name in ("temperature", "top_p", "max_tokens")] == [0.3, 1.0, 2048]
    assert {one.branch_id: one.not_sent for one in found.branches} == {"a": [], "b": []}
    told = {str(one["branchId"]): one for one in await events_of(lab, "test-branch-executed")}
    assert told["b"]["notSent"] == []
    assert told["b"]["sent"] == {"maxTokens": 2048, "temperature": 0.3, "top_p": 1.0}


def refusing(*names: str) -> Callable[[dict[str, Any]], str]:
    """An endpoint that refuses a request with the first of those parameters."""
    return lambda body: next(
        (f"Unsupported parameter: '{name}' is not supported with this model." for name in names if name in body), ""
    )


async def test_a_default_that_the_provider_refuses_is_dropped_remembered_and_shown(lab: Engine, server: Server) -> None:
    server.habit = refusing("temperature", "top_p")
    await prepared(lab, branch("a"), branch("b", ANTHROPIC))
    found = await ab(lab, iterations=3)
    assert (found.state, [one.failures for one in found.branches]) == ("completed", [0, 0])
    assert server.refused == 4, "each of two parameters, once at each of two providers"
    assert server.requests - server.refused == 6
    assert {one.branch_id: sorted(one.not_sent) for one in found.branches} == {
        name: ["temperature 0.7", "topP 1"] for name in ("a", "b")
    }
    assert all("temperature" not in one.configuration for one in found.branches)


async def test_a_parameter_that_a_branch_gives_is_never_dropped(lab: Engine, server: Server) -> None:
    server.habit = refusing("temperature")
    await prepared(lab, branch("a", temperature=0.7), branch("b", ANTHROPIC))
    found = await ab(lab)
    given = next(one for one in found.branches if one.branch_id == "a")
    assert given.execution is not None
    assert "'temperature' is not supported" in str(given.execution["error"])
    other = next(one for one in found.branches if one.branch_id == "b")
    assert (other.failures, other.not_sent) == (0, ["temperature 0.7"])


async def test_what_a_branch_gives_is_sent_to_anthropic_too(lab: Engine, server: Server) -> None:
    server.heard = []
    await prepared(lab, branch("a"), branch("b", ANTHROPIC, temperature=0.7, topP=0.5, otherParams={"top_k": 5}))
    await ab(lab)
    sent = [body for body in map(json.loads, server.heard) if body["model"] == ANTHROPIC]
    assert [(one["temperature"], one["top_p"], one["top_k"]) for one in sent] == [(0.7, 0.5, 5)]


async def test_a_resumed_key_pays_for_nothing_twice(lab: Engine, server: Server) -> None:
    await prepared(lab)
    first = await ab(lab, key="k", iterations=2)
    assert server.requests == 4
    assert await ab(lab, key="k", iterations=2) == first
    assert server.requests == 4
    assert (await ab_test_result(lab, "k")).branches == first.branches


async def test_a_test_that_a_cap_stopped_goes_on_under_its_key(lab: Engine, server: Server) -> None:
    await prepared(lab)
    with pytest.raises(StoppedError, match="might exceed the cost cap") as stopped:
        await ab(lab, key="k", iterations=3, max_cost_usd=0.0527)
    made = server.requests
    assert made == 3, "a second call to opus might cost more than is left"
    assert "--key k" in typed(stopped.value)
    part = await ab_test_result(lab, "k")
    assert (part.state, part.completed_iterations) == ("stopped", made // 2)
    found = await ab(lab, key="k", iterations=3, max_cost_usd=5)
    assert (found.state, found.completed_iterations, server.requests) == ("completed", 3, 6)
    assert len({one.id for one in await executions(lab)}) == 6
    assert found.spent["calls"] == 6


async def test_a_test_that_is_cancelled_keeps_what_was_paid_for(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(phang=1)) as hanging,
        serving() as quick,
        laboratory(tmp_path, openai=hanging, anthropic=quick) as lab,
    ):
        await prepared(lab)
        asked = AbTestRequest(test_case_id="case", branch_ids=("a", "b"), key="k")
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:

                async def stop(outcome: Outcome) -> None:
                    assert outcome == "scored"
                    tasks.cancel_scope.cancel()

                await run_ab_test(lab, asked, progress=stop)
        (kept,) = await executions(lab)
        assert kept.fields.branch_id == "b"
        job = await get_job(lab, "k")
        assert (job.state, job.reason) == ("stopped", "interrupted")
        hanging.configure(FakeSettings())
        found = await ab(lab, key="k")
        assert found.state == "completed"
        assert quick.requests == 1, "what was paid for is not asked for again"


async def test_a_key_belongs_to_the_test_as_it_was_asked_for_and_measured(lab: Engine) -> None:
    await prepared(lab)
    await ab(lab, key="k")
    with pytest.raises(ConflictError, match="iterations differ"):
        await ab(lab, key="k", iterations=2)
    await save(lab, branch("a", temperature=0.1))
    with pytest.raises(ConflictError, match="branch a differ"):
        await ab(lab, key="k")


async def test_a_renamed_branch_is_still_the_same_branch(lab: Engine) -> None:
    await prepared(lab)
    await ab(lab, key="k")
    await save(lab, branch("a", name="A better name"))
    found = await ab(lab, key="k")
    assert found.branches[0].branch_name == "A better name"


async def test_an_execution_its_event_and_its_unit_are_one_transaction(lab: Engine) -> None:
    await prepared(lab)
    before = await counts(lab)
    await ab(lab)
    after = await counts(lab)
    assert (after["event"] - before["event"], after["unit"] - before["unit"]) == (2, 2)
    report = await check_store(lab.config.db)
    assert report.problems == ()


async def test_a_started_test_is_written_down_before_it_runs(lab: Engine, server: Server) -> None:
    await prepared(lab)
    started = await start_ab_test(lab, AbTestRequest(test_case_id="case", branch_ids=("a", "b"), key="k"))
    assert (started.job.kind, started.job.total, server.requests) == ("ab-test", 2, 0)
    nothing = await ab_test_result(lab, "k")
    assert (nothing.completed_iterations, nothing.winner) == (0, None)
    with pytest.raises(NotFoundError, match="no run"):
        await ab_test_result(lab, "another")
