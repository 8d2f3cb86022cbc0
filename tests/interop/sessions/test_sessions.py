"""Sessions of coding agents: what was asked, called, edited, used and answered is what the session's plan says."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from minions_evals_mcp.cli.keep.log_imports import members
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.session_log import UNENDED
from minions_evals_mcp.interop.log_formats.table import matching, sniff
from minions_evals_mcp.interop.logs.sample import SkippedSample
from minions_evals_mcp.sessions.leaked_secrets import without_secrets
from minions_evals_mcp.store.connection import open_raw
from tests.shared.interop.makers import Json, extra, kept, read, written
from tests.shared.interop.session_shapes import (
    SHAPES,
    WITHOUT_PROMPT,
    Plan,
    claude_session,
    claude_stream,
    codex_rollout,
    opencode_export,
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


def test_a_gemini_session_that_goes_on_keeps_what_came_before(tmp_path: Path) -> None:
    """As Gemini CLI writes it with `--resume`: the past again, under the same ids, without calls, tokens and times."""

    def head(day: int) -> Json:
        return {"sessionId": "s", "projectHash": "h", "startTime": f"2026-11-{day}T10:00:00Z", "kind": "main"}

    def answered(ident: str, call: str, day: int) -> Json:
        return {
            "id": ident, "timestamp": f"2026-11-{day}T10:00:01Z", "type": "gemini", "content": "", "model": "gemini-2.5-pro",
            "tokens": {"input": 100, "output": 10, "cached": 0, "thoughts": 0, "tool": 0, "total": 110},
            "toolCalls": [{"id": call, "name": "read_file", "args": {"path": ident}, "status": "success",
                           "result": [{"functionResponse": {"response": {"output": ident}}}]}],
        }  # fmt: skip

    asked: Json = {"id": "u1", "timestamp": "2026-11-27T10:00:00Z", "type": "user", "content": [{"text": "Read it."}]}
    past: list[Json] = [
        {**asked, "timestamp": "2026-11-28T10:00:00Z"},
        {
            "id": "m1",
            "timestamp": "2026-11-28T10:00:00Z",
            "type": "gemini",
            "content": [{"functionCall": {"name": "read_file"}}],
        },
    ]
    lines = [head(27), asked, answered("m1", "read_file__1", 27), head(28), {"$set": {"messages": past}}]
    run = _run(tmp_path, "gemini-chat", [*lines, answered("m2", "read_file__1", 28)])
    assert run.fields.tokens_used == 220
    assert [step.result for step in run.fields.tool_calls_log or ()] == ["m1", "m2"]
    assert len({step.id for step in run.fields.tool_calls_log or ()}) == 2
    assert run.fields.triggered_at is not None and run.fields.triggered_at.day == 27


LEAKS = (
    ("sk-ant-api03-Zq81LmNopQrStUvWxYz0123456789", "MY_API_KEY={}\nHOME=/root"),
    ("tr0ub4dor-and-horse", "DB_PASSWORD='{}'"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "remote: {} is wrong"),
    ("p4ss,word", "postgres://admin:{}@db.local/main"),
    ("opaque0123456789abcdef", "curl -H 'Authorization: Bearer {}' https://api.test"),
    ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1", 'aws: {{"secretAccessKey": "{}"}}'),
)
PLAIN = (
    "TOKEN = os.environ['GH_TOKEN']", "export API_KEY=$OTHER_KEY1234567", "KEY=/etc/ssl/private/key1.pem", "max_tokens=12345678901234",
    "a key is short", "PRIMARY KEY (id)", "commit 16c7e42f292c6912e7710c838347ae178b4a0000", "src/task-runner-2026-version-1-long-name.py",
    'password = get_password("user1234567890")',
)  # fmt: skip


@pytest.mark.parametrize(("secret", "shown"), LEAKS)
def test_no_secret_of_a_session_is_kept(tmp_path: Path, secret: str, shown: str) -> None:
    """Neither where its name told it nor where the agent repeats it."""
    made = claude_session(plan(3))
    call = {"type": "tool_use", "id": "c-a", "name": "Bash", "input": {"command": "env"}}
    came = {"type": "tool_result", "tool_use_id": "c-a", "content": shown.format(secret)}
    last = {"type": "text", "text": f"It is {secret}, I think."}
    base = {"sessionId": "s", "timestamp": "2026-11-27T10:00:00Z"}
    made += [
        {**base, "type": "assistant", "message": {"id": "m-a", "role": "assistant", "content": [call]}},
        {**base, "type": "user", "message": {"role": "user", "content": [came]}},
        {**base, "type": "assistant", "message": {"id": "m-b", "role": "assistant", "content": [last]}},
    ]
    run = _run(tmp_path, "claude-session", made)
    assert secret not in run.fields.model_dump_json()
    assert run.fields.outputs is not None and str(run.fields.outputs["output"]).startswith("It is [secret ")


def test_what_is_no_secret_stays() -> None:
    assert without_secrets([*PLAIN]) == [*PLAIN]


def test_ids_that_a_model_counts_from_one_again_are_other_calls_and_messages(tmp_path: Path) -> None:
    base = {"sessionId": "s", "version": "2.1.0", "cwd": "/w", "timestamp": "2026-11-27T10:00:00Z", "uuid": "u"}
    lines: list[Json] = []
    for turn in range(2):
        called = [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"echo {turn}"}}]
        usage = {"input_tokens": 100, "output_tokens": 10}
        came = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": str(turn)}]
        lines += [
            {**base, "type": "user", "message": {"role": "user", "content": f"Say {turn}."}},
            {
                **base,
                "type": "assistant",
                "message": {"id": "msg_1", "model": "claude-opus-4-8", "content": called, "usage": usage},
            },
            {**base, "type": "user", "message": {"role": "user", "content": came}},
        ]
    run = _run(tmp_path, "claude-session", lines)
    assert run.fields.tokens_used == 220
    assert [step.result for step in run.fields.tool_calls_log or ()] == ["0", "1"]


def _opencode_store(path: Path, exported: list[Json], parents: dict[int, int] | None = None) -> Path:
    with closing(open_raw(path)) as db:
        db.execute("CREATE TABLE project (id)")
        db.execute(
            f"CREATE TABLE session (id, version, directory, time_created{'' if parents is None else ', parent_id'})"
        )
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for at, one in enumerate(exported):
            info = one["info"]
            info["id"] = f"ses_{at}"
            row: tuple[object, ...] = (info["id"], info["version"], info["directory"], at)
            row += () if parents is None else (f"ses_{parents[at]}" if at in parents else None,)
            db.execute(f"INSERT INTO session VALUES ({', '.join('?' * len(row))})", row)
            for place, message in enumerate(one["messages"]):
                ident = f"msg_{at}_{place:03}"
                held = (ident, info["id"], place, json.dumps(message["info"]))
                db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", held)
                for number, part in enumerate(message["parts"]):
                    part["messageID"] = ident
                    row = (f"prt_{place:03}_{number:03}", ident, info["id"], json.dumps(part))
                    db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    return path


def test_opencodes_own_database_holds_every_session_as_its_export_does(tmp_path: Path) -> None:
    exported = [opencode_export(plan(seed))[0] for seed in (1, 2)]
    path = _opencode_store(tmp_path / "opencode.db", exported)
    form = matching(sniff(path))
    assert form is not None and form.name == "opencode"
    runs = kept(path, "opencode")[1]
    alone = [kept(written(tmp_path / f"{at}.json", one), "opencode")[1][0] for at, one in enumerate(exported)]
    assert [run.fields for run in runs] == [run.fields for run in alone]
    assert len({run.id for run in runs}) == 2


def _nests(run: Record[AgentRun], around: Plan, nested: list[Plan], agent: str) -> None:
    """Asserts that the run holds the session around, with the sub-agents' calls behind its first, and the use of all."""
    steps = list(run.fields.tool_calls_log or ())
    inner = [call.ident for one in nested for call in one.calls]
    first, *others = (call.ident for call in around.calls)
    assert [step.id.rpartition("/")[2] for step in steps if step.id] == [first, *inner, *others]
    assert {step.parent_id for step in steps[1 : 1 + len(inner)]} == {first}
    assert {step.agent for step in steps[1 : 1 + len(inner)]} == {agent}
    assert not any(step.parent_id or step.agent for step in steps[1 + len(inner) :])
    assert run.fields.tokens_used == sum(one.total(place) for one in (around, *nested) for place in range(3))
    assert run.fields.outputs == {"output": around.turns[-1].answer}
    edited = [(call.path, at) for one in nested for at, call in enumerate(one.calls, 2) if call.path]
    assert set(edited) <= {(edit["path"], edit["step"]) for edit in extra(run).get("edits", [])}


