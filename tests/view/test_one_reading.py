"""One reading: whoever is asked about a pair of runs and a benchmark's level says the same.

`python -m tests.view.test_one_reading 200` asks of so many random histories.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tests.shared.engine.verdict_places import Stated, stated

SEEDS = range(30, 47)


def apart(found: Stated) -> list[str]:
    """The histories of which two places state different things."""
    lines: list[str] = []
    for seed, places in found.items():
        verdicts = {verdict for verdict, _ in places.values()}
        levels = {level for _, level in places.values() if level != "?"}
        if len(verdicts) > 1 or len(levels) > 1:
            lines.append(f"history {seed}: {places}")
    return lines


async def test_every_place_states_the_same_verdict_and_the_same_change_of_level(tmp_path: Path) -> None:
    found = await stated(tmp_path, SEEDS)
    assert apart(found) == []
    verdicts = Counter(places["diff"][0] for places in found.values())
    assert len(verdicts) >= 3, verdicts
    assert 3 <= sum(bool(places["trend"][1]) for places in found.values()) < len(SEEDS)


def _asked(number: int) -> None:
    with TemporaryDirectory() as folder:
        found = anyio.run(stated, Path(folder), range(number))
    for line in apart(found):
        sys.stdout.write(f"{line}\n")
    verdicts = Counter(places["diff"][0] for places in found.values())
    sys.stdout.write(f"{number} histories, {len(apart(found))} contradictory; verdicts {dict(verdicts)}\n")


if __name__ == "__main__":
    _asked(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
