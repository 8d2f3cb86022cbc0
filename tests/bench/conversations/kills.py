"""SIGKILL of runs of conversations after a random number of calls, until every conversation has ended.

`python -m tests.bench.conversations.kills [--kills 100] [--seed 1]`: a model plays the user, another is the agent, and both are heard on
a socket. Exit 1 where a conversation does not end once, begins again, or a call is paid for twice that was not in flight at a kill.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import anyio.from_thread

from minions_evals_mcp.cli.app import main as evals_main
from tests.bench.kills import Desk, problems
from tests.shared.agent.desk import Json, record
from tests.shared.fakes.llm_server import Server, serving

TALKS = ("amber", "birch", "cedar")
TURNS = 4
FEWEST, MOST = 1, 2 * len(TALKS) * TURNS
AGENT, USER = "agent", "player"
LATEST_S = 0.02
"""A kill comes up to so long after its call was heard: before the reply, or while it is kept."""
SETUP: Json = {"player": "model", "model": f"openai:{USER}", "language": "en", "maxTurns": TURNS, "retries": 0}

Call = tuple[str, int]
"""Who was asked, and for which turn."""


@dataclass(slots=True)
class Ledger:
    """The calls of a run by conversation in their order, and what was in flight when the run was killed.

    `heard` counts all calls. At the `fatal`th the process `killed` dies.
    """

    calls: dict[str, list[Call]] = field(default_factory=dict[str, list[Call]])
    in_flight: dict[str, Call] = field(default_factory=dict[str, Call])
    said: list[str] = field(default_factory=list[str])
    heard: int = 0
    fatal: int = 0
    kill: Callable[[], None] = lambda: None

    def hear(self, talk: str, call: Call) -> None:
        """Notes the call; it must go on from the last, or repeat the one that was in flight at a kill."""
        self.heard += 1
        before = self.calls.setdefault(talk, [])
        if before and _place(call) != _place(before[-1]) + 1 and self.in_flight.pop(talk, None) != call:
            self.said.append(f"{talk}: {call} after {before[-1]}")
        before.append(call)
        if self.heard == self.fatal:
            self.kill()

    def killed(self) -> None:
        """Each conversation's last call may have been unanswered, or not kept yet."""
        self.in_flight = {talk: calls[-1] for talk, calls in self.calls.items()}


def _place(call: Call) -> int:
    """The place of a call in its conversation: the user opens each turn."""
    who, turn = call
    return 2 * turn + (who == AGENT)


class TalkDesk(Desk):
    """A store with a benchmark of conversations, and runs of it that are killed."""

    def __init__(self, folder: Path, seed: int, server: Server) -> None:
        super().__init__(folder, seed)
        self.draw = random.Random(seed)  # noqa: S311  chooses moments, guards nothing
        self._server = server
        self.ledger = Ledger()
        server.says = self._reply

    def prepare(self) -> None:
        """The conversations, each known by the word that its user and its agent say."""
        cases = [
            record(
                talk, "test-case", name=talk, conversation={**SETUP, "goal": f"Talk about {talk}"},
                assertions=[{"type": "contains", "value": talk}],
            )
            for talk in TALKS
        ]  # fmt: skip
        self.done(evals_main, "import", self._suite([*cases, record("b", "benchmark", name="B", testCaseIds=[*TALKS])]))

    def _reply(self, request: Json) -> str:
        messages = cast("list[Json]", request["messages"])
        text = json.dumps(messages)
        talk = next(talk for talk in TALKS if talk in text)
        who = str(request["model"])
        turn = sum(message["role"] == "assistant" for message in messages) + 1
        self.ledger.hear(talk, (who, turn))
        return f"Wish number {turn} about {talk}, please." if who == USER else f"Answer {turn} about {talk} is here."

    def one_run(self, number: int, kills: int) -> tuple[int, list[str]]:
        """A run that is killed up to that often and then brought to its end; how often, and what was wrong."""
        arguments = (
            "run-benchmark", "b", "--target", f"openai:{AGENT}", "--key", f"run{number}", "--json",
        )  # fmt: skip
        self.ledger, done = Ledger(), 0
        while done < kills and self._killed(arguments):
            done += 1
        self.ledger.fatal = 0
        out = self.done(evals_main, *arguments)
        return done, [*self.ledger.said, *self._ended(number, out), *problems(self)]

    def _killed(self, arguments: tuple[str, ...]) -> bool:
        ledger = self.ledger
        ledger.fatal = ledger.heard + self.draw.randint(FEWEST, 5)
        after = self.draw.choice((0, self.draw.uniform(0, LATEST_S)))
        process = self._started(evals_main, arguments, self.db.with_name("killed.txt"))

        later = threading.Timer(after, os.kill, (process, signal.SIGKILL))
        ledger.kill = later.start if after else partial(os.kill, process, signal.SIGKILL)
        was_killed = os.WIFSIGNALED(os.waitpid(process, 0)[1])
        later.cancel()
        if was_killed:
            ledger.killed()
        return was_killed

    def _ended(self, number: int, out: str) -> Iterator[str]:
        """What the store holds of the run in place of each conversation once, whole."""
        job = f"(SELECT id FROM job WHERE key = 'run{number}')"
        units = self.rows(f"SELECT case_id, outcome FROM unit WHERE job_id = {job} ORDER BY case_id")
        if units != [(talk, "scored") for talk in TALKS]:
            yield f"run {number}: {units} {out[:300]}"
        talks = self.rows(
            "SELECT case_id, attempt, ended, json_array_length(said, '$.turns'), said ->> '$.playerCost.calls' FROM talk"
            f" WHERE job_id = {job} ORDER BY case_id"
        )
        if [row[:4] for row in talks] != [(talk, 1, "max-turns", TURNS) for talk in TALKS]:
            yield f"run {number}: {talks}"
        for talk in TALKS:
            if set(self.ledger.calls.get(talk, ())) != {
                (who, turn) for who in (AGENT, USER) for turn in range(1, TURNS + 1)
            }:
                yield f"run {number}: {talk} lacks calls: {self.ledger.calls.get(talk)}"


@contextmanager
def heard() -> Generator[Server]:
    """The fake model, which answers in a thread of its own."""
    with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(serving()) as server:
        os.environ["OPENAI_API_KEY"] = "none"  # noqa: TID251  the forked commands' own
        os.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"  # noqa: TID251  as above
        yield server


def study(kills: int, seed: int) -> tuple[int, int, list[str]]:
    """That many kills: of how many runs, how many calls were made, and what was wrong."""
    wrong: list[str] = []
    done = number = calls = 0
    with tempfile.TemporaryDirectory() as folder, heard() as server:
        desk = TalkDesk(Path(folder), seed, server)
        desk.prepare()
        while done < kills:
            killed, said = desk.one_run(number, min(kills - done, 6))
            done, number, wrong = done + killed, number + 1, wrong + said
            calls += desk.ledger.heard
    return number, calls, wrong


def main() -> None:
    """Kills, and says what it found."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--kills", type=int, default=100)
    wanted.add_argument("--seed", type=int, default=1)
    options = wanted.parse_args()
    began = time.monotonic()
    runs, calls, wrong = study(options.kills, options.seed)
    least = runs * MOST
    sys.stdout.write(
        f"{options.kills} kills of {runs} runs of {len(TALKS)} conversations: {calls} calls heard, {least} needed,"
        f" {len(wrong)} wrong; {time.monotonic() - began:.0f} s\n"
    )
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
