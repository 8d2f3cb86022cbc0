"""SIGKILL at random moments of everything that writes: import, runs, comparisons with approvals, submitted judgments, the agent.

`python -m tests.bench.kills [--kills 1000] [--seed 1]`: after each kill `db check --deep`, and every row that was there is still there; at
the end all is run to its end, and every run stands once. Exit 1 where anything is lost, doubled or damaged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anyio

from agent.__main__ import main as agent_main
from minions_evals_mcp.cli.app import main as evals_main
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import open_raw
from tests.shared.agent.desk import Json, record
from tests.shared.agent.story import answer, case, measured

SIZE = 8
RESULTS = (
    "minion",
    "test_run",
    "eval_failure",
    "eval_judgment",
    "benchmark_run",
    "prompt_comparison",
    "approval",
    "outbox",
    "inbox",
)
LONGEST_S = 0.9
ON_ONE_STORE = 100
"""After so many kills a new store: the deep check after each grows with what is in it."""


@dataclass(slots=True)
class Harm:
    """What must stay empty, and how many of the kills found the command at work."""

    said: list[str]
    at_work: int = 0


class Desk:
    """A folder with a store, on which commands are forked from this process, for starting Python anew would cost most of the time."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.db = folder / "evals.db"
        self._folder = folder
        self._draw = random.Random(seed)  # noqa: S311  chooses moments, guards nothing
        self._number = 0
        self._keys: set[str] = set()
        self._token = ""

    def prepare(self) -> None:
        """The suite on which all work: a benchmark under two versions, the second better, and one that the caller judges."""
        versions = [
            record(f"p@{n}", "prompt-version", content=f"Say {n}", versionNumber=n, promptId="p") for n in (1, 2)
        ]
        words = "[{type: icontains, value: good}]"
        rubrics = [
            record("r", "rubric", name="r", passingThreshold=0.5, criteriaIds=["r/word"]),
            record("r/word", "rubric-criterion", rubricId="r", name="word", judgeType="llm", scoringGuide=words),
        ]
        self.done(
            evals_main, "import", self._suite([*versions, *rubrics, *measured("k", SIZE, {"p@1": 1, "p@2": SIZE})])
        )
        self._token = str(json.loads(self.done(evals_main, "people", "add", "ada", "--json"))["token"])

    def _suite(self, records: list[Json]) -> str:
        self._number += 1
        file = self._folder / f"suite{self._number}.json"
        file.write_text(json.dumps({"minions": records, "relations": []}))
        return str(file)

    def done(self, main: Callable[[], None], *arguments: str) -> str:
        """What the command said, once it has ended."""
        out = self._folder / "out.txt"
        os.waitpid(self._started(main, arguments, out), 0)
        return out.read_text("utf-8")

    def killed(self) -> bool:
        """Starts something that writes and kills it at a random moment; whether it was still at work."""
        main, arguments = self._draw.choice(
            (self._import, self._run, self._compare, self._approve, self._submit, self._work)
        )()
        process = self._started(main, arguments, self._folder / "killed.txt")
        time.sleep(self._draw.uniform(0.02, LONGEST_S))
        os.kill(process, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(process, 0)[1])

    def _started(self, main: Callable[[], None], arguments: tuple[str, ...], out: Path) -> int:
        with (
            warnings.catch_warnings()
        ):  # Python 3.12 and later warn: what stands by has threads of libraries, which hold no lock of ours
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            return process
        os.environ["MINIONS_EVALS_DB"] = str(self.db)  # noqa: TID251  the forked command's own
        os.environ["MINIONS_EVALS_PERSON_TOKEN"] = self._token  # noqa: TID251  as above
        os.chdir(self._folder)
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.argv = ["minions", *arguments]
        try:
            main()
            sys.stdout.flush()
        finally:
            os._exit(0)

    def _import(self) -> tuple[Callable[[], None], tuple[str, ...]]:
        names = [f"new{self._number}.{number}" for number in range(20)]
        records = [one for name in names for one in (case(name), answer(f"said/{name}", name, "good"))]
        return evals_main, ("import", self._suite(records))

    def _run(self) -> tuple[Callable[[], None], tuple[str, ...]]:
        version = self._draw.choice(("p@1", "p@2"))
        return evals_main, (
            "run-benchmark",
            "k",
            "--prompt-version",
            version,
            "--judge",
            "heuristic",
            "--key",
            self._key(),
        )

    def _compare(self) -> tuple[Callable[[], None], tuple[str, ...]]:
        return evals_main, (
            "compare",
            "k",
            "--from",
            "p@1",
            "--to",
            "p@2",
            "--judge",
            "heuristic",
            "--key",
            "c" + self._key(),
        )

    def _approve(self) -> tuple[Callable[[], None], tuple[str, ...]]:
        """A decision of a person, who refuses the version as often as she asks for its approval."""
        decision = self._draw.choice(((), ("--refuse",)))
        return evals_main, ("approve", "p@2", "--by", "ada", "--reason", "tried", *decision)

    def _submit(self) -> tuple[Callable[[], None], tuple[str, ...]]:
        """Judgments for the packets of a run that the caller judges."""
        key = "asked" + self._key()
        told = self.done(
            evals_main, "run-benchmark", "k", "--prompt-version", "p@1", "--judge", "caller", "--key", key, "--json"
        )
        run = json.loads(told)
        packets = json.loads(self.done(evals_main, "runs", run["runId"], "--json")).get("packets", [])
        given = [{"criterionId": "r/word", "score": 1.0, "rationale": "It is good."}]
        asked = {
            "runId": run["runId"],
            "judgedBy": "caller",
            "packets": [{"digest": one["digest"], "judgments": given} for one in packets],
        }
        file = self._folder / "judgments.json"
        file.write_text(json.dumps(asked))
        return evals_main, ("submit", str(file))

    def _work(self) -> tuple[Callable[[], None], tuple[str, ...]]:
        """The agent, with a message to do; a killed one left others."""
        wanted = {"benchmarkId": "k", "promptVersionRef": "p@1", "fresh": True}
        self.done(agent_main, "send", "run-benchmark", "--payload", json.dumps(wanted))
        return agent_main, ("drain",)

    def _key(self) -> str:
        """Often a key that was used before, so that a killed run is resumed."""
        key = f"key{self._draw.randrange(40)}"
        self._keys.add(key)
        return key

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a query."""
        with closing(open_raw(self.db, read_only=True)) as db:
            return db.execute(sql).fetchall()

    def ids(self) -> set[tuple[object, ...]]:
        """Every result that is there."""
        return {(table, *row) for table in RESULTS for row in self.rows(f"SELECT id FROM {table}")}

    def ended(self) -> None:
        """Everything is run to its end."""
        for key in sorted(self._keys):
            self.done(
                evals_main,
                "run-benchmark",
                "k",
                "--prompt-version",
                "p@1",
                "--judge",
                "heuristic",
                "--key",
                key,
            )
        self.done(agent_main, "drain")


def problems(desk: Desk) -> tuple[str, ...]:
    """What the deep check finds."""

    async def checked() -> tuple[str, ...]:
        return (await check_store(desk.db, deep=True)).problems

    return anyio.run(checked)


def harmed(desk: Desk, kills: int) -> Harm:
    """Kills that often, looking after each."""
    harm, before = Harm([]), desk.ids()
    for number in range(kills):
        harm.at_work += desk.killed()
        now = desk.ids()
        harm.said.extend(f"kill {number}: {problem}" for problem in problems(desk))
        harm.said.extend(f"kill {number}: {row} is gone" for row in before - now)
        before = now
    desk.ended()
    harm.said.extend(problems(desk))
    harm.said.extend(f"gone at the end: {row}" for row in before - desk.ids())
    twice = "SELECT job_id, position, trial FROM unit WHERE test_run_id IS NOT NULL GROUP BY 1, 2, 3 HAVING count(DISTINCT test_run_id) > 1"
    harm.said.extend(f"judged twice: {row}" for row in desk.rows(twice))
    short = f"SELECT id FROM benchmark_run WHERE total_count <> {SIZE}"
    harm.said.extend(f"not all cases: {row}" for row in desk.rows(short))
    left = desk.rows("SELECT id FROM inbox WHERE state <> 'done'")
    harm.said.extend(f"not done: {row}" for row in left)
    return harm


def main() -> None:
    """Kills, and says what it found."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--kills", type=int, default=1000)
    wanted.add_argument("--seed", type=int, default=1)
    options = wanted.parse_args()
    at_work, harm = 0, list[str]()
    for number, first in enumerate(range(0, options.kills, ON_ONE_STORE)):
        kills = min(ON_ONE_STORE, options.kills - first)
        found, counted = _on_a_store(kills, options.seed + number)
        sys.stdout.write(f"store {number}: {kills} kills, {found.at_work} of them at work; {counted}\n")
        sys.stdout.flush()
        at_work += found.at_work
        harm += [f"store {number}: {said}" for said in found.said]
    sys.stdout.write(f"{options.kills} kills, {at_work} of them at work, {len(harm)} harmed\n")
    sys.exit("\n".join(harm) if harm else 0)


def _on_a_store(kills: int, seed: int) -> tuple[Harm, str]:
    """What that many kills did to a new store, and what is in it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder), seed)
        desk.prepare()
        found = harmed(desk, kills)
        return found, ", ".join(f"{desk.rows(f'SELECT count(*) FROM {table}')[0][0]} {table}" for table in RESULTS)


if __name__ == "__main__":
    main()
