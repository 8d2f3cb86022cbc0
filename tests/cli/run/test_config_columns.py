"""Columns of a config are told apart by what was evaluated, and named by their labels, wherever they are shown."""

from __future__ import annotations

from typing import cast

import pytest

from minions_evals_mcp.engine.answers.pages.matrix_page import MatrixFilter, read_matrix_page
from minions_evals_mcp.store.jobs import jobs
from tests.shared.cli.terminal import Json, Terminal
from tests.workshop import config_in, opened

PROVIDER = """
def call_api(prompt, options, context):
    return {"output": options["config"]["word"] + prompt, "cost": 0.25}
"""
CONFIG = """
prompts: ["{{word}}", "{{word}}!"]
providers:
  - {id: "file://p.py", label: cold, config: {word: "a"}}
  - {id: "file://p.py", label: warm, config: {word: "b"}}
  - {id: "file://p.py", config: {word: "c"}}
tests:
  - {vars: {word: x}, assert: [{type: starts-with, value: b}]}
"""


@pytest.fixture
def evaluated(at: Terminal) -> Terminal:
    """A config of two prompts at three providers of one id, evaluated."""
    at.file("p.py", PROVIDER)
    at.file("c.yaml", CONFIG)
    (done,) = at.many(["eval", "c.yaml", "--trust-code"])
    assert done.code in {0, 1}, done.err
    return at


async def test_providers_of_one_id_are_columns_of_their_own_on_every_page(evaluated: Terminal) -> None:
    async with opened(config_in(evaluated.folder)) as engine:
        benchmark_id = (await engine.store.read(jobs))[0].subject_id
        page = await read_matrix_page(engine, benchmark_id, MatrixFilter(), skip=0, limit=10)
        assert [column.target for column in page.columns] == [
            "cold",
            "cold",
            "warm",
            "warm",
            "file://p.py",
            "file://p.py",
        ]
        assert sum(column.cost_usd or 0 for column in page.columns) == pytest.approx(1.5)
        assert page.best is not None
        assert (page.best.target, page.best.run and page.best.run.passed_count) == ("warm", 1)


def test_runs_shows_the_labels(evaluated: Terminal) -> None:
    (listed,) = evaluated.many(["runs", "--json"])
    assert {str(run["target"]) for run in cast("list[Json]", listed.one()["runs"])} == {
        "config:cold",
        "config:warm",
        "config:file://p.py",
    }
