"""Prompts and models as a heat grid: its densities, its baseline, its hidden and sorted columns."""

from __future__ import annotations

import re
from itertools import combinations

from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.report.charts.scatter import APART, Priced, scatter
from tests.shared.view.visitor import visitor
from tests.workshop import answer, bench, benchmark, case, first, fleet, measured, save


async def test_a_cell_has_its_heat_and_its_difference_to_the_baseline(engine: Engine) -> None:
    await fleet(engine, 4)
    for version, passing in (("v1", 4), ("v2", 1)):
        await measured(engine, version, first(passing, 4))
    async with visitor(engine) as client:

        async def grid(query: str = "") -> str:
            found = await client.get(f"/matrix?id=b{query}")
            assert found.status_code == 200, found.text
            return found.text

        page = await grid()
        assert (page.count('class="heat-4"'), page.count('class="heat-0"')) == (5, 3)
        based = await grid("&base=job1")
        assert len(re.findall(r'<span class="delta down">.1[.]00</span>', based)) == 3
        assert 'class="matrix rows compact' in await grid("&density=compact")
        alone = await grid("&hide=job2")
        assert alone.count('<th scope="col"') == 2
        assert "show 1 hidden" in alone
        titles = re.findall(r'<th scope="row">(c\d)', await grid("&sort=job2"))
        assert titles == ["c1", "c2", "c3", "c0"], "the lowest scores first"
        assert (await client.get("/matrix?id=b&density=tiny")).status_code == 400


async def test_the_tests_that_failed_a_check_are_chosen_by_its_name(engine: Engine) -> None:
    checks: list[JsonValue] = [{"type": "icontains", "value": "good"}, {"type": "word-count", "value": {"max": 3}}]
    cases = [case(f"k{at}", name=f"k{at}", inputs={"q": str(at)}, assertions=checks) for at in range(3)]
    said = {"v1": ("good", "bad", "good but far too long"), "v2": ("bad", "good", "good")}
    given = [
        answer(f"{version}/{at}", f"k{at}", text, promptVersionRef=version, inputs={"q": str(at)})
        for version, texts in said.items() for at, text in enumerate(texts)
    ]  # fmt: skip
    expecting = case("plain", name="plain", expectedOutputs={"output": "yes"})
    await save(engine, [*cases, expecting, benchmark("k", *(one.id for one in (*cases, expecting)))])
    await save(engine, [*given, *(answer(f"{version}/p", "plain", "no", promptVersionRef=version) for version in said)])
    for version in said:
        await bench(engine, "k", prompt_version_ref=version)
    async with visitor(engine) as client:
        page = (await client.get("/matrix?id=k")).text
        offered = re.findall(r'<option value="([^"]+)">[^<]*[(](\d+)[)]</option>', page)
        assert offered == [("icontains", "2"), ("expected output", "1"), ("word-count", "1")]
        for name, fitting in (("icontains", ["k0", "k1"]), ("word-count", ["k2"]), ("expected output", ["plain"])):
            found = (await client.get("/matrix", params={"id": "k", "check": name})).text
            assert sorted(re.findall(r'<th scope="row">(\w+)', found)) == fitting
        nothing = (await client.get("/matrix?id=k&check=icontains&q=plain")).text
        assert "No test fits." in nothing


async def test_a_person_notes_an_output_with_a_reason_and_its_verdict_stays(engine: Engine) -> None:
    await fleet(engine, 3)
    await measured(engine, "v1", first(2, 3))
    note = {
        "run": "job1",
        "at": "1.1",
        "thumb": "bad",
        "reason": "Too <b>curt</b>",
        "back": "",
    }
    async with visitor(engine) as nobody:
        assert (await nobody.post("/note", data=note)).status_code == 400, "an agent has no thumb"
    async with visitor(engine, judge="anna") as anna:
        for wrong in ({"reason": " "}, {"thumb": "so-so"}, {"at": "9.1"}, {"at": "x"}):
            assert (await anna.post("/note", data={**note, **wrong})).status_code == 400, wrong
        verdict = (await anna.get("/case?run=job1&at=1.1&as=json")).text
        led = await anna.post("/note", data={**note, "thumb": "good", "reason": "Fine at first"})
        assert led.headers["location"] == "/case?run=job1&at=1.1#notes"
        led = await anna.post("/note", data={**note, "back": "?id=b&only=noted"})
        assert led.headers["location"] == "/matrix?id=b&only=noted"
        shown = (await anna.get("/case?run=job1&at=1.1")).text
        notes = shown[shown.index('id="notes"') :]
        assert notes.index("Fine at first") < notes.index("Too &lt;b&gt;curt")
        assert (await anna.get("/case?run=job1&at=1.1&as=json")).text == verdict
        grid = (await anna.get("/matrix?id=b&only=noted")).text
        assert re.findall(r'<th scope="row">(c\d)', grid) == ["c1"]
        assert re.findall(r'class="thumb (\w+)" title="anna: Too', grid) == ["failed"], "the newest note is shown"


async def test_columns_with_a_price_are_drawn_by_it(engine: Engine) -> None:
    await fleet(engine, 4)
    for version, passing in (("v1", 4), ("v2", 1)):
        await measured(engine, version, first(passing, 4))
    async with visitor(engine) as client:
        assert "Score by price" not in (await client.get("/matrix?id=b")).text, "recorded outputs without cost or time"
    await fleet(engine, 4)
    await save(engine, [
        answer(f"t/{version}/{at}", f"c{at}", "good", promptVersionRef=version, cost=0.01 * at, extra={"latencyMs": 200 * (at + 1)})
        for version in ("v3", "v4") for at in range(4)
    ])  # fmt: skip
    for version in ("v3", "v4"):
        await bench(engine, "b", prompt_version_ref=version)
    async with visitor(engine) as client:
        page = (await client.get("/matrix?id=b&run=job3&run=job4&run=job1")).text
    assert "Score by price" in page
    drawn = page[page.index('class="drawn scattered"') :]
    assert "cost of a test" in drawn
    assert drawn[: drawn.index("</svg>")].count("<circle") == 2, "a column without a price has no place"


def test_a_name_is_only_a_text_and_names_do_not_touch() -> None:
    hostile = [Priced(f'<script>"{number}', number / 10, 0.5) for number in range(5)]
    drawn = scatter(hostile, what="cost", shown=str)
    assert "<script" not in drawn
    labels = re.findall(r'<text x="([^"]+)" y="([^"]+)" class="label" text-anchor="(start|end)"', drawn)
    assert len(labels) == len(hostile)
    boxes = [(float(x) - (80 if anchor == "end" else 0), float(y)) for x, y, anchor in labels]
    for (x, y), (other_x, other_y) in combinations(boxes, 2):
        assert abs(x - other_x) >= 70 or abs(y - other_y) >= APART
    assert scatter(hostile[:1], what="cost", shown=str) == ""
