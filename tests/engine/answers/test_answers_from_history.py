"""What changed in a benchmark's history: levels, what changed when each began, the cases behind it, flaky cases, cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.what_changed import what_changed
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
from tests.workshop import START, SteppingClock, answer, bench, benchmark, case, config_in, minion, opened, save

CASES = 10


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with opened(config_in(tmp_path)) as engine:
        cases = [
            case(f"c{n}", expectedOutputs={"output": "good"}, tags=["refund" if n < 6 else "other"])
            for n in range(CASES)
        ]
        await save(engine, cases, benchmark("b", *(f"c{n}" for n in range(CASES))))
        await save(
            engine,
            [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2)],
        )
        yield engine


async def run_of(engine: Engine, number: int, version: str, bad: Sequence[int]) -> str:
    """One more run of `b`, a day after the one before, in which those cases fail."""
    assert isinstance(engine.clock, SteppingClock)
    engine.clock.now = START.replace(month=12, day=1 + number)
    await save(
        engine,
        [
            answer(
                f"r{number}/{n}", f"c{n}", "bad" if n in bad else "good", promptVersionRef=version, cost=0.01,
                triggeredAt=iso(engine.clock.now),
            )
            for n in range(CASES)
        ],
    )  # fmt: skip
    return (await bench(engine, "b", prompt_version_ref=version)).id


async def test_each_level_says_when_it_began_what_changed_then_and_which_cases_are_behind_it(engine: Engine) -> None:
    for number in range(24):
        late = number >= 12
        await run_of(engine, number, "v2" if late else "v1", [*range(6)] if late else [6] if number % 2 else [])
    found = await what_changed(engine, "b")
    first, second = found.levels
    assert (first.began, first.runs, first.version) == ("first", 12, "v1")
    assert (second.began, second.at[:10], second.version) == ("moved", "2026-12-13", "v2")
    assert second.changed == ["the version: v1 → v2"]
    assert second.worse is not None
    assert (second.worse.test_case_ids, second.worse.by_tag) == ([f"c{n}" for n in range(6)], {"refund": 6})
    assert second.worse.by_cause == {"wrong-output": 6}
    assert second.better is None
    assert second.cost_usd == pytest.approx(12 * CASES * 0.01)
    assert found.sentences[1].startswith(
        "2026-12-13: fell by 0.55 to 0.40: the version: v1 → v2; 6 cases (tags: refund 6)"
    )


async def test_a_case_that_flips_while_nothing_changed_is_set_apart_as_flaky(engine: Engine) -> None:
    for number in range(13):
        await run_of(engine, number, "v1", [3] if number % 2 else [])
    found = await what_changed(engine, "b")
    assert [(one.test_case_id, one.flips, one.runs, one.flip_rate) for one in found.flaky] == [("c3", 12, 13, 1.0)]
    assert len(found.levels) == 1


async def test_a_level_that_moved_with_nothing_changed_says_so_and_since_leaves_older_runs_out(engine: Engine) -> None:
    for number in range(16):
        await run_of(engine, number, "v1", [*range(5)] if number >= 8 else [])
    found = await what_changed(engine, "b")
    assert "no visible change" in found.sentences[1]
    recent = await what_changed(engine, "b", since=START.replace(month=12, day=10))
    assert (recent.runs, [level.began for level in recent.levels]) == (7, ["first"])


async def test_a_change_of_the_cases_is_measured_anew_and_no_move(engine: Engine) -> None:
    for number in range(3):
        await run_of(engine, number, "v1", [])
    await save(engine, case("c0", expectedOutputs={"output": "bad"}))
    await run_of(engine, 4, "v1", [])
    found = await what_changed(engine, "b")
    assert [(level.began, level.changed) for level in found.levels] == [("first", []), ("re-measured", ["the cases"])]


async def test_a_benchmark_that_never_ran_is_named(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="no run of the benchmark"):
        await what_changed(engine, "b")
    with pytest.raises(NotFoundError, match="no benchmark with the id 'x'"):
        await what_changed(engine, "x")
