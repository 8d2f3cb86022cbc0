"""The ids under which the agent keeps what it puts to itself are no sender's to take."""

from __future__ import annotations

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.messages.send_message import OWN_IDS, Letter, send_message
from tests.shared.agent.inside import drained, sent
from tests.workshop import answer, case, outbox, save


@pytest.mark.parametrize("begins", OWN_IDS)
async def test_a_message_under_an_id_of_the_agents_own_is_refused(engine: Engine, begins: str) -> None:
    with pytest.raises(BadInputError, match="another id"):
        await send_message(engine, Letter(type="detect-trend", payload={"benchmarkId": "b"}, id=f"{begins}1"))


async def test_no_sender_keeps_a_failure_from_being_remembered(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", "bad"))
    for number in range(20):
        with pytest.raises(BadInputError):
            await sent(engine, f"event:{number}", "detect-trend", benchmarkId="b")
    await sent(engine, "m", "run-test-case", testCaseId="c")
    await drained(engine)
    assert len(await outbox(engine, "memory-item")) == 1
