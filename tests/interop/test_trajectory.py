"""Trajectories (ATIF) and other texts of neighbours as records."""

from __future__ import annotations

import json

import pytest

from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.arrivals import held_by
from minions_evals_mcp.ports import Arrived
from tests.shared.agent.desk import Json
from tests.workshop import START

TRAJECTORY: Json = {
    "schema_version": "ATIF-v1.8", "session_id": "s1", "agent": {"name": "desk", "version": "2"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be kind."},
        {"step_id": 2, "source": "user", "message": "Old question", "is_copied_context": True},
        {"step_id": 3, "timestamp": "2026-11-21T09:00:00Z", "source": "user", "message": [{"type": "text", "text": "Where is order 7?"}]},
        {"step_id": 4, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "t1", "function_name": "find", "arguments": {"id": 7}}],
         "observation": {"results": [{"source_call_id": "t1", "content": "sent"}]}},
        {"step_id": 5, "timestamp": "2026-11-21T09:00:05Z", "source": "agent", "message": "It was sent."},
    ],
    "final_metrics": {"total_prompt_tokens": 10, "total_completion_tokens": 5, "total_cost_usd": 0.5},
}  # fmt: skip


def held(document: object) -> tuple[object, ...]:
    """The records in the text."""
    return held_by(Arrived(json.dumps(document), "x.json")).records


def test_a_trajectory_is_an_agent_run_with_its_calls_and_what_they_gave() -> None:
    (wire,) = held(TRAJECTORY)
    run = record_from_wire(wire, new_id="none", now=START)  # pyright: ignore[reportArgumentType]  JSON all through
    assert isinstance(run.fields, AgentRun)
    assert (run.id, run.fields.agent_id, run.fields.tokens_used, run.fields.cost) == ("atif:s1", "desk", 15, 0.5)
    assert (run.fields.inputs, run.fields.outputs) == ({"input": "Where is order 7?"}, {"output": "It was sent."})
    assert [(one.tool, one.arguments, one.result) for one in run.fields.tool_calls_log or ()] == [
        ("find", {"id": 7}, "sent")
    ]


def test_a_trajectory_without_steps_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match=r"x\.json: the trajectory has no steps"):
        held({**TRAJECTORY, "steps": []})


def test_a_text_holds_one_record_a_list_or_a_suite() -> None:
    one, two = {"id": "a", "type": "agent-run"}, {"id": "b", "type": "agent-run"}
    assert held(one) == (one,)
    assert held([one, two]) == (one, two)
    assert held({"minions": [one], "relations": [two]}) == (one, two)
