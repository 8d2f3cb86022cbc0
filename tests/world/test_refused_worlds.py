"""A case in a world that cannot hold is refused at import: by file, line, case and field, with what would fit."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.world.naming import offered, unknown_in_checks, unknown_in_rules
from tests.shared.cli.terminal import Terminal
from tests.shared.world.units import world

SUITE = """records:
  - id: shop
    type: world
    fields:
      name: Shop
      state: {{orders: {{A1: paid}}}}
      servers:
        desk:
          tools:
            - {{name: refund, inputSchema: {{type: object, properties: {{id: {{type: string}}}}}}, rules: [{{result: 1}}]}}
            - {{name: get_order, rules: [{{result: 1}}]}}
            - {{name: list, inputSchema: {{properties: {{}}, additionalProperties: true}}, rules: [{{result: 1}}]}}
  - id: c
    type: test-case
    fields: {{name: c, world: shop, {fields}}}
"""
OF_EFFECT, OF_STATE = "fields.assertions[0]: effect: value", "fields.assertions[0]: state: value"
MEANT = "did you mean 'refund'? It has get_order, list, refund"
ON = "fields.assertions[0]: "
NO_ORDER = "the tool 'refund' has no argument 'order'; it has id"
NAMES_X = (
    ("tool-used", "x", ""), ("tool-used", "[refund, x]", ".1"), ("tool-used", "{name: x, max: 0}", ".name"),
    ("tool-sequence", "[refund, x]", ".1"), ("tool-sequence", "{steps: [{pattern: x}]}", ".steps.0.pattern"),
    ("tool-args-match", "{name: x, args: {}}", ".name"), ("step-count", "{name: x, max: 1}", ".name"),
    ("match", "[refund, x]", ".1"), ("match", "{steps: [], forbidden: [x]}", ".forbidden.0"),
    ("match", "[{unordered: [refund, {anyOf: [{name: x}]}]}]", ".0.unordered.1.anyOf.0.name"),
)  # fmt: skip
"""Each check of a trajectory, naming a tool that the world lacks, and the place that is named."""
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
        ("assertions: [{type: effect, value: {tool: refund, args: {order: A1}, never: true}}]", f"{OF_EFFECT}.args.order: {NO_ORDER}"),
        ("assertions: [{type: effect, value: {tool: list, before: {tool: 'ref*', args: {ID: 1}}}}]",
         f"{OF_EFFECT}.before.args.ID: the tool 'ref*' has no argument 'ID'; it has id"),
        ("assertions: [{type: trajectory:tool-args-match, value: {name: refund, arguments: {order: 1}}}]",
         f"{ON}trajectory:tool-args-match: value.arguments.order: {NO_ORDER}"),
        ("assertions: [{type: trajectory:match, value: [{name: refund, args: {order: 1}}]}]",
         f"{ON}trajectory:match: value.0.args.order: {NO_ORDER}"),
        ("assertions: [{type: tool-call-f1, value: [refund, refnd]}]", f"{ON}tool-call-f1: value.1: the world has no tool 'refnd'"),
        ("assertions: [{type: tool-call-f1, value: 'refund, refnd'}]", f"{ON}tool-call-f1: value.1: the world has no tool 'refnd'"),
        *((f"assertions: [{{type: 'trajectory:{kind}', value: {value}}}]", f"{ON}trajectory:{kind}: value{place}: the world has no tool")
          for kind, value, place in NAMES_X),
        ("conversation: {opening: hi}, agentTurns: [{type: trajectory:tool-used, value: x}]", "fields.agentTurns[0]: trajectory:tool-used"),
        ("conversation: {opening: ' '}", "fields.conversation.opening: must not be blank"),
        ("conversation: {opening: hi, turns: ['']}", "fields.conversation.turns.0: must not be blank"),
    ],
)  # fmt: skip
def test_the_refusal_names_place_and_field(at: Terminal, fields: str, said: str) -> None:
    refused = at.run("import", at.file("s.yaml", SUITE.format(fields=fields)))
    assert refused.code == 2
    assert f"s.yaml:13: test-case c: {said}" in " ".join(refused.err.split())


def test_a_fault_may_name_tools_by_a_pattern(at: Terminal) -> None:
    fields = (
        "faults: [{kind: timeout, tool: 're*', nth: 1}], inputs: {task: x}, assertions: [{type: contains, value: x}]"
    )
    assert at.run("import", at.file("s.yaml", SUITE.format(fields=fields))).code == 0


@pytest.mark.parametrize(
    "check",
    [
        "{type: effect, value: {tool: browse, outside: true, never: true}}",
        "{type: effect, value: {tool: refund, args: {force: true}, outside: true, never: true}}",
        "{type: effect, value: {tool: list, args: {page: 2}}}",
        "{type: effect, value: {tool: get_order, args: {id: 2}}}",
        "{type: trajectory:tool-used, value: {name: browse, outside: true, max: 0}}",
        "{type: tool-call-f1, value: [refund, {name: browse, outside: true}]}",
        "{type: trajectory:tool-sequence, value: [refund, {name: browse, outside: true}]}",
        "{type: trajectory:tool-args-match, value: {name: refund, args: {force: true}, outside: true}}",
        "{type: trajectory:step-count, value: {name: browse, outside: true, max: 0}}",
        "{type: trajectory:step-count, value: {name: ls, type: command, max: 0}}",
        "{type: trajectory:match, value: [refund, {name: browse, outside: true}]}",
    ],
)
def test_a_check_of_what_is_outside_of_the_world_says_so(at: Terminal, check: str) -> None:
    imported = at.run("import", at.file("s.yaml", SUITE.format(fields=f"inputs: {{task: x}}, assertions: [{check}]")))
    assert imported.code == 0, imported.err


ORDER: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "buyer": {"type": "object", "properties": {"name": {"type": "string"}}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "more": {"type": "object"},
    },
}
LACKS, HAS = "the tool 'order' has no argument ", "buyer, id, items, more"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"when": "arguments.idd == 'A1'", "result": 1}, [f"when: {LACKS}'idd'; did you mean 'id'? It has {HAS}"]),
        ({"when": "get(state.orders, arguments.ID)"}, [f"when: {LACKS}'ID'; it has {HAS}"]),
        ({"result": {"a": ["for {{arguments.buyer.nme}}"]}}, [f"result: {LACKS}'buyer.nme'; it has buyer.name"]),
        ({"error": "no {{get(arguments, 'x')}}"}, [f"error: {LACKS}'x'; it has {HAS}"]),
        ({"changes": [{"op": "add", "path": "/{{arguments.y}}", "value": "{{arguments.id}}"}]},
         [f"changes: {LACKS}'y'; it has {HAS}"]),
        ({"select": "SELECT ':no' FROM t WHERE a = :idd", "result": 1}, [f"select: {LACKS}'idd'; did you mean 'id'? It has {HAS}"]),
        ({"when": "arguments.more.x && state.arguments.y && rows[?a == arguments.z]", "result": "{{arguments}} {{state.orders}}"}, []),
        ({"result": "{{length(arguments.items[].sku)}} {{get(state.a, arguments.id).b}} {{arguments.{n: buyer.name} }}"}, []),
    ],
)  # fmt: skip
def test_a_rule_names_only_arguments_that_its_tool_takes(rule: dict[str, JsonValue], said: list[str]) -> None:
    servers: dict[str, JsonValue] = {"desk": {"tools": [{"name": "order", "inputSchema": ORDER, "rules": [rule]}]}}
    known = offered(world(servers, database={"sql": "CREATE TABLE t(a)"}).fields)
    place = "servers.desk.tools.0.rules.0."
    assert [f"{field}: {reason}" for field, reason, _ in unknown_in_rules(known)] == [f"{place}{one}" for one in said]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"buyer": {"nme": "Ada"}}, ["args.buyer.nme"]),
        ({"items": [{"sku": "K1"}, {"sk": "K1"}]}, ["args.items.sk"]),
        ({"id": "A1", "buyer": {"name": "Ada"}, "more": {"any": {"thing": 1}}}, []),
    ],
)
def test_a_check_names_only_arguments_within_arguments_that_the_tool_takes(
    args: dict[str, JsonValue], said: list[str]
) -> None:
    servers: dict[str, JsonValue] = {"desk": {"tools": [{"name": "order", "inputSchema": ORDER}]}}
    checks: JsonValue = [{"type": "effect", "value": {"tool": "order", "args": args}}]
    fields: dict[str, JsonValue] = {"name": "c", "inputs": {}, "assertions": checks}
    case = TestCase.model_validate(fields, strict=False)
    found = unknown_in_checks(case, offered(world(servers).fields))
    assert [field for field, *_ in found] == [f"assertions[0]: effect: value.{one}" for one in said]


def test_a_rule_on_an_argument_that_no_agent_sends_is_refused_with_what_to_do(at: Terminal) -> None:
    suite = SUITE.replace(
        "rules: [{{result: 1}}]}}\n            - {{name: get",
        "rules: [{{when: arguments.no, result: 1}}]}}\n            - {{name: get",
    )
    refused = at.run("import", at.file("s.yaml", suite.format(fields="inputs: {task: x}")))
    told = " ".join(refused.err.split())
    assert (
        "world shop: fields.servers.desk.tools.0.rules.0.when: the tool 'refund' has no argument 'no'; it has id"
        in told
    )
    assert "`additionalProperties: true`" in told


@pytest.mark.parametrize("outside", ["1", "'yes'"])
def test_outside_is_true_or_false(at: Terminal, outside: str) -> None:
    check = f"{{type: trajectory:tool-used, value: {{name: x, outside: {outside}}}}}"
    refused = at.run("import", at.file("s.yaml", SUITE.format(fields=f"inputs: {{task: x}}, assertions: [{check}]")))
    assert (refused.code, "outside: must be true or false" in refused.err) == (2, True)


def test_a_step_may_be_a_command_that_a_tool_of_the_world_ran(at: Terminal) -> None:
    suite = SUITE.replace("name: get_order", "name: shell")
    fields = "inputs: {task: x}, assertions: [{type: trajectory:match, value: [ls]}]"
    assert at.run("import", at.file("s.yaml", suite.format(fields=fields))).code == 0


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
