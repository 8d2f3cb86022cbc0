"""The SDK's insides that the server leans on, each named, so that an SDK which moves them fails here and says so."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import structlog
from mcp.server.connection import Connection
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.session import ServerSession
from mcp_types import CallToolResult, ToolAnnotations

from minions_evals_mcp.errors import BadInputError, NotFoundError, StoreError
from minions_evals_mcp.next_steps import WORKS, argument
from minions_evals_mcp.server.edge.derived import arguments_of
from minions_evals_mcp.server.edge.guard import EvalsServer, StrictTool, strict_tool
from minions_evals_mcp.server.edge.schemas import Schemas, schema_of
from minions_evals_mcp.server.signatures.runs import SubmitJudgments
from minions_evals_mcp.server.signatures.scoring import ScoreOutputs
from tests.shared.server.hosts import Host


def test_the_sdk_still_has_what_the_guard_uses() -> None:
    assert hasattr(ArgModelBase, "model_dump_one_level")
    assert {"arg_model", "output_schema"} <= set(FuncMetadata.model_fields)
    assert hasattr(FuncMetadata, "pre_parse_json")
    assert {"fn", "fn_metadata", "parameters", "is_async", "context_kwarg"} <= set(Tool.model_fields)
    assert hasattr(vars(EvalsServer("x"))["_tool_manager"], "list_tools")
    assert EvalsServer.call_tool is not MCPServer.call_tool
    assert hasattr(vars(EvalsServer("x"))["_prompt_manager"], "list_prompts")
    low = vars(EvalsServer("x"))["_lowlevel_server"]
    assert low.get_request_handler("subscriptions/listen") is not None
    assert "_connection" in inspect.getsource(ServerSession.__init__)
    assert {"state", "exit_stack"} <= set(Connection.__annotations__)


def broken(error: Exception) -> StrictTool:
    """A tool that raises."""

    async def work(asked: Any, context: Context[Any]) -> CallToolResult:
        raise error

    return strict_tool(
        name="broken",
        description="",
        arguments=lambda: arguments_of("get_run"),
        schemas=Schemas(schema_of(arguments_of("get_run")), {}),
        annotations=ToolAnnotations(),
        work=work,
    )


async def test_a_crash_tells_an_id_that_is_in_the_log_and_nothing_else() -> None:
    with structlog.testing.capture_logs() as logs, pytest.raises(ToolError) as told:
        await broken(RuntimeError("the secret sk-123")).run({"runId": "r"}, Context())
    (line,) = logs
    assert line["event"] == "tool-crashed"
    assert line["crash"] in str(told.value)
    assert "secret" not in str(told.value)
    assert "RuntimeError" not in str(told.value)


async def test_a_refusal_out_of_a_task_group_is_told_as_itself() -> None:
    group = ExceptionGroup("group", [NotFoundError("benchmark", "b")])
    with pytest.raises(ToolError, match=r'not-found: .*Next: list_records \{"type": "benchmark"\}'):
        await broken(group).run({"runId": "r"}, Context())


async def test_what_was_meant_for_the_command_line_is_said_of_the_tools() -> None:
    error = BadInputError(f"{argument('trials')} is wrong.", remedy=f"Use another {argument('key')}. {WORKS}.")
    with pytest.raises(ToolError) as told:
        await broken(error).run({"runId": "r"}, Context())
    assert str(told.value) == (
        "bad-input: trials is wrong. Use another idempotencyKey."
        " Ask the operator to run `minions-evals doctor --ping`, which shows which keys and services work."
    )


async def test_what_only_an_operator_can_mend_says_whom_to_tell() -> None:
    with pytest.raises(ToolError, match=r"store: it is damaged\. Tell the operator: Choose another with --db\."):
        await broken(StoreError("it is damaged.", remedy="Choose another with --db.")).run({"runId": "r"}, Context())


async def test_json_in_a_string_is_read_where_a_host_sends_it_so(host: Host) -> None:
    answer = await host.call(
        "score_outputs", rows='[{"id": "1", "output": "x", "assert": [{"type": "equals", "value": "x"}]}]'
    )
    assert answer["summary"] == "1 of 1 passed"


def test_schemas_have_no_references_titles_or_nulls() -> None:
    for model in (arguments_of("get_run"), ScoreOutputs, SubmitJudgments):
        said = str(schema_of(model))
        assert not {"$ref", "$defs", "'title'", "'null'"} & set(said.replace(":", " ").split())
        assert "$ref" not in said
