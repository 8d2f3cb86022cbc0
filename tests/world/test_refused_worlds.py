"""A case in a world that cannot hold is refused at import: by file, line, case and field, with what would fit."""

from __future__ import annotations

import pytest

from tests.shared.cli.terminal import Terminal

SUITE = """records:
  - id: shop
    type: world
    fields: {{name: Shop, servers: {{desk: {{tools: [{{name: refund, rules: [{{result: 1}}]}}]}}}}}}
  - id: c
    type: test-case
    fields: {{name: c, world: shop, {fields}}}
"""


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("faults: [{kind: timeout, tool: refnud, nth: 1}]", "fields.faults.0.tool: the world has no tool 'refnud'; it has refund"),
        ("assertions: [{type: state, value: {equals: 1}}]", "fields.assertions[0]: state: value: query: give one of query"),
        ("assertions: [{type: effect, value: {tol: refund}}]", "fields.assertions[0]: effect: value.tol: unknown key; did you mean"),
        ("conversation: {opening: ' '}", "fields.conversation.opening: must not be blank"),
        ("conversation: {opening: hi, turns: ['']}", "fields.conversation.turns.0: must not be blank"),
    ],
)  # fmt: skip
def test_the_refusal_names_place_and_field(at: Terminal, fields: str, said: str) -> None:
    refused = at.run("import", at.file("s.yaml", SUITE.format(fields=fields)))
    assert refused.code == 2
    assert f"s.yaml:5: test-case c: {said}" in " ".join(refused.err.split())


def test_a_fault_may_name_tools_by_a_pattern(at: Terminal) -> None:
    fields = (
        "faults: [{kind: timeout, tool: 're*', nth: 1}], inputs: {task: x}, assertions: [{type: contains, value: x}]"
    )
    assert at.run("import", at.file("s.yaml", SUITE.format(fields=fields))).code == 0
