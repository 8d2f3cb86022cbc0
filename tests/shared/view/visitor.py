"""A browser without a screen: the page behind its door, asked in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import httpx2
from pydantic import JsonValue

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.persons import token_hash
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.speakers import save_person
from minions_evals_mcp.view.app import view_app
from minions_evals_mcp.view.entrance.door import Keys
from minions_evals_mcp.view.runs_again import Start
from tests.workshop import START, Json, answer, bench, benchmark, case, rubric, save

KEYS = Keys(8765, token="the-token", session="the-session")
HOME = "http://127.0.0.1:8765"
TWO: dict[str, Json] = {
    "tone": {"weight": 0.4, "description": "Is it kind?", "scoringGuide": "1 is warm", "judgeType": "human"},
    "facts": {"weight": 0.6, "description": "Is it right?", "maxScore": 5, "judgeType": "human"},
}
"""Criteria that a person judges."""


@asynccontextmanager
async def stranger(
    engine: Engine, *, judge: str = "", start: Start | None = None
) -> AsyncGenerator[httpx2.AsyncClient]:
    """Somebody on this machine who has not opened the page."""
    speaking = engine.speaking(person(judge)) if judge else engine
    transport = httpx2.ASGITransport(view_app(speaking, KEYS, start=start))
    async with httpx2.AsyncClient(transport=transport, base_url=HOME) as client:
        yield client


@asynccontextmanager
async def visitor(engine: Engine, *, judge: str = "", start: Start | None = None) -> AsyncGenerator[httpx2.AsyncClient]:
    """Somebody who opened the address that was printed; their forms come from our pages."""
    async with stranger(engine, judge=judge, start=start) as client:
        opened = await client.get("/", params={"token": KEYS.token})
        assert opened.status_code == 303
        client.headers["origin"] = HOME
        yield client


async def waiting(engine: Engine, size: int = 1, **request: JsonValue) -> Job:
    """A run of `b` whose outputs wait for a person; anna, bob and Änna are known."""
    for name in ("anna", "bob", "Änna"):
        hashed = token_hash(token_of(name))
        await engine.store.write(partial(save_person, name=name, token_hash=hashed, at=START))
    names = [f"c{n}" for n in range(size)]
    cases = [case(name, rubricId="r", expectedOutputs={"output": "good"}) for name in names]
    await save(engine, rubric("r", 2, **TWO), cases, benchmark("b", *names))
    runs = [answer(f"a{n}", name, f"Output of {name}.", promptVersionRef="p@7") for n, name in enumerate(names)]
    await save(engine, runs)
    return await bench(engine, "b", **request)


def judgment(run_id: str, digest: str, *, by: str = "anna", **changed: str) -> dict[str, str]:
    """What the form of the queue sends."""
    filled = {"score-0": "0.5", "why-0": "it is so so", "score-1": "4", "why-1": "it reads well"}
    return {"runId": run_id, "digest": digest, "run": "", "personToken": token_of(by), **filled, **changed}


def token_of(name: str) -> str:
    """The token of that person."""
    return f"person-{name}"
