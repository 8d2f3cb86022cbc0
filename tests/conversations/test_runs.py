"""A conversation as a case: had with each kind of target, judged by what was achieved and by its turns, and shown."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import cast

import anyio.to_thread
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import as_read
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.estimate import estimate
from tests.shared.cli.terminal import ROOT, Json, Terminal
from tests.shared.fakes.llm_server import Server
from tests.workshop import benchmark, case, config_in, opened, save

EXAMPLE = ROOT / "examples" / "conversation"
PROGRAM = """
import json, sys
asked = json.load(sys.stdin)
users = [one["content"] for one in asked["messages"] if one["role"] == "user"]
assert users[-1] == asked["message"] and asked["session"]
print(f"{len(users)} messages, the first is {users[0]}. Your name?")
"""
FUNCTIONS = """
def whole(messages):
    users = [one["content"] for one in messages if one["role"] == "user"]
    return f"{len(users)} messages, the first is {users[0]}. Your name?"

def remembers(message, session):
    session.setdefault("told", []).append(message)
    return f"{len(session['told'])} messages, the first is {session['told'][0]}. Your name?"

def plain(text):
    return f"1 messages, the first is hi. Your name? ({text})"

def fails(message):
    raise ValueError("broken")
"""
SETUP: Json = {"opening": "hi", "turns": [{"when": "name", "say": "Ada", "times": 5}], "maxTurns": 3}


def case_file(at: Terminal, **fields: object) -> str:
    """A suite with the case `talk`."""
    record: Json = {
        "id": "talk",
        "type": "test-case",
        "fields": {"name": "Talk", "conversation": SETUP, **cast("Json", fields)},
    }
    at.file("talk.json", json.dumps({"records": [record]}))
    assert at.run("import", "talk.json").code == 0
    return "talk"


def messages(at: Terminal) -> list[tuple[str, str]]:
    """Who said what in the only test-run."""
    (row,) = at.run("export", "--type", "test-run").rows()
    output = cast("Json", cast("Json", row["fields"])["actualOutput"])
    said = cast("list[Json]", output["messages"])
    assert output["output"] == said[-1]["content"]
    return [(str(one["role"]), str(one["content"])) for one in said]


@pytest.mark.parametrize(
    "target", ["python:agents:whole", "python:agents:remembers", f"command:{sys.executable} agent.py"]
)
def test_a_target_hears_the_whole_conversation_or_remembers_it(at: Terminal, target: str) -> None:
    at.file("agents.py", FUNCTIONS)
    at.file("agent.py", PROGRAM)
    case_file(at, everyTurn=[{"type": "contains", "value": "the first is hi"}])
    ended = at.run("run-test-case", "talk", "--target", target)
    assert ended.code == 0, ended
    answers = [f"{number} messages, the first is hi. Your name?" for number in (1, 2, 3)]
    users = [("user", text) for text in ("hi", "Ada", "Ada")]
    said = [turn for user, answer in zip(users, answers, strict=True) for turn in (user, ("assistant", answer))]
    assert messages(at) == said
    assert "1 user   hi" in ended.out
    assert "agent  3 messages" in ended.out


def test_a_function_of_one_text_is_given_the_message(at: Terminal) -> None:
    at.file("agents.py", FUNCTIONS)
    case_file(at, turns={"2": [{"type": "contains", "value": "(Ada)"}]})
    assert at.run("run-test-case", "talk", "--target", "python:agents:plain").code == 0


async def test_a_chat_model_is_sent_the_messages(at: Terminal, server: Server) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    case_file(at, inputs={"desk": "You are a desk."}, agentTurns=[{"type": "contains", "value": "Thanks"}])
    replies = iter(["Your name?", "And your other name?", "Thanks."])
    server.says, server.heard = lambda _: next(replies), []
    ended = await anyio.to_thread.run_sync(here.run, "run-test-case", "talk", "--target", "openai:gpt-4o-mini")
    assert ended.code == 0, ended
    assert server.requests == 3
    last = json.loads(server.heard[-1])["messages"]
    assert [one["role"] for one in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [one["content"] for one in last][:4] == ["You are a desk.", "hi", "Your name?", "Ada"]


@pytest.mark.parametrize(
    ("checks", "code", "reason"),
    [
        ({"turns": {"3": [{"type": "contains", "value": "3 messages"}]}}, 0, ""),
        ({"turns": {"2": [{"type": "contains", "value": "3 messages"}]}}, 1, "turn 2: contains"),
        ({"turns": {"4": [{"type": "contains", "value": "a"}]}}, 1, "there is no turn 4: the conversation has 3 turns"),
        ({"everyTurn": [{"type": "not-contains", "value": "2 messages"}]}, 1, "turn 2: not-contains"),
        ({"everyTurn": [{"type": "contains", "value": "messages"}]}, 0, ""),
        ({"agentTurns": [{"type": "contains-all", "value": ["1 messages", "3 messages"]}]}, 0, ""),
        ({"agentTurns": [{"type": "contains", "value": "Ada"}]}, 1, "agent-turns"),
        ({"assertions": [{"type": "contains", "value": "1 messages"}]}, 1, "contains"),
        ({"assertions": [{"type": "contains", "value": "3 messages"}]}, 0, ""),
        ({"assertions": [{"type": "not-turn", "value": 9, "assert": [{"type": "contains", "value": "a"}]}]}, 0, ""),
    ],
)
def test_turns_are_checked(at: Terminal, checks: Json, code: int, reason: str) -> None:
    at.file("agents.py", FUNCTIONS)
    case_file(at, **checks)
    ended = at.run("run-test-case", "talk", "--target", "python:agents:whole", "--json")
    assert ended.code == code, ended
    assert reason in ended.out


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"turns": {"0": [{"type": "contains", "value": "a"}]}}, "fields.turns"),
        ({"turns": {"1": [{"type": "contains"}]}}, "fields.turns.1[0]"),
        ({"everyTurn": [{"type": "contanis", "value": "a"}]}, "fields.everyTurn[0]"),
        ({"conversation": {"opening": "hi", "turns": [{"when": "/(/", "say": "a"}]}}, "fields.conversation.turns[0].when"),
        ({"conversation": {"opening": "hi", "ends": {"says": "/[/"}}}, "fields.conversation.ends.says"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_or_checked_is_refused_by_its_field(at: Terminal, fields: Json, field: str) -> None:
    record: Json = {"id": "talk", "type": "test-case", "fields": {"name": "Talk", "conversation": SETUP, **fields}}
    at.file("talk.json", json.dumps({"records": [record]}))
    ended = at.run("import", "talk.json")
    assert ended.code == 2
    assert field in ended.err


def test_an_agent_that_breaks_in_a_turn_is_no_verdict(at: Terminal) -> None:
    at.file("agents.py", FUNCTIONS)
    case_file(at, everyTurn=[{"type": "contains", "value": "a"}])
    ended = at.run("run-test-case", "talk", "--target", "python:agents:fails")
    assert ended.code == 3
    assert "target-error" in ended.err + ended.out


@pytest.mark.parametrize(("agent", "code"), [("agent", 0), ("polite", 1)])
def test_the_final_state_decides_and_not_what_the_agent_says(at: Terminal, agent: str, code: int) -> None:
    for file in ("desk.py", "refund.yaml"):
        shutil.copy(EXAMPLE / file, at.folder / file)
    assert at.run("import", "refund.yaml").code == 0
    ended = at.run("run-test-case", "refund-talk", "--target", f"python:desk:{agent}")
    assert ended.code == code, ended
    assert ('orders.A1.status is "paid"' in " ".join(ended.out.split())) is bool(code)


async def test_an_estimate_counts_the_calls_of_all_turns(tmp_path: Path, server: Server) -> None:
    async with opened(config_in(tmp_path, model_url=server.url)) as engine:
        fields: dict[str, JsonValue] = {"conversation": SETUP, "everyTurn": [{"type": "contains", "value": "a"}]}
        await save(engine, case("talk", **fields), benchmark("b", "talk"))
        told = await estimate(engine, RunRequest(subject_id="b", target="anthropic:fake"), kind="benchmark")
    assert (told.target_calls, server.requests) == (3, 0)


def test_who_judges_reads_a_conversation_turn_by_turn() -> None:
    said: list[JsonValue] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Your name?"}]},
        {"role": "user", "content": "Ada"},
        {"role": "assistant", "content": "Thanks."},
    ]
    told = as_read({"output": "Thanks.", "messages": said})
    assert told == "[1] User: hi\n[1] Agent: Your name?\n[2] User: Ada\n[2] Agent: Thanks."
    others: list[JsonValue] = ["Thanks.", {"output": "Thanks."}, {"messages": said[:1]}, {"messages": "hi"}]
    for other in others:
        assert as_read(other) == other
