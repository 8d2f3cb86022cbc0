"""The chain of a prompt's versions, and what changed from one to another."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.answers.prompt_versions import line_diff, version_chain
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError, RuleError
from tests.workshop import config_in, minion, opened, save


async def three(engine: Engine, *, linked: bool) -> None:
    """Three versions of `p`, chained by relations or by their numbers only."""
    versions = [
        minion(f"v{n}", "prompt-version", content=f"Say it.\n{n}", versionNumber=n, promptId="p") for n in (2, 1, 3)
    ]
    follows = [Relation("v2", "v1", "follows"), Relation("v3", "v2", "follows")] if linked else []
    await save(engine, versions, relations=follows)


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("named", ["p", "v1", "v2", "v3"])
async def test_the_chain_is_the_same_from_every_version_and_from_the_prompt(
    tmp_path: Path, named: str, linked: bool
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await three(engine, linked=linked)
        chain = await version_chain(engine, named)
        assert [(one.id, one.current, one.latest) for one in chain] == [
            ("v1", True, False), ("v2", False, False), ("v3", False, True),
        ]  # fmt: skip


async def test_versions_without_relations_are_compared_with_the_first_before_they_are_approved(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await three(engine, linked=False)
        with pytest.raises(RuleError, match="with the current version v1"):
            await approve_prompt_version(
                engine, ApprovalAsked(prompt_version_ref="v3", decided_by="maria", decided_by_type="human")
            )


async def test_the_diff_is_by_line(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await three(engine, linked=True)
        assert await line_diff(engine, "v1", "v2") == ["--- v1", "+++ v2", "@@ -1,2 +1,2 @@", " Say it.", "-1", "+2"]
        assert await line_diff(engine, "v1", "v1") == []
        with pytest.raises(NotFoundError, match="prompt-version"):
            await line_diff(engine, "v1", "p")
        with pytest.raises(NotFoundError, match="prompt or prompt-version"):
            await version_chain(engine, "none")
