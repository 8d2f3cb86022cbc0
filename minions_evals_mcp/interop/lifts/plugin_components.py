"""The components of a plugin: skills, agents, commands, hooks and MCP servers, and its files without some of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import cast

from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.engine.lift.components import Component
from minions_evals_mcp.interop.lifts.plugin_cases import MANIFESTS
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.skill_evals import SKILL_FILE
from minions_evals_mcp.targets.workspace import Laid

FOLDERS = {"agents": "agent", "commands": "command"}
"""Folders of Markdown files, each of which is one component."""
HOOKS, SERVERS = "hooks", "mcpServers"
LISTS = {HOOKS: "hook", SERVERS: "MCP server"}
"""What a JSON file lists by name."""
LISTED_IN = {PurePosixPath("hooks/hooks.json"): HOOKS, PurePosixPath(".mcp.json"): SERVERS}


def components_of(files: Sequence[Laid], at: PurePosixPath) -> tuple[Component, ...]:
    """The components of the plugin that is laid at that place, in the order of their kinds and names."""
    found = dict.fromkeys(component for file in files for component, _ in _in_file(file, at))
    return tuple(sorted(found, key=lambda component: (KINDS.index(component.kind), component.name)))


KINDS = ("skill", *FOLDERS.values(), *LISTS.values())


def files_without(files: Sequence[Laid], at: PurePosixPath, removed: Iterable[Component]) -> tuple[Laid, ...]:
    """The plugin's files without those components: their files are left out, their entries taken from JSON files."""
    gone = frozenset(removed)
    return tuple(rest for file in files if (rest := _rest(file, at, gone)) is not None)


def _rest(file: Laid, at: PurePosixPath, gone: frozenset[Component]) -> Laid | None:
    paths = [path for component, path in _in_file(file, at) if component in gone]
    if not paths:
        return file
    if not all(paths):
        return None
    document = _document(file)
    for path in paths:
        _drop(document, path)
    content = to_json(document, indent=2) + b"\n"
    return replace(file, content=content, sha256=hashlib.sha256(content).hexdigest())


def _drop(document: Json, path: Sequence[str]) -> None:
    *above, last = path
    held = document
    for part in above:
        inner = held[part]
        assert isinstance(inner, dict)  # the path was read from it
        held = inner
    del held[last]


def _in_file(file: Laid, at: PurePosixPath) -> Iterator[tuple[Component, tuple[str, ...]]]:
    """The components to which the file belongs; the path in it of those that are entries of a JSON file."""
    if not file.place.is_relative_to(at):
        return
    place = file.place.relative_to(at)
    parts = place.parts
    top = parts[0]
    if top == "skills" and len(parts) > 2 and (file.root / "skills" / parts[1] / SKILL_FILE).is_file():
        yield Component("skill", parts[1]), ()
    elif top in FOLDERS and place.suffix == ".md" and len(parts) > 1:
        yield Component(FOLDERS[top], place.relative_to(top).with_suffix("").as_posix()), ()
    elif place in LISTED_IN:
        key = LISTED_IN[place]
        document = _document(file)
        yield from _entries(document, key, () if key not in document and key == SERVERS else (key,))
    elif Path(place) in MANIFESTS:
        document = _document(file)
        for key in LISTS:
            yield from _entries(document, key, (key,))


def _entries(
    document: Mapping[str, JsonValue], key: str, path: tuple[str, ...]
) -> Iterator[tuple[Component, tuple[str, ...]]]:
    """The named entries below that path; a manifest may name files there instead, which are no entries."""
    held: JsonValue = dict(document)
    for part in path:
        held = held.get(part) if isinstance(held, dict) else None
    if isinstance(held, dict):
        yield from ((Component(LISTS[key], name), (*path, name)) for name in held)


def _document(file: Laid) -> Json:
    """The JSON object in the file; raises by name where it is none."""
    content = bounded_files.read_text(file.source) if file.content is None else file.content.decode()
    return obj(cast("JsonValue", parse_json(content, str(file.source))))
