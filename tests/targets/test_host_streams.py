"""What Claude Code, Codex, Gemini CLI and opencode print, read as an output by a command target that says so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.log_formats.session_log import reader_of
from minions_evals_mcp.interop.logs.sample import Recorded
from minions_evals_mcp.targets.command import CommandSettings
from minions_evals_mcp.targets.exchange import HostStream
from minions_evals_mcp.targets.host_streams import read_stream
from tests.shared.store.command_line import told
from tests.targets.test_command import VERSION, observed, produced
from tests.workshop import case, minion

Json = dict[str, JsonValue]
SAID = "It prints 5 now."


def _claude(kind: str, *blocks: JsonValue) -> Json:
    return {"type": kind, "message": {"role": kind, "content": [*blocks]}, "parent_tool_use_id": None}


STEP: Json = {
    "type": "step-finish", "tokens": {"input": 40, "output": 10, "cache": {"read": 10, "write": 0}}, "cost": 0.25
}  # fmt: skip
STREAMS: dict[HostStream, list[JsonValue]] = {
    "claude-stream": [
        {"type": "system", "subtype": "init", "tools": ["Bash"]},
        _claude(
            "assistant", {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        ),
        _claude("user", {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "Exit code 3"}),
        _claude("assistant", {"type": "text", "text": SAID}),
        {
            "type": "result", "subtype": "success", "is_error": False, "result": SAID, "stop_reason": "end_turn", "total_cost_usd": 0.5,
            "usage": {"input_tokens": 60, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 10, "output_tokens": 20},
        },
    ],
    "codex-exec": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "i0", "type": "agent_message", "text": "I look."}},
        {"type": "item.started", "item": {"id": "i1", "type": "command_execution", "command": "ls", "status": "in_progress"}},
        {
            "type": "item.completed",
            "item": {
                "id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "", "exit_code": 3, "status": "failed",
            },
        },
        {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": SAID}},
        {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 30, "output_tokens": 20}},
    ],
    "gemini-json": [
        {"type": "init", "model": "gemini-2.5-pro"},
        {"type": "message", "role": "user", "content": "Fix it."},
        {"type": "message", "role": "assistant", "content": "I look.", "delta": True},
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "t1", "parameters": {"command": "ls"}},
        {"type": "tool_result", "tool_id": "t1", "status": "error", "error": {"message": "exit 3"}, "output": ""},
        {"type": "message", "role": "assistant", "content": "It prints ", "delta": True},
        {"type": "message", "role": "assistant", "content": "5 now.", "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 100, "output_tokens": 20}},
    ],
    "opencode-run": [
        {"type": "step_start", "part": {"type": "step-start"}},
        {"type": "text", "part": {"type": "text", "text": "I look."}},
        {
            "type": "tool_use",
            "part": {
                "type": "tool", "tool": "bash", "callID": "t1",
                "state": {"status": "completed", "input": {"command": "ls"}, "output": "", "metadata": {"exit": 3}},
            },
        },
        {"type": "step_finish", "part": {**STEP, "reason": "tool-calls"}},
        {"type": "step_start", "part": {"type": "step-start"}},
        {"type": "text", "part": {"type": "text", "text": SAID}},
        {"type": "step_finish", "part": STEP},
    ],
}  # fmt: skip
FAILED: dict[HostStream, Json] = {
    "claude-stream": {"type": "result", "subtype": "error_max_turns", "is_error": True},
    "codex-exec": {"type": "turn.failed", "error": {"message": "quota"}},
    "gemini-json": {"type": "result", "status": "error", "error": {"message": "quota"}},
    "opencode-run": {"type": "error", "error": {"name": "APIError", "data": {"message": "quota"}}},
}
PROGRAMS: dict[HostStream, str] = {
    "claude-stream": "claude-code", "codex-exec": "codex", "gemini-json": "gemini-cli", "opencode-run": "opencode",
}  # fmt: skip
NO_STREAMS = (
    b"", b"plain words\n", b"{}\n[]\nnull\n", b'{"type": "item.completed", "item": []}',
    b'{"type": "result"}\n{"type": "user", "message": {"content": [{}]}}\n',
)  # fmt: skip
WHOLE: dict[HostStream, Json] = {
    "claude-stream": {
        "type": "result",
        "is_error": False,
        "result": SAID,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "gemini-json": {"response": SAID, "stats": {"models": {"m": {"tokens": {"prompt": 1, "candidates": 2}}}}},
}


def lines(*events: JsonValue) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def imported(form: HostStream, events: list[JsonValue], folder: Path) -> Json:
    """The fields of the agent-run that the same stream is imported as; none where nothing is imported."""
    file = folder / "stream.jsonl"
    file.write_bytes(lines(*events))
    runs = [item for item in reader_of(PROGRAMS[form])(file) if isinstance(item, Recorded)]
    return obj(runs[0].wire["fields"]) if runs else {}


def printing(form: HostStream, text: bytes, tmp_path: Path, *, code: int = 0) -> CommandSettings:
    """A program that prints that, and beside it what it was given."""
    file = tmp_path / "printed"
    file.write_bytes(text)
    program = f"import sys; sys.stderr.write(sys.stdin.read()); sys.stdout.write(open({str(file)!r}).read()); sys.exit({code})"
    return CommandSettings.model_validate({"run": [sys.executable, "-c", program], "format": form})


@pytest.mark.parametrize("form", STREAMS)
async def test_a_stream_is_the_answer_with_its_calls_tokens_and_cost(tmp_path: Path, form: HostStream) -> None:
    seen = await observed(printing(form, b"a line of a log\n" + lines(*STREAMS[form]), tmp_path), version=VERSION)
    assert seen.output == {"output": SAID}
    assert seen.tool_calls is not None
    (call,) = seen.tool_calls
    assert call.arguments == {"command": "ls"}
    assert call.error
    assert "3" in call.error
    assert (seen.input_tokens, seen.output_tokens) == (100, 20)
    priced = imported(form, STREAMS[form], tmp_path).get("cost")
    assert seen.cost_usd == (0.5 if form in {"claude-stream", "opencode-run"} else priced)
    assert seen.stderr == "Answer: Why – so?", "the prompt is given as plain text"


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("taken", range(1, 10))
def test_a_live_stream_is_read_as_the_same_stream_is_imported(form: HostStream, taken: int, tmp_path: Path) -> None:
    """Every beginning of a stream: answer, calls, errors and cost are those of the import; without an end only words are an answer."""
    events = STREAMS[form][:taken]
    seen, run = read_stream(form, lines(*events)), imported(form, events, tmp_path)
    assert (run.get("status", "running") == "success") is (taken >= len(STREAMS[form]))
    if run.get("status") != "success":
        assert isinstance(seen, TargetErrored) or seen.output["output"]
        return
    assert isinstance(seen, Observed)
    assert seen.output == {"output": obj(run["outputs"]).get("output", "")}
    assert seen.cost_usd == run.get("cost")
    assert seen.tool_calls is not None
    assert [(call.tool, call.arguments, call.error) for call in seen.tool_calls] == [
        (step["tool"], step["arguments"], step.get("error")) for step in map(obj, listed_values(run["toolCallsLog"]))
    ]


@pytest.mark.parametrize("form", STREAMS)
def test_what_an_ended_program_said_last_is_its_answer_though_it_does_not_say_that_it_is_over(form: HostStream) -> None:
    said = max(number for number, event in enumerate(STREAMS[form]) if SAID[-4:] in json.dumps(event))
    seen = read_stream(form, lines(*STREAMS[form][: said + 1]))
    assert isinstance(seen, Observed)
    assert seen.output == {"output": SAID}


@pytest.mark.parametrize("form", FAILED)
async def test_an_agent_that_says_that_it_failed_is_a_target_error_with_its_words(
    tmp_path: Path, form: HostStream
) -> None:
    seen = await produced(printing(form, lines(*STREAMS[form][:2], FAILED[form]), tmp_path, code=1), version=VERSION)
    assert isinstance(seen, TargetErrored)
    assert ("error_max_turns" if form == "claude-stream" else "quota") in seen.reason


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("text", NO_STREAMS)
def test_what_is_no_such_stream_is_a_target_error_and_breaks_nothing(form: HostStream, text: bytes) -> None:
    assert isinstance(read_stream(form, text), TargetErrored)


@pytest.mark.parametrize("form", WHOLE)
def test_one_json_document_is_read_too(form: HostStream) -> None:
    seen = read_stream(form, json.dumps(WHOLE[form], indent=1).encode())
    assert isinstance(seen, Observed)
    assert (seen.output, seen.input_tokens, seen.output_tokens) == ({"output": SAID}, 1, 2)


@pytest.mark.parametrize("cut", range(0, 1200, 97))
@pytest.mark.parametrize("form", STREAMS)
def test_a_stream_that_is_cut_off_or_mangled_breaks_nothing(form: HostStream, cut: int) -> None:
    whole = lines(*STREAMS[form])
    for text in (whole[:cut], whole[cut:], whole.replace(b"{", b"[", cut // 97 + 1), whole.replace(b'"t1"', b"null")):
        assert isinstance(read_stream(form, text), Observed | TargetErrored)


async def test_a_run_reads_the_stream_by_the_target_config_and_refuses_selectors_beside_it(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    printed.write_bytes(lines(*STREAMS["claude-stream"]))
    program = f"print(open({str(printed)!r}).read())"
    config: Json = {"command": {"run": [sys.executable, "-c", program], "format": "claude-stream"}}
    target, suite, store = (str(tmp_path / name) for name in ("target.yaml", "suite.json", "e.db"))
    (tmp_path / "target.yaml").write_text(json.dumps(config), "utf-8")
    checks: list[JsonValue] = [{"type": "contains", "value": SAID}, {"type": "trajectory:tool-used", "value": "Bash"}]
    records = [case("c", assertions=checks).wire(), minion("b", "benchmark", name="b", testCaseIds=["c"]).wire()]
    (tmp_path / "suite.json").write_text(json.dumps(records), "utf-8")
    assert (await told(tmp_path, "import", suite, "--db", store)).code == 0
    done = await told(tmp_path, "run", "b", "--db", store, "--target-config", target, "--yes", "--json")
    assert done.code == 0, done
    assert json.loads(done.out)["benchmarkRun"]["passedCount"] == 1
    with pytest.raises(ValidationError, match="Leave output, toolCalls and usage out"):
        CommandSettings.model_validate({"run": ["x"], "format": "codex-exec", "output": "answer"})
