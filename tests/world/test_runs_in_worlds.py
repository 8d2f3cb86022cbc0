"""A run gives each unit a world of its own: what the agent did there is its trajectory, and the final state is judged."""

from __future__ import annotations

import html
import json
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import cast

import anyio.to_thread
import pytest
from pydantic import JsonValue

from minions_evals_mcp.sandbox.keeper import parents
from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.cli.installed import program
from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.world.agents import real, starts

AGENT = Path(__file__).parents[1] / "shared" / "world" / "scripted_agent.py"
SHOP: Json = {
    "name": "Shop",
    "state": {"orders": {"A1": {"status": "paid", "total": 40}}, "refunds": []},
    "servers": {
        "shop": {
            "tools": [
                {
                    "name": "get_order",
                    "rules": [
                        {"when": "get(state.orders, arguments.id)", "result": "{{get(state.orders, arguments.id)}}"},
                        {"error": "no order {{arguments.id}}"},
                    ],
                },
                {
                    "name": "refund",
                    "rules": [
                        {
                            "result": "refunded",
                            "changes": [
                                {"op": "replace", "path": "/orders/{{arguments.id}}/status", "value": "refunded"},
                                {"op": "add", "path": "/refunds/-", "value": "{{arguments}}"},
                            ],
                        }
                    ],
                },
            ]
        }
    },
}
CHECKS: list[JsonValue] = [
    {"type": "state", "value": {"query": "orders.A1.status", "equals": "refunded"}},
    {"type": "state", "value": {"query": "length(refunds)", "equals": 1}},
    {"type": "effect", "value": {"tool": "refund", "args": {"id": "A1", "amount": 40}, "times": 1}},
    {"type": "effect", "value": {"tool": "get_order", "before": {"tool": "refund"}}},
]
LOOK: JsonValue = ["shop", "get_order", {"id": "A1"}]
REFUND: JsonValue = ["shop", "refund", {"id": "A1", "amount": "{0.total}"}]


def suite(
    at: Terminal, world: Json = SHOP, *, cases: int = 1, checks: list[JsonValue] = CHECKS, **more: JsonValue
) -> None:
    """Cases that act on the world `shop`, in the benchmark `b`."""
    usual: Json = {"inputs": {"q": "1"}, "world": "shop", "assertions": checks, **more}
    records: list[JsonValue] = [
        {"id": "shop", "type": "world", "fields": world},
        *({"id": f"c{at}", "type": "test-case", "fields": {"name": f"c{at}", **usual}} for at in range(cases)),
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": [f"c{at}" for at in range(cases)]}},
    ]
    ended = at.run("import", at.file("suite.json", {"minions": records}))
    assert ended.code == 0, ended


def target(
    at: Terminal,
    *calls: JsonValue,
    says: str = "done",
    claims: JsonValue = None,
    more: str = "",
    python: str | None = None,
) -> str:
    """A target file for an agent with that script, which a standby forks as what serves its world, or that Python starts."""
    forked = None if python else program("python")
    script = at.file("script.json", {"calls": [*calls], "says": says, "claims": claims, "python": forked})
    run = json.dumps(
        [
            python or program("python"),
            str(AGENT),
            script,
            *([more] if more else []),
            *(["{{world.mcp_config}}"] if more else []),
        ]
    )
    log = "  output: output\n  toolCalls: log\n" if claims is not None else "  output: output\n"
    return at.file("t.yaml", f"command:\n  run: {run}\n{log}")


def run(at: Terminal, *more: str) -> Ended:
    return at.run("run-benchmark", "b", "--target-config", "t.yaml", "--json", *more)


def passed(ended: Ended) -> JsonValue:
    """How many units of the run passed."""
    return cast("Json", ended.one()["benchmarkRun"])["passedCount"]


def unit(at: Terminal, number: int = 0) -> Json:
    """A unit's output as it is kept."""
    return kept(at)[number]


def kept(at: Terminal) -> list[Json]:
    """The outputs that are kept, in the order of the units."""
    with closing(open_raw(at.db)) as db:
        rows = db.execute(
            "SELECT u.output FROM unit u JOIN job j ON j.id = u.job_id ORDER BY j.created_at, u.position"
        ).fetchall()
    return [cast("Json", json.loads(row[0])) for row in rows]


def test_the_calls_are_the_trajectory_and_the_final_state_is_judged(at: Terminal) -> None:
    suite(at, cases=3)
    target(at, LOOK, REFUND, says="Refunded {0.total}.")
    ended = run(at)
    assert ended.code == 0, ended
    assert passed(ended) == 3
    for seen in kept(at):
        calls = cast("list[Json]", seen["toolCalls"])
        assert [(call["tool"], call["arguments"], call["result"]) for call in calls] == [
            ("get_order", {"id": "A1"}, {"status": "paid", "total": 40}), ("refund", {"id": "A1", "amount": 40}, "refunded"),
        ]  # fmt: skip
        assert calls[0]["extra"] == {"server": "shop", "answeredBy": "mock"}
        world = cast("Json", seen["world"])
        assert cast("Json", world["state"])["refunds"] == [{"id": "A1", "amount": 40}]


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([LOOK], 'orders.A1.status is "paid", wanted "refunded"'),
        ([LOOK, REFUND, REFUND], "length(refunds) is 2, wanted 1"),
        ([LOOK, ["shop", "refund", {"id": "A1", "amount": 400}]], 'refund {"amount":40,"id":"A1"} never happened, wanted once'),
        ([["shop", "refund", {"id": "A1", "amount": 40}], LOOK], "call 1, refund, came before any get_order"),
    ],
)  # fmt: skip
def test_an_agent_that_did_otherwise_fails_at_the_check_that_says_so(
    at: Terminal, calls: list[JsonValue], told: str
) -> None:
    suite(at)
    target(at, *calls, says="Refunded 40.")
    assert passed(run(at)) == 0
    shown = at.run("report", "b", "-o", "r.md")
    assert shown.code == 0, shown
    assert told in html.unescape((at.folder / "r.md").read_text("utf-8").replace("\\", ""))


