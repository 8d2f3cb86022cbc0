"""Code in the files that a config names, as it runs in the sandboxes: the file's text, then a call of its function."""

from __future__ import annotations

import re
from typing import Literal

from minions_evals_mcp.domain.assertions import ScoringCode
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.reading import Node, named_file, read_text
from minions_evals_mcp.scoring.assertions.scoring_code import ARGUMENTS
from minions_evals_mcp.scoring.assertions.snippets import vet_source

SCORER = "func"
"""The function that scores where the file's name is followed by none."""
FOUND = f"(found.{SCORER} ?? found)"


def scoring_code(node: Node) -> ScoringCode:
    """The code of an `assertScoringFunction`: a function in a file, or JavaScript that stands in the config."""
    language, code = _written(node)
    try:
        vet_source(code)
    except InvalidRecordError as error:
        raise node.wrong(error.reason) from None
    return ScoringCode(language=language, code=code)


def _written(node: Node) -> tuple[Literal["python", "javascript"], str]:
    if node.file is None:
        return "javascript", node.text()
    plain, _, function = node.file.partition(":")
    path = named_file(node, plain)
    match path.suffix:
        case ".py":
            return "python", python_code(read_text(path), function or SCORER, ARGUMENTS)
        case ".js" | ".cjs":
            return "javascript", javascript_code(node, read_text(path), function, ARGUMENTS, default=FOUND)
        case _:
            raise node.wrong("must be JavaScript, or a function in a file: file://score.js:NAME, file://score.py:NAME")


def python_code(text: str, function: str, arguments: str) -> str:
    """The file's function, called."""
    return f"{text}\nreturn {function}({arguments})"


def javascript_code(node: Node, text: str, function: str, arguments: str, *, default: str = "found") -> str:
    """The file's exported function, called; `default` is the one where none is named."""
    if re.search(r"^\s*(export|import)\s", text, re.MULTILINE):
        raise node.wrong("an ES module cannot be run in the sandbox: write module.exports = (output, context) => …")
    chosen = f"found.{function}" if function.isidentifier() else default
    return (
        f"const module = {{exports: {{}}}};\n{text}\nconst found = module.exports.default ?? module.exports;\n"
        f"return {chosen}({arguments});"
    )
