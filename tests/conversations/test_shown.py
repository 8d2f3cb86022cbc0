"""A conversation is shown as a chat: in the terminal and on the page, a spoiled one too."""

from __future__ import annotations

import json
from typing import cast

import anyio.to_thread
import pytest

from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.view.visitor import visitor

AGENT = """
def agent(message):
    return "What is your order number?"
"""
BY_SCRIPT: Json = {"opening": "I want my *money* back.", "knows": {"order number": "A1"}, "maxTurns": 2}
BY_MODEL: Json = {
    "player": "model",
    "model": "openai:player",
    "goal": "Get a refund",
    "opening": "Hello.",
    "retries": 0,
}


@pytest.fixture
async def run_id(at: Terminal, server: Server) -> str:
    """A run with a conversation that was judged, and one that its user spoiled."""
    server.says = lambda _: "Bye. ###END###"
    checks: Json = {"agentTurns": [{"type": "contains", "value": "order number"}]}
    records: list[Json] = [
        {"id": "sound", "type": "test-case", "fields": {"name": "Sound", "conversation": BY_SCRIPT, **checks}},
        {"id": "spoiled", "type": "test-case", "fields": {"name": "Spoiled", "conversation": BY_MODEL, **checks}},
        {"id": "b", "type": "benchmark", "fields": {"name": "B", "testCaseIds": ["sound", "spoiled"]}},
    ]
    at.file("talk.json", json.dumps({"records": records}))
    at.file("agents.py", AGENT)
    assert at.run("import", "talk.json").code == 0
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    ended = await anyio.to_thread.run_sync(here.run, "run-benchmark", "b", "--target", "python:agents:agent", "--json")
    assert ended.one()["outcomes"] == {"scored": 1, "user-error": 1}
    return str(ended.one()["runId"])


async def test_the_terminal_shows_who_said_what(at: Terminal, run_id: str) -> None:
    shown = at.run("conversations", run_id).out
    assert "1 user   I want my *money* back." in shown
    assert "2 user   order number: A1." in shown
    assert (
        "spoiled by the user, stop-token: turn 2: the user says the token that ends the conversation: “###END###”"
        in shown
    )
    assert "spoiled 1 of 1 conversations" in shown
    (only,) = cast("list[Json]", at.run("conversations", "b", "--spoiled", "--json").one()["conversations"])
    assert (only["testCaseId"], only["spoiled"]) == ("spoiled", "stop-token")
    assert "agent  What is your order number?" in at.run("show", f"{run_id}:1.1").out


async def test_a_run_without_conversations_is_said_to_have_none(at: Terminal, run_id: str) -> None:
    at.file("plain.json", json.dumps({"records": [
        {"id": "p", "type": "test-case", "fields": {"name": "P", "inputs": {"q": "a"}, "expectedOutputs": {"output": "What"}}}
    ]}))  # fmt: skip
    assert at.run("import", "plain.json").code == 0
    assert at.run("run-test-case", "p", "--target", "python:agents:agent").code in {0, 3}
    newest = cast("list[Json]", at.run("runs", "--json").one()["runs"])[0]
    assert newest["runId"] != run_id
    ended = at.run("conversations", str(newest["runId"]))
    assert ended.code == 2
    assert "has no conversations" in ended.err


@pytest.mark.parametrize(("place", "said"), [("0.1", "order number: A1."), ("1.1", "###END###")])
async def test_the_page_shows_the_output_as_a_chat(at: Terminal, run_id: str, place: str, said: str) -> None:
    async with open_engine(EngineConfig(db=at.db, skills=shipped_folder("skills"))) as engine, visitor(engine) as page:
        shown = (await page.get("/case", params={"run": run_id, "at": place})).text
    assert shown.count('class="bubble user"') == 2
    assert 'class="bubble assistant"' in shown
    assert said in shown


async def test_what_was_said_is_erased_with_its_case(at: Terminal, run_id: str) -> None:
    del run_id
    assert at.run("forget", "--record", "spoiled", "--yes").code == 0
    assert b"###END###" not in b"".join(path.read_bytes() for path in at.folder.glob("evals.db*") if path.is_file())
    assert "I want my *money* back." in at.run("conversations", "b").out
