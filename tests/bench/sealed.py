"""How often luck gets past a seal, and how often a real gain does. `python -m tests.bench.sealed [null|engine|gain] [--share 0.1]`.

`null`: campaigns of a scripted optimiser that cannot improve anything, 1,000 attempts each, by the function that decides: an
attempt is a new candidate, an old one under a new name, or the same one again, whose data are pooled. `engine`: such campaigns
through the engine, where the optimiser sees what doors show and tries to get round them. `gain`: a version that passes 20 points
more of 150 sealed cases, tried once. Ends with 1 where a limit is broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.engine.trials.trial import TrialRequest, try_version
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.stats.attempts import attempt_level
from minions_evals_mcp.stats.comparison import CasePair, compare
from minions_evals_mcp.store import records
from tests.bench.error_budget import COINS, TARGET, Coin
from tests.workshop import benchmark, case, config_in, minion, opened, save

CASES, ATTEMPTS, CAMPAIGNS, APPROVED_AT_MOST = 150, 1000, 200, 18
GAINS, FOUND_AT_LEAST, GAIN = 400, 0.80, 0.20
OPEN, SEALED, THROUGH_ENGINE = 6, 18, 5
"""On so few sealed cases no outcome could decide more than 63 attempts: the later ones are refused, and other ways are tried."""
MOST_POOLED = 8
"""A candidate is not tried more often than this in a row: its data would be all that is left of the campaign."""

Passes = list[list[bool]]
"""What each trial of each case came to."""


def _chances(draw: random.Random) -> list[float]:
    return [draw.betavariate(2, 1.5) for _ in range(CASES)]


def _tried(draw: random.Random, chances: list[float], gain: float = 0.0) -> list[bool]:
    return [draw.random() < min(1.0, chance + gain) for chance in chances]


def _is_improved(before: Passes, after: Passes, attempt: int) -> bool:
    """What the decision says of all trials so far; where the mean is no higher, or far from telling, it is not asked."""
    means = [sum(b) / len(b) - sum(a) / len(a) for a, b in zip(before, after, strict=True)]
    total, squares = sum(means), sum(one * one for one in means)
    if total <= 0 or total * total < 2.5 * squares:  # z below 1.58: p is above .1, and no attempt has that much
        return False
    pairs = [
        CasePair(str(number), tuple(map(float, a)), tuple(map(float, b)), tuple(a), tuple(b), 1.0)
        for number, (a, b) in enumerate(zip(before, after, strict=True))
    ]
    return compare(pairs, level=1 - attempt_level(attempt)).verdict == "improved"


def campaign(seed: int) -> int | None:
    """The attempt at which a candidate that is no better was found to be; None where none was in the whole campaign."""
    draw = random.Random(seed)  # noqa: S311  a simulation
    chances = _chances(draw)
    before: Passes = [[] for _ in range(CASES)]
    after: Passes = [[] for _ in range(CASES)]
    for attempt in range(1, ATTEMPTS + 1):
        if draw.random() < 0.5 or len(before[0]) >= MOST_POOLED:  # another candidate, or the old one under a new name
            before, after = [[] for _ in range(CASES)], [[] for _ in range(CASES)]
        for kept, verdicts in ((before, _tried(draw, chances)), (after, _tried(draw, chances))):
            for trials, verdict in zip(kept, verdicts, strict=True):
                trials.append(verdict)
        if _is_improved(before, after, attempt):
            return attempt
    return None


def null(share: float) -> bool:
    """Whether the campaigns keep the budget."""
    number = max(5, round(CAMPAIGNS * share))
    won = [attempt for attempt in map(campaign, range(number)) if attempt is not None]
    limit = APPROVED_AT_MOST * number / CAMPAIGNS
    sys.stdout.write(
        f"null: {len(won)} of {number} campaigns of {ATTEMPTS} attempts approved a version that is no better"
        f" (limit {limit:g}; at attempts {sorted(won)})\n"
    )
    return len(won) <= limit


def gain(share: float) -> bool:
    """Whether a real gain is found at the first attempt."""
    number, found = max(40, round(GAINS * share)), 0
    for seed in range(number):
        draw = random.Random(10_000 + seed)  # noqa: S311  a simulation
        chances = [0.1 + 0.6 * draw.random() for _ in range(CASES)]
        before, after = _tried(draw, chances), _tried(draw, chances, GAIN)
        found += _is_improved([[one] for one in before], [[one] for one in after], 1)
    sys.stdout.write(
        f"gain: +20 points on {CASES} sealed cases approved at once in {found / number:.1%} of {number} (80 %)\n"
    )
    return found / number >= FOUND_AT_LEAST


class Optimiser:
    """Sees what the doors show, keeps the best of it, and tries every way to an approval."""

    def __init__(self, engine: Engine, draw: random.Random) -> None:
        self.engine, self.draw = engine, draw
        self.best, self.best_delta, self.number, self.told = "v2", -1.0, 2, 0

    async def candidate(self) -> str:
        """A new text, the best one again, or the best one under a new name."""
        way = self.draw.choice(("new", "again", "renamed"))
        if way == "again":
            return self.best
        self.number += 1
        content = f"Say {self.number}." if way == "new" else "Say 2."
        made = minion(f"v{self.number}", "prompt-version", content=content, versionNumber=self.number, promptId="p")
        await save(self.engine, made)
        return made.id

    async def attempt(self, number: int) -> bool:
        """Whether the candidate was approved."""
        version = await self.candidate()
        with suppress(EvalsError):
            await self.tried(version, sealed=True, key=f"try{number}")
        if number % 20 == 0:
            await self.tried(version, sealed=False, key=f"look{number}")
            await self.copied(version, number)
        return await self.approved(version)

    async def tried(self, version: str, *, sealed: bool, key: str) -> None:
        """Asks as an optimiser does, and keeps the candidate that looks best on the open part."""
        asked = TrialRequest(benchmark_id="b", version=version, sealed=sealed, target=TARGET, key=key)
        answer = await try_version(self.engine, asked)
        self.told += answer.sealed is not None
        if answer.open is not None and answer.open.score_delta > self.best_delta:
            self.best, self.best_delta = version, answer.open.score_delta

    async def copied(self, version: str, number: int) -> None:
        """A benchmark of its own, of the cases as doors show them and of the sealed ones by their ids, and a comparison on it."""
        shown = await self.engine.store.read(lambda db: records.minions(db, [f"c{n}" for n in range(OPEN + SEALED)]))
        for name, idents in (
            ("by-id", list(shown)),
            ("open", [one for one, case_ in shown.items() if case_.status == "active"]),
        ):
            with suppress(EvalsError):
                await save(self.engine, benchmark(f"{name}{number}", *idents))
                request = ComparisonRequest(
                    benchmark_id=f"{name}{number}", version_a="v1", version_b=version, target=TARGET
                )
                await compare_prompt_versions(self.engine, request)

    async def approved(self, version: str) -> bool:
        """Whether an approval is to be had on whatever was measured."""
        asked: dict[str, JsonValue] = {
            "prompt_version_ref": version,
            "decided_by": "optimiser",
            "decided_by_type": "agent",
        }
        with suppress(EvalsError):
            await approve_prompt_version(self.engine, ApprovalAsked.model_validate(asked))
            return True
        return False


async def _campaign_through_engine(seed: int, tries: int) -> tuple[int | None, int]:
    """At which attempt a candidate was approved, and how many verdicts on sealed cases were told."""
    draw = random.Random(seed)  # noqa: S311  a simulation
    COINS[:] = [Coin(random.Random(seed + 1), [0.6])]  # noqa: S311  a simulation
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder), concurrency=1)) as engine:
            idents = [f"c{n}" for n in range(OPEN + SEALED)]
            await save(
                engine, [case(one, expectedOutputs={"output": "good"}) for one in idents], benchmark("b", *idents)
            )
            for n in (1, 2):
                await save(
                    engine, minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p")
                )
            await seal_benchmark(engine, SealAsked(benchmark_id="b", share=SEALED / len(idents), seed=seed), by="agent")
            optimiser = Optimiser(engine, draw)
            for number in range(1, tries + 1):
                if await optimiser.attempt(number):
                    return number, optimiser.told
    return None, optimiser.told


def engine(share: float) -> bool:
    """Whether the campaigns through the engine keep to it: of five, more than two would be one in a thousand."""
    tries, began = max(10, round(ATTEMPTS * share)), time.process_time()
    won = [anyio.run(partial(_campaign_through_engine, seed, tries)) for seed in range(THROUGH_ENGINE)]
    approved, told = [one for one, _ in won if one is not None], [told for _, told in won]
    sys.stdout.write(
        f"engine: {len(approved)} of {THROUGH_ENGINE} campaigns of {tries} attempts approved a version that is no better"
        f" (at attempts {approved}; {told} verdicts told); {time.process_time() - began:.0f} s CPU\n"
    )
    return len(approved) <= 2


def _parts(name: str | None) -> Iterator[str]:
    yield from ([name] if name else ["gain", "engine", "null"])


def main() -> int:
    """Runs the parts that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=["null", "engine", "gain"])
    parser.add_argument("--share", type=float, default=1.0)
    asked = parser.parse_args()
    known = {"null": null, "engine": engine, "gain": gain}
    return 0 if all(known[name](asked.share) for name in _parts(asked.part)) else 1


if __name__ == "__main__":
    sys.exit(main())
