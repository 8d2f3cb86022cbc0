"""A case of which any part was erased judges nothing, wherever the erased text stood."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.outputs import tombstone_of
from minions_evals_mcp.domain.records import of_type
from minions_evals_mcp.engine.judge.yardstick import measures, own_measure
from tests.workshop import START, case, config_in, opened, rubric, save

GONE = tombstone_of(START)
CHECK: JsonValue = {"type": "contains", "value": GONE}
TALK: JsonValue = {"player": "model", "goal": "a refund"}


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("inputs", {"inputs": {"q": ["one", {"who": GONE}]}}),
        ("expectedOutputs", {"expectedOutputs": {"output": GONE}}),
        ("assertions", {"assertions": [CHECK]}),
        ("assertions", {"assertions": [{"type": "assert-set", "assert": [CHECK]}]}),
        ("assertions", {"assertions": [{"type": "contains", "value": "4", "transform": GONE}]}),
        ("assertions", {"conversation": TALK, "everyTurn": [CHECK]}),
        ("assertions", {"conversation": TALK, "agentTurns": [CHECK]}),
        ("assertions", {"conversation": TALK, "turns": {"1": [CHECK]}}),
        ("conversation", {"conversation": {"player": "model", "goal": GONE}}),
        (None, {"assertions": [{"type": "contains", "value": f"not {GONE}"}]}),
    ],
)
def test_the_part_that_was_erased_is_named(part: str | None, fields: dict[str, JsonValue]) -> None:
    record = of_type(case("c", **fields), TestCase)
    assert record is not None
    assert own_measure(record).erased_part == part


async def test_a_criterion_whose_guide_was_erased_judges_nothing(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(engine, rubric("r", 1, tone={"scoringGuide": GONE}), case("c", rubricId="r"))
        (measure,) = await engine.store.read(lambda db: measures(db, ["c"], {}))
        assert measure.erased_part == "rubric"
