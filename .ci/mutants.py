"""Breaks the code that decides, one place at a time, and counts how often the tests beside it notice.

    .venv/bin/pip install 'cosmic-ray>=8.7,<9'
    .venv/bin/python .ci/mutants.py --sample 15 --seed 7 --kept /tmp/mutants.jsonl    # 15 places an area
    .venv/bin/python .ci/mutants.py --only ab max-score                               # all of two areas

`.ci/mutants.toml` lists the areas, their modules and tests, the share that must be noticed, and the changes that change nothing.
Exit 1 below the share. It works on a copy; each mutant is tried in a fork of a process that has imported all but
what depends on it. With `--kept` a
run that was ended goes on: what was killed stays so for as long as its module is the same, what survived is tried again.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import importlib
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest
from cosmic_ray.commands import init
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).parents[1]
LONGEST_S = 300.0
"""A mutant that hangs is given up then, and counts as noticed."""
OPTIONS = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""The last: libraries whose plugins pytest would look into were imported before it."""
OWN = ("minions_evals_mcp", "agent", "tests")
LEFT = ("__main__", "__mp_main__", "_pytest", "pytest")
"""Modules that forks do not take over from here."""


def copied(folder: Path) -> None:
    """The repository's files as they are now, so that nothing is broken where people work."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]  # the caller's git
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603  our own command
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def decides(spec: MutationSpec) -> bool:
    """Whether it is code that is broken: neither a decorator's argument nor the star before keywords, which is no product."""
    row, column = spec.start_pos
    line = spec.module_path.read_text("utf-8").splitlines()[row - 1]
    return not line.startswith("@") and not (
        line[column] == "*" and line[:column].rstrip(" ").endswith(("(", "[", ","))
    )


def mutants(modules: Sequence[str], left_out: Sequence[str]) -> dict[str, list[MutationSpec]]:
    """All that could be broken, by module, in the order of the text."""
    found: dict[str, list[MutationSpec]] = {module: [] for module in modules}
    database = WorkDB("mutants.sqlite", WorkDB.Mode.create)
    init([Path(module) for module in modules], database, {})
    for item in database.work_items:
        (mutation,) = item.mutations
        if decides(mutation) and not any(name in mutation.operator_name for name in left_out):
            found[str(mutation.module_path)].append(mutation)
    database.close()
    for specs in found.values():
        specs.sort(key=lambda spec: (spec.start_pos, spec.operator_name, spec.occurrence))
    return found


def sampled(found: dict[str, list[MutationSpec]], size: int | None, seed: int) -> list[tuple[str, MutationSpec]]:
    """So many of an area, as many of each of its modules as of any other."""
    for module, specs in found.items():
        random.Random(f"{seed} {module}").shuffle(specs)  # noqa: S311  a sample, no secret
    most = max(map(len, found.values()), default=0)
    mixed = [(module, specs[place]) for place in range(most) for module, specs in found.items() if place < len(specs)]
    return mixed[:size]


def tried(tests: Sequence[str], stale: set[str], listed: Path | None) -> None:
    """In the fork: runs the tests (or only collects them, and lists what they imported), and ends with pytest's exit code."""
    os.setsid()
    with Path(os.devnull).open("w") as nothing:
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
    for name in stale:
        forget(name)
    if listed is None:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "mutants"  # noqa: TID251  for the programs that the tests start
    code = pytest.main([*OPTIONS, *(["--collect-only"] if listed else []), *tests])
    if listed:
        listed.write_text(" ".join(name for name in sys.modules if name.split(".")[0] not in LEFT))
    os._exit(code)


def importing(module: str) -> set[str]:
    """Of what is imported here the module, and all that names it or anything that names it."""
    files = {
        name: getattr(loaded, "__file__", None) for name, loaded in sys.modules.items() if name.split(".")[0] in OWN
    }
    named = {name: imported(file) for name, file in files.items() if file}
    reached = {module.removesuffix(".py").replace("/", ".")}
    while more := {name for name, others in named.items() if name not in reached and others & reached}:
        reached |= more
    return reached


