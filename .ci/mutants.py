"""Breaks the code that decides, one place at a time, and counts how often the tests beside it notice.

    .venv/bin/pip install 'cosmic-ray>=8.7,<9'
    .venv/bin/python .ci/mutants.py --sample 60 --seed 7        # a sample; without --sample all of them, for hours
    .venv/bin/python .ci/mutants.py --only scoring/ab           # the modules whose path says so

`.ci/mutants.toml` lists the modules, their tests and the share that must be noticed. Exit 1 below it. It works on a copy.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import TestOutcome, WorkItem

ROOT = Path(__file__).parents[1]
LONGEST_S = 600.0
"""A mutant that hangs is given up then, and counts as noticed."""


def copied(folder: Path) -> None:
    """The repository's files as they are now, so that nothing is broken where people work."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S607  the caller's git
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def mutants(modules: list[str], left_out: list[str]) -> dict[str, list[WorkItem]]:
    """All that could be broken, by module."""
    found: dict[str, list[WorkItem]] = {module: [] for module in modules}
    database = WorkDB("mutants.sqlite", WorkDB.Mode.create)
    init([Path(module) for module in modules], database, {})
    for item in database.work_items:
        (mutation,) = item.mutations
        if not any(name in mutation.operator_name for name in left_out):
            found[str(mutation.module_path)].append(item)
    database.close()
    return found


def sampled(found: dict[str, list[WorkItem]], size: int | None, seed: int) -> list[tuple[str, WorkItem]]:
    """So many of them, as many of each module as of any other."""
    chance = random.Random(seed)  # noqa: S311  a sample, no secret
    for items in found.values():
        items.sort(key=lambda item: (item.mutations[0].start_pos, item.mutations[0].operator_name))
        chance.shuffle(items)
    most = max(map(len, found.values()), default=0)
    mixed = [(module, items[place]) for place in range(most) for module, items in found.items() if place < len(items)]
    return mixed[:size]


def main() -> int:
    """Tells what survived, and the share that was noticed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--sample", type=int)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--only", default="")
    options = asked.parse_args()
    config = tomllib.loads((ROOT / ".ci" / "mutants.toml").read_text("utf-8"))
    tests: dict[str, list[str]] = {name: files for name, files in config["modules"].items() if options.only in name}
    counted: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied(Path(folder))
        os.chdir(folder)
        for number, (module, item) in enumerate(
            sampled(mutants([*tests], config["leave_out"]), options.sample, options.seed), 1
        ):
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests[module]]
            if module not in counted and subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603  our own command
                sys.stdout.write(f"the tests of {module} fail before anything is broken\n")
                return 1
            result = mutate_and_test(item.mutations, shlex.join(command), LONGEST_S)
            counted[module] += 1
            if result.test_outcome is TestOutcome.SURVIVED:
                survived[module] += 1
                mutation = item.mutations[0]
                sys.stdout.write(f"SURVIVED {mutation.operator_name} {module}:{mutation.start_pos[0]}\n{result.diff}\n")
            sys.stdout.write(f"{number}: {survived.total()} of {counted.total()} survived\n")
            sys.stdout.flush()
    for module, count in counted.items():
        sys.stdout.write(f"{count - survived[module]} of {count} killed  {module}\n")
    share = 1 - survived.total() / max(1, counted.total())
    sys.stdout.write(f"{share:.1%} of {counted.total()} killed; wanted are {config['least_killed']:.0%}\n")
    return 0 if share >= config["least_killed"] else 1


if __name__ == "__main__":
    sys.exit(main())
