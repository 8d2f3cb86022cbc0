"""What `evaluate` takes for trivial cases beside pydantic-evals, which keeps nothing: the overhead of the harness alone.

python -m tests.bench.evaluate [--cases 1000] [--times 7] [--sync]

pydantic-evals is installed by hand; it is no dependency. One process, after imports, progress off, the two interleaved;
each run of ours keeps everything in a store of its own that is new (--one-store: in one that has the history).
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from minions_evals_mcp import Case, evaluate


async def answer(question: str) -> str:
    """The least that a task can do."""
    return f"answer {question}"


def answer_sync(question: str) -> str:
    """The same without async."""
    return f"answer {question}"


def ours(count: int, store: Path, *, sync: bool) -> tuple[float, float]:
    """Wall and CPU seconds of `evaluate`."""
    wall, cpu = time.perf_counter(), time.process_time()
    cases = [Case({"question": f"q{n}"}, expected=f"answer q{n}") for n in range(count)]
    task = answer_sync if sync else answer
    result = evaluate(task, cases, checks=["equals"], name="trivial", store=store, progress=False)
    assert result.passed
    assert result.passed_count == count
    return time.perf_counter() - wall, time.process_time() - cpu


def theirs(count: int, *, sync: bool) -> tuple[float, float]:
    """Wall and CPU seconds of pydantic-evals on the same."""
    module: Any = importlib.import_module("pydantic_evals")
    evaluators: Any = importlib.import_module("pydantic_evals.evaluators")
    wall, cpu = time.perf_counter(), time.process_time()
    cases = [module.Case(name=f"c{n}", inputs=f"q{n}", expected_output=f"answer q{n}") for n in range(count)]
    dataset = module.Dataset(name="trivial", cases=cases, evaluators=[evaluators.EqualsExpected()])
    report = dataset.evaluate_sync(answer_sync if sync else answer, progress=False, max_concurrency=16)
    assert len(report.cases) == count
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--one-store", action="store_true")
    parser.add_argument("--ours-only", action="store_true")
    options = parser.parse_args()
    measured: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    folder = Path(tempfile.mkdtemp())
    try:
        ours(10, folder / "warm.db", sync=options.sync)
        for number in range(options.times):
            store = folder / ("one.db" if options.one_store else f"{number}.db")
            measured["ours"].append(ours(options.cases, store, sync=options.sync))
            if not options.ours_only:
                measured["theirs"].append(theirs(options.cases, sync=options.sync))
    finally:
        shutil.rmtree(folder)
    medians = {
        name: [statistics.median(column) for column in zip(*taken, strict=True)]
        for name, taken in measured.items()
        if taken
    }
    for name, (wall, cpu) in medians.items():
        sys.stdout.write(f"{name}: median {wall:.3f} s wall, {cpu:.3f} s CPU for {options.cases} cases\n")
    if "theirs" in medians:
        pairs = zip(medians["ours"], medians["theirs"], strict=True)
        wall, cpu = (a / b for a, b in pairs)
        sys.stdout.write(f"ratio: {wall:.2f} wall, {cpu:.2f} CPU\n")


if __name__ == "__main__":
    main()
