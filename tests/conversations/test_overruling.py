"""A person overrules the user check, both ways: the verdict, the rate and its interval follow, and the check is measured by it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, cast

import anyio.to_thread
import pytest

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.labels.user_labels import LabelRequest
from minions_evals_mcp.engine.people.agreement import NothingAgreedError, judges_agreement
from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.operator import label_user
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.models.asking import provider_settings
from tests.shared.view.visitor import visitor

AGENT = """
def agent(message):
    return "Refunded, number R-7." if "A1" in message else "What is your order number?"
"""
SETUP: Json = {
    "player": "model", "ends": {"says": "R-7"}, "goal": "Get a refund for order A1", "opening": "I want my money back.",
    "knows": {"order number": "A1"}, "retries": 0,
}  # fmt: skip
CHECKS: Json = {"agentTurns": [{"type": "contains", "value": "R-7"}]}


@pytest.fixture
async def run_id(at: Terminal, server: Server) -> str:
    """A run of one conversation whose user the check found at fault, and of a sound one."""
    server.says = lambda request: {"swapped": "How can I help you? It is A1.", "sound": "It is A1."}[
        str(request["model"])
    ]
    cases: list[Json] = [
        {
            "id": name,
            "type": "test-case",
            "fields": {"name": name, "conversation": {**SETUP, "model": f"openai:{name}"}, **CHECKS},
        }
        for name in ("swapped", "sound")
    ]
    benchmark = {"id": "b", "type": "benchmark", "fields": {"name": "B", "testCaseIds": ["swapped", "sound"]}}
    at.file("talk.json", json.dumps({"records": [*cases, benchmark]}))
    at.file("refunding.py", AGENT)
    assert at.run("import", "talk.json").code == 0
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    ended = await anyio.to_thread.run_sync(
        here.run, "run-benchmark", "b", "--target", "python:refunding:agent", "--json"
    )
    assert ended.one()["outcomes"] == {"scored": 1, "user-error": 1}, ended
    return str(ended.one()["runId"])


def engine_at(at: Terminal, server: Server | None = None) -> EngineConfig:
    config = EngineConfig(db=at.db, skills=shipped_folder("skills"))
    return config if server is None else replace(config, providers=provider_settings(server.url))


async def by_anna(at: Terminal, server: Server, *said: str) -> Json:
    """What the command answers to Anna."""
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1", "MINIONS_EVALS_PERSON_TOKEN": await token(at)}
    ended = await anyio.to_thread.run_sync(at.with_env(**env).run, "label-user", *said, "--json")
    assert ended.code == 0, ended
    return ended.one()


async def token(at: Terminal) -> str:
    async with open_engine(engine_at(at)) as engine:
        return await add_person(engine, "anna")


async def test_both_ways_the_verdict_and_the_rate_follow(at: Terminal, server: Server, run_id: str) -> None:
    heard = server.requests
    said = await by_anna(at, server, run_id, "--sound", "swapped", "--reason", "He only repeats the agent.")
    assert (said["labels"], said["contradicting"]) == (1, 1)
    assert server.requests == heard, "its user is not played again: the conversation goes on where the check stopped it"
    ident = str(said["judgedRunId"])
    judged = at.run("runs", ident, "--json").one()
    assert judged["outcomes"] == {"scored": 2}
    assert judged["failures"] == []
    assert cast("Json", judged["userErrors"])["spoiled"] == 0
    before = cast("Json", at.run("runs", run_id, "--json").one()["userErrors"])
    assert (before["overruled"], before["judgedRunId"]) == (1, ident)
    low, high = cast("list[float]", before["interval"])
    assert low == 0
    assert high < 1
    # The other one was spoiled, too: its verdict is taken back, and a second word of the same kind makes no other run.
    other = ("b", "--spoiled", "2.1", "--reason", "It told the number unasked.")
    again = str((await by_anna(at, server, *other))["judgedRunId"])
    assert run_id != again != ident
    judged = at.run("runs", again, "--json").one()
    assert judged["outcomes"] == {"scored": 1, "user-error": 1}
    (unscored,) = cast("list[Json]", judged["unscored"])
    assert "the user spoiled the conversation, says anna: It told the number unasked." in str(unscored["reason"])
    assert (await by_anna(at, server, *other))["judgedRunId"] == again
    shown = at.run("conversations", again).out
    assert "sound (2.1): model" in shown
    assert shown.count("overruled: the user") == 2
    assert at.run("conversations", run_id, "--spoiled").out.count("ended:") == 1


async def test_who_is_no_person_and_what_is_no_conversation_is_refused(at: Terminal, run_id: str) -> None:
    asked = ("label-user", run_id, "--sound", "swapped", "--reason", "x")
    ended = at.run(*asked)
    assert ended.code == 2
    assert "only a person can do this" in ended.err
    anna = at.with_env(MINIONS_EVALS_PERSON_TOKEN=await token(at))
    ended = anna.run("label-user", run_id, "--sound", "swapped", "--spoiled", "nothing", "--reason", "x")
    assert "has no finished conversation nothing" in ended.err
    assert "overruled" not in at.run("conversations", run_id).out, "all or none is kept"
    assert "is also named in --sound" in anna.run(*asked, "--spoiled", "swapped").err
    async with open_engine(engine_at(at)) as engine:
        with pytest.raises(BadInputError, match="the caller is an agent"):
            await label_user.run(engine, LabelRequest(run_id=run_id, sound=("swapped",), reason="x"))


async def test_the_page_takes_a_word_and_shows_it(
    at: Terminal, server: Server, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(at.folder)
    async with open_engine(engine_at(at, server)) as engine, AsyncExitStack() as opened:
        begun: list[Callable[[], Coroutine[Any, Any, None]]] = []
        page = await opened.enter_async_context(visitor(engine, judge="anna", start=begun.append))
        shown = (await page.get("/case", params={"run": run_id, "at": "0.1"})).text
        assert "the user check marks it as spoiled: role-swapped" in shown
        of_user = shown.partition('action="/user"')[2].partition("</form>")[0]
        form = dict(re.findall(r'name="(run|at|said)" value="([^"]*)"', of_user))
        assert form["said"] == "sound"
        assert (await page.post("/user", data=form)).status_code == 400
        led = await page.post("/user", data={**form, "reason": "Nothing <b>wrong</b>"})
        assert led.status_code == 303
        await begun[0]()
        judged = led.headers["location"].rpartition("=")[2]
        shown = (await page.get("/case", params={"run": judged, "at": "0.1"})).text
    assert "the user did its part, says anna: Nothing &lt;b&gt;wrong&lt;/b&gt;" in shown
    assert 'value="spoiled"' in shown


async def labelled(engine: Engine, run_id: str, **said: object) -> None:
    speaking = engine.speaking(person("anna"))
    await label_user.keep(speaking, LabelRequest.model_validate({"run_id": run_id, "reason": "seen", **said}))


async def test_the_check_is_measured_and_licensed_like_a_judge(at: Terminal, run_id: str) -> None:
    async with open_engine(engine_at(at)) as engine:
        await labelled(engine, run_id, spoiled=("swapped",), sound=("sound",))
        with pytest.raises(NothingAgreedError) as nothing:
            await judges_agreement(engine, "b")
        check = nothing.value.user_check
        assert check is not None
        assert check.caught is not None
        assert check.false_alarms is not None
        assert (check.conversations, check.caught.hits, check.false_alarms.hits) == (2, 1, 0)
        assert (check.licence.state, check.licence.agreed, check.licence.labels) == ("unknown", 1, 2)
    shown = at.run("agreement", "b")
    assert shown.code == 0
    assert "it found 1 of 1" in shown.out
    assert "not enough labels to know whether to trust it: 2 of the 30 labels" in shown.out
    async with open_engine(engine_at(at)) as engine:
        await labelled(engine, run_id, sound=("swapped",))
        async with visitor(engine) as page:
            told = (await page.get("/agreement", params={"id": "b"})).text
    assert "it flagged 1 of 2" in told
    assert "differ on" in at.run("agreement", "b").out