def test_what_a_sub_agent_of_opencode_did_is_nested_in_the_call_that_started_it(tmp_path: Path) -> None:
    around, nested, other = plan(1), plan(5), plan(3)
    exported = [opencode_export(one)[0] for one in (around, other, nested)]
    tools = (part for message in exported[0]["messages"] for part in message["parts"] if part["type"] == "tool")
    task = next(tools)
    task["state"] = {**task["state"], "metadata": {"sessionId": "ses_2"}, "input": {"subagent_type": "general"}}
    runs = kept(_opencode_store(tmp_path / "opencode.db", exported, {2: 0}), "opencode")[1]
    assert [run.id for run in runs] == ["log:opencode/ses_0", "log:opencode/ses_1"]
    _nests(runs[0], around, [nested], "general")


@pytest.mark.parametrize("is_described", [True, False])
def test_what_a_sub_agent_of_claude_did_is_nested_in_the_call_that_started_it(
    tmp_path: Path, is_described: bool
) -> None:
    around, nested = plan(1), plan(5)
    lines = claude_session(around)
    started = around.calls[0].ident
    result = next(line for line in lines if line["type"] == "user" and "tool_result" in json.dumps(line))
    result["toolUseResult"] = {"agentId": "a7"}
    folder = tmp_path / around.ident / "subagents"
    folder.mkdir(parents=True)
    written(
        folder / "agent-a7.jsonl", [{**line, "isSidechain": True, "agentId": "a7"} for line in claude_session(nested)]
    )
    if is_described:
        del result["toolUseResult"]
        written(folder / "agent-a7.meta.json", {"toolUseId": started, "agentType": "Explore", "spawnDepth": 1})
    path = written(tmp_path / f"{around.ident}.jsonl", lines)
    (run,) = kept(path, "claude-code")[1]
    _nests(run, around, [nested], "Explore" if is_described else "sub-agent")
    assert members(tmp_path)[0] == [path]


