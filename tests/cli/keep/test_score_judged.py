"""`minions-evals score` and `pick` with a judge model, against a server that speaks the wire form."""

from __future__ import annotations

import json

import anyio.to_thread
import pytest
from pydantic import JsonValue

from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import Server

MODEL = ("--judge-model", "openai:gpt-judge")
RUBRIC: JsonValue = {"type": "llm-rubric", "value": "is polite"}
FACTS: JsonValue = {"type": "factuality", "value": "Paris is the capital of France"}


def row(ident: str, output: str, *checks: JsonValue) -> str:
    return json.dumps({"id": ident, "output": output, "assert": [*checks]}) + "\n"


@pytest.fixture
def place(bare: Terminal, server: Server) -> Terminal:
    """A terminal with rows that a model decides, and the provider's address."""
    here = bare.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    here.file(
        "rows.jsonl",
        row("kind", "Gladly, here it is.", RUBRIC)
        + row("rude", "That is BAD of you.", RUBRIC)
        + row("facts", "Paris is the capital of France.", FACTS, {"type": "contains", "value": "Paris"})
        + row("plain", "Paris", {"type": "contains", "value": "Paris"}),
    )
    return here


async def test_rows_are_graded_by_the_judge_that_is_named_and_what_it_cost_is_told(place: Terminal) -> None:
    found = await anyio.to_thread.run_sync(lambda: place.run("score", "rows.jsonl", *MODEL, "--json"))
    assert found.code == 0, found
    assert {str(one["id"]): one["pass"] for one in found.rows()} == {
        "kind": True, "rude": False, "facts": True, "plain": True,
    }  # fmt: skip
    told = json.loads(found.err)
    assert (told["rows"], told["passed"], told["errors"], told["spent"]["calls"]) == (4, 3, 0, 3)
    assert not place.db.exists()


async def test_without_a_judge_each_row_that_needs_one_says_how_to_name_it(place: Terminal) -> None:
    found = await anyio.to_thread.run_sync(lambda: place.run("score", "rows.jsonl"))
    assert found.code == 3
    errors = {str(one["id"]): str(one.get("error", "")) for one in found.rows()}
    assert errors["kind"].startswith(
        "llm-rubric: it needs a judge model: set a provider's key, or name the model in MINIONS_EVALS_JUDGE_MODEL"
    )
    assert errors["facts"].startswith("factuality: it needs a judge model")
    assert errors["plain"] == ""
    assert found.err == "1 of 4 passed, 3 could not be checked\n"


async def test_a_cap_that_is_reached_and_a_judge_that_fails_are_errors_of_their_rows(place: Terminal) -> None:
    commands = (
        ["score", "rows.jsonl", "--judge-model", "openai:gpt-4o-mini", "--max-cost-usd", "0.0000001"],
        ["score", "rows.jsonl", "--judge-model", "openai:unknown-judge"],
    )
    found = await anyio.to_thread.run_sync(lambda: place.many(*commands))
    assert [one.code for one in found] == [3, 3]
    for one, why in zip(found, ("might exceed the cost cap", "no such model"), strict=True):
        first = one.rows()[0]
        assert why in str(first["error"])
        assert "pass" not in first


async def test_a_judge_without_a_key_or_without_a_known_price_under_a_cap_is_refused_before_any_row(
    place: Terminal,
) -> None:
    commands = (
        ["score", "rows.jsonl", "--judge-model", "anthropic:claude-opus-4-7"],
        ["score", "rows.jsonl", *MODEL, "--max-cost-usd", "1"],
    )
    found = await anyio.to_thread.run_sync(lambda: place.many(*commands))
    assert [(one.code, one.out) for one in found] == [(2, ""), (2, "")]
    assert "Set ANTHROPIC_API_KEY" in found[0].err
    assert "price of openai:gpt-judge is unknown" in found[1].err


async def test_pick_chooses_by_what_the_judge_says(place: Terminal) -> None:
    asked = json.dumps({"id": "1", "outputs": ["That is BAD.", "Gladly."], "assert": [RUBRIC]}) + "\n"
    place.file("pick.jsonl", asked)
    found = await anyio.to_thread.run_sync(lambda: place.run("pick", "pick.jsonl", *MODEL))
    assert found.code == 0, found
    assert found.one()["selected"] == 1
