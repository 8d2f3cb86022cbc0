"""What a cluster adds and what it loses: throughput by workers, SIGKILLs, and the coordinator's cost over many recorded outputs.

python -m tests.bench.cluster scale [--units 20000] [--workers 1,2,4] [--nap-s 0.05]
python -m tests.bench.cluster kills [--kills 100] [--units 8000] [--workers 3] [--seed 1]
python -m tests.bench.cluster recorded [--units 1000000] [--workers 2]

`scale` compares units a second, from the first result to the last, with plain run-benchmark at the same concurrency. `kills`
takes workers and coordinators away at random: no result may be lost or doubled, and only what was in flight may be called twice.
Exit 1 where something is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import sqlite3  # noqa: TID251  bare inserts are made with the standard library
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import open_raw
from tests.cluster.crowd import Crowd, crowd
from tests.cluster.napping import NAP
from tests.cluster.naps import Naps
from tests.shared.bench.process import ROOT, measured

CLI = (sys.executable, "-m", "minions_evals_mcp.cli")
AT_ONCE = 16
TARGET = "python:tests.cluster.napping:"
LONGEST_S = 0.8
OF_COORDINATOR = 0.3
"""So often it is the coordinator that is killed, not a worker."""
Row = tuple[object, ...]


def say(text: str) -> None:
    """A line of the figures, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Desk:
    """A folder with a store."""

    folder: Path
    name: str = "evals.db"
    nap_s: float = 0.05

    @property
    def db(self) -> Path:
        """The store's file."""
        return self.folder / self.name

    @property
    def environment(self) -> dict[str, str]:
        """What commands and workers see."""
        return {**os.environ, "HOME": str(self.folder), NAP: str(self.nap_s)}  # noqa: TID251  theirs

    def command(self, *arguments: str) -> list[str]:
        """One of ours on this store."""
        return [*CLI, *arguments, "--db", str(self.db), "--json"]

    def imports(self, lines: Iterator[str]) -> None:
        """Takes a suite in."""
        file = self.folder / "suite.jsonl"
        with file.open("w") as out:
            out.writelines(lines)
        measured(self.command("import", str(file)), self.environment)

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows of a query."""
        with closing(open_raw(self.db, read_only=True)) as db:
            return db.execute(sql, values).fetchall()


def suite(units: int, *, recorded: bool = False) -> Iterator[str]:
    """Cases that want the word good, judged by one rule; with outputs of about 400 characters where they are recorded."""
    guide = json.dumps([{"type": "icontains", "value": "good"}])
    criterion = {"rubricId": "r", "name": "good", "judgeType": "heuristic", "scoringGuide": guide}
    records: list[tuple[str, str, object]] = [
        ("r", "rubric", {"name": "r", "criteriaIds": ["r/good"], "passingThreshold": 0.5}),
        ("r/good", "rubric-criterion", criterion),
        ("b", "benchmark", {"name": "b", "testCaseIds": [f"c{n}" for n in range(units)]}),
    ]
    for ident, kind, fields in records:
        yield json.dumps({"id": ident, "type": kind, "fields": fields}) + "\n"
    for n in range(units):
        inputs = {"q": f"c{n}"}
        fields = {"name": f"c{n}", "inputs": inputs, "rubricId": "r"}
        yield json.dumps({"id": f"c{n}", "type": "test-case", "fields": fields}) + "\n"
        if recorded:
            said = f"Ticket {n} is {'good' if n % 5 else 'bad'}. " + "The rollers were cleaned. " * 14
            run = {"agentId": "desk", "inputs": inputs, "outputs": {"output": said}}
            yield json.dumps({"id": f"a{n}", "type": "agent-run", "fields": run}) + "\n"


# --- throughput


def scale(desk: Desk, units: int, workers: list[int]) -> None:
    """Units a second of plain run-benchmark, and of so many workers, each in a store without a run: none has more to compare with."""
    folder = desk.folder
    desk.imports(suite(units))
    run = ("run-benchmark", "b", "--target", f"{TARGET}nap", "--concurrency", str(AT_ONCE))
    plain = _per_second(_copied(desk, "plain.db"), *run, "--key", "plain")
    say(f"plain, {AT_ONCE} at once: {plain:.0f} units/s ({units} units that take {desk.nap_s * 1000:.0f} ms)")
    for count in workers:
        place = folder / f"crowd{count}"
        place.mkdir()
        with crowd(place, count, desk.environment) as there:
            rate = _per_second(_copied(desk, f"w{count}.db"), *run, "--key", f"w{count}", "--cluster", there.address)
        say(f"{count} workers: {rate:.0f} units/s, {rate / plain / count:.2f} of plain for each worker")


def _copied(desk: Desk, name: str) -> Desk:
    """The same folder with a copy of the store."""
    shutil.copy(desk.db, desk.folder / name)
    return replace(desk, name=name)


def _per_second(desk: Desk, *command: str) -> float:
    """Units a second, from the first result to the last."""
    used = measured(desk.command(*command), desk.environment)
    key = command[command.index("--key") + 1]
    ((units, first, last),) = desk.rows(
        "SELECT count(*), min(ran_at), max(ran_at) FROM test_run WHERE benchmark_run_id = (SELECT id FROM job WHERE key = ?)",
        key,
    )
    assert isinstance(units, int)
    assert isinstance(first, int)
    assert isinstance(last, int)
    say(f"  {key}: {used.wall_s:.1f} s in all, {used.cpu_s:.1f} s of CPU in this process, {used.rss_mb:.0f} MB")
    return units * 1000 / (last - first)


# --- kills


@dataclass(slots=True)
class Harm:
    """What must stay empty; and what was seen."""

    said: list[str] = field(default_factory=list[str])
    kills: Counter[str] = field(default_factory=Counter[str])
    at_risk: Counter[str] = field(default_factory=Counter[str])
    """How often a part was killed that had begun the unit, or may have: its output was not kept yet."""
    calling: int = 0
    """Calls that were being made by workers as they were killed."""
    ages_s: list[float] = field(default_factory=list[float])
    """How long before its worker was killed a call had ended of which the output was not kept yet."""


class Killing:
    """A run on a cluster whose parts are taken away."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._desk = Desk(folder)
        self._draw = random.Random(seed)  # noqa: S311  chooses moments, guards nothing
        self._crowd = folder / "crowd"
        self._crowd.mkdir()
        self._naps = Naps(self._crowd)
        self._seen = 0

    def run(self, units: int, workers: int, kills: int) -> Harm:
        """Runs the benchmark to its end, killing on the way."""
        harm = Harm()
        self._desk.imports(suite(units))
        with crowd(self._crowd, workers, self._desk.environment) as there:
            while not self._is_done():
                quiet = subprocess.DEVNULL
                with subprocess.Popen(
                    self._command(there), cwd=ROOT, env=self._desk.environment, stdout=quiet, stderr=quiet
                ) as coordinator:
                    self._until_over(coordinator, there, harm, kills, workers)
        self._examine(units, harm)
        return harm

    def _command(self, there: Crowd) -> list[str]:
        return self._desk.command(
            "run-benchmark", "b", "--target", f"{TARGET}noted_nap", "--key", "k", "--cluster", there.address
        )

    def _is_done(self) -> bool:
        return self._desk.rows("SELECT 1 FROM job WHERE key = 'k' AND state = 'completed'") != []

    def _until_over(
        self, coordinator: subprocess.Popen[bytes], there: Crowd, harm: Harm, kills: int, workers: int
    ) -> None:
        while coordinator.poll() is None:
            time.sleep(self._draw.uniform(0.05, LONGEST_S))
            if sum(harm.kills.values()) >= kills or self._naps.begun().total() < self._seen + AT_ONCE:
                continue  # only what is at work is killed
            if self._draw.random() < OF_COORDINATOR:
                self._kill_coordinator(coordinator, harm)
            elif len(there.workers) >= workers:
                self._kill_worker(self._draw.randrange(len(there.workers)), there, harm)
                there.hire()

    def _kill_coordinator(self, coordinator: subprocess.Popen[bytes], harm: Harm) -> None:
        with self._nothing_lost(harm):
            _end(coordinator)
        harm.at_risk.update(self._cases(_OUT) - self._cases(_KEPT))  # its workers may begin some before they hear of it
        harm.kills["coordinator"] += 1

    def _kill_worker(self, number: int, there: Crowd, harm: Harm) -> None:
        worker = there.workers[number]
        with self._nothing_lost(harm) as before:
            there.kill(number)
        at, kept = time.time(), self._cases(_KEPT)
        again = self._naps.ends().keys() - self._naps.newest(worker.pid)  # by another, which may have kept it by now
        safe = before | (kept - again)
        ends = {case: end for case, end in self._naps.ends(worker.pid).items() if case not in safe}
        harm.at_risk.update(ends.keys())
        harm.calling += sum(end == math.inf for end in ends.values())
        harm.ages_s.extend(at - end for end in ends.values() if end < math.inf)
        harm.kills["worker"] += 1

    @contextmanager
    def _nothing_lost(self, harm: Harm) -> Generator[set[str]]:
        before = self._cases(_KEPT)
        yield before
        self._seen = self._naps.begun().total()
        harm.said.extend(f"{case} was kept, and is gone" for case in before - self._cases(_KEPT))

    def _cases(self, sql: str) -> set[str]:
        return {str(row[0]) for row in self._desk.rows(sql)}

    def _examine(self, units: int, harm: Harm) -> None:
        calls = self._naps.begun()
        harm.said.extend(
            f"{case} was called {times} times, where {harm.at_risk[case]} kills explain a repeat"
            for case, times in calls.items()
            if times > 1 + harm.at_risk[case]
        )
        ((runs, cases),) = self._desk.rows("SELECT count(*), count(DISTINCT test_case_id) FROM test_run")
        if (runs, cases) != (units, units) or len(calls) != units:
            harm.said.append(f"{runs} results of {cases} cases, {len(calls)} of them called, where there are {units}")
        harm.said.extend(_problems(self._desk.db))
        out = self._desk.rows("SELECT count(*) FROM unit_lease WHERE ending = ''")
        if out != [(0,)]:
            harm.said.append(f"{out} leases are still out")
        repeats = calls.total() - len(calls)
        say(f"{repeats} of {calls.total()} calls were repeats; {len(harm.at_risk)} units may have been called twice")
        ages = sorted(harm.ages_s) or [0.0]
        say(
            f"{harm.calling} calls were under way as their workers were killed; of {len(harm.ages_s)} that had ended the output"
            f" was not kept yet: {ages[len(ages) // 2]:.2f} s after their end at the median, {ages[-1]:.2f} s at most"
        )


