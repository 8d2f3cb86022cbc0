"""Who speaks in a coding agent's session: the user's words are kept, and what the program writes in their name is not taken for theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minions_evals_mcp.cli.keep.log_imports import members
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.interop.log_formats.table import matching, sniff
from tests.shared.interop.makers import Json, extra, kept, written

IDENT = "74f94c34-f6b2-4940-a06a-49686f0a0cc8"
PARENT, CHILD = "01a21815-9f80-7200-ac6a-d0b1a52cd475", "01a22788-fbb9-76e2-98d6-ebad52aaeac9"
NOTICE = (
    "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t1</tool-use-id>\n<status>{}</status>\n"
    "<result>It is <b>42</b>.</result>\n</task-notification>"
)


def _user(content: object, **more: object) -> Json:
    return {"type": "user", "sessionId": IDENT, "message": {"role": "user", "content": content}, **more}


def _said(text: str) -> Json:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "sessionId": IDENT, "message": {"role": "assistant", "content": content, "id": text}}


def _called(ident: str) -> Json:
    content = [{"type": "tool_use", "id": ident, "name": "Agent", "input": {"prompt": "Look."}}]
    return {"type": "assistant", "sessionId": IDENT, "message": {"role": "assistant", "content": content, "id": ident}}


def _queued(prompt: str, **more: object) -> Json:
    return {
        "type": "attachment",
        "sessionId": IDENT,
        "attachment": {"type": "queued_command", "prompt": prompt, **more},
    }


def _result(text: str, *, is_error: bool = False) -> Json:
    return _user([{"type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": is_error}])


def _claude(tmp_path: Path, *lines: Json) -> Record[AgentRun]:
    (run,) = kept(written(tmp_path / f"{IDENT}.jsonl", [*lines]), "claude-code")[1]
    return run


def _later(run: Record[AgentRun]) -> list[tuple[str, bool]]:
    return [(turn["text"], turn["correction"]) for turn in extra(run).get("userTurns", [])]


@pytest.mark.parametrize(
    "kind", ["mode", "atis-latch", "permission-mode", "last-prompt", "ai-title", "a-kind-of-tomorrow"]
)
def test_a_session_of_claude_code_is_known_whatever_its_first_line_is_of(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / f"{IDENT}.jsonl", [{"type": kind, "sessionId": IDENT}, _user("Hi"), _said("Hello.")])
    form = matching(sniff(path))
    assert form is not None
    assert form.name == "claude-code"


@pytest.mark.parametrize(
    "first",
    [
        {"type": "user", "sessionId": IDENT, "messageId": 0, "message": "Hi", "timestamp": "2026-11-26T15:00:00Z"},
        {"type": "session.start", "sessionId": IDENT, "data": {}},
        {"type": "click", "sessionId": "17"},
    ],
)
def test_other_lines_with_a_session_are_none_of_claude_code(tmp_path: Path, first: Json) -> None:
    form = matching(sniff(written(tmp_path / "logs.jsonl", [first])))
    assert form is None or form.name != "claude-code"


@pytest.mark.parametrize(
    "line",
    [
        _user(NOTICE.format("completed")),
        _user("It is done.", origin={"kind": "task-notification"}),
        _user("It is done.", promptSource="system"),
        _user("<local-command-caveat>Caveat</local-command-caveat>"),
        _user("<teammate-message from='b'>Done.</teammate-message>"),
        _user("The summary of what was said.", isCompactSummary=True),
        _user("<command-name>/compact</command-name>\n<command-message>compact</command-message>"),
        _queued(NOTICE.format("completed"), commandMode="task-notification"),
        _queued("No, stop.", origin={"kind": "unclassified"}, isMeta=True),
    ],
)
def test_what_the_program_writes_in_the_users_name_is_no_turn_of_theirs(tmp_path: Path, line: Json) -> None:
    run = _claude(tmp_path, _user("Fix it."), _said("Done."), line)
    assert _later(run) == []
    assert run.fields.status == "success"
    assert run.fields.outputs == {"output": "Done."}


def test_what_the_user_types_while_the_agent_works_is_theirs(tmp_path: Path) -> None:
    run = _claude(
        tmp_path, _user("Fix it."), _called("t1"), _queued("No, not that file.", commandMode="prompt"), _result("ok"), _said("Done."),
    )  # fmt: skip
    assert _later(run) == [("No, not that file.", True)]


def test_what_the_user_says_with_a_refusal_is_theirs(tmp_path: Path) -> None:
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nDon't touch main."
    run = _claude(tmp_path, _user("Fix it."), _called("t1"), _result(refused, is_error=True), _said("I see."))
    assert _later(run) == [("Don't touch main.", True)]


def test_what_an_editor_puts_beside_a_prompt_is_no_part_of_it(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": text} for text in ("<ide_opened_file>a.py is open</ide_opened_file>", "Fix it.")]
    assert _claude(tmp_path, _user(blocks), _said("Done.")).fields.inputs == {"input": "Fix it."}


@pytest.mark.parametrize("first", ["<command-name>", "<command-message>mend</command-message>\n<command-name>"])
def test_a_command_is_asked_as_it_was_typed_where_the_agent_acts_on_it(tmp_path: Path, first: str) -> None:
    command = f"{first}/mend</command-name>\n<command-args>the login</command-args>"
    cleared = _user("<command-name>/clear</command-name>\n<command-message>clear</command-message>")
    run = _claude(tmp_path, cleared, _user(command), _user("Mend what is named.", isMeta=True), _said("Done."))
    assert run.fields.inputs == {"input": "/mend the login"}
    assert _later(run) == []
    assert _claude(tmp_path, cleared, _user("Hi"), _said("Hello.")).fields.inputs == {"input": "Hi"}


@pytest.mark.parametrize("is_queued", [True, False])
@pytest.mark.parametrize(("status", "is_error"), [("completed", False), ("failed", True), ("killed", True)])
def test_a_call_in_the_background_has_the_result_that_it_came_to(
    tmp_path: Path, status: str, *, is_error: bool, is_queued: bool
) -> None:
    told = NOTICE.format(status)
    line = _queued(told, commandMode="task-notification") if is_queued else _user(told)
    run = _claude(tmp_path, _user("Fix it."), _called("t1"), _result("Launched."), line, _said("Done."))
    (step,) = list(run.fields.tool_calls_log or ())
    assert step.result == "It is <b>42</b>."
    assert (step.error is not None) is is_error


def _rollout(ident: str, *lines: Json, **meta: object) -> list[Json]:
    about = {"type": "session_meta", "payload": {"id": ident, "cli_version": "0.171.0", **meta}}
    return [about, {"type": "turn_context", "payload": {"model": "gpt-5.1"}}, *lines]


def _item(kind: str, **more: object) -> Json:
    return {"type": "response_item", "payload": {"type": kind, **more}}


def _message(role: str, text: str) -> Json:
    kind = "input_text" if role == "user" else "output_text"
    return _item("message", role=role, content=[{"type": kind, "text": text}])


def _sum(read: int, written_: int) -> Json:
    total = {"input_tokens": read, "output_tokens": written_}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}}


@pytest.mark.parametrize(
    "text",
    [
        "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
        '<subagent_notification>\n{"agent_path":"x","status":{"completed":"42"}}\n</subagent_notification>',
        "<USER_SHELL_COMMAND><command>ls</command></USER_SHELL_COMMAND>",
        "<skill>\n<name>mend</name>\n</skill>",
        '<hook_prompt hook_run_id="1">Run the tests.</hook_prompt>',
        '<codex_internal_context source="goal">\nGo on.</codex_internal_context>',
    ],
)
def test_what_codex_writes_in_the_users_name_is_no_turn_of_theirs(tmp_path: Path, text: str) -> None:
    lines = [_message("user", "Fix it."), _message("assistant", "Done."), _message("user", text), _sum(9, 1)]
    (run,) = kept(written(tmp_path / "rollout.jsonl", _rollout(PARENT, *lines)), "codex")[1]
    assert _later(run) == []
    assert run.fields.status == "success"


def test_of_what_an_editor_puts_before_a_prompt_the_request_is_kept(tmp_path: Path) -> None:
    asked = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it.\n"
    (run,) = kept(
        written(tmp_path / "r.jsonl", _rollout(PARENT, _message("user", asked), _message("assistant", "Done."))),
        "codex",
    )[1]
    assert run.fields.inputs == {"input": "Fix it."}


def test_what_a_command_printed_of_another_program_is_no_failure_of_it(tmp_path: Path) -> None:
    output = "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nthe server exited with code 1\n"
    call = _item("function_call", name="exec_command", call_id="c", arguments="{}")
    lines = [_message("user", "Look."), call, _item("function_call_output", call_id="c", output=output)]
    (run,) = kept(written(tmp_path / "r.jsonl", _rollout(PARENT, *lines, _message("assistant", "Seen."))), "codex")[1]
    assert [step.error for step in run.fields.tool_calls_log or ()] == [None]


def test_tokens_are_those_of_the_model_that_used_them(tmp_path: Path) -> None:
    changed: Json = {"type": "turn_context", "payload": {"model": "gpt-5.1-mini"}}
    lines = [
        _message("user", "Fix it."),
        _sum(100, 10),
        changed,
        _sum(130, 15),
        _sum(130, 15),
        _message("assistant", "Done."),
    ]
    (run,) = kept(written(tmp_path / "r.jsonl", _rollout(PARENT, *lines)), "codex")[1]
    used = {model: (use["inputTokens"], use["outputTokens"]) for model, use in extra(run)["usage"].items()}
    assert used == {"gpt-5.1": (100, 10), "gpt-5.1-mini": (30, 5)}
    assert run.fields.tokens_used == 145


@pytest.mark.parametrize("days", [("26", "26"), ("26", "29"), ("25", "30")])
def test_what_a_sub_agent_of_codex_did_is_nested_in_the_call_that_started_it(
    tmp_path: Path, days: tuple[str, str]
) -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}
    call = _item("function_call", name="exec_command", call_id="inner", arguments='{"cmd": "ls"}')
    nested = [
        _message("user", "Look."),
        call,
        _item("function_call_output", call_id="inner", output="a"),
        _message("assistant", "42"),
    ]
    around = [
        _message("user", "Fix it."), _item("function_call", name="spawn_agent", namespace="multi_agent_v1", call_id="s", arguments="{}"),
        _item("function_call_output", call_id="s", output=json.dumps({"agent_id": CHILD, "nickname": "Noether"})),
        _message("user", f'<subagent_notification>{{"agent_path": "{CHILD}", "status": {{"completed": "42"}}}}</subagent_notification>'),
        _message("assistant", "Done."), _sum(100, 10),
    ]  # fmt: skip
    folders = [tmp_path / "2026" / "11" / day for day in days]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    path = written(folders[0] / f"rollout-2026-11-{days[0]}T13-40-18-{PARENT}.jsonl", _rollout(PARENT, *around))
    own = _rollout(CHILD, *nested, _sum(20, 2), session_id=PARENT, source=spawned)
    alone = written(folders[1] / f"rollout-2026-11-{days[1]}T13-40-18-{CHILD}.jsonl", own)
    assert members(tmp_path)[0] == [path]
    (run,) = kept(path, "codex")[1]
    assert [(step.id, step.parent_id) for step in run.fields.tool_calls_log or ()] == [("s", None), ("inner", "s")]
    assert [step.result for step in run.fields.tool_calls_log or ()] == ["42", "a"]
    assert run.fields.tokens_used == 132
    path.unlink()
    assert members(tmp_path)[0] == [alone]
