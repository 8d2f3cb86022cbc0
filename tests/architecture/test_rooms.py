"""The house and its tests drawn as rooms and arrows: no circle among files or folders, no folder too large to be looked over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
OURS = ("minions_evals_mcp", "agent", "tests")
SHARED, EVERYWHERE = "tests.shared", {"tests.hang", "tests.workshop"}
MOST_MODULES = 25


@cache
def is_package(module: str) -> bool:
    return (ROOT / module.replace(".", "/")).is_dir()


def folder(module: str) -> str:
    """The folder of a module; those at the top stand for themselves, as composition roots do."""
    return module if is_package(module) or module.count(".") == 1 else module.rpartition(".")[0]


def part_of(package: str, module: str) -> str:
    """The file or folder of the package, with all below it, that a module stands in; empty for one that stands elsewhere."""
    inside = module.startswith(f"{package}.")
    return ".".join(module.split(".")[: package.count(".") + 2]) if inside else ""


def circle(graph: grimp.ImportGraph, room: Callable[[str], str]) -> list[str]:
    """A circle of imports among rooms; empty where there is none."""
    arrows: dict[str, set[str]] = {}
    for module in graph.modules:
        if place := room(module):
            targets = {room(other) for other in graph.find_modules_directly_imported_by(module)}
            arrows.setdefault(place, set()).update(targets - {place, ""})
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def imports() -> grimp.ImportGraph:
    """Who imports whom, of the product and its tests."""
    return grimp.build_graph(*OURS, cache_dir=None)


def test_nothing_is_imported_in_a_circle() -> None:
    graph = imports()
    assert circle(graph, str) == [], "files"
    assert circle(graph, folder) == [], "folders"
    for package in filter(is_package, graph.modules):
        assert circle(graph, partial(part_of, package)) == [], package


def test_what_tests_share_imports_no_room_of_tests() -> None:
    graph = imports()
    shared = graph.find_descendants(SHARED)
    assert shared
    imported = {other for module in shared for other in graph.find_modules_directly_imported_by(module)}
    assert {other for other in imported if other.startswith("tests.")} - shared - EVERYWHERE == set()


def test_a_folder_holds_at_most_25_modules() -> None:
    files = [file for name in OURS for file in (ROOT / name).rglob("*.py") if file.name != "__init__.py"]
    assert {file.relative_to(ROOT).parts[0] for file in files} == {*OURS}
    counted = Counter(str(file.parent.relative_to(ROOT)) for file in files)
    assert {name: count for name, count in counted.items() if count > MOST_MODULES} == {}
