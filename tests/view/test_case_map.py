"""The map of cases by run on a benchmark's page."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from minions_evals_mcp.engine.answers.pages.benchmark_page import read_benchmark_page
from minions_evals_mcp.engine.answers.pages.case_map import CASES, RUNS, read_case_map
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from tests.shared.view.visitor import visitor
from tests.workshop import fleet, measured

Outcomes = list[list[bool]]


async def runs_of(engine: Engine, outcomes: Outcomes) -> None:
    """A run of the benchmark for each row, in which each case comes out so."""
    await fleet(engine, len(outcomes[0]))
    for number, row in enumerate(outcomes):
        await measured(engine, f"v{number}", row)


def drawn(seed: int) -> Outcomes:
    draw = random.Random(seed)  # noqa: S311  draws results, guards nothing
    share = draw.choice((0.1, 0.5, 0.9, 1.0))
    cases = draw.randint(1, 9)
    return [[draw.random() < share for _ in range(cases)] for _ in range(draw.randint(2, 6))]


@pytest.mark.parametrize("seed", range(12))
async def test_the_map_holds_every_result_as_it_was_and_counts_what_turned(engine: Engine, seed: int) -> None:
    outcomes = drawn(seed)
    await runs_of(engine, outcomes)
    found = await read_case_map(engine, await read_benchmark_page(engine, "b"))
    assert found is not None
    by_case = {f"c{case}": [row[case] for row in outcomes] for case in range(len(outcomes[0]))}
    shaky = {case: results for case, results in by_case.items() if not all(results)}
    assert {
        row.case_id: [cell is not None and cell.state == "passed" for cell in row.cells] for row in found.rows
    } == shaky
    turns = {case: sum(a != b for a, b in pairwise(results)) for case, results in shaky.items()}
    assert {row.case_id: row.turns for row in found.rows} == turns
    assert [row.turns for row in found.rows] == sorted(turns.values(), reverse=True)
    fell = [
        0,
        *(sum(a and not b for a, b in zip(x, y, strict=True)) for x, y in pairwise(outcomes)),
    ]
    assert list(found.newly_failing) == fell
    assert found.steady == len(by_case) - len(shaky)


async def test_each_cell_opens_its_case_in_its_run_and_a_seal_hides_the_map(engine: Engine) -> None:
    await runs_of(engine, [[True, True, True], [True, False, True], [True, True, True]])
    async with visitor(engine) as client:
        page = (await client.get("/benchmark?id=b")).text
        assert "Cases by run" in page
        assert "2 cases passed in all of them and are not shown." in page
        table = page[page.index('class="case-map"') : page.index("</table>", page.index('class="case-map"'))]
        assert [*re.findall(r">(✓|✗|½)<", table)] == ["✓", "✗", "✓"]
        failed = re.search(r'<td class="failed"><a href="([^"]+)"', table)
        assert failed is not None
        opened = await client.get(failed[1].replace("&amp;", "&"))
        assert opened.status_code == 200
        assert "/case?run=job2" in failed[1]
    assert "c1" in opened.text[opened.text.index("<h1") : opened.text.index("</h1>")]
    await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="anna")
    assert await read_case_map(engine, await read_benchmark_page(engine, "b")) is None


async def test_no_more_runs_and_cases_are_shown_than_fit_and_the_rest_is_counted(engine: Engine) -> None:
    runs = [[number != 3] * (CASES + 5) for number in range(5)]
    await runs_of(engine, runs)
    found = await read_case_map(engine, await read_benchmark_page(engine, "b"))
    assert found is not None
    assert (len(found.rows), found.left_out, len(found.runs)) == (CASES, 5, min(RUNS, 5))
    assert found.newly_failing == (0, 0, 0, CASES + 5, 0)
