"""Code of the user's that makes parts of a config: called once, when the config is read."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

from pydantic import JsonValue, TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json

from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.sandbox.node import node_here, runs_typescript
from minions_evals_mcp.targets.module_file import ModuleError, exported
from minions_evals_mcp.targets.python_file import awaited, function_in

SCRIPTS = frozenset({".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"})
"""Code that node runs, if anything."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


EXEC = "exec:"
TRUSTED = f"JavaScript makes parts of a config only with {argument('trust_code')}"
TYPED = frozenset({".ts", ".cts", ".mts"})
NEWER_NODE = "TypeScript needs Node 22.18 or later on the PATH, or write it as JavaScript"


def runs_module(node: Node, name: str, refusals: Refusals) -> bool:
    """Returns whether that JavaScript may be run by node; refused by name where it is not trusted."""
    if not refusals.trust_code:
        refusals.add(node, f"{name}: {TRUSTED}")
        return False
    return runs_types(node, name, refusals)


def runs_types(node: Node, name: str, refusals: Refusals) -> bool:
    """Returns whether that is no TypeScript, or the node here runs it; refused by name where it does not."""
    if Path(name).suffix.lower() in TYPED and not typescript_runs():
        refusals.add(node, f"{name}: {NEWER_NODE}")
        return False
    return True


def typescript_runs() -> bool:
    """Returns whether there is a node here that runs TypeScript."""
    program = node_here()
    return program is not None and runs_typescript(program)


def folder_of(node: Node) -> str:
    """The folder of the config, where its programs run; empty where that is the current one."""
    folder = node.source.base.resolve()
    return "" if folder == Path.cwd() else str(folder)


def command_words(node: Node, command: str) -> tuple[str, ...]:
    """The words of a command line; raises `InvalidRecordError` where there are none."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise node.wrong(f"{EXEC} is no command line: {error}") from None
    if not words:
        raise node.wrong(f"{EXEC} names no program")
    return tuple(words)


def called_module(node: Node, path: Path, function: str | None, *arguments: JsonValue, withheld: str = "") -> JsonValue:
    """Returns what the module's function gives; raises `InvalidRecordError` with the place that names it.

    It may read nothing of a `withheld` argument, which stands behind the others.
    """
    try:
        return exported(path, function, *arguments, withheld=withheld)
    except ModuleError as error:
        raise node.wrong(f"{path.name}: {error}") from None


def code_file(name: str) -> tuple[str, str | None] | None:
    """The file of code and the function in it that `file.py:function` names; None for what names no code."""
    head, _, function = name.rpartition(":")
    if Path(head).suffix.lower() in SCRIPTS | {".py"}:
        return head, function
    return (name, None) if Path(name).suffix.lower() in SCRIPTS | {".py"} else None


def called(node: Node, path: Path, function: str, *arguments: JsonValue, called_with: str) -> JsonValue:
    """Returns what the function gives, as JSON; raises `InvalidRecordError` with the place that names it.

    What it prints goes to stderr: stdout is the answer's.
    """
    with redirect_stdout(sys.stderr):
        called_function = function_in(path, function, called_with=called_with)
        try:
            value = awaited(called_function(*arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything
            raise node.wrong(f"{function} in {path.name} raised {type(error).__name__}: {error}") from None
    try:
        return _JSON.validate_python(from_json(to_json(value, inf_nan_mode="constants"), allow_inf_nan=False))
    except (ValueError, PydanticSerializationError):
        raise node.wrong(f"{function} in {path.name} gave {type(value).__name__} that is no JSON") from None
