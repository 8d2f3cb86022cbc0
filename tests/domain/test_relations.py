"""The eleven relations, derived from the ids that records hold and listed from both ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.records import TYPES, Record
from minions_evals_mcp.domain.relations import RELATIONS, Relation
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store import records
from minions_evals_mcp.store.queries.links import links
from minions_evals_mcp.store.rows import insert
from tests.domain.every_type import AT
from tests.workshop import answer, bench, benchmark, case, config_in, fleet, measured, opened, rubric, save, says

SEED = """
test-case           --evaluated_by-->       rubric
test-case           --produces-->           test-run
rubric              --composed_of-->        rubric-criterion
test-run            --contains-->           eval-judgment
eval-judgment       --scores-->             rubric-criterion
benchmark           --groups-->             test-case
benchmark           --produces-->           benchmark-run
benchmark-run       --aggregates-->         test-run
benchmark           --tracked_by-->         eval-trend
eval-failure        --originated_from-->    test-run
prompt-comparison   --references-->         benchmark-run
"""

VERSIONS = {"v1": [True, False], "v2": [True, True]}


@dataclass(frozen=True)
class World:
    """A benchmark `b` over `good` and `bad`, run once as `job1`; its records reach every relation."""

    engine: Engine

    async def of(self, ident: str) -> list[Relation]:
        """All relations of the record, whichever end it is."""
        kind = await self.engine.store.read(lambda db: getattr(records.find(db, ident), "type", ""))
        assert kind in TYPES, ident
        return await self.engine.store.read(lambda db: links(db, ident, kind))

    async def assert_linked(self, source: str, name: str, *targets: str) -> None:
        """From the source exactly those targets, and the same arrow from each target's side."""
        outgoing = [one.target_id for one in await self.of(source) if one.type == name and one.source_id == source]
        assert sorted(outgoing) == sorted(targets)
        for target in targets:
            assert Relation(source, target, name) in await self.of(target)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    async with opened(config_in(tmp_path)) as engine:
        cases = [case("good", rubricId="r"), case("bad", rubricId="r")]
        runs = [answer("run/good", "good", "all is well"), answer("run/bad", "bad", "no")]
        await save(
            engine, rubric("r", 2, well=says("well"), all=says("all")), cases, runs, benchmark("b", "good", "bad")
        )
        job = await bench(engine, "b")
        assert job.id == "job1"
        yield World(engine)


def test_the_eleven_relations_are_the_seeds() -> None:
    listed = [tuple(part.strip("->") for part in line.split()) for line in SEED.strip().splitlines()]
    assert [(one.source, one.name, one.target) for one in RELATIONS] == listed
    assert len(RELATIONS) == 11


def test_every_relation_is_held_in_a_field_of_one_of_its_two_ends() -> None:
    for one in RELATIONS:
        assert one.holder in {one.source, one.target}
        assert one.holder_is_source == (one.holder == one.source)
        names = {info.alias for info in TYPES[one.holder].model_fields.values()}
        held = {f"{one.field}A", f"{one.field}B"} if one.holder == "prompt-comparison" else {one.field}
        assert held <= names


async def test_a_test_case_is_evaluated_by_its_rubric(world: World) -> None:
    await world.assert_linked("good", "evaluated_by", "r")
    await world.assert_linked("bad", "evaluated_by", "r")


async def test_a_test_case_produces_its_test_runs(world: World) -> None:
    await world.assert_linked("good", "produces", "job1:1.1")
    await world.assert_linked("bad", "produces", "job1:2.1")


async def test_a_rubric_is_composed_of_its_criteria(world: World) -> None:
    await world.assert_linked("r", "composed_of", "r/well", "r/all")


async def test_a_test_run_contains_its_judgments(world: World) -> None:
    await world.assert_linked("job1:1.1", "contains", "job1:1.1:j1", "job1:1.1:j2")


async def test_a_judgment_scores_its_criterion(world: World) -> None:
    await world.assert_linked("job1:1.1:j1", "scores", "r/well")
    await world.assert_linked("job1:2.1:j2", "scores", "r/all")


async def test_a_benchmark_groups_its_test_cases(world: World) -> None:
    await world.assert_linked("b", "groups", "good", "bad")


async def test_a_benchmark_produces_its_benchmark_runs(world: World) -> None:
    await world.assert_linked("b", "produces", "job1")


async def test_a_benchmark_run_aggregates_its_test_runs(world: World) -> None:
    await world.assert_linked("job1", "aggregates", "job1:1.1", "job1:2.1")


async def test_a_benchmark_is_tracked_by_its_trend(world: World) -> None:
    trend = next(one.target_id for one in await world.of("b") if one.type == "tracked_by")
    await world.assert_linked("b", "tracked_by", trend)


async def test_a_failure_originated_from_its_test_run(world: World) -> None:
    await world.assert_linked("job1:2.1:failure", "originated_from", "job1:2.1")
    assert all(one.type != "originated_from" for one in await world.of("job1:1.1"))


async def test_a_comparison_references_both_of_its_benchmark_runs(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        scores = [(await measured(engine, ref, passes)).overall_score for ref, passes in VERSIONS.items()]
        assert scores == [0.5, 1]
        comparison = PromptComparison(
            benchmark_id="b", prompt_version_a="v1", prompt_version_b="v2", benchmark_run_id_a="job1",
            benchmark_run_id_b="job2", score_a=0.5, score_b=1, winner="v2", sample_size=2, compared_at=AT,
            score_delta=0.5, verdict="inconclusive",
        )  # fmt: skip
        await engine.store.write(lambda db: insert(db, Record("pc", comparison, "comparison", AT, AT)))
        await World(engine).assert_linked("pc", "references", "job1", "job2")


async def test_a_hidden_record_keeps_its_relations(world: World) -> None:
    def hide(db: records.Db) -> None:
        kept = records.minion(db, "r")
        assert kept is not None
        records.save(db, replace(kept, deleted_at=AT))

    await world.engine.store.write(hide)
    await world.assert_linked("good", "evaluated_by", "r")
    await world.assert_linked("r", "composed_of", "r/well", "r/all")