def test_another_database_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(open_raw(path)) as db:
        db.execute("CREATE TABLE session (id)")
    assert matching(sniff(path)) is None


@pytest.mark.parametrize("name", ["claude-session", "codex-rollout", "gemini-chat"])
def test_a_line_that_is_still_being_written_is_left_for_the_next_time(tmp_path: Path, name: str) -> None:
    lines = SHAPES[name][2](plan(4))
    (tmp_path / "a").mkdir()
    path = written(tmp_path / "s.jsonl", lines)
    whole = path.read_bytes().rstrip(b"\n")
    path.write_bytes(whole[:-5])
    early, left_out = (
        kept(path, SHAPES[name][0])[1],
        [item for item in read(path, SHAPES[name][0])[1] if isinstance(item, SkippedSample)],
    )
    assert [run.fields for run in early] == [_run(tmp_path / "a", name, lines[:-1]).fields]
    assert UNENDED in [item.why for item in left_out]
    path.write_bytes(whole)
    assert [run.id for run in kept(path, SHAPES[name][0])[1]] == [run.id for run in early]


def test_a_broken_line_amid_a_session_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", claude_session(plan(4)))
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(first + b'\n{"type": \n' + rest)
    with pytest.raises(InvalidRecordError, match=r"s\.jsonl:2"):
        kept(path, "claude-code")