@cache
def imported(file: str) -> set[str]:
    """What a module names in its imports, wherever they stand: modules, and names that may be modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def forget(name: str) -> None:
    """Has the module imported anew by whoever asks for it next."""
    sys.modules.pop(name, None)
    package, _, last = name.rpartition(".")
    if package in sys.modules:
        vars(sys.modules[package]).pop(last, None)


def passes(tests: Sequence[str], module: str, listed: Path | None = None) -> bool:
    """Whether the tests of the module pass, in a process of their own."""
    process = get_context("fork").Process(target=tried, args=(tests, importing(module), listed))
    process.start()
    process.join(LONGEST_S)
    if process.exitcode is None and process.pid:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    return process.exitcode == 0


def warmed(tests: Sequence[str], module: str) -> bool:
    """Imports what these tests need, for the forks to come; whether they pass before anything is broken."""
    listed = Path("imported")
    if not passes(tests, module, listed):
        return False
    for name in listed.read_text().split():
        last = name.rpartition(".")[2]
        if name.split(".")[0] in OWN and last.startswith("test_"):
            continue
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    return passes(tests, module)


def survives(spec: MutationSpec, tests: Sequence[str]) -> tuple[bool, list[str]]:
    """Whether the tests pass with this change, and the lines that it takes and gives."""
    for stale in (spec.module_path.parent / "__pycache__").glob(f"{spec.module_path.stem}.*.pyc"):
        stale.unlink()
    operator = get_operator(spec.operator_name)(**spec.operator_args)
    with use_mutation(spec.module_path, operator, spec.occurrence) as (was, now):
        lines = list(difflib.unified_diff(was.splitlines(), (now or was).splitlines(), n=0, lineterm=""))[3:]
        return passes(tests, str(spec.module_path)), lines


class Kept:
    """The outcomes of earlier runs: a file of JSON lines."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path and path.exists() else []
        self._killed = {row["mutant"] for row in map(json.loads, lines) if not row["survived"]}

    @staticmethod
    def _key(spec: MutationSpec) -> str:
        source = hashlib.sha256(spec.module_path.read_bytes()).hexdigest()[:16]
        return f"{source} {spec.module_path} {spec.operator_name} {spec.operator_args} {spec.occurrence}"

    def is_killed(self, spec: MutationSpec) -> bool:
        """Whether the tests have noticed it before."""
        return self._key(spec) in self._killed

    def keep(self, spec: MutationSpec, *, survived: bool) -> None:
        """Writes a line of it."""
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"mutant": self._key(spec), "survived": survived}) + "\n")


def changes_nothing(equal: Sequence[dict[str, str]], lines: Sequence[str]) -> str | None:
    """Why this change is none that a test could notice, where that was written down."""
    was, now = (" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
    return next((row["why"] for row in equal if (row["was"], row["now"]) == (was, now)), None)


def arguments() -> argparse.Namespace:
    """What the command was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="so many places of each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="these areas")
    parser.add_argument("--kept", type=Path, help="where outcomes are kept")
    return parser.parse_args()


def outcome(spec: MutationSpec, tests: Sequence[str], kept: Kept, equal: Sequence[dict[str, str]]) -> str:
    """`killed`, `survived` or `equal`; prints what was not noticed."""
    if kept.is_killed(spec):
        return "killed"
    survived, lines = survives(spec, tests)
    kept.keep(spec, survived=survived)
    if not survived:
        return "killed"
    why = changes_nothing(equal, lines)
    shown = ["CHANGES NOTHING" if why else "SURVIVED", f"{spec.module_path}:{spec.start_pos[0]}", spec.operator_name]
    sys.stdout.write("\n    ".join([" ".join(shown), *lines, *([why] if why else [])]) + "\n")
    sys.stdout.flush()
    return "equal" if why else "survived"


def main() -> int:
    """Tells what survived, and the share that was noticed, by area and in all."""
    options = arguments()
    logging.getLogger("cosmic_ray").setLevel(logging.WARNING)
    config = tomllib.loads((ROOT / ".ci" / "mutants.toml").read_text("utf-8"))
    kept = Kept(options.kept.resolve() if options.kept else None)
    total = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied(Path(folder))
        os.chdir(folder)
        sys.path.insert(0, folder)
        for area in options.only or config["areas"]:
            tests = config["areas"][area]
            sample = sampled(mutants([*tests], config["leave_out"]), options.sample, options.seed)
            for module in {module for module, spec in sample if not kept.is_killed(spec)}:
                if not warmed(tests[module], module):
                    sys.stdout.write(f"the tests of {module} fail before anything is broken\n")
                    return 1
            counted = Counter(outcome(spec, tests[module], kept, config["equal"]) for module, spec in sample)
            sys.stdout.write(f"{area}: {told(counted)}\n")
            sys.stdout.flush()
            total += counted
    sys.stdout.write(f"in all: {told(total)}; wanted are {config['least_killed']:.0%}\n")
    return 0 if share(total) >= config["least_killed"] else 1


def share(counted: Counter[str]) -> float:
    """The part that was noticed of what changes anything."""
    return counted["killed"] / max(1, counted["killed"] + counted["survived"])


def told(counted: Counter[str]) -> str:
    """The share with its counts."""
    count = counted["killed"] + counted["survived"]
    return f"{counted['killed']} of {count} killed ({share(counted):.1%}), {counted['equal']} more change nothing"


if __name__ == "__main__":
    sys.exit(main())
