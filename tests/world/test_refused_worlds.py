"""A case in a world that cannot hold is refused at import: by file, line, case and field, with what would fit."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.shared.cli.terminal import Terminal

SUITE = """records:
  - id: shop
    type: world
    fields:
      name: Shop
      state: {{orders: {{A1: paid}}}}
      servers: {{desk: {{tools: [{{name: refund, rules: [{{result: 1}}]}}, {{name: get_order, rules: [{{result: 1}}]}}]}}}}
  - id: c
    type: test-case
    fields: {{name: c, world: shop, {fields}}}
"""
OF_EFFECT, OF_STATE = "fields.assertions[0]: effect: value", "fields.assertions[0]: state: value"
MEANT = "did you mean 'refund'? It has get_order, refund"
DESK: dict[str, JsonValue] = {
    "desk": {"tools": [{"name": name, "rules": [{"result": 1}]} for name in ("refund", "get_order")]}
}
TAPED: dict[str, JsonValue] = {"desk": {"mode": "replay", "tape": "tape.jsonl"}}
TAPE = '{"tape": 1, "server": "desk", "tools": [{"name": "refund", "inputSchema": {"type": "object"}}]}\n'


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("faults: [{kind: timeout, tool: refnud, nth: 1}]", "fields.faults.0.tool: the world has no tool 'refnud'; did you mean 'refund'?"),
        ("assertions: [{type: state, value: {equals: 1}}]", "fields.assertions[0]: state: value: query: give one of query"),
        ("assertions: [{type: effect, value: {tol: refund}}]", "fields.assertions[0]: effect: value.tol: unknown key; did you mean"),
        ("assertions: [{type: effect, value: {tool: refnd, never: true}}]", f"{OF_EFFECT}.tool: the world has no tool 'refnd'; {MEANT}"),
        ("assertions: [{type: not-effect, value: {tool: refnd}}]", f"{OF_EFFECT}.tool: the world has no tool 'refnd'; {MEANT}"),
        ("assertions: [{type: effect, value: {tool: refund, before: {tool: ship}}}]", f"{OF_EFFECT}.before.tool: the world has no tool"),
        ("assertions: [{type: effect, value: {tool: refund, server: dsk}}]", f"{OF_EFFECT}.server: the world has no server 'dsk'"),
        ("assertions: [{type: assert-set, assert: [{type: effect, value: {tool: x}}]}]", "fields.assertions[0].assert[0]: effect: value"),
        ("conversation: {opening: hi}, everyTurn: [{type: effect, value: {tool: x}}]", "fields.everyTurn[0]: effect: value.tool"),
        ("assertions: [{type: state, value: {query: order.A1, equals: null}}]", f"{OF_STATE}.query: the world has no state 'order'"),
        ("assertions: [{type: state, value: {sql: SELECT 1}}]", f"{OF_STATE}.sql: the world has no database"),
        ("assertions: [{type: state, value: {file: a.txt}}]", f"{OF_STATE}.file: the world has no folder"),
        ("conversation: {opening: hi, ends: {state: order.A1}}", "fields.conversation.ends.state: the world has no state 'order'"),
        ("conversation: {opening: ' '}", "fields.conversation.opening: must not be blank"),
        ("conversation: {opening: hi, turns: ['']}", "fields.conversation.turns.0: must not be blank"),
    ],
)  # fmt: skip
def test_the_refusal_names_place_and_field(at: Terminal, fields: str, said: str) -> None:
    refused = at.run("import", at.file("s.yaml", SUITE.format(fields=fields)))
    assert refused.code == 2
    assert f"s.yaml:8: test-case c: {said}" in " ".join(refused.err.split())


def test_a_fault_may_name_tools_by_a_pattern(at: Terminal) -> None:
    fields = (
        "faults: [{kind: timeout, tool: 're*', nth: 1}], inputs: {task: x}, assertions: [{type: contains, value: x}]"
    )
    assert at.run("import", at.file("s.yaml", SUITE.format(fields=fields))).code == 0


def test_a_check_of_a_tool_outside_of_the_world_says_so(at: Terminal) -> None:
    fields = "inputs: {task: x}, assertions: [{type: effect, value: {tool: browse, outside: true, never: true}}]"
    assert at.run("import", at.file("s.yaml", SUITE.format(fields=fields))).code == 0


@pytest.mark.parametrize(
    ("servers", "option", "said"),
    [
        (DESK, ["--fault", "timeout:refnud@1"], "fault timeout:refnud@1: the world has no tool 'refnud'; did you mean 'refund'? It has"),
        (TAPED, ["--fault", "timeout:refnud@1"], "fault timeout:refnud@1: the world has no tool 'refnud'; it has refund."),
        (TAPED, [], "test-case c in the world shop: assertions[0]: effect: value.tool: the world has no tool 'refun'; it has refund"),
        (None, ["--fault", "timeout@1"], "no case of this run uses a world, so no fault can strike."),
        (None, ["--attack"], "no case of this run uses a world, so no attack can be planted."),
    ],
)  # fmt: skip
def test_a_run_is_refused_before_its_agent_is_called(
    at: Terminal, servers: dict[str, JsonValue] | None, option: list[str], said: str
) -> None:
    at.file("tape.jsonl", TAPE)
    at.file("app.py", "def agent(q):\n    raise SystemExit('the agent was called')\n")
    checked: JsonValue = {"type": "effect", "value": {"tool": "refun" if servers is TAPED and not option else "refund"}}
    acts: dict[str, JsonValue] = {} if servers is None else {"world": "shop"}
    records: list[JsonValue] = [
        {"id": "shop", "type": "world", "fields": {"name": "Shop", "servers": servers or DESK}},
        {
            "id": "c",
            "type": "test-case",
            "fields": {"name": "c", "inputs": {"q": "1"}, "assertions": [checked], **acts},
        },
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c"]}},
    ]
    assert at.run("import", at.file("s.json", {"records": records})).code == 0
    asked = ["world", "attack"] if option == ["--attack"] else ["run-benchmark"]
    refused = at.run(*asked, "b", "--target", "python:app:agent", *(option if asked == ["run-benchmark"] else ()))
    assert refused.code == 2
    assert said in " ".join(refused.err.split())
