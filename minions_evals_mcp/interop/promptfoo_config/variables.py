"""A test's variables: files read, lists of texts spread over several tests, templates in values filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.source.code import SCRIPTS, called, called_module, runs_module
from minions_evals_mcp.interop.promptfoo_config.source.environment import with_environment
from minions_evals_mcp.interop.promptfoo_config.source.media import media_text
from minions_evals_mcp.interop.promptfoo_config.source.reading import (
    FILE,
    YAML,
    Node,
    named_file,
    named_files,
    read_node,
    read_text,
)
from minions_evals_mcp.interop.promptfoo_config.source.references import with_included
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.source.snippets import transform_code
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.kinds.snippets import as_transform
from minions_evals_mcp.scoring.checks import Ran, SnippetError
from minions_evals_mcp.scoring.nunjucks.templates import rendered
from minions_evals_mcp.scoring.nunjucks.values import js_string

ROUNDS = 5
MOST_TESTS = 100_000
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PRINTED = re.compile(r"\{\{\s*([A-Za-z_]\w*)[^{}\s|]*\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([A-Za-z_]\w*)")
_LOOP = re.compile(r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}")
"""Where promptfoo looks for the variables of a value: what is printed as it is or by filters, and asked for in tags."""


@dataclass(frozen=True, slots=True)
class _ByCode:
    """A variable whose value a Python file's `get_var(name, prompt, variables)` gives."""

    node: Node
    path: Path

    def value(self, name: str, prompts: Sequence[str], variables: Json, refusals: Refusals) -> JsonValue:
        """The value, which must be the same for every prompt: a test has one set of variables."""
        values = [self._called(name, prompt, variables) for prompt in prompts]
        if len(set(values)) > 1:
            refusals.add(self.node, f"get_var in {self.path.name} gives another value for each prompt")
        return values[0] if values else ""

    def _called(self, name: str, prompt: str, variables: Json) -> str:
        if self.path.suffix == ".py":
            returned = called(
                self.node, self.path, "get_var", name, prompt, variables, called_with="name, prompt, variables"
            )
        else:
            returned = called_module(self.node, self.path, None, name, prompt, variables, withheld="the provider")
        match returned:
            case {"error": error} if error:
                raise self.node.wrong(f"get_var in {self.path.name}: {value_text(error)}")
            case {"output": str(output)} if output:
                return output.strip()
            case _:
                raise self.node.wrong(f"get_var in {self.path.name} must give {{'output': TEXT}}")


_Choice = JsonValue | _ByCode


def combinations(
    variables: Mapping[str, Node], prompts: Sequence[str], refusals: Refusals, *, spread: bool
) -> Iterator[Json]:
    """The variables of each test that these make: with `spread`, every combination of the lists of texts in them."""
    choices = [_choices(node, refusals, spread=spread) for node in variables.values()]
    tests = 1
    for several in choices:
        tests *= len(several)
    if tests > MOST_TESTS:
        some = next(iter(variables.values()))
        raise some.wrong(f"its lists of variables make {tests:,} tests; at most {MOST_TESTS:,} are made of one")
    for values in product(*choices):
        whole = _coded(dict(zip(variables, values, strict=True)), prompts, refusals)
        yield _resolved(whole)


def transformed(variables: Mapping[str, Node], node: Node | None, refusals: Refusals) -> Mapping[str, Node]:
    """The variables as they stand with those that `transformVars` makes of them over them; its code runs in the sandbox."""
    code = None if node is None else transform_code(node, refusals, "vars, context", python=False)
    if node is None or not isinstance(code, str):
        return variables

    async def run() -> Ran | SnippetError:
        async with Snippets() as snippets:
            values: Json = {name: variable.value for name, variable in variables.items()}
            arguments: Json = {"vars": values, "context": {"prompt": {}}}
            return await snippets.run("javascript", as_transform(code, "vars, context"), arguments)

    with start_blocking_portal() as portal:
        ran = portal.call(run)
    if isinstance(ran, SnippetError):
        raise node.wrong(f"the code failed: {ran.error}")
    if not isinstance(ran.value, dict):
        raise node.wrong("the code must give an object of variables")
    made = {name: replace(variables.get(name, node), value=value) for name, value in ran.value.items()}
    return {**variables, **made}


