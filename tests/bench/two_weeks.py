"""Whether `what-changed` tells two weeks as they were: python -m tests.bench.two_weeks [seeds] [first seed].

Two prompts of three versions each, a benchmark of 40 cases for each, run twice a day by the engine with the outputs of a
scripted model, and three branches tried against each other in the first week. In the first benchmark the second version is bad
until the third mends it, and one case passes by lot; in the second a drop recovers after two days, later the model drifts to
another level within two days, and both its new versions change nothing. Half of the cases that none of this touches also
fail once, at some run: noise, but by the contract no flaky case.

A seed holds where each of these is named with its day: the bad version and its end with the versions, the drop and its end and
the drift as unseen changes, the flaky case by its id. What else is named is a false finding: 5 are allowed in 100 seeds.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, run_ab_test
from minions_evals_mcp.engine.answers.what_changed import Level, WhatChanged, what_changed
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import silent, start_benchmark
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.workshop import benchmark, config_in, minion, opened, save

SEEDS, NEEDED, FALSE_ALLOWED = 100, 0.90, 0.05
MEMORY = next((path for path in (Path("/dev/shm"),) if path.is_dir()), None)  # noqa: S108  a place, no file
"""A store that nobody keeps need not reach a disk."""
CASES, DAYS, A_DAY = 40, 14, 2
START = datetime(2026, 11, 2, 9, tzinfo=UTC)
SLIPS = 0.5
"""So many of the cases that nothing else touches fail once, at a run drawn by lot."""
FLAKY, FLAKY_CASE = 0.5, 7
BAD, DROPPED, DRIFTED = range(16), range(10, 26), range(20, 36)
"""The cases that the bad version, the drop and the drift make fail."""
BAD_FROM, MENDED, DROP_FROM, DROP_TO, DRIFT_FROM, DRIFT_DAYS = 5, 8, 4, 6, 10, 2
AB_DAY = 3
TOUCHED: dict[str, set[int]] = {"refund": {*BAD, FLAKY_CASE}, "greet": {*DROPPED, *DRIFTED}}
VERSIONS: dict[str, tuple[int, int, int]] = {"refund": (0, BAD_FROM, MENDED), "greet": (0, 3, 8)}
"""From which day each version of a prompt is in use."""
BRANCHES = tuple(InlineBranch(name=name, provider="openai", model="gpt-4o") for name in "abc")


@dataclass(frozen=True, slots=True)
class World:
    """How the model answers a case of a prompt at a run, counted from 0."""

    slips: dict[tuple[str, int], int]
    unsteady: tuple[bool, ...]

    @classmethod
    def drawn(cls, seed: int) -> World:
        """The world of that seed."""
        chance = random.Random(seed)  # noqa: S311  a simulation
        cases = [(prompt, case) for prompt in VERSIONS for case in range(CASES) if case not in TOUCHED[prompt]]
        slips = {case: chance.randrange(DAYS * A_DAY) for case in cases if chance.random() < SLIPS}
        return cls(slips, tuple(chance.random() >= FLAKY for _ in range(DAYS * A_DAY)))

    def good(self, prompt: str, case: int, run: int) -> bool:
        """Whether the answer is as wanted."""
        day = run // A_DAY
        if prompt == "refund" and case == FLAKY_CASE:
            return self.unsteady[run]
        failing = self._refund(case, day) if prompt == "refund" else self._greet(case, run)
        return not failing and self.slips.get((prompt, case)) != run

    @staticmethod
    def _refund(case: int, day: int) -> bool:
        return BAD_FROM <= day < MENDED and case in BAD

    @staticmethod
    def _greet(case: int, run: int) -> bool:
        if DROP_FROM * A_DAY <= run < DROP_TO * A_DAY and case in DROPPED:
            return True
        gone = run - DRIFT_FROM * A_DAY + 1
        return case in DRIFTED[: max(0, gone * len(DRIFTED) // (DRIFT_DAYS * A_DAY))]


@dataclass(frozen=True, slots=True)
class Model:
    """A target that is told of the version, and answers as its world has it at that run."""

    world: World
    run: int

    @property
    def takes_version(self) -> bool:
        """Its outputs are the version's."""
        return True

    def digest(self) -> str:
        """The same in all runs: nobody tells that the model changed."""
        return digest("a scripted model")

    async def produce(self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None) -> Observed:
        """The answer to a case."""
        del timeout_ms
        assert version is not None
        prompt, _, number = str(inputs["q"]).partition("/")
        said = "good" if self.world.good(prompt, int(number), self.run) else "bad"
        return Observed(
            output={"output": said}, prompt_version_ref=version.id, produced_by="scripted", latency_ms=500, cost_usd=1e-4
        )  # fmt: skip


