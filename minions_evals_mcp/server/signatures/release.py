"""The arguments and answers of the tools that decide on a version and hand work to the agent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.server.edge.answer import Object, ToolAnswer
from minions_evals_mcp.server.edge.argument_types import Id, Json
from minions_evals_mcp.server.edge.guard import ToolArguments


class SendMessage(ToolArguments):
    """send_message"""

    type: Literal[
        "run-test-case", "run-benchmark", "compare-prompts", "classify-failure", "detect-trend", "agent-run-completed", "instruction"
    ]  # fmt: skip
    payload: Annotated[Json, Field(examples=[{"benchmarkId": "support/quality"}])]
    id: Annotated[Id | None, Field(description="The same id is handled only once")] = None
    from_agent_id: Annotated[Id | None, Field(description="Notified in the outbox of the result")] = None


class ApprovalAnswer(ToolAnswer):
    """The decision as it is kept."""

    id: str
    prompt_version_ref: str
    comparison_id: str | None = None
    decision: str
    reason: str
    decided_by: str
    decided_by_type: str
    judge: Object | None = None


class ReceiptAnswer(ToolAnswer):
    """The state of a message; `agentRunning` says whether somebody is there to carry it out."""

    id: str
    type: str
    topic: str
    state: str
    is_new: bool
    agent_running: bool
