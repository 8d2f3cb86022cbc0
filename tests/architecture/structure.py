"""`python -m tests.architecture.structure`: the size and shape of the code, and the baseline that it may not fall behind.

`--write` records the figures as the new baseline, in `structure.json`.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType

import anyio

from minions_evals_mcp.scoring.assertions.table import NAMES
from tests.architecture.test_rooms import imports
from tests.shared.server.hosts import hosted, suite
from tests.workshop import config_in

ROOT = Path(__file__).parents[2]
OURS = ("minions_evals_mcp", "agent")
KEPT = Path(__file__).with_name("structure.json")
LOOP = ("minions_evals_mcp.engine.run.pipeline", "run_units")
"""The run loop: from here on the units of a run are carried out."""
BELOW = (
    "engine",
    "judges",
    "targets",
    "store",
    "models",
    "embedding",
    "sandbox",
    "skills",
    "scoring",
    "stats",
    "domain",
    "errors",
    "frozen_types",
)
"""What stands below the interfaces, by its folder or module."""


@cache
def trees() -> Mapping[str, ast.Module]:
    """Every module of the product, parsed, by its path."""
    files = [file for name in OURS for file in sorted((ROOT / name).rglob("*.py"))]
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8")) for file in files}


def longest_chain() -> list[str]:
    """The longest chain of imports, those within functions and for types alone included."""
    graph = imports()
    ours = {module for module in graph.modules if module.startswith(OURS)}
    below = {module: graph.find_modules_directly_imported_by(module) & ours for module in sorted(ours)}
    chains: dict[str, list[str]] = {}
    for module in TopologicalSorter(below).static_order():
        longest = max(
            (chains[other] for other in sorted(below[module]) if other in chains), key=len, default=list[str]()
        )
        chains[module] = [module, *longest]
    return max(chains.values(), key=len)


def repeated_classes() -> dict[str, int]:
    """Names that several public classes have, with how many."""
    names = (
        node.name
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return _repeated(names)


def repeated_basenames() -> dict[str, int]:
    """Names that several modules have in different folders, with how many."""
    return _repeated(Path(path).name for path in trees() if not path.endswith(("__init__.py", "__main__.py")))


def naming_check_types() -> list[str]:
    """The modules outside of `scoring/assertions` that have the name of a check type as a text."""
    return [
        path
        for path, tree in trees().items()
        if not path.startswith("minions_evals_mcp/scoring/assertions/")
        and any(isinstance(node, ast.Constant) and node.value in NAMES for node in ast.walk(tree) if _is_text(node))
    ]


@cache
def entered_before_the_loop() -> list[str]:
    """The modules that MCP's run_benchmark enters, in their order, up to the run loop."""
    entered: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        module = str(frame.f_globals.get("__name__", ""))
        if (module, frame.f_code.co_name) == LOOP:
            sys.setprofile(None)
        elif module.startswith(OURS) and module not in entered:
            entered.append(module)

    async def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with hosted(config_in(Path(folder))) as host:
                await host.call("save_records", records=suite(2))
                await host.call("run_benchmark", benchmarkId="b", dryRun=True)  # what is imported once is imported
                sys.setprofile(look)
                await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)

    try:
        anyio.run(call)
    finally:
        sys.setprofile(None)
    return entered


def of_interfaces(modules: list[str]) -> list[str]:
    """Those of them that stand above the engine."""
    return [module for module in modules if not module.startswith(tuple(f"{OURS[0]}.{folder}" for folder in BELOW))]


SHARED_CLASS_NAMES = {
    "Request": "each operation has one, told apart by its module",
    "Answer": "as above",
    **dict.fromkeys(
        ("TestCase", "TestBranch", "TestBranchExecution", "TestCaseExecution", "TestCaseStats", "PromptVersion"),
        "document 5 names the type of the schema as document 1 or 4 names the record",
    ),
    **dict.fromkeys(("ComparisonRequest", "AbTestRequest"), "the Python API's own, asked by `python`"),
    **dict.fromkeys(("Rubric", "Verdict"), "the Python API's own, which a user writes"),
}
"""Public names that several classes may have, each with the reason."""

FIGURES: Mapping[str, Callable[[], int]] = {
    "packages": lambda: len({str(Path(path).parent) for path in trees()}),
    "modules": lambda: len(trees()),
    "longestImportChain": lambda: len(longest_chain()),
    "repeatedClassNames": lambda: len(repeated_classes().keys() - SHARED_CLASS_NAMES.keys()),
    "classesOfRepeatedNames": lambda: sum(repeated_classes().values()),
    "repeatedBasenames": lambda: len(repeated_basenames()),
    "modulesOfRepeatedBasenames": lambda: sum(repeated_basenames().values()),
    "modulesNamingCheckTypes": lambda: len(naming_check_types()),
    "modulesBeforeTheRunLoop": lambda: len(entered_before_the_loop()),
    "interfaceModulesBeforeTheRunLoop": lambda: len(of_interfaces(entered_before_the_loop())),
}
"""The figures by name; of each, less is better."""
RATCHET = ("interfaceModulesBeforeTheRunLoop", "repeatedClassNames")
"""The figures that may not become larger than their baseline; the others are recorded, to be looked at."""


def figures(names: Iterable[str] = FIGURES) -> dict[str, int]:
    """Those figures."""
    return {name: FIGURES[name]() for name in names}


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _repeated(names: Iterator[str]) -> dict[str, int]:
    return {name: number for name, number in Counter(names).most_common() if number > 1}


def main() -> None:
    """Prints the figures beside their baseline, and what is behind them."""
    found = figures()
    if "--write" in sys.argv[1:]:
        KEPT.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    kept: dict[str, int] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    for name, value in found.items():
        sys.stdout.write(f"{name:34} {value:6}   baseline {kept.get(name, '-'):>6}\n")
    sys.stdout.write("\nlongest import chain:\n  " + "\n  ".join(longest_chain()) + "\n")
    for title, names in (("class names", repeated_classes()), ("basenames", repeated_basenames())):
        sys.stdout.write(
            f"\nrepeated {title}: " + ", ".join(f"{name} {number}" for name, number in names.items()) + "\n"
        )
    sys.stdout.write(
        "\nbefore the run loop, above the engine:\n  " + "\n  ".join(of_interfaces(entered_before_the_loop())) + "\n"
    )


if __name__ == "__main__":
    main()
