"""Outputs used again: only when asked for, only what was made from the same, and never silently."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from tests.workshop import Json, all_of, bench, benchmark, benchmark_run, case, found, minion, save


@pytest.fixture
def target(tmp_path: Path) -> str:
    """A program that counts in a file how often it was started, and says what it was asked."""
    program = tmp_path / "app.py"
    program.write_text(
        "import json, sys, pathlib\n"
        f"log = pathlib.Path({str(tmp_path / 'asked')!r})\n"
        "asked = json.load(sys.stdin)\n"
        "with log.open('a') as file: file.write(asked['q'] + '\\n')\n"
        "print(f\"good {asked['q']}\")\n"
    )
    return f"command:{sys.executable} {program}"


def asked(tmp_path: Path) -> list[str]:
    return sorted((tmp_path / "asked").read_text().split())


async def run(engine: Engine, target: str, **request: JsonValue) -> str:
    """The notes of a run of `b` with that target."""
    return (await benchmark_run(engine, await bench(engine, "b", target=target, **request))).notes


def made(target: str, number: int, *, cached: int = 0) -> str:
    """The sentence on where the outputs of a run came from."""
    parts = [f"{number} from {target}"] * bool(number)
    uncounted = "; every output came from the cache, so it does not count for the trend or the last score"
    every = uncounted if cached and not number else ""
    return (
        "outputs: "
        + ", ".join([*parts, *[f"{cached} cached{'' if number else f' from {target}'}"] * bool(cached)])
        + every
    )


async def two(engine: Engine, **fields: JsonValue) -> None:
    wanted: Json = {"expectedOutputs": {"output": "good"}, **fields}
    await save(engine, [case(name, **wanted) for name in ("x", "y")], benchmark("b", "x", "y"))


async def test_an_output_is_used_again_only_where_it_is_asked_for_and_the_run_says_how_many(
    engine: Engine, tmp_path: Path, target: str
) -> None:
    await two(engine)
    assert await run(engine, target) == made(target, 2)
    assert await run(engine, target) == made(target, 2)
    assert asked(tmp_path) == ["x", "x", "y", "y"]
    assert await run(engine, target, cache=True) == made(target, 0, cached=2)
    assert await run(engine, target, cache=True) == made(target, 0, cached=2)
    assert asked(tmp_path) == ["x", "x", "y", "y"]
    outputs = {one.fields.test_case_id: one.fields.actual_output for one in await all_of(engine, TestRun)}
    assert outputs == {"x": {"output": "good x"}, "y": {"output": "good y"}}


async def test_it_is_judged_anew_so_that_a_changed_check_is_seen_at_once(
    engine: Engine, tmp_path: Path, target: str
) -> None:
    await two(engine)
    await run(engine, target)
    await two(engine, expectedOutputs={"output": "good x"})
    changed = await bench(engine, "b", target=target, cache=True)
    assert (await benchmark_run(engine, changed)).passed_count == 1
    assert asked(tmp_path) == ["x", "y"]


async def test_other_inputs_another_version_and_another_target_are_made_anew(
    engine: Engine, tmp_path: Path, target: str
) -> None:
    await two(engine)
    await run(engine, target)
    await save(engine, case("x", inputs={"q": "z"}, expectedOutputs={"output": "good"}))
    assert (await run(engine, target, cache=True)).startswith(f"{made(target, 1, cached=1)}; edited since")
    await save(engine, minion("p@1", "prompt-version", content="{{q}}", versionNumber=1))
    with_version = await run(engine, target, cache=True, prompt_version_ref="p@1")
    assert with_version.startswith(f"{made(target, 2)}; not compared with")
    more = f"{target} more"
    assert (await run(engine, more, cache=True)).startswith(made(more, 2))
    assert len(asked(tmp_path)) == 2 + 1 + 2 + 2


async def test_equal_inputs_of_another_case_are_the_same_question(engine: Engine, tmp_path: Path, target: str) -> None:
    await two(engine)
    await run(engine, target)
    await save(engine, case("twin", inputs={"q": "x"}, expectedOutputs={"output": "good"}), benchmark("t", "twin"))
    job = await bench(engine, "t", target=target, cache=True)
    assert (await benchmark_run(engine, job)).notes == made(target, 0, cached=1)
    assert (await found(engine, f"{job.id}:1.1", TestRun)).fields.actual_output == {"output": "good x"}
    assert asked(tmp_path) == ["x", "y"]


async def test_an_answer_that_came_too_late_is_not_used_again_and_a_stricter_limit_is_kept(
    engine: Engine, target: str
) -> None:
    await two(engine)
    await run(engine, target)
    await two(engine, timeoutMs=1)
    late = await bench(engine, "b", target=target, cache=True)
    assert late.state == "completed"
    assert {one.fields.outcome for one in await all_of(engine, TestRun) if one.id.startswith(late.id)} == {"timed-out"}
    await two(engine)
    slow = "command:sleep 5"
    await two(engine, timeoutMs=50)
    await run(engine, slow)
    assert await run(engine, slow, cache=True) == made(slow, 2)


def test_trials_are_never_answered_from_the_cache() -> None:
    with pytest.raises(ValidationError, match="cannot be combined with trials"):
        RunRequest(subject_id="b", cache=True, trials=2)