async def lived(engine: Engine, seed: int) -> None:
    """The two weeks, run by run."""
    now = START
    engine.clock = lambda: now
    world = World.drawn(seed)
    for prompt in VERSIONS:
        idents = [f"{prompt}/{number}" for number in range(CASES)]
        cases = [
            minion(
                ident, "test-case", name=ident, promptId=prompt, inputs={"q": ident}, expectedOutputs={"output": "good"},
                passRule="max_score", tags=["even" if number % 2 == 0 else "odd"],
            )
            for number, ident in enumerate(idents)
        ]  # fmt: skip
        await save(engine, cases, benchmark(prompt, *idents))
    for run in range(DAYS * A_DAY):
        day, half = divmod(run, A_DAY)
        now = START + timedelta(days=day, hours=half * 12)
        for prompt, began in VERSIONS.items():
            if half == 0 and day in began:
                number = began.index(day) + 1
                content = f"Version {number} of {prompt}: {{{{q}}}}"
                fields = {"promptId": prompt, "versionNumber": number, "content": content}
                await save(engine, minion(f"{prompt}@{number}", "prompt-version", **fields))
            request = RunRequest(subject_id=prompt)
            started = await start_benchmark(engine, request, target=lambda _, run=run: Model(world, run))
            await started.finish(silent)
        if (day, half) == (AB_DAY, 0):
            named = tuple(f"greet/{number}" for number in range(6))
            await run_ab_test(engine, AbTestRequest(test_case_ids=named, branches=BRANCHES))


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: in which benchmark, within which days, and what a level must say that begins then."""

    name: str
    benchmark: str
    days: range
    is_told: Callable[[Level], bool]


def _unseen(*, falls: bool) -> Callable[[Level], bool]:
    return lambda level: not level.changed and level.delta is not None and (level.delta < 0) == falls


def _version(number: int, *, falls: bool) -> Callable[[Level], bool]:
    def told(level: Level) -> bool:
        changed = f"refund@{number - 1} → refund@{number}"
        return level.delta is not None and (level.delta < 0) == falls and any(changed in said for said in level.changed)

    return told


EVENTS = (
    Event("the bad version", "refund", range(BAD_FROM, BAD_FROM + 1), _version(2, falls=True)),
    Event("the version that mends it", "refund", range(MENDED, MENDED + 1), _version(3, falls=False)),
    Event("the drop", "greet", range(DROP_FROM, DROP_FROM + 1), _unseen(falls=True)),
    Event("the recovery", "greet", range(DROP_TO, DROP_TO + 1), _unseen(falls=False)),
    Event("the drift", "greet", range(DRIFT_FROM, DRIFT_FROM + DRIFT_DAYS), _unseen(falls=True)),
)
FLAKY_NAME = "the flaky case"


def findings(told: dict[str, WhatChanged]) -> tuple[set[str], list[str]]:
    """What is named with its day, and what is named that was not so."""
    named: set[str] = set()
    false: list[str] = []
    for ident, answer in told.items():
        for level in answer.levels[1:]:
            day = (datetime.fromisoformat(level.at) - START).days
            hit = [event for event in EVENTS if event.benchmark == ident and day in event.days and event.is_told(level)]
            named |= {event.name for event in hit}
            if not hit:
                false.append(f"{ident}, day {day}: {level.delta} {level.changed}")
        for case in answer.flaky:
            if case.test_case_id == f"refund/{FLAKY_CASE}":
                named.add(FLAKY_NAME)
            else:
                false.append(f"flaky {case.test_case_id}")
    return named, false


async def tried(seed: int) -> tuple[set[str], list[str]]:
    """The findings of one seed."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        async with opened(replace(config_in(Path(folder)), concurrency=16)) as engine:
            engine.models = Scripted(Drawn(str(seed)))
            engine.opened_embedder = Words()
            await lived(engine, seed)
            return findings({ident: await what_changed(engine, ident) for ident in VERSIONS})


async def main(seeds: int, first: int) -> None:
    """Writes how often each is named, and every false finding; exit 1 where that is too seldom, or those are too many."""
    counts: Counter[str] = Counter()
    whole, wrong = 0, 0
    expected = {*(event.name for event in EVENTS), FLAKY_NAME}
    for seed in range(first, first + seeds):
        named, false = await tried(seed)
        counts.update(named)
        whole += named >= expected
        wrong += len(false)
        missing = ", ".join(sorted(expected - named))
        if missing or false:
            sys.stdout.write(f"seed {seed}: {f'not named: {missing}; ' if missing else ''}{'; '.join(false)}\n")
    for name in sorted(expected):
        sys.stdout.write(f"{name:<26} named with its day in {counts[name]} of {seeds} seeds\n")
    sys.stdout.write(f"all of them in {whole} of {seeds}; {wrong} false findings\n")
    if min(counts[name] for name in expected) < NEEDED * seeds or wrong > FALSE_ALLOWED * seeds:
        sys.exit(1)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    anyio.run(partial(main, given[0] if given else SEEDS, given[1] if len(given) > 1 else 0))
