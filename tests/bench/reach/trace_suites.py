"""A suite from 2,000 generated traces: `python -m tests.bench.reach.trace_suites [--traces 2000] [--seeds 3] [--each 3]`."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import anyio

from tests.shared.production_traces import MODES, made
from tests.shared.trace_suite_figures import figures
from tests.workshop import config_in, opened


async def main(traces: int, seeds: int, each: int) -> None:
    """Print the figures of each seed."""
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            async with opened(config_in(Path(folder))) as engine:
                begun = time.perf_counter()
                came = await figures(engine, made(traces, seed=seed), each=each)
                print(  # noqa: T201  a command
                    f"seed {seed}: {len(came.found)} of {len(MODES)} modes, purity {came.purity:.3f}, duplicates F1"
                    f" {came.duplicates_f1:.3f}, {came.told_apart} of {came.proposals} checks fail the trace and pass the"
                    f" corrected one, {time.perf_counter() - begun:.1f} s"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--each", type=int, default=3)
    given = parser.parse_args()
    anyio.run(main, given.traces, given.seeds, given.each)
