"""The agent that asked for a run plays its users: several at once, turn by turn, checked like any player, and across a kill."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from tests.conversations import desk
from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import ERAS, Host, hosted, rows
from tests.workshop import Json, config_in

TARGET = "python:tests.conversations.desk:desk"
SETUP: Json = {
    "player": "caller", "goal": "Get the money back for order A1", "knows": {"order number": "A1"}, "persona": "in a hurry",
    "withholds": [{"fact": "I broke it", "when": "broken"}], "ends": {"says": "Goodbye"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _fresh() -> None:
    desk.heard.clear()


@asynccontextmanager
async def server(folder: Path, era: str = "auto") -> AsyncGenerator[Host]:
    """A server whose runs are made by the desk."""
    async with hosted(config_in(folder), era=era, target=TARGET) as host:
        yield host


def talks(number: int, **setup: object) -> list[Json]:
    """So many conversations, and the benchmark of all."""
    fields: Json = {
        "conversation": {**SETUP, **cast("Json", setup)},
        "agentTurns": [{"type": "contains", "value": "R-7"}],
    }
    names = [f"t{at}" for at in range(number)]
    cases: list[Json] = [{"id": name, "type": "test-case", "fields": {"name": name, **fields}} for name in names]
    return [*cases, {"id": "b", "type": "benchmark", "fields": {"name": "B", "testCaseIds": [*names]}}]


def answers(answer: Json, text: str) -> list[Json]:
    """That message in answer to every request."""
    return [{"digest": packet["digest"], "message": text} for packet in rows(answer, "packets")]


def leaving(answer: Json) -> list[Json]:
    """The user of every request leaves."""
    return [{"digest": packet["digest"], "leaves": True} for packet in rows(answer, "packets")]


@pytest.mark.parametrize("era", ERAS)
async def test_the_caller_plays_several_users_at_once(tmp_path: Path, era: str) -> None:
    async with server(tmp_path, era) as host:
        await host.call("save_records", records=talks(3))
        asked = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        assert (asked["state"], asked["waiting"]) == ("awaiting-judgments", 3)
        assert "3 conversations wait for the next message" in str(asked["reason"])
        assert str(asked["instructions"]).startswith("Play the user")
        first = rows(asked, "packets")[0]
        assert (first["turn"], first["testCaseId"]) == (1, "t0")
        for words in ("Get the money back", "in a hurry", "order number: A1", "I broke it (only once"):
            assert words in str(first["user"])
        said = await host.call(
            "submit_judgments", runId=asked["runId"], packets=answers(asked, "I want my money back.")
        )
        assert [packet["turn"] for packet in rows(said, "packets")] == [2, 2, 2]
        assert rows(said, "packets")[1]["messages"] == [
            {"role": "user", "content": "I want my money back."},
            {"role": "assistant", "content": "What is your order number?"},
        ]
        two = answers(said, "It is A1.")[:2]
        left = await host.call("submit_judgments", runId=asked["runId"], packets=two)
        assert (left["waiting"], left["outcomes"]) == (1, {"scored": 2, "awaiting-judgments": 1})
        refused = await host.refused("submit_judgments", runId=asked["runId"], packets=two[:1])
        assert "has no request for a user message" in refused
        done = await host.call("submit_judgments", runId=asked["runId"], packets=answers(left, "It is A1."))
        assert (done["state"], done["outcomes"]) == ("completed", {"scored": 3})
        assert "3 of 3 passed" in str(done["summary"])
        errors = done["userErrors"]
        assert isinstance(errors, dict)
        assert (errors["conversations"], errors["spoiled"]) == (3, 0)
    assert sorted(desk.heard) == sorted(["I want my money back.", "It is A1."] * 3), "no answer was paid for twice"


async def test_what_the_caller_spoils_is_asked_again_from_the_first_turn(tmp_path: Path) -> None:
    async with server(tmp_path) as host:
        await host.call("save_records", records=talks(1, opening="hi", retries=1))
        asked = await host.call("run_test_case", testCaseId="t0", waitSeconds=50)
        assert rows(asked, "packets")[0]["turn"] == 2
        spoiled = await host.call(
            "submit_judgments", runId=asked["runId"], packets=answers(asked, "How can I help you today?")
        )
        assert (spoiled["state"], rows(spoiled, "packets")[0]["turn"]) == ("awaiting-judgments", 2)
        assert rows(spoiled, "packets")[0]["digest"] != rows(asked, "packets")[0]["digest"]
        done = await host.call("submit_judgments", runId=asked["runId"], packets=answers(spoiled, "A1, please."))
        assert done["state"] == "completed"
        errors = done["userErrors"]
        assert isinstance(errors, dict)
        assert (errors["conversations"], errors["kinds"]) == (2, {"role-swapped": 1})


async def test_an_empty_message_leaves_and_the_conversation_is_judged(tmp_path: Path) -> None:
    async with server(tmp_path) as host:
        await host.call("save_records", records=talks(1, ends=None, retries=0))
        asked = await host.call("run_test_case", testCaseId="t0", waitSeconds=50)
        refused = await host.refused("submit_judgments", runId=asked["runId"], packets=leaving(asked))
        assert "must begin with a message" in refused
        refused = await host.refused(
            "submit_judgments", runId=asked["runId"],
            packets=[{"digest": rows(asked, "packets")[0]["digest"], "judgments": [{"criterionId": "x", "score": 1, "rationale": "y"}]}],
        )  # fmt: skip
        assert "and got none" in refused
        said = await host.call("submit_judgments", runId=asked["runId"], packets=answers(asked, "My money for A1!"))
        done = await host.call("submit_judgments", runId=asked["runId"], packets=leaving(said))
        assert (done["state"], done["outcomes"]) == ("completed", {"scored": 1})
    assert desk.heard == ["My money for A1!"]


async def test_a_persons_user_is_not_the_agents_to_play(tmp_path: Path) -> None:
    async with server(tmp_path) as host:
        await host.call("save_records", records=talks(1, player="person"))
        asked = await host.call("run_test_case", testCaseId="t0", waitSeconds=50)
        assert rows(asked, "packets")[0]["waitsFor"] == "a person"
        refused = await host.refused("submit_judgments", runId=asked["runId"], packets=answers(asked, "hi"))
        assert "asks a person, and the caller is an agent" in refused


async def test_a_server_that_ends_in_between_loses_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as host:
        await host.call("save_records", records=talks(2))
        asked = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        said = await host.call(
            "submit_judgments", runId=asked["runId"], packets=answers(asked, "I want my money back.")
        )
    async with server(tmp_path) as host:
        again = await host.call("get_run", runId=asked["runId"])
        assert again["packets"] == said["packets"]
        done = await host.call("submit_judgments", runId=asked["runId"], packets=answers(again, "A1"))
        assert done["state"] == "completed"
    assert sorted(desk.heard) == sorted(["I want my money back.", "A1"] * 2)


def test_at_a_terminal_messages_are_submitted_and_the_run_is_resumed(tmp_path: Path) -> None:
    from tests.workshop import place_store  # noqa: PLC0415  a store of its own for this one

    place_store(tmp_path)
    at = Terminal(tmp_path)
    at.file("talks.json", json.dumps({"records": talks(1)}))
    at.file("agents.py", Path(desk.__file__).read_text("utf-8"))
    assert at.run("import", "talks.json").code == 0
    command = ("run-test-case", "t0", "--target", "python:agents:desk", "--key", "k", "--json")
    for message, turn in (("My money, please.", 1), ("A1", 2)):
        waits = at.run(*command).one()
        (packet,) = cast("list[Json]", waits["userPackets"])
        assert packet["turn"] == turn
        at.file(
            "said.json",
            json.dumps({"runId": waits["runId"], "packets": [{"digest": packet["digest"], "message": message}]}),
        )
        submitted = at.run("submit", "said.json")
        assert submitted.code == 0, submitted
        assert "1 conversation can continue" in submitted.out
    done = at.run(*command)
    assert (done.code, done.one()["state"]) == (0, "completed")
