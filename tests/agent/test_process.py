"""The daemon as a process: where messages come from, how it is stopped, and what its commands say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from minions_evals_mcp.shipped import shipped_folder
from tests.bench.daemon.agent import resident_mb
from tests.hang import HANG_S
from tests.shared.agent.desk import AGENT, DAEMON, EVALS, Desk, Json
from tests.shared.agent.story import answer, case, rubrics
from tests.shared.agent.waiting import until
from tests.shared.bench.process import serving
from tests.shared.cli.standby import Asked
from tests.shared.cli.terminal import shown_on_terminal


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A store with one case and a right answer to it."""
    desk = Desk(tmp_path)
    desk.imported(*rubrics(), case("c"), answer("a", "c", "good"))
    return desk


RUN: Json = {"type": "run-test-case", "payload": {"testCaseId": "c"}}


def put(path: Path, text: str) -> None:
    """The file is there, whole, and old enough to be judged."""
    path.write_text(text, "utf-8")
    before = time.time() - 60
    os.utime(path, (before, before))


def test_the_log_is_read_by_people_on_a_terminal_and_by_programs_elsewhere(desk: Desk) -> None:
    told = desk.drained({**RUN, "id": "m"}, options=("--deliver-to", "told"))
    events = [json.loads(line) for line in told.err.splitlines()]
    assert (events[0]["event"], events[0]["delivers_to"]) == ("agent-started", str(desk.folder / "told"))
    assert (desk.folder / "told").is_dir()  # though nobody was told anything
    refused = desk.ran(AGENT, "drain", "--deliver-to", "evals.db")
    assert (refused.code, "evals.db: cannot create a folder there" in refused.err) == (2, True)
    shown = on_terminal(desk, "drain", "--deliver-to", "more")
    assert "[info] agent-started db=" in shown
    assert f" delivers_to={desk.folder / 'more'}\r\n" in shown
    assert "{" not in shown


def on_terminal(desk: Desk, *arguments: str) -> str:
    """What the agent says on a terminal without colours."""
    environment = {**desk.environment(), "NO_COLOR": "1"}
    return shown_on_terminal(Asked([*arguments], str(desk.folder), environment, AGENT))


