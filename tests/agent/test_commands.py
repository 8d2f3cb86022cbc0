"""What send, status and retry say, and how they refuse."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import anyio
import pytest

from agent.__main__ import app
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.engine.people.judge_queue import hand_in, next_question
from minions_evals_mcp.errors import (
    BadInputError,
    ConflictError,
    EvalsError,
    InvalidRecordError,
    NotFoundError,
    StoreError,
)
from minions_evals_mcp.judges.packets import GivenJudgment
from minions_evals_mcp.messages.send_message import keep_unreadable
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store.agent import inbox, lease
from minions_evals_mcp.store.agent.inbox import Arriving
from tests.shared.agent.inside import drained
from tests.workshop import answer, benchmark, case, config_in, rubric, save


class Commands:
    """The command line on a store of its own."""

    def __init__(self, folder: Path, printed: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.printed = printed

    def said(self, *arguments: str) -> str:
        """What the command prints."""
        app(
            [*arguments, "--db", str(self.folder / "evals.db")], result_action="return_value", exit_on_error=False,
            print_error=False,
        )  # fmt: skip
        return self.printed.readouterr().out

    def drained(self, *records: Record[Fields]) -> None:
        """The records are saved, and everything is done."""

        async def work() -> None:
            async with open_engine(config_in(self.folder)) as engine:
                await save(engine, *records)
                await drained(engine)

        anyio.run(work)

    def put(self, *arriving: Arriving) -> None:
        """The messages are in the inbox."""

        async def work() -> None:
            async with open_engine(config_in(self.folder)) as engine:
                for message in arriving:
                    await engine.store.write(partial(inbox.put, arriving=message, at=engine.clock()))

        anyio.run(work)

    def unreadable(self, text: str) -> str:
        """The id under which a text that is no message lies."""

        async def work() -> str:
            async with open_engine(config_in(self.folder)) as engine:
                return await keep_unreadable(engine, text, "not JSON", source="stdin")

        return anyio.run(work)

    def judged(self) -> None:
        """Anna, a person, judges the one output that waits."""

        async def work() -> None:
            async with open_engine(config_in(self.folder)) as engine:
                waiting = (await next_question(engine)).question
                assert waiting is not None
                given = GivenJudgment(criterion_id="kind/tone", score=1, rationale="It is kind.")
                await hand_in(engine, waiting.run_id, waiting.digest, [given], by=person("anna"))

        anyio.run(work)


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path, capsys)


def test_what_the_agent_puts_to_itself_is_counted_apart(commands: Commands) -> None:
    commands.put(Arriving("m", "run-test-case", "c", None, {}), Arriving("event:1", "test-run-recorded", "c", None, {}))
    behind = json.loads(commands.said("status", "--json"))
    assert (behind["messages"]["pending"], behind["sent"]["pending"]) == (2, 1)
    shown = commands.said("status")
    assert "messages: 1 pending, 0 done, 0 dead;" in shown
    assert "internal messages (events and schedules): 1 pending, 0 done, 0 dead" in shown
    assert shown.count("has waited") == 2


def test_the_wait_stands_behind_the_count_that_holds_who_waits(commands: Commands) -> None:
    commands.put(Arriving("event:1", "test-run-recorded", "c", None, {}))
    sent, own = (line for line in commands.said("status").splitlines() if "messages" in line)
    assert ("has waited" in sent, "has waited" in own) == (False, True)


def test_a_message_is_sent_seen_dead_and_retried(commands: Commands) -> None:
    payload = commands.folder / "payload.json"
    payload.write_text('{"testCaseId": "c"}')
    sent = ("send", "run-test-case", "--payload", f"@{payload}", "--id", "m", "--from", "anna")
    assert commands.said(*sent) == "m: pending; no agent is running: minions-eval-agent run\n"
    assert commands.said(*sent).startswith("m: pending (it was sent before)")
    commands.drained()
    shown = commands.said("status")
    assert "agent: not running" in shown
    assert "messages: 0 pending, 0 done, 1 dead" in shown
    assert "to anna: 1 wait" in shown
    assert "dead: m (run-test-case): no test-case with the id 'c'." in shown
    assert commands.said("retry", "m") == "m: the message is pending again\n"
    behind = json.loads(commands.said("status", "--json"))
    assert (behind["messages"]["pending"], behind["running"], behind["deadLetters"]) == (1, False, [])
    commands.drained(case("c", expectedOutputs={"output": "good"}), answer("a", "c", "good"))
    assert json.loads(commands.said("status", "--json"))["messages"] == {"pending": 0, "done": 1, "dead": 0}
    with pytest.raises(ConflictError, match="is done, not dead"):
        commands.said("retry", "m")


def test_a_message_is_shown_whole_by_the_beginning_of_its_id_or_as_the_latest(commands: Commands) -> None:
    commands.said("send", "run-test-case", "--payload", '{"testCaseId": "c"}', "--id", "message-1", "--from", "anna")
    commands.drained()
    shown = commands.said("show", "messag")
    assert "message message-1 (run-test-case) from anna, sent " in shown
    assert ": dead after 1 failed try\nwhy: no test-case with the id 'c'." in shown
    assert '"testCaseId": "c"' in shown
    assert "notified anna: run-test-case-failed: pending  reply:" in shown
    assert shown.endswith("after the fix: minions-eval-agent retry message-1\n")
    assert commands.said("show", "latest") == shown  # not what the agent puts to itself
    delivery = json.loads(commands.said("show", "latest", "--json"))["told"][0]["id"]
    assert "agent-message reply:" in commands.said("show", delivery)
    with pytest.raises(ConflictError, match="is pending, not refused"):
        commands.said("retry", delivery)
    commands.said("send", "detect-trend", "--payload", '{"benchmarkId": "b"}', "--id", "message-2")
    with pytest.raises(BadInputError, match="is the beginning of several ids: message-2, message-1"):
        commands.said("show", "message")
    unreadable = commands.unreadable("{")
    both = "retry ID; send unreadable ones again, corrected; to drop it: minions-eval-agent dismiss ID --reason WHY"
    assert both in commands.said("status")
    assert commands.said("retry", "latest") == "message-1: the message is pending again\n"
    assert f"show ID; {both[10:]}\n" in commands.said("status"), unreadable
    with pytest.raises(ConflictError, match="no dead letter or refused delivery"):
        commands.said("retry", "latest")
    commands.drained(case("c", expectedOutputs={"output": "good"}), answer("a", "c", "good"))
    run = json.loads(commands.said("show", "message-1", "--json"))["result"]["runId"]
    assert commands.said("show", "message-1").endswith(f"the run: minions-evals runs {run}\n")
    commands.said("send", "agent-run-completed", "--payload", '{"agentRunId": "a2"}')
    commands.drained(answer("a2", "nobody asks this", "good"))
    assert "has exactly its inputs (keys: q; `minions-evals show a2`): save one" in commands.said("show", "latest")
    with pytest.raises(NotFoundError, match="no message or delivery with the id 'nothing'"):
        commands.said("show", "nothing")


def test_a_dead_letter_is_dismissed_with_a_reason_and_can_be_tried_again_all_the_same(commands: Commands) -> None:
    commands.said("send", "run-test-case", "--payload", '{"testCaseId": "c"}', "--id", "message-1")
    commands.drained()
    with pytest.raises(BadInputError, match="the reason is empty"):
        commands.said("dismiss", "message-1", "--reason", " ")
    dismissed = commands.said("dismiss", "messag", "--reason", "the case was deleted")
    assert dismissed == "message-1: the message is dismissed\n"
    state = json.loads(commands.said("status", "--json"))
    assert (state["deadLetters"], state["messages"]["dead"]) == ([], 0)
    assert state["dismissed"] == [{"id": "message-1", "reason": "the case was deleted"}]
    assert "dismissed: message-1: the case was deleted" in commands.said("status")
    assert commands.said("retry", "message-1") == "message-1: the message is pending again\n"
    assert json.loads(commands.said("status", "--json"))["dismissed"] == []
    with pytest.raises(ConflictError, match="is pending"):
        commands.said("dismiss", "message-1", "--reason", "because")
    with pytest.raises(NotFoundError, match="with the id 'nothing'"):
        commands.said("dismiss", "nothing", "--reason", "because")


def test_status_lists_schedules_with_their_next_and_missed_times(commands: Commands) -> None:
    hours = 3

    async def stopped_for_hours(*, before: int) -> None:
        async with open_engine(config_in(commands.folder)) as engine:
            if not before:
                hourly, yearly = ({"schedule": when} for when in ("0 * * * *", "0 0 1 1 *"))
                await save(engine, case("c"), benchmark("hourly", "c", **hourly), benchmark("yearly", "c", **yearly))
            else:
                at = to_millis(engine.clock()) - before * 3_600_000
                await engine.store.write(partial(lease.advance, name="schedules", to=at))

    anyio.run(partial(stopped_for_hours, before=0))
    first, second = json.loads(commands.said("status", "--json"))["schedules"]
    assert (first["benchmarkId"], second["benchmarkId"]) == ("hourly", "yearly")
    assert first["nextAt"] < second["nextAt"]
    assert first["missed"] == second["missed"] == 0, "no agent has looked yet"
    anyio.run(partial(stopped_for_hours, before=hours))
    first, second = json.loads(commands.said("status", "--json"))["schedules"]
    assert (first["missed"], len(first["missedAt"]), second["missed"]) == (hours, hours, 0)
    assert first["missedAt"] == sorted(first["missedAt"], reverse=True)
    assert f"missed {hours} times, the last at {first['missedAt'][0]}" in commands.said("status")


def test_status_says_which_skill_file_keeps_the_agent_from_starting(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.drained()
    skills = commands.folder / "skills"
    shutil.copytree(shipped_folder("skills"), skills)
    monkeypatch.setenv("MINIONS_EVALS_SKILLS", str(skills))
    assert json.loads(commands.said("status", "--json"))["skillsRefused"] == ""
    own = skills / "tidy-up" / "SKILL.md"
    own.parent.mkdir()
    own.write_text("---\nname: tidy-up\ndescription: Looks.\nmetadata:\n  triggers: full-moon\x1b[2J\n---\n\nLook.\n")
    assert str(own) in json.loads(commands.said("status", "--json"))["skillsRefused"]
    told = commands.said("status")
    assert f"SKILLS REFUSED: {own}" in told
    assert "It cannot start until the file is right." in told
    assert "\x1b" not in told


def test_what_was_asked_of_people_is_told_with_the_message(commands: Commands) -> None:
    asked = case("c", rubricId="kind"), answer("a", "c", "good")
    commands.drained(*rubric("kind", 0.7, tone={"judgeType": "human"}), *asked)
    commands.said("send", "run-test-case", "--payload", '{"testCaseId": "c"}', "--from", "anna")
    commands.drained()
    told = json.loads(commands.said("show", "latest", "--json"))["told"]
    assert [(one["addressee"], one["type"]) for one in told] == [
        ("people", "approval-request"),
        ("anna", "agent-message"),
    ]
    commands.judged()
    last = json.loads(commands.said("show", "latest", "--json"))["told"][-1]
    assert (last["addressee"], last["fields"]["payload"]["result"]["state"]) == ("anna", "completed")


def test_what_will_stop_a_message_is_said_when_it_is_sent(commands: Commands) -> None:
    commands.drained(case("refund", expectedOutputs={"output": "good"}), answer("a", "refund", "good"))

    def warned(kind: str, **payload: str) -> list[str]:
        sent = json.loads(commands.said("send", kind, "--payload", json.dumps(payload), "--json"))
        assert sent["state"] == "pending"  # what it names may come before its turn
        return sent["warnings"]

    assert warned("run-test-case", testCaseId="refund") == warned("agent-run-completed", agentRunId="a") == []
    assert warned("create-test-case", promptId="p", name="n", input="i", testCaseId="new") == []
    late = "The agent refuses it unless that exists when it handles the message."
    assert warned("run-test-case", testCaseId="refnd") == [
        f"no test-case with the id 'refnd'; did you mean 'refund'? {late}"
    ]
    assert warned("classify-failure", runId="gone") == [f"no run with the id 'gone'. {late}"]
    assert warned("compare-prompts", benchmarkId="b", promptVersionA="1", promptVersionB="p@2") == [
        f"no benchmark with the id 'b'. {late}", f"no prompt-version with the id 'p@2'. {late}"
    ]  # fmt: skip
    (instruction,) = warned("instruction", text="Look after the trends.")
    assert "none is configured" in instruction


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("send", "run-test-case", "--payload", "{"), BadInputError, "not JSON"),
        (("send", "run-test-case", "--payload", "[]"), BadInputError, "payload: "),
        (("send", "run-test-case", "--payload", "@nowhere"), BadInputError, "No such file"),
        (("send", "run-test-case"), InvalidRecordError, "payload.testCaseId: is missing"),
        (
            (
                "send",
                "agent-run-completed",
                "--payload",
                '{"agentRun": {"type": "agent-run", "fields": {"inputs": 3}}}',
            ),
            InvalidRecordError,
            "payload.agentRun: agent-run",
        ),
        (("send", "sing"), BadInputError, "unknown message type 'sing'"),
        (("status",), StoreError, "cannot be used"),
        (("drain", "--workers", "0"), BadInputError, "out of range"),
        (
            ("run", "--otlp-rubric", "r", "--otlp-rate", "0.5"),
            BadInputError,
            "--otlp-rate and --otlp-rubric need --otlp",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    commands: Commands, arguments: tuple[str, ...], error: type[EvalsError], said: str
) -> None:
    with pytest.raises(error) as caught:
        commands.said(*arguments)
    assert said in str(caught.value)
