"""A test's variables: files read, lists of texts spread over several tests, templates in values filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.reading import YAML, Node, named_file, named_files, read_node, read_text
from minions_evals_mcp.interop.promptfoo_config.refusal import Refusals
from minions_evals_mcp.scoring.nunjucks import rendered
from minions_evals_mcp.scoring.nunjucks_values import js_string

ROUNDS = 5
MOST_TESTS = 100_000
BINARY = frozenset(
    [
        ".pdf",
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".bmp",
        ".svg",
        ".mp3",
        ".wav",
        ".m4a",
        ".ogg",
        ".mp4",
        ".mov",
        ".webm",
        ".avi",
    ]
)
CODE = frozenset([".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"])
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_NAMED = re.compile(r"\{[{%][^{}%]*?([A-Za-z_]\w*)")


def combinations(variables: Mapping[str, Node], refusals: Refusals, *, spread: bool) -> Iterator[Json]:
    """The variables of each test that these make: with `spread`, every combination of the lists of texts in them."""
    choices = [_choices(node, refusals, spread=spread) for node in variables.values()]
    tests = 1
    for several in choices:
        tests *= len(several)
    if tests > MOST_TESTS:
        some = next(iter(variables.values()))
        raise some.wrong(f"its lists of variables make {tests:,} tests; at most {MOST_TESTS:,} are made of one")
    for values in product(*choices):
        yield _resolved(dict(zip(variables, values, strict=True)), next(iter(variables.values()), None), refusals)


def _choices(node: Node, refusals: Refusals, *, spread: bool) -> list[JsonValue]:
    if node.file is not None:
        return [_read(node, name, refusals) for name in (named_files(node, node.file) if spread else [node.file])]
    if spread and isinstance(node.value, list) and node.value and isinstance(node.value[0], str):
        return [
            value
            for one in node.elements()
            for value in ([_read(one, one.file, refusals)] if one.file is not None else [one.value])
        ]
    return [node.value]


def _read(node: Node, name: str, refusals: Refusals) -> JsonValue:
    suffix = Path(name).suffix.lower()
    if suffix in BINARY | CODE:
        refusals.add(node, f"a variable made from a {suffix} file")
        return ""
    path = named_file(node, name)
    if suffix in YAML:
        return json.dumps(read_node(path, node.source.base).value, ensure_ascii=False, separators=(",", ":"))
    return read_text(path).strip()


def _resolved(variables: Json, node: Node | None, refusals: Refusals) -> Json:
    """The variables with the places in them filled by each other; one that names what is not there stays as it is."""
    found = {name: value.removesuffix("\n") if isinstance(value, str) else value for name, value in variables.items()}
    for _ in range(ROUNDS):
        before = dict(found)
        for name, value in found.items():
            place = _PLACE.search(value) if isinstance(value, str) else None
            if isinstance(value, str) and place is not None and place.group(1) in found:
                found[name] = value.replace(place.group(), js_string(found[place.group(1)]), 1)
        if found == before:
            break
    return {name: _filled(value, found, node, refusals) for name, value in found.items()}


def _filled(value: JsonValue, variables: Json, node: Node | None, refusals: Refusals) -> JsonValue:
    if not isinstance(value, str) or "{" not in value or any(name not in variables for name in _NAMED.findall(value)):
        return value
    try:
        return rendered(value, variables)
    except UnsupportedError as error:
        if node is not None:
            refusals.add(node, error.message)
        return value
