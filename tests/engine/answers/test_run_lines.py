"""Runs in a line each, and a run by the beginning of its id or as the latest."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.engine.jobs import find_benchmark_run, get_job
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.store.queries.run_lines import run_lines
from tests.workshop import answer, case, config_in, first, fleet, measured, opened, save, try_case


async def test_runs_come_newest_first_with_score_passes_version_and_target(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 4)
        await measured(engine, "v1", first(3, 4))
        await save(engine, case("solo", expectedOutputs={"output": "good"}))
        await try_case(engine, "solo", target="python:tests.workshop:echoed")
        newest, older = await engine.store.read(lambda db: run_lines(db, limit=5))
        assert (newest.job.subject_id, newest.target, newest.passed_count, newest.total_count) == (
            "solo", "python:tests.workshop:echoed", 0, 1,
        )  # fmt: skip
        assert (older.score, older.passed_count, older.total_count, older.version) == (0.75, 3, 4, "v1")


async def test_a_run_is_named_by_the_beginning_of_its_id_or_as_the_latest(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        engine.new_id = iter(["abcd-1", "abcd-2", "wxyz-3"]).__next__
        await fleet(engine, 2)
        for number in range(3):
            await measured(engine, f"v{number}", first(1, 2))
        assert (await get_job(engine, "wxyz")).id == "wxyz-3"
        assert (await get_job(engine, "latest")).id == "wxyz-3"
        assert await find_benchmark_run(engine, "latest") == "wxyz-3"
        assert await find_benchmark_run(engine, "abcd-1") == "abcd-1"
        with pytest.raises(BadInputError, match="abcd is the beginning of several run ids"):
            await get_job(engine, "abcd")
        with pytest.raises(NotFoundError):
            await get_job(engine, "wx")
    async with opened(config_in(tmp_path / "empty")) as engine:
        await save(engine, answer("a", "c", "x"))
        with pytest.raises(NotFoundError):
            await get_job(engine, "latest")
