"""The pages under docs/reference say what the code says, and their examples do what they say."""

from __future__ import annotations

import json

import anyio.to_thread
import pytest

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.scoring.assertions.table import NAMES
from tests.reference.__main__ import FOLDER
from tests.reference.assertion_examples import EXAMPLES, UNTRIED
from tests.reference.pages import PAGES, meanings
from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import Server

REMEDY = "python -m tests.reference writes it anew"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == PAGES[name](), REMEDY


def test_each_page_of_the_reference_is_in_the_navigation() -> None:
    nav = (FOLDER.parents[1] / ".ci" / "mkdocs.yml").read_text("utf-8")
    named = {path.name for path in FOLDER.glob("*.md") if f"reference/{path.name}" in nav}
    assert {path.name for path in FOLDER.iterdir()} - named == {"schema.graphql"}
    assert PAGES.keys() - named == {"schema.graphql"}


def test_every_field_of_every_record_has_a_meaning_and_no_other() -> None:
    named = {slug: list(kind.model_json_schema(by_alias=True)["properties"]) for slug, kind in TYPES.items()}
    assert {slug: sorted(fields) for slug, fields in meanings().items()} == {
        slug: sorted(fields) for slug, fields in named.items()
    }


def test_every_assertion_type_has_an_example() -> None:
    assert EXAMPLES.keys() == {*NAMES}


async def test_each_example_passes_and_fails_as_its_page_says(at: Terminal, server: Server) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    rows = [
        {"id": f"{name} {wanted}", **row, "assert": [{"type": name, **example.assertion}]}
        for name, example in EXAMPLES.items()
        if name not in UNTRIED
        for wanted, row in (("passes", example.passes), ("fails", example.fails))
    ]
    here.file("rows.jsonl", "\n".join(map(json.dumps, rows)))
    told = await anyio.to_thread.run_sync(lambda: here.run("score", "rows.jsonl", "--judge-model", "openai:gpt-judge"))
    assert told.code == 0, told
    verdicts = {str(row["id"]): row.get("pass") for row in told.rows()}
    assert verdicts == {str(row["id"]): str(row["id"]).endswith("passes") for row in rows}
