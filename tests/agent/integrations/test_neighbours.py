"""The operator's file of neighbours: read whole or refused by name; what is read comes in once, or is kept with its reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs

from agent.integrations.neighbours import open_neighbours
from agent.integrations.neighbours_file import NeighboursFile, read_neighbours
from minions_evals_mcp.errors import BadInputError
from tests.hang import HANG_S
from tests.shared.agent.desk import AGENT, ROOT, Desk, Json, record
from tests.shared.agent.story import answer, case, rubrics
from tests.shared.agent.traces import agent_span, document

UNSPEAKABLE = (
    '{"id": "n", "type": "agent-run", "fields": {"agentId": "a", "outputs": {"output": NaN}}}\n'
    '{"id": "d", "type": "agent-run", "fields": {"agentId": "a", "outputs": '
    + '{"o": ' * 900
    + "1"
    + "}" * 900
    + "}}\n"
)
BAD = (
    ("tell: {people: {server: x, tool: y}}", "tell.people.server: the file has no server 'x'"),
    ("tell: {people: {foldr: x}}", "tell.people.foldr: unknown key; did you mean 'folder'?"),
    ("tell: {people: {folder: x, pulls: true}}", "give one of server with tool"),
    ("tell: {people: {server: x}}", "server and tool go together"),
    ("read: {runs: {}}", "path: give it, or server with tool"),
    ("read: {runs: {path: x, everySeconds: 0}}", "read.runs.everySeconds"),
    ("servers: {a: {url: 'ftp://x'}}", "'ftp://x' is not a web address"),
    ("servers: {a: {url: 'http://me:secret@x'}}", "contains a password"),
    ("servers: {a: {run: [x], url: 'http://x'}}", "run: give run or url"),
    ("servers: {a: {run: [x], headersFrom: {A: B}}}", "headersFrom needs a url"),
    ("servers: {a: {url: 'http://x', env: [A]}}", "need a program"),
    ("servers: {a: {run: []}}", "servers.a.run"),
    (
        "servers: {a: {run: [x]}}\ntell: {p: {server: a, tool: t, arguments: {s: [$key, $$x, {u: $fields.titel}]}}}",
        "tell.p: arguments: [$]fields.titel has no value here; did you mean .title.[?]",
    ),
    ("- a", "Input should be an object"),
    ("a: [", "no YAML"),
)


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_file_that_does_not_fit_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "neighbours.yaml"
    file.write_text(text)
    with pytest.raises(BadInputError, match=said) as caught:
        read_neighbours(file)
    assert str(file) in str(caught.value)


def test_the_file_may_be_toml(tmp_path: Path) -> None:
    file = tmp_path / "neighbours.toml"
    file.write_text('[servers.desk]\nrun = ["desk"]\nenv = ["TOKEN"]\n[tell."*"]\nserver = "desk"\ntool = "tell"\n')
    found = read_neighbours(file)
    assert (found.tell["*"].tool, found.variables()) == ("tell", ["TOKEN"])
    file.write_text("[servers")
    with pytest.raises(BadInputError, match="not TOML"):
        read_neighbours(file)
    with pytest.raises(BadInputError, match="cannot be read"):
        read_neighbours(tmp_path / "none.toml")


def told(desk: Desk, file: Json) -> Path:
    """The file of neighbours."""
    path = desk.folder / "neighbours.yaml"
    path.write_text(json.dumps(file))
    return path


def test_a_start_is_refused_where_a_variable_is_not_set(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    file = told(
        desk, {"servers": {"a": {"url": "https://example.org/mcp", "headersFrom": {"Authorization": "NO_SUCH_TOKEN"}}}}
    )
    ended = desk.ran(AGENT, "drain", "--integrations", str(file))
    assert (ended.code, "NO_SUCH_TOKEN is not set" in ended.err) == (2, True)
    assert not desk.db.exists()


def test_a_start_is_refused_where_a_program_is_not_there(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for run, folder in ("no-such-program", None), ("./desk", str(tmp_path)):
        file = told(desk, {"servers": {"a": {"run": [run], **({"folder": folder} if folder else {})}}})
        ended = desk.ran(AGENT, "drain", "--integrations", str(file))
        assert (ended.code, f"servers.a.run: program '{run}'" in ended.err) == (2, True)


async def test_a_tool_that_is_not_there_and_a_server_that_is_down_are_logged_before_anything_is_delivered(
    tmp_path: Path,
) -> None:
    (tmp_path / "desk").mkdir()
    desk: Json = {
        "run": [sys.executable, "-m", "tests.shared.agent.neighbour_server", str(tmp_path / "desk")],
        "folder": str(ROOT),
    }
    file = NeighboursFile.model_validate(
        {
            "servers": {"desk": desk, "gone": {"run": ["/no/such/program"]}},
            "tell": {"people": {"server": "desk", "tool": "tel"}, "tasks": {"server": "gone", "tool": "tell"}},
        }
    )
    with capture_logs() as logs:
        async with open_neighbours(file, secrets={}, folder=tmp_path, otherwise=lambda _: None):
            with anyio.fail_after(HANG_S):
                while len(logs) < 2:
                    await anyio.lowlevel.checkpoint()
    said = {entry["event"]: entry for entry in logs}
    assert (
        said["integration-has-no-tool"].items()
        >= {"server": "desk", "tool": "tel", "hint": "Did you mean 'tell'?"}.items()
    )
    assert said["integration-down"]["server"] == "gone"


def test_what_is_read_is_taken_in_once_and_what_cannot_be_is_kept_with_its_reason(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.imported(*rubrics(), case("c", rubricId=None, expectedOutputs={"output": "good"}))
    file = told(desk, {"read": {"runs": {"path": "runs", "everySeconds": 0.1}}, "tell": {"*": {"folder": "out"}}})
    folder = desk.folder / "runs"
    folder.mkdir()
    edited: Json = {**answer("r1", "c", "good"), "title": "another"}
    running = answer("r2", "c", "half", status="running")
    foreign = record("t1", "task", title="Mine")
    strange: Json = {"sourceId": "c", "targetId": "c", "type": "composed_of"}
    wires: list[Json] = [answer("r1", "c", "bad"), edited, running, foreign, strange]
    (folder / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in wires) + "no JSON\n" + UNSPEAKABLE)
    (folder / "trace.json").write_text(json.dumps(document(agent_span("writer", "c", "good"))))
    for _ in range(2):
        ended = desk.ran(AGENT, "drain", "--integrations", str(file))
        assert ended.code == 0, ended.err
    assert desk.rows("SELECT agent_run_id, passed FROM test_run ORDER BY passed") == [
        ("r1", 0),
        (f"otel:{'ab' * 16}/00f067aa0ba902b7", 1),
    ]
    reasons = [reason for (reason,) in desk.rows("SELECT reason FROM inbox WHERE state = 'dead' ORDER BY reason")]
    assert len(reasons) == 6, reasons
    for word in ("HR1", "no JSON", "only agent-run", "composed_of", "cannot be JSON", "nested too deeply"):
        assert any(word in reason for reason in reasons), (word, reasons)
    assert desk.rows("SELECT count(*) FROM minion WHERE id = 'r2'") == [(0,)]
    assert (folder / "a.jsonl").exists()
    assert desk.sound()


def test_an_agent_run_that_has_completed_meanwhile_is_judged_then(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.imported(case("c", rubricId=None, expectedOutputs={"output": "good"}))
    file = told(desk, {"read": {"runs": {"path": "run.json", "everySeconds": 0.1}}})
    for status, count in (("running", 0), ("success", 1)):
        (desk.folder / "run.json").write_text(json.dumps(answer("r", "c", "good", status=status)))
        assert desk.ran(AGENT, "drain", "--integrations", str(file)).code == 0
        assert desk.rows("SELECT count(*) FROM test_run") == [(count,)]
