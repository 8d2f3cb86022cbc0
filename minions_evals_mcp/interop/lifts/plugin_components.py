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
from minions_evals_mcp.engine.lift.components import PluginComponent
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.interop.lifts.plugin_cases import MANIFESTS
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.skill_evals import SKILL_FILE
from minions_evals_mcp.targets.workspace import Laid

_Parts = tuple[tuple[PluginComponent, tuple[str, ...]], ...]
"""The components in a file; the path in it of those that are entries of a JSON file."""
FOLDERS = {"agents": "agent", "commands": "command"}
"""Folders of Markdown files, each of which is one component."""
HOOKS, SERVERS = "hooks", "mcpServers"
LISTS = {HOOKS: "hook", SERVERS: "MCP server"}
"""What a JSON file lists by name."""
BY_PATH = ("skills", "agents", "commands", *LISTS, "lspServers", "outputStyles")
"""What a manifest may name by path."""
LISTED_IN = {PurePosixPath("hooks/hooks.json"): HOOKS, PurePosixPath(".mcp.json"): SERVERS}


KINDS = ("skill", *FOLDERS.values(), *LISTS.values())


@frozen_type
class PluginFiles:
    """The files of a plugin that is laid at a place, each with the components in it: read once, however many arms are made."""

    parts: tuple[tuple[Laid, _Parts], ...]

    @classmethod
    def at(cls, files: Sequence[Laid], place: PurePosixPath) -> PluginFiles:
        """The files laid there; raises by name for one that lists components and cannot be read."""
        return cls(tuple((file, tuple(_in_file(file, place))) for file in files))

    @property
    def components(self) -> tuple[PluginComponent, ...]:
        """Its components, in the order of their kinds and names."""
        found = dict.fromkeys(component for _, held in self.parts for component, _ in held)
        return tuple(sorted(found, key=lambda component: (KINDS.index(component.kind), component.name)))

    def without(self, removed: Iterable[PluginComponent]) -> tuple[Laid, ...]:
        """The files without those components: their files are left out, their entries taken from JSON files."""
        gone = frozenset(removed)
        return tuple(rest for file, held in self.parts if (rest := _rest(file, held, gone)) is not None)

    def elsewhere(self, place: PurePosixPath) -> list[str]:
        """The paths that the manifest names for more components: what stands there belongs to every arm."""
        manifests = [_document(file) for file, _ in self.parts if _is_manifest(file, place)]
        return [path for manifest in manifests for key in BY_PATH for path in _paths(manifest.get(key))]


def _is_manifest(file: Laid, at: PurePosixPath) -> bool:
    return file.place.is_relative_to(at) and Path(file.place.relative_to(at)) in MANIFESTS


def _paths(value: JsonValue) -> list[str]:
    named = value if isinstance(value, list) else [value]
    return [path for path in named if isinstance(path, str)]


def _rest(file: Laid, held: _Parts, gone: frozenset[PluginComponent]) -> Laid | None:
    paths = [path for component, path in held if component in gone]
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


def _in_file(file: Laid, at: PurePosixPath) -> Iterator[tuple[PluginComponent, tuple[str, ...]]]:
    """The components to which the file belongs; the path in it of those that are entries of a JSON file."""
    if not file.place.is_relative_to(at):
        return
    place = file.place.relative_to(at)
    parts = place.parts
    top = parts[0]
    if top == "skills" and len(parts) > 2 and (file.root / "skills" / parts[1] / SKILL_FILE).is_file():
        yield PluginComponent("skill", parts[1]), ()
    elif top in FOLDERS and place.suffix == ".md" and len(parts) > 1:
        yield PluginComponent(FOLDERS[top], place.relative_to(top).with_suffix("").as_posix()), ()
    elif place in LISTED_IN:
        key = LISTED_IN[place]
        document = _document(file)
        yield from _entries(document, key, () if key not in document and key == SERVERS else (key,))
    elif _is_manifest(file, at):
        document = _document(file)
        for key in LISTS:
            yield from _entries(document, key, (key,))


def _entries(
    document: Mapping[str, JsonValue], key: str, path: tuple[str, ...]
) -> Iterator[tuple[PluginComponent, tuple[str, ...]]]:
    """The named entries below that path; a manifest may name files there instead, which are no entries."""
    held: JsonValue = dict(document)
    for part in path:
        held = held.get(part) if isinstance(held, dict) else None
    if isinstance(held, dict):
        yield from ((PluginComponent(LISTS[key], name), (*path, name)) for name in held)


def _document(file: Laid) -> Json:
    """The JSON object in the file; raises by name where it cannot be read."""
    try:
        content = bounded_files.read_text(file.source) if file.content is None else file.content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{file.source} cannot be read: {error}.", remedy="Check the file.") from None
    return obj(cast("JsonValue", parse_json(content, str(file.source))))
