"""The player of a user is an instrument: what it spoils has no verdict, is counted apart, and is had again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import cast

import anyio.to_thread
import pytest

from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server

AGENT = """
def agent(message):
    return "Refunded, number R-7." if "A1" in message else "What is your order number?"
"""
SETUP: Json = {
    "player": "model", "model": "openai:player", "goal": "Get a refund for order A1", "opening": "I want my money back.",
    "knows": {"order number": "A1"}, "withholds": [{"fact": "I broke it", "when": "broken"}],
}  # fmt: skip
SOUND = ["It is A1.", "###STOP###"]


def told(server: Server, *replies: str) -> Callable[[], list[Json]]:
    """Has the player say those things, one after the other; what it was sent."""
    left = iter(replies)
    server.heard = []
    server.says = lambda _: next(left)
    heard = server.heard
    return lambda: [cast("Json", json.loads(body)) for body in heard]


async def run(at: Terminal, server: Server, *more: str, **setup: object) -> Json:
    """A run of one conversation."""
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    fields: Json = {"name": "Talk", "conversation": {**SETUP, **cast("Json", setup)},
                    "agentTurns": [{"type": "contains", "value": "R-7"}]}  # fmt: skip
    records: list[Json] = [
        {"id": "talk", "type": "test-case", "fields": fields},
        {"id": "b", "type": "benchmark", "fields": {"name": "B", "testCaseIds": ["talk"]}},
    ]
    at.file("talk.json", json.dumps({"records": records}))
    at.file("agents.py", AGENT)
    assert at.run("import", "talk.json").code == 0
    ended = await anyio.to_thread.run_sync(
        here.run, "run-benchmark", "b", "--target", "python:agents:agent", "--json", *more
    )
    return {"code": ended.code, **ended.one()}


async def test_a_model_plays_the_user_and_is_told_who_that_is(at: Terminal, server: Server) -> None:
    heard = told(server, *SOUND)
    ended = await run(at, server, persona="in a hurry", language="en")
    assert ended["code"] == 0, ended
    first, last = (cast("list[Json]", body["messages"]) for body in heard())
    assert {"role": "assistant", "content": "I want my money back."} in first
    assert [one["role"] for one in last][-2:] == ["assistant", "user"]
    for words in (
        "Get a refund",
        "in a hurry",
        "order number: A1",
        "I broke it (only once the assistant has said: broken)",
    ):
        assert words in str(first[0]["content"])
    errors = cast("Json", ended["userErrors"])
    assert (errors["conversations"], errors["spoiled"]) == (1, 0)


async def test_a_spoiled_conversation_is_had_again_and_only_the_sound_one_is_judged(
    at: Terminal, server: Server
) -> None:
    told(server, "How can I help you?", "It is A1. By the way, I broke it.", *SOUND)
    ended = await run(at, server)
    assert ended["code"] == 0, ended
    assert ended["outcomes"] == {"scored": 1}
    errors = cast("Json", ended["userErrors"])
    assert (errors["conversations"], errors["spoiled"]) == (3, 2)
    assert errors["kinds"] == {"role-swapped": 1, "withheld-volunteered": 1}
    low, high = cast("list[float]", errors["interval"])
    assert low < errors["rate"] < high  # pyright: ignore[reportOperatorIssue]  numbers


@pytest.mark.parametrize("said", ["How can I help you?", "[END] bye", "My card is 4417-9931."])
async def test_what_is_spoiled_to_the_end_has_no_verdict(at: Terminal, server: Server, said: str) -> None:
    told(server, said, said)
    ended = await run(at, server, retries=1)
    assert ended["code"] == 3
    advice = str(cast("Json", ended["error"])["remedy"])
    assert re.match(r"`minions-evals conversations \S+ --spoiled` shows what", advice), advice
    assert "resumes" not in advice, "what a user spoiled to the end is not had again under the same key"
    status = at.run("runs", "--json").one()
    (line,) = cast("list[Json]", status["runs"])
    summary = at.run("runs", str(line["runId"]), "--json").one()
    assert summary["outcomes"] == {"user-error": 1}
    (unscored,) = cast("list[Json]", summary["unscored"])
    assert "the last of 2 conversations" in str(unscored["reason"])
    assert at.run("export", "--type", "test-run").out == ""
    shown = at.run("runs", str(line["runId"]))
    assert "spoiled 2 of 2 conversations" in " ".join(shown.out.split())


async def test_an_agent_that_is_not_answered_is_not_to_blame(at: Terminal, server: Server) -> None:
    told(server, "###STOP###", *SOUND)
    ended = await run(at, server)
    assert cast("Json", ended["userErrors"])["kinds"] == {"early-stop": 1}
    assert ended["outcomes"] == {"scored": 1}


async def test_a_conversation_without_a_player_is_refused_before_anything_runs(at: Terminal, server: Server) -> None:
    told(server)
    setup = {**SETUP}
    del setup["model"]
    record: Json = {"id": "talk", "type": "test-case", "fields": {"name": "T", "conversation": setup}}
    at.file("talk.json", json.dumps({"records": [record]}))
    at.file("agents.py", AGENT)
    assert at.run("import", "talk.json").code == 0
    ended = at.run("run-test-case", "talk", "--target", "python:agents:agent")
    assert ended.code == 2
    assert "needs a model to play its user" in ended.err
    assert server.requests == 0