_OUT = (
    "SELECT DISTINCT 'c' || json_extract(u.value, '$[0]') FROM unit_lease l, json_each(l.units) u WHERE l.ending = ''"
)
"""The cases whose units are out: they are called in order, so that the position is the number."""
_KEPT = "SELECT case_id FROM unit WHERE output IS NOT NULL OR test_run_id IS NOT NULL"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def _problems(db: Path) -> tuple[str, ...]:
    async def checked() -> tuple[str, ...]:
        return (await check_store(db, deep=True)).problems

    return anyio.run(checked)


# --- many recorded outputs


@dataclass(frozen=True, slots=True)
class Sample:
    """The coordinator at a moment: units that are back, seconds of CPU so far, MB of memory."""

    units: int
    cpu_s: float
    memory_mb: float


def recorded(folder: Path, units: int, workers: int) -> None:
    """The coordinator's memory and CPU while workers judge recorded outputs, beside bare inserts of the same rows."""
    desk, place = Desk(folder), folder / "crowd"
    place.mkdir()
    desk.imports(suite(units, recorded=True))
    with crowd(place, workers, desk.environment) as there:
        command = desk.command("run-benchmark", "b", "--key", "k", "--cluster", there.address)
        quiet = subprocess.DEVNULL
        started = time.monotonic()
        with subprocess.Popen(command, cwd=ROOT, env=desk.environment, stdout=quiet) as coordinator:
            samples = list(_samples(desk, coordinator))
    say(f"{units} units in {time.monotonic() - started:.0f} s, {workers} workers")
    part = max(1, units // 10)
    working = [sample for sample in samples if sample.units < units]  # then it sums the run up
    first, last = _cost(working, part // 2, part + part // 2), _cost(working, units - part, units)
    whole = _cost(working, part // 2, units)
    summing_up = (samples[-1].cpu_s - working[-1].cpu_s) / units
    bare = _bare(desk, min(units, MOST_BARE))
    say(f"the coordinator's CPU a unit: {whole * 1e6:.0f} µs, {whole / bare:.1f} × bare inserts ({bare * 1e6:.0f} µs)")
    say(f"and {summing_up * 1e6:.0f} µs a unit to sum the run up")
    say(f"an early tenth: {first * 1e6:.0f} µs, the last: {last * 1e6:.0f} µs, {last / first:.2f} ×")
    early, end = _memory(samples, part), _memory(samples, units)
    say(
        f"memory: {early:.0f} MB after a tenth, {end:.0f} MB at the end, {max(one.memory_mb for one in samples):.0f} MB at most"
    )


def _samples(desk: Desk, process: subprocess.Popen[bytes]) -> Iterator[Sample]:
    """Looks at the process until it is over."""
    while process.poll() is None:
        time.sleep(0.25)
        try:
            ((units,),) = desk.rows("SELECT total(returned) FROM unit_lease")
            stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{process.pid}/status").read_text()
        except (OSError, StoreError):
            continue
        ticks = int(stat[11]) + int(stat[12])
        memory = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")), "0")
        assert isinstance(units, float)
        yield Sample(int(units), ticks / os.sysconf("SC_CLK_TCK"), int(memory) / 1024)


def _cost(samples: list[Sample], since: int, until: int) -> float:
    """Seconds of CPU a unit between two counts."""
    begun = next(one for one in samples if one.units >= since)  # not what it took to start
    ended = min(samples, key=lambda one: abs(one.units - until))
    return (ended.cpu_s - begun.cpu_s) / max(1, ended.units - begun.units)


def _memory(samples: list[Sample], units: int) -> float:
    return min(samples, key=lambda one: abs(one.units - units)).memory_mb


MOST_BARE = 20_000
TABLES = ("test_run", "eval_judgment", "eval_failure", "event", "unit")
BATCH = 100


def _bare(desk: Desk, size: int) -> float:
    """CPU a unit of inserting the same rows by the hundred into the same columns, with the standard library."""
    rows = {table: desk.rows(f"SELECT * FROM {table} LIMIT ?", size) for table in TABLES}
    rows["event"] = desk.rows("SELECT * FROM event WHERE type = 'test-run-recorded' LIMIT ?", size)
    with closing(sqlite3.connect(desk.folder / "bare.db", isolation_level=None)) as db:
        db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
        for table, several in rows.items():
            columns = ", ".join(f"c{number}" for number in range(len(several[0]))) if several else "c0"
            db.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY (c0{', c1, c2' if table == 'unit' else ''}))")
        started = time.process_time()
        for at in range(0, size, BATCH):
            db.execute("BEGIN")
            for table, several in rows.items():
                if page := several[at : at + BATCH]:
                    db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(page[0]))})", page)
            db.execute("COMMIT")
        return (time.process_time() - started) / size


def main() -> None:
    """Measures, and says what it found."""
    wanted = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted.add_argument("what", choices=("scale", "kills", "recorded"))
    wanted.add_argument("--units", type=int)
    wanted.add_argument("--workers")
    wanted.add_argument("--kills", type=int, default=100)
    wanted.add_argument("--seed", type=int, default=1)
    wanted.add_argument("--nap-s", type=float, default=0.05)
    options = wanted.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "scale":
            counts = [int(count) for count in (options.workers or "1,2,4").split(",")]
            scale(Desk(folder, nap_s=options.nap_s), options.units or 20_000, counts)
        elif options.what == "kills":
            harm = Killing(folder, options.seed).run(options.units or 8000, int(options.workers or 3), options.kills)
            say(f"{dict(harm.kills)} killed, {len(harm.said)} harmed")
            sys.exit("\n".join(harm.said[:50]) if harm.said else 0)
        else:
            recorded(folder, options.units or 1_000_000, int(options.workers or 2))


if __name__ == "__main__":
    main()
