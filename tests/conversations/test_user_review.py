"""A second model reads what the user said: what it finds spoils the conversation, and what it cannot say is no verdict."""

from __future__ import annotations

import json
from functools import partial
from typing import NoReturn, cast

import pytest

from minions_evals_mcp.domain.conversations import Conversation, Turn
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.scoring.conversations.user_checks import user_faults
from minions_evals_mcp.targets.talks.scripted import ScriptedUser
from minions_evals_mcp.targets.talks.talk import Talk
from tests.conversations.test_user_errors import AGENT, SETUP, run, told
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server

SAID, LEFT = "The order is A1, I think.", "###STOP###"
NOTHING = '{"faults": []}'


def fault(kind: str = "did-agents-job", turn: int = 2, quotation: str = "the order is A1") -> str:
    """The reply of a model that found one."""
    one = {"reason": "it names the step.", "kind": kind, "turn": turn, "quotation": quotation}
    return json.dumps({"faults": [one]})


def asked(bodies: list[Json]) -> list[str]:
    """Which model was asked, in order."""
    return [str(body["model"]) for body in bodies]


async def checked(at: Terminal, server: Server, *more: str, **setup: object) -> Json:
    return await run(at, server, *more, **{"checkedBy": "openai:checker", **setup})


async def test_a_sound_conversation_is_read_once_and_judged(at: Terminal, server: Server) -> None:
    heard = told(server, SAID, LEFT, NOTHING)
    ended = await checked(at, server, persona="in a hurry")
    assert ended["code"] == 0, ended
    assert asked(heard()) == ["player", "player", "checker"]
    system, user = (str(one["content"]) for one in cast("list[Json]", heard()[-1]["messages"]))
    for said in (
        "Get a refund",
        "in a hurry",
        f"[2] User: {SAID}",
        "(fixed, not to be checked)",
        "Then the user left.",
    ):
        assert said in user
    mark = user.splitlines()[1]
    assert mark in system
    assert user.count(mark) == 4, "who the user is and what was said both stand between marks"


async def test_what_it_finds_spoils_the_conversation_which_is_had_again(at: Terminal, server: Server) -> None:
    heard = told(server, SAID, LEFT, f"```json\n{fault()}\n```", SAID, LEFT, NOTHING)
    ended = await checked(at, server)
    assert ended["outcomes"] == {"scored": 1}
    errors = cast("Json", ended["userErrors"])
    assert (errors["conversations"], errors["spoiled"], errors["kinds"]) == (2, 1, {"did-agents-job": 1})
    assert asked(heard()) == ["player", "player", "checker"] * 2
    shown = at.run("conversations", str(ended["runId"]), "--spoiled").out
    assert "it names the step: “the order is A1”" in " ".join(shown.split())


async def test_what_spoils_it_to_the_end_names_who_found_it(at: Terminal, server: Server) -> None:
    told(server, SAID, LEFT, fault())
    ended = await checked(at, server, retries=0)
    assert ended["code"] == 3
    summary = at.run("runs", "latest", "--json").one()
    (unscored,) = cast("list[Json]", summary["unscored"])
    assert str(unscored["reason"]).endswith("(found by openai:checker)")


async def test_where_the_rules_found_a_fault_no_model_is_asked(at: Terminal, server: Server) -> None:
    heard = told(server, "How can I help you?")
    ended = await checked(at, server, retries=0)
    assert (ended["code"], asked(heard())) == (3, ["player"])


@pytest.mark.parametrize(
    "reply",
    [
        fault(quotation="I am the assistant"),
        fault(turn=9),
        fault(kind="rude"),
        fault(quotation=""),
        fault().replace("it names the step.", " "),
        "Looks fine to me.",
    ],
    ids=["not said", "no such turn", "no such kind", "no quotation", "no reason", "no form"],
)
async def test_a_reply_that_names_nothing_the_user_said_is_sent_back_and_never_a_verdict(
    at: Terminal, server: Server, reply: str
) -> None:
    heard = told(server, SAID, LEFT, *[reply] * 4)
    ended = await checked(at, server)
    assert ended["code"] == 3
    summary = at.run("runs", "latest", "--json").one()
    assert summary["outcomes"] == {"judge-error": 1}, "neither sound nor spoiled"
    (unscored,) = cast("list[Json]", summary["unscored"])
    assert "the check of the simulated user: openai:checker gave no usable reply in 2 tries" in str(unscored["reason"])
    twice = ["checker", "checker"]
    assert asked(heard()) == ["player", "player", *twice, *twice], (
        "what failed is tried once more, and nothing is said anew"
    )


async def test_a_user_who_leaves_without_a_word_needs_no_quotation_and_a_fixed_opening_is_the_authors(
    at: Terminal, server: Server
) -> None:
    told(server, SAID, LEFT, fault("early-stop", quotation=""))
    assert (await checked(at, server, retries=0))["code"] == 3
    told(server, SAID, LEFT, fault(turn=1, quotation="I want my money back"))
    assert (await checked(at, server, "--key", "second"))["code"] == 0


async def test_what_was_read_is_not_read_again_when_a_run_goes_on(at: Terminal, server: Server) -> None:
    heard = told(server, SAID, LEFT, NOTHING)
    first = await checked(at, server, "--key", "k")
    assert first["code"] == 0
    again = await checked(at, server, "--key", "k")
    assert (again["code"], again["runId"], len(heard())) == (0, first["runId"], 3)


async def test_what_was_read_before_a_kill_is_not_read_again() -> None:
    async def never(*_: object) -> NoReturn:
        raise AssertionError("it was paid for")

    async def kept(_: Talk) -> None: ...

    said = Turn(user="It is A1.", agent="Refunded.")
    setup = Conversation.model_validate(SETUP)
    for read in (True, False):
        talk = Talk(ScriptedUser(setup), never, partial(user_faults, setup), kept, turns=[said], ended="user",
                    review=never, checker="openai:checker", read=read)  # fmt: skip
        if not read:
            with pytest.raises(AssertionError, match="paid for"):
                await talk.held()
            continue
        seen = await talk.held()
        assert isinstance(seen, Observed)
        assert seen.conversation is not None
        assert seen.conversation.checked_by == "openai:checker"


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        ({"checkedBy": "openai:player"}, "cannot check the user that it plays"),
        (
            {"checkedBy": "openai:x", "player": "script", "model": None, "goal": ""},
            "a script says what its author wrote",
        ),
        ({"checkedBy": "nobody:x"}, "unknown model provider"),
    ],
)
async def test_a_check_that_cannot_be_made_is_refused_before_anything_runs(
    at: Terminal, server: Server, setup: Json, why: str
) -> None:
    heard = told(server)
    fields: Json = {
        "name": "Talk",
        "conversation": {name: value for name, value in {**SETUP, **setup}.items() if value},
    }
    at.file("talk.json", json.dumps({"records": [{"id": "talk", "type": "test-case", "fields": fields}]}))
    at.file("agents.py", AGENT)
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    ended = here.many(["import", "talk.json"], ["run-test-case", "talk", "--target", "python:agents:agent"])
    assert why in "".join(one.err for one in ended)
    assert ended[-1].code == 2
    assert heard() == []
