"""One sender's messages take effect in the order sent, also where the daemon is killed at random moments."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.messages.send_message import Letter, send_message
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.agent.desk import Desk, Json, record

SENDERS, MESSAGES, KILLS = 5, 200, 6
LONGEST_LIFE_S = 0.6
MOST_BRANCHES = 5


@dataclass
class Sender:
    """Somebody who makes cases and branches, changes them, and asks what there is; `told` is what each answer must be."""

    name: str
    draw: random.Random
    cases: dict[str, str] = field(default_factory=dict[str, str])
    branches: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    told: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    sent: int = 0

    def next(self) -> Letter:
        """The next message, whose effect is noted here."""
        self.sent += 1
        ident = f"{self.name}-{self.sent}"
        kinds = [self.made, *([self.changed, self.branched, self.asked, self.asked_branches] if self.cases else [])]
        kind, payload = self.draw.choice(kinds)(ident)
        return Letter(type=kind, payload=payload, id=ident, from_agent_id=self.name)

    def made(self, ident: str) -> tuple[str, Json]:
        case = f"{self.name}/c{self.sent}"
        self.cases[case], self.branches[case] = f"made by {ident}", {}
        given: Json = {"promptId": self.name, "name": self.cases[case], "input": {"q": case}, "testCaseId": case}
        return "create-test-case", {**given, "expectedOutput": "green"}

    def changed(self, ident: str) -> tuple[str, Json]:
        case = self.draw.choice([*self.cases])
        self.cases[case] = f"changed by {ident}"
        return "update-test-case", {"testCaseId": case, "name": self.cases[case]}

    def branched(self, ident: str) -> tuple[str, Json]:
        case = self.draw.choice([*self.cases])
        of_case = self.branches[case]
        if of_case and (len(of_case) == MOST_BRANCHES or self.draw.random() < 0.6):
            branch = self.draw.choice([*of_case])
            if self.draw.random() < 0.3:
                del of_case[branch]
                return "delete-test-branch", {"branchId": branch}
            of_case[branch] = f"changed by {ident}"
            return "update-test-branch", {"branchId": branch, "name": of_case[branch]}
        branch = f"{case}/b{self.sent}"
        of_case[branch] = f"made by {ident}"
        given: Json = {"testCaseId": case, "branchId": branch, "name": of_case[branch]}
        return "create-test-branch", {**given, "provider": "openai", "model": "gpt-4o"}

    def asked(self, ident: str) -> tuple[str, Json]:
        self.told[ident] = sorted(f"{case}: {name}" for case, name in self.cases.items())
        return "get-test-cases", {"promptId": self.name}

    def asked_branches(self, ident: str) -> tuple[str, Json]:
        case = self.draw.choice([*self.cases])
        self.told[ident] = sorted(f"{branch}: {name}" for branch, name in self.branches[case].items())
        return "get-test-branches", {"testCaseId": case}


async def _send(db: Path, letters: list[Letter]) -> None:
    async with open_engine(EngineConfig(db, shipped_folder("skills"))) as engine:
        for letter in letters:
            await send_message(engine, letter)


def _killed(desk: Desk, after_s: float) -> None:
    with desk.running("--retry-seconds", "0.05") as process:
        assert process.stderr is not None
        assert b"agent-started" in process.stderr.readline()
        time.sleep(after_s)  # the moment is random on purpose
        process.send_signal(signal.SIGKILL)
        process.communicate()


def _names(result: Json) -> list[str]:
    rows = result.get("testCases", result.get("branches"))
    assert isinstance(rows, list)
    named: list[str] = []
    for row in rows:
        assert isinstance(row, dict)
        fields = row.get("fields", row)
        assert isinstance(fields, dict)
        named.append(f"{row['id']}: {fields['name']}")
    return sorted(named)


def test_five_senders_see_their_messages_take_effect_in_order_though_the_daemon_is_killed(tmp_path: Path) -> None:
    draw = random.Random(45)  # noqa: S311  chooses messages and moments, guards nothing
    senders = [Sender(f"sender{number}", draw) for number in range(SENDERS)]
    turns = [sender for sender in senders for _ in range(MESSAGES)]
    draw.shuffle(turns)
    letters = [sender.next() for sender in turns]
    desk = Desk(tmp_path)
    for life in range(KILLS):
        share = letters[life * len(letters) // KILLS : (life + 1) * len(letters) // KILLS]
        anyio.run(_send, desk.db, share)
        _killed(desk, draw.uniform(0, LONGEST_LIFE_S))
    desk.drained()
    assert desk.rows("SELECT type, id, reason FROM inbox WHERE state <> 'done'") == []
    for sender in senders:
        for ident, names in sender.told.items():
            assert _names(desk.result(ident)) == names, ident
        assert (
            dict(
                desk.rows(
                    "SELECT id, fields ->> '$.name' FROM minion WHERE type = 'test-case' AND id GLOB ?",
                    f"{sender.name}/*",
                )
            )
            == sender.cases
        )
    assert desk.sound()


@pytest.mark.parametrize("sender", ["anna", None])
def test_what_a_message_makes_is_there_for_the_next_ones_of_its_sender(tmp_path: Path, sender: str | None) -> None:
    desk = Desk(tmp_path)
    desk.imported(record("a", "agent-run", agentId="x", inputs={"q": "c"}, outputs={"output": "green"}))
    case: Json = {"promptId": "p", "name": "c", "input": {"q": "c"}, "expectedOutput": "green", "testCaseId": "c"}
    branch: Json = {"testCaseId": "c", "branchId": "b", "name": "b", "provider": "openai", "model": "m"}
    steps: list[tuple[str, Json]] = [
        ("create-test-case", case),
        ("batch-run-tests", {"promptId": "p"}),
        ("get-test-case-stats", {"testCaseId": "c"}),
        ("create-test-branch", branch),
        ("update-test-branch", {"branchId": "b", "name": "renamed"}),
        ("delete-test-case", {"testCaseId": "c"}),
    ]
    sent: list[Json] = []
    for number, (kind, payload) in enumerate(steps):
        who: dict[str, JsonValue] = {} if sender is None else {"fromAgentId": sender}
        sent.append({"id": f"m{number}", "type": kind, "payload": payload, **who})
    desk.drained(*sent)
    assert desk.rows("SELECT id, reason FROM inbox WHERE state <> 'done'") == []
    batch = desk.result("m1")["executions"]
    assert isinstance(batch, list)
    assert [one["passed"] for one in batch if isinstance(one, dict)] == [True]
    assert desk.result("m2")["totalRuns"] == 1
    assert desk.rows("SELECT fields ->> '$.name' FROM minion WHERE id = 'b'") == [("renamed",)]
