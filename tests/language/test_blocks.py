"""Every code block runs: in its page's order, from an empty folder, and prints what the page shows."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import cast

import pytest
import yaml

import minions_evals_mcp
from minions_evals_mcp.cli.commands import COMMANDS, NOUNS
from tests.language.blocks import FENCE, INDENTED, Block, agrees, blocks
from tests.language.following import carried_out
from tests.language.surfaces import DOCS, pages

PAGES = pages()
RUN = [name for name, text in PAGES.items() if any(block.is_run for block in blocks(text))]
MOST_FRAGMENTS = 10
RUN_PROGRAM = re.compile(r"(?:^|[|&;(]\s*)(?:[A-Z_]+=\S+ )*(minions-evals|minions-eval-agent) +([^|&;]*)")
OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]+)")


@pytest.mark.parametrize("name", [name for name in RUN if not name.startswith("development/")])
def test_the_blocks_of_a_page_run_in_their_order_from_an_empty_folder(name: str, tmp_path: Path) -> None:
    printed = carried_out(PAGES[name], tmp_path)
    before: Block | None = None
    for block in blocks(PAGES[name]):
        if block.is_output:
            assert before is not None, (name, block.code)
            assert agrees(block.code, printed[before.number]), (name, block.code, printed[before.number])
        before = block if block.is_run else before


def test_every_block_is_fenced_and_known() -> None:
    assert [name for name, text in PAGES.items() if INDENTED.search(FENCE.sub("", text))] == []
    known = {"sh", "python", "yaml", "json", "toml", "text", "csv", "graphql", "ini"}
    odd = {(name, block.language) for name, text in PAGES.items() for block in blocks(text)}
    assert {(name, language) for name, language in odd if language not in known} == set()


def test_what_is_not_run_is_data_that_parses_or_carries_a_mark() -> None:
    unmarked = [
        (name, block.code)
        for name, text in PAGES.items()
        for block in blocks(text)
        if block.mark is None and not block.is_run and not block.is_output
    ]
    assert [(name, code) for name, code in unmarked if not _is_data(code)] == []


def _is_data(code: str) -> bool:
    try:
        found: object = yaml.safe_load(code)
    except yaml.YAMLError:
        return False
    return isinstance(found, dict | list)


def test_fragments_are_few() -> None:
    fragments = [
        (name, block.why)
        for name, text in PAGES.items()
        for block in blocks(text)
        if block.mark == "fragment" and block.language != "text"
    ]
    assert len(fragments) <= MOST_FRAGMENTS, fragments


MARKED = [
    pytest.param(block, id=f"{name}:{block.number}")
    for name, text in PAGES.items()
    for block in blocks(text)
    if block.mark in {"needs", "fragment"}
]


@pytest.mark.parametrize("block", MARKED)
def test_a_block_that_cannot_run_here_names_only_what_the_program_has(block: Block) -> None:
    assert block.mark == "fragment" or block.why, block.code
    match block.language:
        case "json":
            json.loads(block.code)
        case "toml":
            tomllib.loads(block.code)
        case "yaml":
            list(yaml.safe_load_all(block.code.partition("\n\n")[0] if block.code.startswith("---") else block.code))
        case "python":
            _vet_python(block.code)
        case "sh":
            for line in re.sub(r"\\\n", " ", block.code).splitlines():
                _vet_command(line.partition(" #")[0])
        case _:
            pass


def _vet_python(code: str) -> None:
    tree = ast.parse(code)  # an await at the top is a syntax that ast.parse takes
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(minions_evals_mcp.__name__):
            module = __import__(cast("str", node.module), fromlist=["*"])
            assert [name.name for name in node.names if not hasattr(module, name.name)] == [], code


def _vet_command(line: str) -> None:
    for program, rest in RUN_PROGRAM.findall(line):
        words = rest.split()
        assert words, line
        if program == "minions-eval-agent":
            continue
        assert words[0] in COMMANDS or words[0] in NOUNS or words[0] == "db", line
        known = _help_of(words)
        assert [option for option in OPTION.findall(rest) if option not in known] == [], (line, known)


def _help_of(words: list[str]) -> set[str]:
    text = (DOCS / "reference" / "commands.md").read_text("utf-8")
    headings = [f"\n## minions-evals {' '.join(words[:many])}\n" for many in (2, 1)]
    heading = next(one for one in headings if one in text)
    return set(OPTION.findall(text.partition(heading)[2].partition("\n## ")[0])) | {
        "--db",
        "--json",
        "--help",
        "--quiet",
    }
