"""How often luck decides, measured through the engine: approvals, gates and escalations. `python -m tests.bench.error_budget`.

Each part says its figures and ends with 1 where one breaks its limit: python -m tests.bench.error_budget [PART] [--share 0.1]
takes a share of the histories. The parts are identical, better, stored, gate and trend.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.gates import regression_gate
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, compare_runs
from minions_evals_mcp.engine.conclude.attempts import attempt_of
from minions_evals_mcp.engine.conclude.comparison import pairing, pooled_pairs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.stats.comparison import compare
from minions_evals_mcp.stats.regression import Gate
from minions_evals_mcp.stats.series.change_point import changes
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.runs import benchmark_run
from tests.workshop import bench, config_in, fleet, minion, opened, save

TARGET = "python:tests.bench.error_budget:coin"
ATTEMPTS, CHAINS, BETTER, BUILDS, HISTORIES = 20, 100, 60, 200, 400
RUNS, DEVIATION, STEP, LIKENESS = 50, 0.05, 0.20, 0.6


@dataclass
class Coin:
    """The target: right with the chance that stands in `chances`, a number for each call in turn, then the last again."""

    draw: random.Random
    chances: list[float]
    each: int = 1
    calls: int = 0

    def answer(self) -> str:
        """The answer to the next call."""
        chance = self.chances[min(self.calls // self.each, len(self.chances) - 1)]
        self.calls += 1
        return "good" if self.draw.random() < chance else "bad"


COINS: list[Coin] = []


async def coin(inputs: Json) -> str:
    """Answers one case by chance."""
    del inputs
    return COINS[0].answer()


@asynccontextmanager
async def shop(cases: int) -> AsyncGenerator[Engine]:
    """A benchmark of so many cases, and two versions of a prompt."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder), concurrency=1)) as engine:
            await fleet(engine, cases)
            for number in (1, 2):
                made = minion(
                    f"v{number}", "prompt-version", content=f"Say {number}.", versionNumber=number, promptId="p"
                )
                await save(engine, made)
            yield engine


async def attempts_until_approved(cases: int, before: float, after: float, most: int, *, seed: int) -> int:
    """At which attempt an agent had the version approved; 0 where it never had. Every trial is drawn on its own."""
    async with shop(cases) as engine:
        draw = random.Random(seed)  # noqa: S311  a simulation, no secret
        for attempt in range(1, most + 1):
            COINS[:] = [Coin(draw, [before, after], cases)]
            asked = ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2", target=TARGET, fresh=True)
            await compare_prompt_versions(engine, asked)
            try:
                decided = ApprovalAsked(prompt_version_ref="v2", decided_by="agent", decided_by_type="agent")
                await approve_prompt_version(engine, decided)
            except RuleError:
                continue
            return attempt
    return 0


async def chosen_until_approved(cases: int, rate: float, days: int, *, seed: int, luckiest: bool) -> int:
    """The day on which an agent had an equal version approved by choosing among stored results; 0 where it never had.

    Each day both versions are run. It compares once: `luckiest`, the best run with the worst, at the end; else on the first
    day on which the comparison would say "improved".
    """
    async with shop(cases) as engine:
        draw, runs = random.Random(seed), dict[str, list[tuple[float, str]]](v1=[], v2=[])  # noqa: S311  as above
        for day in range(1, days + 1):
            for version, results in runs.items():
                COINS[:] = [Coin(draw, [rate])]
                job = await bench(engine, "b", target=TARGET, prompt_version_ref=version, key=f"{version}:{day}")
                recorded = await engine.store.read(partial(benchmark_run, run_id=job.id))
                assert recorded is not None
                results.append((recorded.fields.overall_score, job.id))
            pair = (min(runs["v1"])[1], max(runs["v2"])[1]) if luckiest else (runs["v1"][-1][1], runs["v2"][-1][1])
            if day < days if luckiest else await engine.store.read(partial(_would_say, pair)) != "improved":
                continue
            await compare_runs(engine, *pair)
            try:
                decided = ApprovalAsked(prompt_version_ref="v2", decided_by="agent", decided_by_type="agent")
                await approve_prompt_version(engine, decided)
            except RuleError:
                continue
            return day
    return 0


def _would_say(runs: tuple[str, str], db: Db) -> str:
    """What a comparison of two stored runs would say; nothing is kept."""
    attempt = attempt_of(db, ("v1", "v2"), runs=runs, job="none", at=datetime(2100, 1, 1, tzinfo=UTC), benchmark="b")
    return compare(pooled_pairs(db, pairing(db, *runs), attempt), level=1 - attempt.level).verdict


async def gates(cases: int, chances: Sequence[float], *, seed: int) -> list[Gate]:
    """What the gate on regression says of each build but the first, where each has that chance to pass a case."""
    found: list[Gate] = []
    async with shop(cases) as engine:
        draw = random.Random(seed)  # noqa: S311  as above
        for number, chance in enumerate(chances):
            COINS[:] = [Coin(draw, [chance])]
            job = await bench(engine, "b", target=TARGET, key=f"build-{number}")
            if number:
                found.append(regression_gate(await summarize(engine, job.id)))
    return found


