"""Sessions and traces that end before the agent answered: they are under way, have no output, and nobody judges them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from agent.settings import Working
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.cli.keep.log_imports import import_log, import_summary
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Skipped, TargetErrored
from minions_evals_mcp.interop.log_formats.table import named
from minions_evals_mcp.interop.spans import spans_of
from minions_evals_mcp.interop.telemetry.intake import Parts, Telemetry
from minions_evals_mcp.interop.telemetry.traces import HOPELESS_S
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.sessions.telemetry import events_of
from minions_evals_mcp.store import records
from minions_evals_mcp.targets.host_streams import read_stream
from minions_evals_mcp.targets.recorded import observed_run
from tests.shared.agent.traces import document, span, spoken
from tests.shared.interop.makers import Json, extra, kept, written
from tests.shared.interop.session_shapes import LOGS, SHAPES, claude_session, plan

if TYPE_CHECKING:
    from agent.daemon import Agent

LINED = tuple(name for name, (_, file, _) in SHAPES.items() if file.endswith("l"))
CHAT: Json = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": spoken("assistant", "It was sent.")}
ASKING: Json = {
    "gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"],
    "gen_ai.output.messages": spoken("assistant", "I look."),
}  # fmt: skip
TOOL: Json = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}


@pytest.mark.parametrize("seed", [0, 5, 10])
@pytest.mark.parametrize("name", LINED)
def test_a_session_that_is_cut_anywhere_never_shows_an_answer_that_a_question_or_call_follows(
    tmp_path: Path, name: str, seed: int
) -> None:
    form, file, shape = SHAPES[name]
    made = plan(seed)
    lines, statuses = shape(made), list[str]()
    for number in range(1, len(lines) + 1):
        seen = json.dumps(lines[:number], ensure_ascii=False)
        runs = kept(written(tmp_path / file, lines[:number]), form)[1]
        for run in runs:
            statuses.append(run.fields.status)
            if run.fields.status == "running":
                assert (run.fields.outputs, run.fields.completed_at) == ({}, None)
                assert run.fields.stop_reason == "no final answer"
                continue
            answers = [turn.answer for turn in made.turns]
            over = made.turns[: answers.index(str(run.fields.outputs["output"])) + 1]
            begun = [call for call in made.calls if call.ident in seen]
            assert begun == [call for turn in over for call in turn.calls]
    assert "running" in statuses
    assert statuses[-1] == "success", "the whole session"


def _said(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


HALF: dict[str, list[Json]] = {
    "claude-code": [
        {"type": "user", "sessionId": "s", "message": {"content": "Mend it."}},
        {"type": "assistant", "sessionId": "s", "message": {"content": _said("I look."), "stop_reason": "tool_use"}},
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "s", "cli_version": "1"}},
        {"type": "event_msg", "payload": {"type": "task_started"}},
        {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": _said("I look.")}},
    ],
    "gemini-cli": [
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-11-26T15:00:00Z", "kind": "main"},
        {"id": "1", "type": "user", "content": [{"text": "Mend it."}]},
        {"id": "2", "type": "gemini", "content": "I look.", "toolCalls": [{"id": "c", "name": "ls", "args": {}}]},
    ],
    "opencode": [
        {"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}},
        {"type": "text", "sessionID": "s", "part": {"type": "text", "text": "I look."}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("form", HALF)
def test_what_the_agent_says_before_a_call_is_no_answer(tmp_path: Path, form: str) -> None:
    (run,) = kept(written(tmp_path / "s.jsonl", HALF[form]), form)[1]
    assert (run.fields.status, run.fields.outputs) == ("running", {})
    assert extra(run)["saidSoFar"] == ["I look."]


def test_what_stands_beside_a_call_in_one_message_is_no_answer(tmp_path: Path) -> None:
    content = [*_said("I look."), {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]
    asked: Json = {"type": "user", "sessionId": "s", "message": {"content": "Mend it."}}
    half: list[Json] = [asked, {"type": "assistant", "sessionId": "s", "message": {"id": "m", "content": content}}]
    (run,) = kept(written(tmp_path / "half.jsonl", half), "claude-code")[1]
    assert (run.fields.status, run.fields.outputs) == ("running", {})
    assert extra(run)["saidSoFar"] == ["I look."]
    printed = "\n".join(map(json.dumps, half)).encode()
    assert isinstance(read_stream("claude-stream", printed), TargetErrored)


@pytest.mark.parametrize(
    ("error", "completed", "status"),
    [(None, 5, "success"), (None, None, "running"), ("MessageAbortedError", 5, "running"), ("APIError", 5, "failed")],
)
def test_a_message_of_opencode_that_was_not_completed_is_no_answer(
    tmp_path: Path, error: str | None, completed: int | None, status: str
) -> None:
    about: Json = {"role": "assistant", "finish": "stop", "time": {"created": 1, "completed": completed}}
    about |= {} if error is None else {"error": {"name": error}}
    asked: Json = {"info": {"role": "user", "time": {"created": 0}}, "parts": _said("Mend it.")}
    answered: Json = {"info": about, "parts": _said("Done.")}
    whole: Json = {"info": {"id": "ses_1", "version": "1", "directory": "/p"}, "messages": [asked, answered]}
    (run,) = kept(written(tmp_path / "s.json", whole), "opencode")[1]
    assert run.fields.status == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("<command-name>/exit</command-name>", "success"),
        ("<local-command-stdout>Bye!</local-command-stdout>", "success"),
        ("<bash-input>ls</bash-input>", "success"),
        ("<command-message>mend is running…</command-message>\n<command-name>/mend</command-name>", "running"),
        ("[Request interrupted by user]", "running"),
        ("And the tests?", "running"),
    ],
)
def test_a_command_that_claude_code_carries_out_itself_asks_for_no_answer(
    tmp_path: Path, text: str, status: str
) -> None:
    last: Json = {"type": "user", "sessionId": "0000-0", "message": {"role": "user", "content": text}}
    (run,) = kept(written(tmp_path / "s.jsonl", [*claude_session(plan(0)), last]), "claude-code")[1]
    assert run.fields.status == status


async def _imported(engine: Engine, path: Path, lines: list[Json]) -> tuple[str, list[tuple[str, str]]]:
    """What the import says, and the runs that are kept then with their status."""
    taken = await import_log(engine, named("claude-code"), written(path, lines))
    idents = await engine.store.read(lambda db: list(records.ids_beginning(db, "log:claude-code/0000")))
    runs = await engine.store.read(lambda db: records.get_all(db, idents, AgentRun))
    return import_summary(taken, None), sorted((ident, run.fields.status) for ident, run in runs.items())


async def test_a_session_that_goes_on_is_the_same_run_and_a_newer_question_changes_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    lines = claude_session(plan(0))
    whole, ident = len(lines), "log:claude-code/0000-0"
    first = next(place for place, line in enumerate(lines) if "Done 0" in json.dumps(line)) + 1
    assert first < whole
    said, kept_now = await _imported(engine, tmp_path / "s.jsonl", lines[: first - 1])
    assert kept_now == [(ident, "running")]
    assert "1 samples, 0 outputs" in said
    assert "1 run has no final answer: kept as running, and not judged" in said
    run = await engine.store.read(lambda db: records.require(db, ident, AgentRun))
    skipped = observed_run(run, timeout_ms=None)
    assert isinstance(skipped, Skipped)
    assert skipped.reason == f"agent-run {ident} is running (no final answer); run again when it is complete"
    said, kept_now = await _imported(engine, tmp_path / "s.jsonl", lines[:first])
    assert kept_now == [(ident, "success")]
    assert "no final answer" not in said
    for cut in (first + 1, first - 1):  # asked again, and an older copy of the file
        assert (await _imported(engine, tmp_path / "s.jsonl", lines[:cut]))[1] == [(ident, "success")]
    _, kept_now = await _imported(engine, tmp_path / "s.jsonl", lines)
    assert [status for _, status in kept_now] == ["success", "success"]


async def test_a_session_that_went_on_to_the_same_answer_is_kept_with_what_the_user_said_since(
    engine: Engine, tmp_path: Path
) -> None:
    lines = claude_session(plan(0))
    path, ident = tmp_path / "s.jsonl", "log:claude-code/0000-0"
    first = next(place for place, line in enumerate(lines) if "Done 0" in json.dumps(line)) + 1
    asked: Json = {"type": "user", "sessionId": "0000-0", "message": {"role": "user", "content": "No, not that file."}}
    again = {**lines[first - 1], "message": {**lines[first - 1]["message"], "id": "again"}}
    await _imported(engine, path, lines[:first])
    for said in (
        [*lines[:first], asked, again],
        lines[:first],
        [*lines[:first], asked, again],
    ):  # an older copy adds nothing
        (before, _), (after, status) = (await _imported(engine, path, said))[1]
        assert (before, status) == (ident, "success")
        runs = await engine.store.read(lambda db, ids=(before, after): records.get_all(db, ids, AgentRun))
        assert "userTurns" not in runs[before].fields.extra
        (turn,) = cast("list[Json]", runs[after].fields.extra["userTurns"])
        assert (turn["text"], turn["correction"]) == ("No, not that file.", True)
        assert runs[after].fields.outputs == runs[before].fields.outputs


@pytest.mark.parametrize("host", LOGS)
def test_a_turn_of_events_that_ends_with_a_question_or_a_call_is_under_way(host: str) -> None:
    made = plan(5)
    (whole,) = LOGS[host](made)
    events = events_of(whole).events
    for number, last in enumerate(events, 1):
        came = Telemetry()
        came.add(Parts(events=events[:number]), now=0.0)
        runs = [over.run for over in came.settled(now=0.0, at_once=True) if over.run is not None]
        if runs:
            is_open = last.name in ("user_prompt", "tool_result", "tool_call")
            statuses = [cast("Json", run["fields"])["status"] for run in runs]
            assert statuses == ["success"] * (len(runs) - 1) + ["running" if is_open else "success"]
            waiting = Telemetry()
            waiting.add(Parts(events=events[:number]), now=0.0)
            told = [over.run for over in waiting.settled(now=60.0) if over.run is not None]
            assert len(told) == len(runs) - is_open, "a tool or a person may take that long"


def _ended(*spans: Json) -> list[tuple[str, Json]]:
    came = Telemetry()
    came.add(Parts(spans=tuple(spans_of(document(*spans)))), now=0.0)
    runs = [over.run for over in came.settled(now=HOPELESS_S, at_once=True) if over.run is not None]
    return [(str(cast("Json", run["fields"])["status"]), cast("Json", run["fields"])["outputs"]) for run in runs]


def test_a_trace_without_its_first_span_is_over_where_a_model_answered_last() -> None:
    asking, tool = (
        span("1", "chat", ASKING, parent="f", seconds=(0, 1)),
        span("2", "find", TOOL, parent="f", seconds=(1, 2)),
    )
    answer = span("3", "chat", CHAT, parent="f", seconds=(2, 3))
    assert _ended(asking) == [("running", {})]
    assert _ended(asking, tool) == [("running", {})]
    assert _ended(asking, tool, answer) == [("success", {"output": "It was sent."})]
    assert _ended(answer) == [("success", {"output": "It was sent."})]
    assert _ended(span("4", "GET /", {}, parent="e"), asking, tool) == [("running", {})], (
        "another service's span is no run"
    )


def test_an_agents_span_without_an_end_is_under_way() -> None:
    agent = {**span("1", "agent", {"gen_ai.operation.name": "invoke_agent"}, seconds=(0, 9)), "endTimeUnixNano": "0"}
    assert _ended(agent, span("2", "chat", CHAT, parent="1", seconds=(1, 2))) == [("running", {})]


def test_a_trace_whose_first_span_never_comes_is_told_in_the_end() -> None:
    came = Telemetry()
    below = [span("1", "chat", ASKING, parent="f"), span("2", "chat", CHAT, parent="f", seconds=(5, 6))]
    came.add(Parts(spans=tuple(spans_of(document(*below)))), now=0.0)
    assert [over for over in came.settled(now=HOPELESS_S - 1) if over.run] == []
    (over,) = (over for over in came.settled(now=HOPELESS_S) if over.run)
    assert cast("Json", over.run)["fields"]["outputs"] == {"output": "It was sent."}
    assert (over.rows, came.waiting) == ((0,), 0)


async def test_an_unfinished_trace_is_kept_and_nobody_is_asked_to_judge_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minions_evals_mcp.interop.telemetry.traces.SETTLED_S", 0.0)
    monkeypatch.setattr("minions_evals_mcp.interop.telemetry.traces.JOINED_S", 0.0)
    intake = TraceIntake(cast("Agent", SimpleNamespace(engine=engine, rhythm=Working().rhythm())), TraceJudging())
    agent = {**span("1", "agent", {"gen_ai.operation.name": "invoke_agent"}), "endTimeUnixNano": "0"}
    spans = tuple(spans_of(document(agent)))
    await intake.add(spans)
    await intake.settle()
    ident = f"otel:{spans[0].trace_id}/1"
    run = await engine.store.read(lambda db: records.require(db, ident, AgentRun))
    assert (run.fields.status, run.fields.stop_reason) == ("running", "no final answer")
    assert await engine.store.read(lambda db: db.execute("SELECT count(*) FROM inbox").fetchone()) == (0,)