def test_a_difference_between_what_was_called_and_what_is_reported_is_kept(at: Terminal) -> None:
    suite(at)
    claims: JsonValue = [{"tool": "mcp__shop__get_order", "arguments": {"id": "A1"}},
                         {"tool": "shop.refund", "arguments": {"id": "A1", "amount": 40}}, {"tool": "think", "arguments": {}}]  # fmt: skip
    target(at, LOOK, LOOK, claims=claims)
    run(at)
    seen = unit(at)
    assert [call["tool"] for call in cast("list[Json]", seen["toolCalls"])] == ["get_order", "get_order", "think"]
    assert cast("Json", seen["world"])["differences"] == [
        'the agent reports a call refund {"amount":40,"id":"A1"} that did not happen',
        'the agent does not report its call get_order {"id":"A1"}',
    ]


def test_the_configuration_is_also_an_argument(at: Terminal) -> None:
    suite(at)
    target(at, LOOK, REFUND, more="--config")
    assert passed(run(at)) == 1


def test_a_python_task_is_given_the_world_or_has_its_tools_answered(at: Terminal) -> None:
    suite(at)
    at.file("app.py", (
        "from minions_evals_mcp import tool\n\n"
        "@tool\ndef get_order(id):\n    raise SystemExit('the real one')\n\n"
        "def answer(q, world):\n"
        "    order = get_order('A1')\n"
        "    world.call('refund', id='A1', amount=order['total'])\n"
        "    return 'done'\n"
    ))  # fmt: skip
    ended = at.run("run-benchmark", "b", "--target", "python:app:answer", "--json")
    assert passed(ended) == 1, ended
    assert [call["tool"] for call in cast("list[Json]", unit(at)["toolCalls"])] == ["get_order", "refund"]
    assert "differences" not in cast("Json", unit(at)["world"])


def test_a_recorded_world_is_replayed_in_every_unit_and_the_real_server_is_started_with_consent_only(
    at: Terminal,
) -> None:
    def world(mode: str) -> Json:
        return {"name": "Notes", "servers": real(at, mode)}

    checks: list[JsonValue] = [{"type": "equals", "value": "1 notes, then 2 notes"}]
    suite(at, world("record"), cases=1, checks=checks)
    calls: list[JsonValue] = [["notes", "add_note", {"text": "a"}], ["notes", "count", {}]]
    target(at, calls[0], says="{0}")
    refused = run(at)
    assert refused.code == 2, refused
    assert starts(at) == []
    told = json.dumps(refused.one()) + refused.err
    assert "the world shop starts the real server notes, which needs your consent" in told
    assert "minions-evals world check shop" in told
    run(at, "--yes", "--key", "recording")
    assert len(starts(at)) == 1
    suite(at, world("replay"), cases=2, checks=[{"type": "equals", "value": "1 notes"}])
    assert passed(run(at, "--key", "replaying")) == 2
    assert len(starts(at)) == 1
    target(at, *calls, says="{0}")
    run(at, "--key", "missing")
    assert cast("Json", unit(at, -1)["world"])["misses"] == ["no call of count was recorded"]


async def test_a_wrong_final_state_decides_before_a_model_is_asked(at: Terminal, server: Server) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    checks: list[JsonValue] = [CHECKS[0], {"type": "llm-rubric", "value": "It is friendly."}]
    suite(here, checks=checks)
    here.file("app.py", "def talks(q, world):\n    return 'Refunded, dear!'\n\ndef acts(q, world):\n"
              "    return world.call('refund', id='A1', amount=40)\n")  # fmt: skip

    def judged(agent: str) -> Json:
        asked = ("run-benchmark", "b", "--target", f"python:app:{agent}", "--judge-model", "openai:gpt-judge", "--json")
        return here.run(*asked).one()

    talked = await anyio.to_thread.run_sync(judged, "talks")
    assert cast("Json", talked["benchmarkRun"])["passedCount"] == 0
    assert server.requests == 0
    await anyio.to_thread.run_sync(judged, "acts")
    assert server.requests == 1


def test_no_process_is_left_where_an_agent_takes_too_long(at: Terminal) -> None:
    done: list[JsonValue] = [{"type": "effect", "value": {"tool": "slow"}}]
    target(at, ["notes", "slow", {}], python=sys.executable)
    for late_ms in (8_000, 32_000, 128_000):  # a machine under load starts three programs first
        suite(at, {"name": "Notes", "servers": real(at, "record", anew=True)}, timeoutMs=late_ms, checks=done)
        ended = run(at, "--yes")
        assert passed(ended) == 0, ended
        if starts(at):
            break
    assert starts(at)
    deadline = time.monotonic() + HANG_S
    while parents().keys() & {*starts(at)} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not parents().keys() & {*starts(at)}


def test_a_world_that_is_not_there_is_refused_by_name(at: Terminal) -> None:
    case: Json = {"id": "c", "type": "test-case", "fields": {"name": "c", "inputs": {"q": "1"}, "world": "none"}}
    ended = at.run("import", at.file("s.json", {"minions": [case]}))
    assert ended.code == 2
    assert "there is no world 'none'" in ended.err
