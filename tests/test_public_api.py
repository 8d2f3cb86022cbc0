"""What a Python program imports."""

from __future__ import annotations

from pathlib import Path

import pytest

import minions_evals_mcp as evals
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store import runs
from tests.workshop import answer, benchmark, case, save

SEEDS = {
    "run_test", "run_test_suite", "compare_versions", "open_engine", "run_test_case", "run_benchmark",
    "compare_prompt_versions", "approve_prompt_version", "create_test_case", "update_test_case", "delete_test_case",
    "execute_test_case", "run_ab_test", "create_branch", "update_branch", "delete_branch", "batch_run_tests",
    "test_case_stats", "test_case_executions", "update_expected_output",
}  # fmt: skip
"""What the seeds ask for from Python; the list grows and never shrinks."""


def test_every_public_name_is_there() -> None:
    assert set(evals.__all__) >= SEEDS
    assert len(evals.__all__) == len(set(evals.__all__))
    for name in evals.__all__:
        assert getattr(evals, name).__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'run_everything'"):
        evals.run_everything  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnusedExpression]  the lookup is the test


async def test_a_program_can_run_a_case_and_a_benchmark(tmp_path: Path) -> None:
    config = evals.EngineConfig(db=tmp_path / "e.db", skills=shipped_folder("skills"))
    async with evals.open_engine(config) as engine:
        assert isinstance(engine, evals.Engine)
        good = case("c", expectedOutputs={"output": "good"})
        await save(engine, [good, answer("r", "c", "good")], benchmark("b", "c"))
        one = await evals.run_test_case(engine, evals.RunRequest(subject_id="c"))
        many = await evals.run_benchmark(engine, evals.RunRequest(subject_id="b"))
        assert (one.state, many.state) == ("completed", "completed")
        found = await engine.store.read(lambda db: runs.benchmark_run(db, many.id))
    assert found is not None
    assert (found.fields.passed_count, found.fields.total_count) == (1, 1)