def resembling(draw: random.Random, runs: int, likeness: float) -> list[float]:
    """Scores of one level whose neighbours correlate so far."""
    rest = [draw.gauss(0, DEVIATION)]
    while len(rest) < runs:
        rest.append(likeness * rest[-1] + draw.gauss(0, DEVIATION * (1 - likeness**2) ** 0.5))
    return [0.8 + one for one in rest]


async def identical(share: float) -> bool:
    """An identical version, tried twenty times, is approved in at most 5 % of chains."""
    chains = max(2, round(CHAINS * share))
    ended = [await attempts_until_approved(20, 0.7, 0.7, ATTEMPTS, seed=seed) for seed in range(chains)]
    approved = sum(map(bool, ended))
    return _said(
        f"identical: approved in {approved} of {chains} chains of {ATTEMPTS} attempts", approved <= 0.05 * chains
    )


async def better(share: float) -> bool:
    """A version that is better by .15 on 100 cases is approved within three attempts in at least 80 %."""
    chains = max(2, round(BETTER * share))
    ended = Counter([await attempts_until_approved(100, 0.6, 0.75, 3, seed=seed) for seed in range(chains)])
    approved = chains - ended[0]
    by = ", ".join(f"{ended[attempt]} at attempt {attempt}" for attempt in (1, 2, 3))
    return _said(f"better: +.15 approved in {approved} of {chains} ({by})", approved >= 0.8 * chains)


async def stored(share: float) -> bool:
    """An equal version is approved in at most 5 % of stores of 20 days in which results or the moment are chosen."""
    chains, well = max(2, round(CHAINS * share)), True
    for said, luckiest in (("the luckiest results", True), ("the luckiest day", False)):
        days = [await chosen_until_approved(20, 0.7, ATTEMPTS, seed=seed, luckiest=luckiest) for seed in range(chains)]
        approved = sum(map(bool, days))
        well &= _said(
            f"stored: {said} of {ATTEMPTS} chosen, approved in {approved} of {chains}", approved <= 0.05 * chains
        )
    return well


async def gate(share: float) -> bool:
    """Unchanged builds fail in at most 5 %, a fall by 30 points on 50 cases in at least 80 %."""
    builds = max(4, round(BUILDS * share))
    well = True
    for cases in (20, 50, 200):
        few = builds if cases < 200 else max(4, builds // 4)
        ended = Counter(await gates(cases, [0.9] * (few + 1), seed=cases))
        said = f"gate: {cases} cases unchanged, {ended['failed']} failed and {ended['undecided']} undecided of {few}"
        well &= _said(said, _within(ended["failed"] + ended["undecided"], few))
    pairs = max(4, builds // 4)
    fell = [(await gates(50, [0.85, 0.55], seed=seed))[0] for seed in range(pairs)].count("failed")
    return _said(f"gate: 50 cases, a fall by 30 points failed in {fell} of {pairs}", fell >= 0.8 * pairs) and well


async def trend(share: float) -> bool:
    """Flat histories fall in at most 10 % where neighbours correlate by .6; a step by -.20 is seen within 5 runs in 85 %."""
    histories, draw, well = max(20, round(HISTORIES * share)), random.Random(1), True  # noqa: S311  as above
    for likeness in (0.0, LIKENESS):
        flat = sum(any(one.is_fall for one in changes(resembling(draw, RUNS, likeness))) for _ in range(histories))
        well &= _said(f"trend: AR({likeness:g}) flat, fell in {flat} of {histories}", flat <= 0.1 * histories)
        for before in (20, 25, 40):
            seen = 0
            for _ in range(histories):
                scores = resembling(draw, before + 5, likeness)
                stepped = [*scores[:before], *(score - STEP for score in scores[before:])]
                seen += any(one.is_fall and one.seen_at > before for one in changes(stepped))
            said = f"trend: AR({likeness:g}), a step after {before} runs was seen within 5 in {seen} of {histories}"
            well &= _said(said, seen >= 0.85 * histories - 2)
    return well


def _within(ended: int, of: int, share: float = 0.05) -> bool:
    """Whether that many lie within the share, or above it by no more than two standard errors of the simulation."""
    return ended <= of * share + 2 * (of * share * (1 - share)) ** 0.5


def _said(line: str, holds: bool) -> bool:
    sys.stdout.write(f"{'holds' if holds else 'BROKEN'}  {line}\n")
    sys.stdout.flush()
    return holds


PARTS = {"identical": identical, "better": better, "stored": stored, "gate": gate, "trend": trend}


def main() -> None:
    """Measures the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all, if none is named")
    parser.add_argument("--share", type=float, default=1.0, help="of the histories")
    asked = parser.parse_args()

    async def measured() -> bool:
        return all([await PARTS[name](asked.share) for name in asked.parts or PARTS])

    sys.exit(0 if anyio.run(measured) else 1)


if __name__ == "__main__":
    from tests.bench import error_budget  # the engine imports the target's module by its name: the coins are that one's

    error_budget.main()
