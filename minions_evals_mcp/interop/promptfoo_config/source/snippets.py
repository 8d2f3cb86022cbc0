"""Code in the files that a config names, as it runs in the sandboxes: the file's text, then a call of its function."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from minions_evals_mcp.domain.assertions import ScoringCode
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.source.code import NEWER_NODE, SCRIPTS, TYPED, typescript_runs
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, named_file, read_text
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.assertions.kinds.snippets import as_called, vet_source
from minions_evals_mcp.scoring.assertions.scoring_code import ARGUMENTS
from minions_evals_mcp.targets.code_files import files_digest
from minions_evals_mcp.targets.prompted import PythonTransform

SCORER = "func"
"""The function that scores where the file's name is followed by none."""
FOUND = f"(found.{SCORER} ?? found)"
TRANSFORMER = "get_transform"
"""The function that transforms where the name of a Python file is followed by none."""
CHANGED = "output, context"
"""What a file's function is called with by a transform."""


def scoring_code(node: Node, *, trusted: bool) -> ScoringCode:
    """The code of an `assertScoringFunction`: a function in a file, or JavaScript that stands in the config."""
    language, code = _written(node, trusted=trusted)
    try:
        vet_source(code)
    except InvalidRecordError as error:
        raise node.wrong(error.reason) from None
    return ScoringCode(language=language, code=code)


def _written(node: Node, *, trusted: bool) -> tuple[Literal["python", "javascript"], str]:
    if node.file is None:
        return "javascript", node.text()
    plain, _, function = node.file.partition(":")
    path = named_file(node, plain)
    match path.suffix:
        case ".py":
            return "python", python_code(read_text(path), function or SCORER, ARGUMENTS)
        case suffix if suffix in SCRIPTS:
            return "javascript", javascript_code(node, path, function, ARGUMENTS, trusted=trusted, default=FOUND)
        case _:
            raise node.wrong("must be JavaScript, or a function in a file: file://score.js:NAME, file://score.py:NAME")


def transform_code(
    node: Node, refusals: Refusals, arguments: str = CHANGED, *, python: bool = True
) -> str | PythonTransform | None:
    """Returns what a transform runs: JavaScript as it stands there, or a function in the file that it names; None where refused.

    A function that stands there is called only for an answer over HTTP; other transforms would give the function itself.
    """
    if node.file is None:
        if as_called(node.text(), arguments) != node.text() and python:
            refusals.add(node, "a function, which promptfoo does not call in a transform: write what it returns")
            return None
        return node.text() or None
    plain, _, function = node.file.partition(":")
    path = named_file(node, plain)
    suffix = path.suffix.lower()
    if suffix in SCRIPTS:
        return javascript_code(node, path, function, arguments, trusted=refusals.trust_code)
    if suffix == ".py" and python:
        return PythonTransform(code=python_code(read_text(path), function or TRANSFORMER, arguments))
    refusals.add(node, f"a transform in a {suffix or 'nameless'} file")
    return None


def python_code(text: str, function: str, arguments: str) -> str:
    """The file's function, called."""
    return f"{text}\nreturn {function}({arguments})"


_STATEMENT = re.compile(r"^[^\S\n]*+import\b\s*(?!\()", re.MULTILINE)
_IMPORTS = re.compile(
    r"^[^\S\n]*+import\b|\bimport\s*\(|\brequire\s*\(|^[^\S\n]*+export\b[^;\n]*\bfrom\b|\bimport\.meta\b", re.MULTILINE
)
_EXPORTED = re.compile(r"^export\s+((?:async\s+)?function\s*\*?|const|let|var|class)\s+([\w$]+)", re.MULTILINE)
_EXPORTS = re.compile(r"^export\s*\{([^}]*)\};?", re.MULTILINE)


def _as_script(text: str) -> str:
    """An ES module without imports as a script that says the same; any other text as it is."""
    named = {name: name for _, name in _EXPORTED.findall(text)}
    for listed in _EXPORTS.findall(text):
        parts = [part.split(" as ") for part in listed.split(",") if part.strip()]
        named |= {part[-1].strip(): part[0].strip() for part in parts}
    script = _EXPORTS.sub("", _EXPORTED.sub(r"\1 \2", text))
    script = re.sub(r"^export\s+default\s+", "module.exports.default = ", script, flags=re.MULTILINE)
    return "\n".join((script, *(f"module.exports[{json.dumps(name)}] = {held};" for name, held in named.items())))


def _importing(path: Path, base: Path, function: str, arguments: str, default: str) -> str:
    """Imports the module in its place; the digest of all that it imports makes an edited one other code."""
    address, code = json.dumps(path.resolve().as_uri()), files_digest([path], base.resolve())
    chosen = f"(all.{function} ?? found.{function})" if function.isidentifier() else default
    return (
        f"// {code}\nreturn import({address}).then((all) => {{\n"
        f"const found = all.default?.default ?? all.default ?? all;\nreturn {chosen}({arguments});\n}});"
    )


def javascript_code(
    node: Node, path: Path, function: str, arguments: str, *, trusted: bool, default: str = "found"
) -> str:
    """The file's exported function, called; `default` is the one where none is named.

    A module that imports others is imported by node, where the operator trusts it.
    """
    text = read_text(path)
    is_typed = path.suffix.lower() in TYPED
    if is_typed and trusted and not typescript_runs():
        raise node.wrong(NEWER_NODE)
    if trusted and (is_typed or _IMPORTS.search(text)):
        return _importing(path, node.source.base, function, arguments, default)
    if is_typed or _STATEMENT.search(text):
        kind = "TypeScript" if is_typed else "a module that imports others"
        raise node.wrong(
            f"{kind} runs only with {argument('trust_code')}; else write what it needs into one JavaScript file"
        )
    text = _as_script(text)
    chosen = (
        f"(found.{function} ?? found.default.{function})" if function.isidentifier() else default
    )  # beside a default none is named
    short = "const exports = module.exports;" if re.search(r"(?<![\w.])exports\b", text) else ""
    return (
        f"const module = {{exports: {{}}}};{short}\n{text}\nconst found = module.exports.default ?? module.exports;\n"
        f"return {chosen}({arguments});"
    )
