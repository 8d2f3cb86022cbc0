"""OTLP logs of coding agents: each turn is an agent-run with its calls, edits, tokens and answer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import cast

import pytest

from minions_evals_mcp.domain.outputs import NOT_RECORDED
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.interop.logs.sample import SkippedSample
from minions_evals_mcp.interop.telemetry.host_turns import JOINED_S, QUIET_S
from minions_evals_mcp.interop.telemetry.intake import Parts, Telemetry
from minions_evals_mcp.sessions.telemetry import events_of
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
    assert {run.fields.stop_reason == NOT_RECORDED for run in runs} == {host == "codex"}
    assert [run.fields.tokens_used for run in runs] == [sum(turn.tokens) * turn.model_calls for turn in made.turns]
    for run, turn in zip(runs, made.turns, strict=True):
        steps = list(run.fields.tool_calls_log or ())
        assert [step.error is not None for step in steps] == [call.code != 0 for call in turn.calls]
        edits = [edit["path"] for edit in extra(run).get("edits", [])]
        assert edits == [call.path for call in turn.calls if call.path]
        (usage,) = extra(run)["usage"].values()
        counted = (usage["inputTokens"], usage["cacheReadTokens"], usage["outputTokens"])
        assert counted == tuple(tokens * turn.model_calls for tokens in turn.tokens)


def test_a_turn_is_over_once_the_next_began_or_nothing_came_for_long() -> None:
    made = next(plan(seed) for seed in range(99) if len(plan(seed).turns) == 2)
    came = Telemetry()
    came.add(Parts(events=events_of(claude_logs(made)[0]).events), now=0.0)
    assert (runs_of(came, JOINED_S - 1), came.waiting) == ([], 1)
    (first,) = runs_of(came, JOINED_S)
    assert first["outputs"] == {"output": made.turns[0].answer}
    assert (runs_of(came, QUIET_S - 1), came.waiting) == ([], 1)
    (second,) = runs_of(came, QUIET_S)
    assert (extra_of(second)["session"], second["outputs"]) == (f"{made.ident}/p1", {"output": made.turns[1].answer})
    assert [over.run for over in came.settled(now=99.0, at_once=True) if over.run] == []


def runs_of(came: Telemetry, now: float) -> list[Json]:
    """The fields of the agent-runs that are whole by then."""
    return [cast("Json", over.run["fields"]) for over in came.settled(now=now) if over.run is not None]


def extra_of(fields: Json) -> Json:
    """What the log says of itself."""
    return cast("Json", cast("Json", fields["extra"])["log"])


def test_sessions_that_come_mixed_are_kept_apart() -> None:
    plans = [plan(seed) for seed in range(5)]
    waiting = [[*events_of(claude_logs(made)[0]).events] for made in plans]
    drawn, came = random.Random(7), Telemetry()  # noqa: S311  no secret
    while waiting := [left for left in waiting if left]:
        came.add(Parts(events=(drawn.choice(waiting).pop(0),)), now=0.0)
    told = {
        (str(extra_of(fields)["session"]).partition("/")[0], str(fields["inputs"]), str(fields["outputs"]))
        for fields in runs_of(came, QUIET_S)
    }
    assert told == {
        (made.ident, str({"input": turn.prompt}), str({"output": turn.answer})) for made in plans for turn in made.turns
    }


def test_records_of_other_programs_are_named(tmp_path: Path) -> None:
    whole = claude_logs(plan(1))[0]
    whole["resourceLogs"][0]["scopeLogs"][0]["logRecords"].append({"body": {"stringValue": "hello"}})
    _, items = read(written(tmp_path / "logs.json", json.loads(json.dumps(whole))), "otel-logs")
    assert [item.why for item in items if isinstance(item, SkippedSample)] == ["an event hello"]
