"""Sessions of coding agents: what was asked, called, edited, used and answered is what the session's plan says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.interop.logs.sample import SkippedSample
from tests.shared.interop.makers import Json, extra, kept, read, written
from tests.shared.interop.session_shapes import (
    SHAPES,
    WITHOUT_PROMPT,
    claude_session,
    claude_stream,
    codex_rollout,
    plan,
)

NAMES = tuple(SHAPES)
EXIT_IN_ERROR = frozenset(NAMES) - {"claude-session", "claude-stream", "gemini-stream"}


def _run(tmp_path: Path, name: str, lines: list[Json]) -> Record[AgentRun]:
    form, file, _ = SHAPES[name]
    (run,) = kept(written(tmp_path / file, lines if file.endswith("l") else lines[0]), form)[1]
    return run


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", NAMES)
def test_calls_tokens_edits_and_the_answer_are_those_of_the_session(tmp_path: Path, name: str, seed: int) -> None:
    made = plan(seed)
    run = _run(tmp_path, name, SHAPES[name][2](made))
    assert run.fields.outputs == {"output": made.turns[-1].answer}
    assert run.fields.tokens_used == sum(map(made.total, range(3)))
    (usage,) = extra(run)["usage"].values()
    assert (usage["inputTokens"], usage["cacheReadTokens"], usage["outputTokens"]) == tuple(map(made.total, range(3)))
    steps = list(run.fields.tool_calls_log or ())
    assert [step.id for step in steps] == [call.ident for call in made.calls]
    assert [step.error is not None for step in steps] == [call.code != 0 for call in made.calls]
    if name in EXIT_IN_ERROR:
        assert [step.error for step in steps if step.error] == [
            f"exit code {call.code}" for call in made.calls if call.code
        ]
    edits = [(edit["path"], edit["step"]) for edit in extra(run).get("edits", [])]
    assert edits == [(call.path, number) for number, call in enumerate(made.calls, 1) if call.path]
    if name not in WITHOUT_PROMPT:
        assert run.fields.inputs == {"input": made.turns[0].prompt}
        later = [(turn["text"], turn["correction"]) for turn in extra(run).get("userTurns", [])]
        assert later == [(turn.prompt, turn.prompt.startswith("No,")) for turn in made.turns[1:]]


def test_sessions_of_one_program_and_model_are_one_version(tmp_path: Path) -> None:
    logs = [read(written(tmp_path / f"{seed}.jsonl", codex_rollout(plan(seed))), "codex")[0] for seed in range(3)]
    assert {log.id for log in logs} == {"0.171.0/gpt-5.1-codex"}


def test_a_sub_agents_calls_are_nested_and_its_answer_is_not_the_sessions(tmp_path: Path) -> None:
    lines = claude_stream(plan(1))
    task = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"subagent_type": "Explore", "prompt": "Look."}}
    inner = {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "a.py"}}
    said = [{"type": "text", "text": "I looked."}]
    lines[2:2] = [
        {"type": "assistant", "message": {"id": "x1", "content": [task]}, "parent_tool_use_id": None},
        {"type": "user", "message": {"content": "Look."}, "parent_tool_use_id": "t1"},
        {"type": "assistant", "message": {"id": "x2", "content": [inner, *said]}, "parent_tool_use_id": "t1"},
    ]
    run = _run(tmp_path, "claude-stream", lines)
    steps = list(run.fields.tool_calls_log or ())
    assert (steps[1].tool, steps[1].parent_id, steps[1].agent) == ("Read", "t1", "Explore")
    assert run.fields.outputs == {"output": plan(1).turns[-1].answer}
    assert "Look." not in json.dumps(extra(run).get("userTurns", []))


def test_a_sub_agents_own_file_is_a_session_of_its_own(tmp_path: Path) -> None:
    lines = [{**line, "isSidechain": True, "agentId": "a7"} for line in claude_session(plan(2))[1:]]
    run = _run(tmp_path, "claude-session", lines)
    assert run.id == "log:claude-code/0000-2/a7"
    assert run.fields.outputs == {"output": plan(2).turns[-1].answer}


def test_a_run_that_failed_has_no_output_and_says_why(tmp_path: Path) -> None:
    lines = claude_stream(plan(3))
    lines[-1] = {**lines[-1], "subtype": "error_max_turns", "is_error": True, "result": None}
    run = _run(tmp_path, "claude-stream", lines)
    assert (run.fields.status, run.fields.error_message, run.fields.outputs) == ("failed", "error_max_turns", {})
    lines = [*codex_rollout(plan(3)), {"type": "event_msg", "payload": {"type": "error", "message": "usage limit"}}]
    assert _run(tmp_path, "codex-rollout", lines).fields.error_message == "usage limit"


def test_the_user_who_stops_the_agent_is_a_signal(tmp_path: Path) -> None:
    lines = [
        *claude_session(plan(4)),
        {
            "type": "user",
            "sessionId": "0000-4",
            "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]},
        },
    ]
    assert extra(_run(tmp_path, "claude-session", lines))["interruptedAfterSteps"] == [len(plan(4).calls)]


def test_a_session_without_a_word_is_named(tmp_path: Path) -> None:
    _, items = read(written(tmp_path / "s.jsonl", claude_session(plan(5))[:1]), "claude-code")
    why = next(item.why for item in items if isinstance(item, SkippedSample))
    assert why == "a session in which nothing was asked, answered or called"
