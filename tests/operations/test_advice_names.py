"""Advice names an operation, and each of its fields, as the interfaces do that offer it."""

from __future__ import annotations

import pytest
from pydantic.alias_generators import to_camel

from minions_evals_mcp.operations.fields import fields_at, written
from minions_evals_mcp.operations.table import TABLE, Offer
from minions_evals_mcp.presentation.operations_table import ARGUMENTS, OPERATIONS, OPTIONS, AdvisedOperation


def _is_positional(row: AdvisedOperation, offer: Offer) -> bool:
    """Whether the row is of the command with its id: without one some commands list instead."""
    return bool(row.positions) == any(name.isupper() for name in offer.names.values())


ADVISED = [
    (row_name, name)
    for row_name, row in OPERATIONS.items()
    for name, operation in TABLE.items()
    if isinstance(operation.cli, Offer) and operation.cli.name == row.command and _is_positional(row, operation.cli)
]


@pytest.mark.parametrize(("row_name", "name"), ADVISED)
def test_advice_calls_the_tool_and_its_fields_what_the_operation_does(row_name: str, name: str) -> None:
    row, operation = OPERATIONS[row_name], TABLE[name]
    if row.tool is None or isinstance(operation.mcp, str):
        return
    assert row.tool.name == operation.mcp.name
    for offered in fields_at(operation, "mcp"):
        advised = row.tool.names.get(offered.field, ARGUMENTS.get(offered.field, to_camel(offered.field)))
        assert advised in {"", to_camel(offered.name)}, offered.field


@pytest.mark.parametrize(("row_name", "name"), ADVISED)
def test_advice_calls_an_option_what_the_command_does(row_name: str, name: str) -> None:
    assert row_name in OPERATIONS
    for offered in fields_at(TABLE[name], "cli"):
        if not offered.name.isupper():
            option = OPTIONS.get(offered.field, f"--{offered.field.replace('_', '-')}")
            assert option == written("cli", offered.name), offered.field
