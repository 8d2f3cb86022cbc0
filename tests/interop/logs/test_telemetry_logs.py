"""OTLP logs of coding agents: each turn is an agent-run with its calls, edits, tokens and answer."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from minions_evals_mcp.interop.logs.sample import SkippedSample
from minions_evals_mcp.sessions.telemetry import QUIET_S, EventTurns, events_of
from tests.shared.interop.makers import extra, kept, read, written
from tests.shared.interop.session_shapes import LOGS, claude_logs, plan


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("host", LOGS)
def test_each_turn_is_a_run_with_what_it_used_and_did(tmp_path: Path, host: str, seed: int) -> None:
    made = plan(seed)
    _, runs = kept(written(tmp_path / "logs.json", LOGS[host](made)[0]), "otel-logs")
    assert [run.fields.inputs for run in runs] == [{"input": turn.prompt} for turn in made.turns]
    answers = [{} if host == "codex" else {"output": turn.answer} for turn in made.turns]
    assert [run.fields.outputs for run in runs] == answers
    assert [run.fields.tokens_used for run in runs] == [sum(turn.tokens) * turn.model_calls for turn in made.turns]
    for run, turn in zip(runs, made.turns, strict=True):
        steps = list(run.fields.tool_calls_log or ())
        assert [step.error is not None for step in steps] == [call.code != 0 for call in turn.calls]
        edits = [edit["path"] for edit in extra(run).get("edits", [])]
        assert edits == [call.path for call in turn.calls if call.path]
        (usage,) = extra(run)["usage"].values()
        counted = (usage["inputTokens"], usage["cacheReadTokens"], usage["outputTokens"])
        assert counted == tuple(tokens * turn.model_calls for tokens in turn.tokens)


def test_a_turn_is_over_once_the_next_begins_or_nothing_came_for_long() -> None:
    made = next(plan(seed) for seed in range(99) if len(plan(seed).turns) == 2)
    turns = EventTurns()
    turns.add(events_of(claude_logs(made)[0]).events, now=0.0)
    (first,) = turns.completed(now=1.0)
    assert first.answer == made.turns[0].answer
    assert (turns.completed(now=QUIET_S - 1), turns.waiting) == ([], 1)
    (second,) = turns.completed(now=QUIET_S)
    assert (second.id, second.answer) == (f"{made.ident}/p1", made.turns[1].answer)
    assert turns.completed(now=99.0, at_once=True) == []


def test_sessions_that_come_mixed_are_kept_apart() -> None:
    plans = [plan(seed) for seed in range(5)]
    waiting = [[*events_of(claude_logs(made)[0]).events] for made in plans]
    drawn, turns = random.Random(7), EventTurns()  # noqa: S311  no secret
    while waiting := [left for left in waiting if left]:
        turns.add([drawn.choice(waiting).pop(0)], now=0.0)
    runs = turns.completed(now=0.0, at_once=True)
    told = {(session.id.partition("/")[0], session.prompts[0][1], session.answer) for session in runs}
    assert told == {(made.ident, turn.prompt, turn.answer) for made in plans for turn in made.turns}


def test_records_of_other_programs_are_named(tmp_path: Path) -> None:
    whole = claude_logs(plan(1))[0]
    whole["resourceLogs"][0]["scopeLogs"][0]["logRecords"].append({"body": {"stringValue": "hello"}})
    _, items = read(written(tmp_path / "logs.json", json.loads(json.dumps(whole))), "otel-logs")
    assert [item.why for item in items if isinstance(item, SkippedSample)] == ["an event hello"]
