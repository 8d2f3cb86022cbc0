"""Trials with the same user seed beside other user seeds: the run says whose the variance is, and which of the two to buy more of."""

from __future__ import annotations

import json
from typing import cast

import anyio.to_thread

from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server

AGENT = """
def agent(message):
    return "Done, R-7." if "friendly" in message else "No."
"""
CASES = 5


def suite(at: Terminal, **setup: object) -> None:
    """Conversations of one message each, four trials of two user seeds."""
    talk: Json = {
        "player": "model",
        "model": "openai:player",
        "goal": "Get it done",
        "maxTurns": 1,
        "repeats": 2,
        **cast("Json", setup),
    }
    cases: list[Json] = [
        {"id": f"c{n}", "type": "test-case", "fields": {
            "name": f"c{n}", "conversation": talk, "agentTurns": [{"type": "contains", "value": "R-7"}],
        }}
        for n in range(CASES)
    ]  # fmt: skip
    ids = [str(one["id"]) for one in cases]
    benchmark: Json = {
        "id": "b",
        "type": "benchmark",
        "fields": {"name": "B", "testCaseIds": [*ids]},
    }
    at.file("talk.json", json.dumps({"records": [*cases, benchmark]}))
    at.file("seeding.py", AGENT)
    assert at.run("import", "talk.json").code == 0


async def run(at: Terminal, server: Server) -> Json:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    asked = ("run-benchmark", "b", "--target", "python:seeding:agent", "--trials", "4", "--json")
    return (await anyio.to_thread.run_sync(here.run, *asked)).one()


async def test_users_that_differ_are_what_to_buy_more_of(at: Terminal, server: Server) -> None:
    suite(at)
    seeds: list[int] = []

    def says(request: Json) -> str:
        seed = request["seed"]
        assert isinstance(seed, int)
        seeds.append(seed)
        return "Please do it, friendly greetings." if sorted(set(seeds)).index(seed) % 2 else "Get it done at once."

    server.says = says
    ended = await run(at, server)
    assert len(seeds) == 4 * CASES
    assert len(set(seeds)) == 2 * CASES, "two trials share each user"
    variance = cast("Json", ended["variance"])
    assert (variance["cases"], variance["seeds"], variance["repeats"]) == (CASES, 2, 2)
    shown = " ".join(at.run("runs", str(ended["runId"])).out.split())
    assert "variance between trials" in shown
    assert "the user's" in shown


async def test_a_model_that_takes_no_seed_cannot_be_the_same_user_again(at: Terminal, server: Server) -> None:
    suite(at, model="anthropic:player")
    here = at.with_env(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url)
    ended = await anyio.to_thread.run_sync(here.run, "run-benchmark", "b", "--target", "python:seeding:agent")
    assert ended.code == 2
    assert "anthropic:player does not accept a seed" in ended.err
    assert server.requests == 0


def test_only_a_model_has_a_seed(at: Terminal) -> None:
    fields: Json = {"name": "x", "conversation": {"opening": "Hello", "repeats": 2}}
    at.file("x.json", json.dumps({"records": [{"id": "x", "type": "test-case", "fields": fields}]}))
    assert "only the player model has a seed" in at.run("import", "x.json").err
