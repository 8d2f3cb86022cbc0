"""A person plays the user of a conversation on the page: message by message, and the run goes on behind it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.store.jobs import Job
from tests.conversations import desk
from tests.shared.view.visitor import token_of, visitor, waiting
from tests.workshop import Json, bench, benchmark, case, save

TARGET = "python:tests.conversations.desk:desk"
TALK: Json = {
    "player": "person", "goal": "Get the money back for order A1", "persona": "in a hurry", "knows": {"order number": "A1"},
    "ends": {"says": "Goodbye"},
}  # fmt: skip


@asynccontextmanager
async def page(engine: Engine, *, judge: str = "") -> AsyncGenerator[httpx2.AsyncClient]:
    """The page of somebody, behind which runs go on."""
    async with anyio.create_task_group() as tasks:

        def start(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
            tasks.start_soon(work)

        async with visitor(engine, judge=judge, start=start) as client:
            yield client


async def talking(engine: Engine, **setup: JsonValue) -> Job:
    """A run of one conversation whose user a person plays."""
    await save(engine, case("talk", conversation={**TALK, **setup}, assertions=[{"type": "contains", "value": "R-7"}]))
    await save(engine, benchmark("talks", "talk"))
    desk.heard.clear()
    return await bench(engine, "talks", target=TARGET)


async def asked(client: httpx2.AsyncClient, address: str = "/judge") -> tuple[str, dict[str, str]]:
    """The page, and what its form sends beside the message."""
    shown = (await client.get(address)).text
    found = {name: re.search(f'name="{name}" value="([^"]*)"', shown) for name in ("digest", "runId", "run")}
    return shown, {name: match[1] for name, match in found.items() if match is not None}


async def test_a_person_plays_to_the_end_and_the_conversation_is_judged(engine: Engine) -> None:
    job = await talking(engine)
    assert (job.state, job.reason) == ("awaiting-judgments", "1 conversation waits for the next message of the user")
    async with page(engine, judge="bob") as client:
        home = (await client.get("/")).text
        assert "1 conversation waits for the next message of the user" in home
        assert "to be judged" not in home.split('class="attention"', 1)[1].split("</ul>", 1)[0]
        shown, form = await asked(client)
        for words in ("Get the money back", "in a hurry", "order number: A1", "You begin", "You play as bob"):
            assert words in shown
        assert "End the conversation" not in shown, "nobody has begun"
        said = await client.post("/play", data={**form, "message": "I want my <b>money</b> back."})
        assert said.status_code == 303
        shown, form = await asked(client, said.headers["location"])
        assert "What is your order number?" in shown
        assert "<b>money</b>" not in shown
        assert "This is turn 2" in shown
        last = await client.post("/play", data={**form, "message": "A1"})
        assert "Nothing waits for a person" in (await client.get(last.headers["location"])).text
    assert (await get_job(engine, job.id)).state == "completed"
    assert desk.heard == ["I want my <b>money</b> back.", "A1"]


async def test_a_message_needs_words_and_a_person_and_is_said_once(engine: Engine) -> None:
    await waiting(engine)  # people who have tokens
    job = await talking(engine)
    async with page(engine) as client:
        _, form = await asked(client, f"/judge?run={job.id}")
        empty = await client.post("/play", data={**form, "message": " ", "personToken": token_of("anna")})
        assert (empty.status_code, "Write what this person says" in empty.text) == (400, True)
        nobody = await client.post("/play", data={**form, "message": "hello there", "personToken": "wrong"})
        assert nobody.status_code == 400
        assert "Enter your token" in nobody.text
        assert "hello there" in nobody.text, "what was typed is not lost"
        assert (
            await client.post("/play", data={**form, "message": "hi", "personToken": token_of("anna")})
        ).status_code == 303
        again = await client.post("/play", data={**form, "message": "hi", "personToken": token_of("anna")})
        assert again.status_code == 409
        shown, form = await asked(client, f"/judge?run={job.id}")
        assert "End the conversation" in shown
        await client.post("/play", data={**form, "leaves": "1"})
    assert desk.heard == ["hi"]
    assert (await get_job(engine, job.id)).state in {"completed", "failed", "awaiting-judgments"}


@pytest.mark.parametrize("plays", [False, True])
async def test_a_queue_for_judges_only_says_that_a_user_waits(engine: Engine, plays: bool) -> None:
    from minions_evals_mcp.engine.people.judge_queue import next_question  # noqa: PLC0415  what the page asks

    await talking(engine)
    look = await next_question(engine, plays=plays)
    assert (look.user is not None, look.unasked) == (plays, {} if plays else {"user-person": 1})


async def test_a_callers_user_is_not_a_persons_to_play(engine: Engine) -> None:
    job = await talking(engine, player="caller")
    async with page(engine, judge="bob") as client:
        assert "1 with a user whom the requesting agent plays" in (await client.get("/judge")).text
        refused = await client.post("/play", data={"runId": job.id, "digest": "none", "message": "hi"})
        assert refused.status_code == 409
