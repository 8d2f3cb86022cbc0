"""Where the scorers of prompts read records from: iterables, mappings, an engine, a store's path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.engine.prompt_scoring.score import (
    compare_versions,
    run_test_suite,
)
from minions_evals_mcp.errors import (
    BadInputError,
    StoreError,
)
from tests.engine.prompt_scoring.test_prompt_scoring import Json, echo
from tests.workshop import START, config_in, minion, save

V1 = minion("shop@1", "prompt-version", content="{{q}}", versionNumber=1, promptId="shop")
V2 = minion("shop@2", "prompt-version", content="no", versionNumber=2)
V3 = minion("shop@3", "prompt-version", content="{{q}}!", versionNumber=3)
FOLLOWS = (Relation("shop@2", "shop@1", "follows"), Relation("shop@3", "shop@2", "follows"))
CASES = tuple(
    minion(f"case{number}", "test-case", name="n", promptId="shop", inputs={"q": "yes"}, expectedOutputs={"a": "yes"})
    for number in range(3)
)
ALONE = minion(
    "alone", "test-case", name="n", promptVersionRef="shop@2", inputs={"q": "x"}, expectedOutputs={"a": "no"}
)
RECORDS: tuple[Record[Fields], ...] = (V1, V2, V3, *CASES)


def wires() -> list[Json]:
    return [*(one.wire() for one in RECORDS), *relations()]


def relations() -> list[Json]:
    return [{"sourceId": one.source_id, "targetId": one.target_id, "type": one.type} for one in FOLLOWS]


STORAGES: Mapping[str, Callable[[], Any]] = {
    "records": lambda: [*RECORDS, *FOLLOWS],
    "a generator of wire forms": lambda: (one for one in wires()),
    "a mapping by id": lambda: {**{one.id: one for one in RECORDS}, "r2": FOLLOWS[0], "r3": relations()[1]},
    "a mapping of wire forms": lambda: {
        **{one.id: {key: part for key, part in one.wire().items() if key != "id"} for one in RECORDS},
        "relations": relations(),
    },
    "a mapping of fields": lambda: {**{one.id: one.fields for one in RECORDS}, "relations": relations()},
    "a file's form": lambda: {"minions": [one.wire() for one in RECORDS], "relations": relations()},
}


@pytest.mark.parametrize("name", STORAGES)
async def test_a_storage_is_any_iterable_or_mapping_of_records(name: str) -> None:
    suite = await run_test_suite(prompt_id="shop", storage=STORAGES[name](), llm=echo)
    assert suite.prompt_id == "shop@3"
    assert [one.response for one in suite.results] == ["yes!"] * 3


async def test_a_storage_is_an_open_engine_whose_clock_dates_the_results(engine: Engine) -> None:
    await save(engine, RECORDS, relations=FOLLOWS)
    suite = await run_test_suite(prompt_id="shop@1", storage=engine, llm=echo)
    assert [one.test_case_id for one in suite.results] == ["case0", "case1", "case2"]
    assert START < suite.results[0].evaluated_at < suite.ran_at < START + timedelta(minutes=1)


@pytest.mark.parametrize("as_path", [str, Path])
async def test_a_storage_is_a_stores_path(tmp_path: Path, as_path: Callable[[Path], str | Path]) -> None:
    config = config_in(tmp_path)
    async with open_engine(config) as engine:
        await save(engine, RECORDS, relations=FOLLOWS)
    found = await compare_versions(prompt_id_a="shop@2", prompt_id_b="shop@3", storage=as_path(config.db), llm=echo)
    assert (found.suite_a.average_score, found.suite_b.average_score, found.winner) == (0, 1, "B")


async def test_a_path_without_a_store_is_an_error_and_no_new_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await run_test_suite(prompt_id="p", storage=tmp_path / "none.db", llm=echo)
    assert not await anyio.Path(tmp_path / "none.db").exists()


async def test_hidden_records_and_other_types_are_passed_over() -> None:
    wire = {**CASES[0].wire(), "deletedAt": "2026-11-21T09:00:00Z"}
    hidden = record_from_wire(wire, new_id="x", now=START)
    other = minion("b", "benchmark", name="b", testCaseIds=["case1"])
    storage = [V1, hidden, CASES[1], other, Relation("b", "shop@1", "references")]
    suite = await run_test_suite(prompt_id="shop@1", storage=storage, llm=echo)
    assert [one.test_case_id for one in suite.results] == ["case1"]


async def test_a_chains_name_stands_for_the_version_that_nothing_follows_else_for_the_highest_number() -> None:
    by_number = [
        minion(f"v{number}", "prompt-version", content=f"v{number}", versionNumber=number, promptId="shop")
        for number in (1, 3, 2)
    ]
    for relations, latest in (
        ((), "v3"),
        ((Relation("v2", "v3", "follows"), Relation("v3", "v1", "follows")), "v2"),
        (
            (Relation("v2", "v3", "follows"), Relation("v3", "v1", "follows"), Relation("v1", "v2", "follows")),
            "v3",
        ),
    ):
        storage = [*by_number, *CASES, *relations]
        assert (await run_test_suite(prompt_id="shop", storage=storage, llm=echo)).prompt_id == latest


async def test_versions_that_follow_each_other_in_a_ring_are_refused() -> None:
    ring = [V2, V3, Relation("shop@2", "shop@3", "follows"), Relation("shop@3", "shop@2", "follows")]
    with pytest.raises(BadInputError, match="in a ring"):
        await run_test_suite(prompt_id="shop@2", storage=ring, llm=echo)


async def test_an_evaluator_that_changes_the_case_changes_its_own_copy_only() -> None:
    def evaluator(*, response: str, test_case: Json) -> float:
        variables = test_case["input"]
        assert isinstance(variables, dict)
        assert variables == {"q": "yes"}
        variables.clear()
        return 1

    storage = [V1, V2, *CASES, *FOLLOWS]
    found = await compare_versions(
        prompt_id_a="shop@1", prompt_id_b="shop@2", storage=storage, llm=echo, evaluator=evaluator
    )
    assert found.winner == "tie"