def _coded(variables: Mapping[str, _Choice], prompts: Sequence[str], refusals: Refusals) -> Json:
    """The variables with the values that code gives; it is shown the others, the later ones of code by their file."""
    wire: Json = {
        name: f"{FILE}{value.path}" if isinstance(value, _ByCode) else value for name, value in variables.items()
    }
    for name, value in variables.items():
        if isinstance(value, _ByCode):
            wire[name] = value.value(name, prompts, wire, refusals)
    return wire


def _choices(node: Node, refusals: Refusals, *, spread: bool) -> list[_Choice]:
    if node.file is not None:
        return [_read(node, name, refusals) for name in (named_files(node, node.file) if spread else [node.file])]
    if spread and isinstance(node.value, list) and node.value and isinstance(node.value[0], str):
        return [
            value
            for node in node.elements()
            for value in ([_read(node, node.file, refusals)] if node.file is not None else [node.value])
        ]
    return [node.value]


def _read(node: Node, name: str, refusals: Refusals) -> _Choice:
    suffix = Path(name).suffix.lower()
    if suffix in SCRIPTS:
        return _ByCode(node, named_file(node, name)) if runs_module(node, name, refusals) else ""
    if suffix == ".pdf":
        refusals.add(node, "a variable made from a .pdf file")
        return ""
    path = named_file(node, name)
    if suffix == ".py":
        return _ByCode(node, path)
    if (media := media_text(path)) is not None:
        return media
    if suffix in YAML:
        return json.dumps(read_node(path, node.source.base).value, ensure_ascii=False, separators=(",", ":"))
    return read_text(path).strip()


def _resolved(variables: Json) -> Json:
    """The variables with the places in them filled by each other; one that names what is not there stays as it is."""
    resolved = {
        name: value.removesuffix("\n") if isinstance(value, str) else value for name, value in variables.items()
    }
    for _ in range(ROUNDS):
        before = dict(resolved)
        for name, value in resolved.items():
            place = _PLACE.search(value) if isinstance(value, str) else None
            if isinstance(value, str) and place is not None and place.group(1) in resolved:
                resolved[name] = value.replace(place.group(), js_string(resolved[place.group(1)]), 1)
        if resolved == before:
            break
    return resolved


def computed(variables: Json, node: Node | None, environment: Mapping[str, str], refusals: Refusals) -> Json:
    """The variables whose values compute something (`{{name | upper}}`, in a file `{{env.NAME}}`), filled in.

    Checks are given them as they stand.
    """
    surrounded = {name: _surrounded(value, node, environment, refusals) for name, value in variables.items()}
    filled = {name: _filled(value, variables, node, refusals) for name, value in surrounded.items()}
    return {name: value for name, value in filled.items() if value != variables[name]}


def _surrounded(value: JsonValue, node: Node | None, environment: Mapping[str, str], refusals: Refusals) -> JsonValue:
    if node is None or not isinstance(value, str):
        return value
    return with_environment(replace(node, value=value), environment, refusals).value


def _filled(value: JsonValue, variables: Json, node: Node | None, refusals: Refusals) -> JsonValue:
    if not isinstance(value, str) or "{" not in value or not _names(value) <= variables.keys():
        return value
    try:
        return rendered(value if node is None else with_included(node, value), variables)
    except UnsupportedError as error:
        if node is not None:
            refusals.add(node, error.message_text)
        return value


def _names(value: str) -> set[str]:
    """The variables that a value names, as promptfoo finds them: where one is missing, the value stays as it is."""
    loops = _LOOP.findall(value)
    names = {printed or tag_name for printed, tag_name in _PRINTED.findall(value)}
    return (names - {each for each, _ in loops}) | {of for _, of in loops}
