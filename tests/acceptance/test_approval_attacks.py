"""Ways in which an agent tries to have a version approved that is no better, through the doors that agents have.

Each module of `approval` holds those of a kind.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minions_evals_mcp.domain.results import Approval
from minions_evals_mcp.engine.cases.current_version import current_version
from tests.acceptance.approval import chain, evidence, luck, ruler, side_doors
from tests.acceptance.approval.agent import ATTACKS, RIGHT, WRONG, a_case, keep, placed
from tests.workshop import all_of, config_in, opened

KINDS = (luck, chain, evidence, ruler, side_doors)


@pytest.mark.parametrize(
    "number", range(len(ATTACKS)), ids=[f"{n:02} {words}" for n, (words, _, _) in enumerate(ATTACKS, 1)]
)
async def test_no_trick_of_an_agent_has_a_version_approved(tmp_path: Path, number: int) -> None:
    _, tried, refused_as = ATTACKS[number]
    async with placed(tmp_path) as agent:
        said = await tried(agent)
    assert re.search(refused_as, said), said
    async with opened(config_in(tmp_path)) as engine:
        decided = {one.fields.prompt_version_ref for one in await all_of(engine, Approval)}
        assert not {one for one in decided if one.startswith("p@")}
        assert await engine.store.read(lambda db: current_version(db, "p@2")) == "p@1"


async def test_an_agent_approves_what_the_operator_measures_and_what_was_accepted_again(tmp_path: Path) -> None:
    """Without this no refusal above would mean anything."""
    async with placed(tmp_path) as agent:
        await agent.save(a_case("c1", "bad"))
        await agent.save(a_case("c1"))
        await agent.compare(WRONG, RIGHT)
        said = await agent.refused()
        assert "minions-evals import SUITE" in said
        async with opened(agent.config) as operator:
            await keep(operator, a_case("c1"))
        await agent.host.call("approve_prompt_version", promptVersionRef="p@2")
    async with opened(config_in(tmp_path)) as engine:
        assert await engine.store.read(lambda db: current_version(db, "p@2")) == "p@2"


def test_every_kind_has_attacks() -> None:
    assert {one.__module__ for _, one, _ in ATTACKS} == {kind.__name__ for kind in KINDS}
    assert len(ATTACKS) >= 60