def test_lines_and_files_are_taken_once_and_bad_ones_kept_with_their_reason(desk: Desk) -> None:
    folder = desk.folder / "incoming"
    folder.mkdir()
    put(folder / "good.json", json.dumps({**RUN, "id": "from-file"}))
    put(folder / "bad.json", '{"type": "run-test-case", "payload": {"testCase": "c"}}')
    put(folder / "torn.json", '{"type": "run-')
    lines: list[Json] = [{**RUN, "id": "from-line"}, {"type": "run-test-case", "payload": {}}, {"type": "sing"}]
    text = "".join(json.dumps(one) + "\n" for one in lines) + "no JSON\n\n"
    told = desk.ran(AGENT, "drain", "--stdin", "--watch", "incoming", stdin=text)
    assert told.code == 0, told.err
    assert desk.result("from-file")["state"] == desk.result("from-line")["state"] == "completed"
    reasons = [row[0] for row in desk.rows("SELECT reason FROM inbox WHERE state = 'dead' ORDER BY seq")]
    assert [next(word for word in ("testCaseId", "sing", "JSON") if word in one) for one in reasons] == [
        "testCaseId",
        "sing",
        "JSON",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["refused"]
    assert (
        (folder / "refused" / "bad.json.reason.txt")
        .read_text()
        .startswith("message run-test-case: payload.testCase: unknown key")
    )
    assert "torn.json" in {path.name for path in (folder / "refused").iterdir()}


def test_standard_input_may_be_a_file(desk: Desk) -> None:
    lines = desk.folder / "messages.jsonl"
    lines.write_text(json.dumps({**RUN, "id": "m"}), "utf-8")
    with lines.open("rb") as file:
        done = subprocess.run(
            [*DAEMON, "drain", "--stdin"], stdin=file, env=desk.environment(), capture_output=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert desk.result("m")["state"] == "completed"


def test_a_line_without_an_end_is_one_dead_letter_and_takes_no_memory(desk: Desk) -> None:
    with desk.running("--stdin") as process:
        assert process.stderr is not None
        assert process.stdin is not None
        assert b"agent-started" in process.stderr.readline()
        before = resident_mb(process.pid)
        for _ in range(60):
            process.stdin.write(b"x" * 1_000_000)
        process.stdin.write(b"\n" + json.dumps({**RUN, "id": "m"}).encode() + b"\n")
        process.stdin.flush()
        until(lambda: desk.rows("SELECT state FROM inbox WHERE id = 'm'") == [("done",)])
        assert resident_mb(process.pid) - before < 40
    assert desk.rows("SELECT reason FROM inbox WHERE state = 'dead'") == [
        ("the message is longer than 1000000 characters.",)
    ]


def test_a_running_daemon_wakes_for_another_process_tells_its_status_and_stops_when_told(desk: Desk) -> None:
    with desk.running("--stdin", "--deliver-to", "out", "--watch", "incoming") as process:
        assert process.stderr is not None
        assert process.stdin is not None
        assert json.loads(process.stderr.readline())["event"] == "agent-started"
        receipt = json.loads(
            desk.ran(AGENT, "send", "run-test-case", "--payload", '{"testCaseId": "c"}', "--id", "m", "--json").out
        )
        assert (receipt["id"], receipt["isNew"], receipt["agentRunning"]) == ("m", True, True)
        until(lambda: desk.rows("SELECT state FROM inbox WHERE id = 'm'") == [("done",)])
        process.stdin.write(json.dumps({**RUN, "id": "line", "fromAgentId": "anna"}).encode() + b"\n")
        process.stdin.flush()
        until((desk.folder / "out" / "anna.jsonl").exists)
        (desk.folder / "incoming" / "new.tmp").write_text(json.dumps({**RUN, "id": "file"}))
        (desk.folder / "incoming" / "new.tmp").rename(desk.folder / "incoming" / "new.json")
        until(lambda: desk.rows("SELECT state FROM inbox WHERE id = 'file'") == [("done",)])
        assert desk.status()["running"] is True
        second = desk.ran(AGENT, "drain")
        assert (second.code, "already working on this store" in second.err) == (3, True)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, err
    assert json.loads(err.decode().splitlines()[-1])["event"] == "agent-stopped"
    assert desk.status()["running"] is False
    assert desk.rows("SELECT count(*) FROM lease") == [(0,)]


def test_a_criterion_for_a_model_is_judged_by_the_model_that_is_set_up(tmp_path: Path) -> None:
    with serving(0) as url:
        desk = Desk(tmp_path, {"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": url})
        tone: Json = {"rubricId": "m", "name": "tone", "description": "Is it kind?", "judgeType": "llm"}
        desk.imported(
            {"id": "m", "type": "rubric", "fields": {"name": "m", "passingThreshold": 0.5, "criteriaIds": ["m/tone"]}},
            {"id": "m/tone", "type": "rubric-criterion", "fields": tone},
            case("c", rubricId="m"), answer("a", "c", "state=resolved. Somebody looked into it and wrote to the customer."),
        )  # fmt: skip
        desk.drained({**RUN, "id": "m1"}, options=("--judge-model", "anthropic:claude-haiku-4-5-judge"))
        (judged,) = desk.rows("SELECT judged_by, judged_by_type, length(rationale) > 0 FROM eval_judgment")
    assert judged[1:] == ("llm", 1)
    assert "claude-haiku" in judged[0]
    assert desk.ran(EVALS, "db", "check").code == 0


def test_status_lists_the_skills_and_integrations_that_the_agent_was_started_with(tmp_path: Path) -> None:
    skills = tmp_path / "skills"
    shutil.copytree(shipped_folder("skills"), skills)
    (skills / "tidy-up").mkdir()
    (skills / "tidy-up" / "SKILL.md").write_text(
        "---\nname: tidy-up\ndescription: Looks around.\nmetadata:\n  triggers: benchmark-run-recorded\n---\n\nLook.\n"
    )
    (tmp_path / "integrations.yaml").write_text("tell:\n  anna: {folder: for-anna}\n  '*': {pulls: true}\n")
    desk = Desk(tmp_path, {"MINIONS_EVALS_SKILLS": str(skills)})
    desk.drained(options=("--integrations", str(tmp_path / "integrations.yaml")))
    state = desk.status()
    assert state["skills"] == [
        {"name": "tidy-up", "triggers": ["benchmark-run-recorded"], "description": "Looks around."}
    ]
    assert state["integrations"] == [
        {"name": "anna", "does": "notified by", "how": "the folder for-anna"},
        {"name": "*", "does": "notified by", "how": "its own pull"},
    ]
    told = desk.ran(AGENT, "status").out
    assert "skill tidy-up: on benchmark-run-recorded" in told
    assert "integration anna: notified by the folder for-anna" in told
    desk.drained()
    assert desk.status()["integrations"] == []
