"""A benchmark keeps how its runs become one score: command line, MCP, Python and the page make the same card of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minions_evals_mcp.api.runs import run_card
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import hosted, part
from tests.shared.view.visitor import visitor
from tests.workshop import Json, answer, bench, benchmark, case, config_in, found, minion, opened, save

CODE = "passed = sum(row['passed'] for row in data)\nreturn {'score': passed, 'score_matrix': [[['Passed', 'n'], ['yes', passed]]]}"
SCRIPT = "return {score: data.filter(row => !row.passed).length}"
SETTINGS: tuple[tuple[Json, float], ...] = (
    ({"columns": ["passed"]}, 75.0),
    ({"code": CODE}, 3.0),
    ({"code": SCRIPT, "language": "javascript"}, 1.0),
)


async def seeded(folder: Path, setting: Json | None) -> None:
    """Four cases of which one fails, in two runs under the keys `one` and `two`."""
    async with opened(config_in(folder)) as engine:
        names = [f"c{number}" for number in range(4)]
        kept: Json = {} if setting is None else {"scoreCard": setting}
        await save(engine, [case(name, expectedOutputs={"output": "good"}) for name in names])
        await save(engine, benchmark("b", *names, **kept))
        await save(engine, [answer(f"a{name}", name, "bad" if name == "c0" else "good") for name in names])
        for key in ("one", "two"):
            await bench(engine, "b", key=key)


@pytest.mark.parametrize(("setting", "score"), SETTINGS)
async def test_every_interface_makes_the_card_that_the_benchmark_keeps(
    tmp_path: Path, setting: Json, score: float
) -> None:
    await seeded(tmp_path, setting)
    config = config_in(tmp_path)
    assert Terminal(tmp_path).run("scorecard", "two", "--json").one()["score"] == score
    async with hosted(config) as host:
        card = part(await host.call("score_outputs", runId="two", compareRunId="one"), "card")
        assert card["score"] == score
        own = part(await host.call("score_outputs", runId="two", columns=["score"]), "card")
        assert own["score"] == 0.75
    async with opened(config) as engine:
        mine = await run_card(engine, "two", compare="one")
        assert mine.before is not None
        assert (mine.card.score, mine.before.score) == (score, score)
        assert (await run_card(engine, "two", code=SCRIPT, language="javascript")).card.score == 1
        assert (await found(engine, "b", Benchmark)).fields.score_card is not None
        async with visitor(engine) as client:
            page = (await client.get("/run?id=two")).text
    panel = page.partition('id="h-card"')[2].partition("</section>")[0]
    assert f'<strong class="num">{score:.3f}</strong>' in panel
    assert ("Passed" in panel) is (setting.get("code") == CODE)


async def test_without_a_setting_the_score_counts_and_the_page_has_no_card(tmp_path: Path) -> None:
    await seeded(tmp_path, None)
    async with opened(config_in(tmp_path)) as engine:
        assert (await run_card(engine, "one")).card.score == 0.75
        with pytest.raises(BadInputError, match="columns chooses from it"):
            await run_card(engine, "one", columns=("passed",), code=CODE)
        async with visitor(engine) as client:
            assert "h-card" not in (await client.get("/run?id=one")).text


async def test_code_that_fails_says_so_on_the_page_and_touches_no_file(tmp_path: Path) -> None:
    await seeded(tmp_path, {"code": f"return {{'score': len(open({str(tmp_path / 'evals.db')!r}, 'rb').read())}}"})
    async with opened(config_in(tmp_path)) as engine:
        with pytest.raises(BadInputError, match="scoreCard:"):
            await run_card(engine, "one")
        async with visitor(engine) as client:
            page = (await client.get("/run?id=one")).text
    assert "scoreCard:" in page.partition('id="h-card"')[2].partition("</section>")[0]


@pytest.mark.parametrize("setting", [{}, {"columns": ["score"], "code": CODE}])
def test_a_setting_is_columns_or_code(setting: Json) -> None:
    with pytest.raises(InvalidRecordError, match="columns or code"):
        minion("b", "benchmark", name="b", testCaseIds=["c"], scoreCard=setting)


async def test_the_page_of_two_runs_has_their_cards_side_by_side_with_the_sign_of_every_change(tmp_path: Path) -> None:
    code = (
        "failed = sum(not row['passed'] for row in data)\n"
        "matrix = [['Failures', 'n'], [{'value': failed, 'positive_metric': False}]]\n"
        "return {'score': len(data) - failed, 'score_matrix': [matrix]}"
    )
    async with opened(config_in(tmp_path)) as engine:
        names = [f"c{number}" for number in range(4)]
        await save(engine, [case(name, expectedOutputs={"output": "good"}) for name in names])
        await save(engine, benchmark("b", *names, scoreCard={"code": code}))
        for key, failing in (("one", 1), ("two", 3)):
            said = [
                answer(f"{key}{number}", name, "bad" if number < failing else "good")
                for number, name in enumerate(names)
            ]
            await save(engine, said)
            await bench(engine, "b", key=key)
        async with visitor(engine) as client:
            page = (await client.get("/comparison?before=one&after=two")).text
            plain = re.sub(
                r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition('id="h-card"')[2].partition("</section>")[0])
            )
    assert "score 3.000 1.000 ▼ −2.000 worse" in plain
    assert "Failures" in plain
    assert "1.000 3.000 ▲ +2.000 worse" in plain


async def test_a_card_of_two_scales_says_so_on_the_page(tmp_path: Path) -> None:
    await seeded(tmp_path, {"columns": ["passed", "score", "testCase"]})
    async with opened(config_in(tmp_path)) as engine, visitor(engine) as client:
        page = (await client.get("/run?id=two")).text
    panel = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition('id="h-card"')[2].partition("</section>")[0]))
    assert "passed 75.000 % true" in panel
    assert "left out, neither Booleans nor numbers: testCase" in panel
    assert "Booleans count in percent and numbers as they are, so the mean mixes two scales." in panel
