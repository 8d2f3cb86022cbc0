"""A comparison of two stored runs of a thousand cases: the answer itself, and the whole command with its start.

python -m tests.bench.figures.compare [--cases 1000] [--runs 5]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from tests.shared.bench.process import PATH, measured
from tests.workshop import all_of, answer, bench, benchmark, case, config_in, opened, rubric, save, says

CLI = [sys.executable, "-m", "minions_evals_mcp.cli"]


async def stored(folder: Path, cases: int) -> tuple[str, str]:
    """Two benchmark-runs over that many cases with two criteria, of two versions that differ a little."""
    chance = random.Random(1)  # noqa: S311  answers by chance, no secret
    async with opened(config_in(folder)) as engine:
        names = [f"c{n}" for n in range(cases)]
        criteria = rubric("r", 1.0, please=says("please"), good=says("good", weight=0.5))
        await save(engine, criteria, [case(name, rubricId="r") for name in names], benchmark("b", *names))
        for version, share in (("v1", 0.60), ("v2", 0.65)):
            said = [[word for word in ("good", "please") if chance.random() < share] for _ in names]
            runs = [
                answer(f"{version}/{name}", name, " ".join(words) or "no", promptVersionRef=version)
                for name, words in zip(names, said, strict=True)
            ]
            await save(engine, runs)
            await bench(engine, "b", prompt_version_ref=version)
        first, second = [run.id for run in await all_of(engine, BenchmarkRun)]
    return first, second


async def answered(folder: Path, runs: tuple[str, str], times: int) -> list[float]:
    """Milliseconds from the question to the summary, each time with another tie threshold, so that none is kept already."""
    found: list[float] = []
    async with opened(config_in(folder)) as engine:
        await compare_runs(engine, *runs)  # the imports
        for number in range(times):
            started = time.perf_counter()
            made = await compare_runs(engine, *runs, tie_threshold=0.02 + number / 1000)
            await summarize_comparison(engine, made.id)
            found.append((time.perf_counter() - started) * 1000)
    return found


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = anyio.run(stored, folder, asked.cases)
        times = anyio.run(answered, folder, runs, asked.runs)
        command = [*CLI, "compare", *runs, "--db", str(folder / "evals.db"), "--json"]
        whole = [measured(command, {"PATH": PATH}) for _ in range(asked.runs)]
    said = f"{asked.cases} cases: answer {statistics.median(times):.0f} ms (median of {asked.runs});"
    sys.stdout.write(f"{said} whole command {statistics.median(one.wall_s for one in whole):.2f} s\n")


if __name__ == "__main__":
    main()
