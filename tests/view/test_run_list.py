"""The list of runs: narrowed by facets and by an expression, all of it in the address."""

from __future__ import annotations

import itertools
import re
from html import unescape
from urllib.parse import urlencode

import httpx2
import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.store.queries.pages.run_terms import FIELDS, FIGURES
from tests.shared.view.visitor import visitor
from tests.workshop import first, fleet, measured

RUNS = {"v1": 10, "v2": 7, "v3": 2}
"""How many of ten cases each version's run passes; they are job1 to job3."""


async def three(engine: Engine) -> None:
    await fleet(engine, 10)
    for version, passes in RUNS.items():
        await measured(engine, version, first(passes, 10))


async def listed(client: httpx2.AsyncClient, **asked: str) -> list[str]:
    """The versions of the runs on the page, the newest first."""
    page = await client.get(f"/runs?{urlencode(asked)}")
    assert page.status_code == 200, page.text
    rows = re.findall(r'<td data-name="version"[^>]*>([^<]*)</td>', page.text)
    total = re.search(r"<strong>([\d,]+)</strong> runs?", page.text)
    assert total is not None
    assert int(total[1]) == len(rows), "the total is that of what fits"
    return rows


@pytest.mark.parametrize(
    ("expression", "versions"),
    [
        ("", ["v3", "v2", "v1"]),
        ("score<0.7", ["v3"]),
        ("score<=0.7", ["v3", "v2"]),
        ("score>0.2 score<1", ["v2"]),
        ("failed>=3", ["v3", "v2"]),
        ("passed=10", ["v1"]),
        ("cases=10 version:v2", ["v2"]),
        ("-version:v2", ["v3", "v1"]),
        ("-score<0.7", ["v2", "v1"]),
        ("v1", ["v1"]),
        ('"v1"', ["v1"]),
        ("id:job2", ["v2"]),
        ("kind:benchmark state:completed", ["v3", "v2", "v1"]),
        ("kind:ab-test", []),
        ("is:scored -is:fall version:v", ["v1"]),
        ("begun>=2000-01-01 begun<2100-01-01", ["v3", "v2", "v1"]),
        ("begun>2099-12-31", []),
        ("took<100000", ["v3", "v2", "v1"]),
        ("unknown:field", []),
        ("% _ ' ;", []),
    ],
)
async def test_an_expression_finds_the_runs_for_which_all_its_terms_hold(
    engine: Engine, expression: str, versions: list[str]
) -> None:
    await three(engine)
    async with visitor(engine) as client:
        assert await listed(client, q=expression) == versions


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        *((f"{field}<much", f"{field} needs a number") for field in FIGURES),
        ("begun>yesterday", "is not a day"),
        ("is:good", "unknown mark 'good'"),
        ("version<3", "version cannot be compared"),
    ],
)
async def test_a_term_that_cannot_be_compared_is_refused_by_its_field_with_a_remedy(
    engine: Engine, expression: str, told: str
) -> None:
    async with visitor(engine) as client:
        page = await client.get(f"/runs?{urlencode({'q': expression})}")
        assert page.status_code == 400
        assert told in unescape(page.text)
        assert "Ask for" in page.text


async def test_any_text_is_an_expression_that_is_answered_or_refused(engine: Engine) -> None:
    await three(engine)
    values = ("", "1", '"', "'", "v1", "%", "2026-01-01", "-", ")", "NaN", "1e999")
    async with visitor(engine) as client:
        for sign, field, operator, value in itertools.product(("", "-"), FIELDS, (":", "<", ">=", "="), values):
            page = await client.get(f"/runs?{urlencode({'q': f'{sign}{field}{operator}{value}'})}")
            assert page.status_code in {200, 400}, (sign, field, operator, value, page.text)


async def test_facets_name_their_values_with_the_numbers_that_choosing_them_shows(engine: Engine) -> None:
    await three(engine)
    async with visitor(engine) as client:
        for asked in ({}, {"q": "score<1"}, {"version": "v2"}):
            page = (await client.get(f"/runs?{urlencode(asked)}")).text
            chooser = re.search(r'<select name="version".*?</select>', page)
            assert chooser is not None
            values = re.findall(r'<option value="([^"]+)"[^>]*>\S+ \((\d+)\)', chooser[0])
            assert len(values) == (2 if "q" in asked else 3), "what is chosen narrows the other facets, not its own"
            for value, number in values:
                assert len(await listed(client, **{**asked, "version": value})) == int(number)


async def test_no_condition_tells_the_result_of_a_sealed_run(engine: Engine) -> None:
    await three(engine)
    await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="person:maria")
    async with visitor(engine) as client:
        for expression in ("score<=1", "score>=0", "passed>=0", "failed>=0", "is:scored", "is:fall"):
            assert await listed(client, q=expression) == [], expression
