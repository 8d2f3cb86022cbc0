"""Prompts and models as a heat grid: its densities, its baseline, its hidden and sorted columns."""

from __future__ import annotations

import re

from minions_evals_mcp.engine.context import Engine
from tests.shared.view.visitor import visitor
from tests.workshop import first, fleet, measured


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
        assert alone.count('<th scope="col">') == 2
        assert "show 1 hidden" in alone
        titles = re.findall(r'<th scope="row">(c\d)', await grid("&sort=job2"))
        assert titles == ["c1", "c2", "c3", "c0"], "the lowest scores first"
        assert (await client.get("/matrix?id=b&density=tiny")).status_code == 400
