"""The benchmarks of a log's cases: one, or several where there are very many; what is full or sealed takes no more."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from minions_evals_mcp.cli.keep.log_imports import import_log
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Saved
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.log_formats.table import named
from minions_evals_mcp.interop.log_intake.benchmarks import CaseIds, grow_benchmarks
from minions_evals_mcp.interop.logs.sample import EvaluationLog
from minions_evals_mcp.store import records
from tests.shared.interop.makers import inspect_json, inspect_sample
from tests.workshop import benchmark, case, save

LOG = EvaluationLog("inspect", "run", "task")
FIRST, SECOND, THIRD = "log:inspect/task", "log:inspect/task:2", "log:inspect/task:3"


async def _grown(engine: Engine, *idents: str) -> tuple[Saved, tuple[str, ...]]:
    """What became of the cases in benchmarks of at most three."""
    with closing(CaseIds()) as cases:
        for ident in idents:
            cases.add(ident)
        return await grow_benchmarks(engine, LOG, cases, where="a.json", most=3)


async def _cases_of(engine: Engine, ident: str) -> Sequence[str]:
    kept = await engine.store.read_whole(lambda db: records.require(db, ident, Benchmark))
    return kept.fields.test_case_ids


async def test_many_cases_make_several_benchmarks_and_those_of_a_second_log_stand_where_they_stood(
    engine: Engine,
) -> None:
    await save(engine, (case(ident) for ident in "abcdefghi"))
    assert await _grown(engine, *"abcdefg") == (Saved(3, 0, 0), (FIRST, SECOND, THIRD))
    assert await _grown(engine, *"gfedcba") == (Saved(0, 0, 3), (FIRST, SECOND, THIRD))
    assert await _grown(engine, *"dhi") == (Saved(0, 1, 1), (SECOND, THIRD))
    assert [await _cases_of(engine, ident) for ident in (FIRST, SECOND, THIRD)] == [
        tuple("abc"),
        tuple("def"),
        tuple("ghi"),
    ]


async def test_a_sealed_benchmark_takes_no_more_and_what_is_sealed_stays_there(engine: Engine) -> None:
    await save(engine, (case(ident, expectedOutputs={"output": "x"}) for ident in "abcd"))
    await _grown(engine, *"ab")
    await seal_benchmark(engine, SealAsked(benchmark_id=FIRST), by="ida")
    assert (await _grown(engine, *"abcd"))[1] == (FIRST, SECOND)
    assert [await _cases_of(engine, ident) for ident in (FIRST, SECOND)] == [("a", "b"), ("c", "d")]


async def test_the_cases_of_a_part_that_is_sealed_are_not_put_back_into_what_is_open(
    engine: Engine, tmp_path: Path
) -> None:
    form = named("inspect-json")
    first = inspect_json(tmp_path / "a.json", *(inspect_sample(n, 1, "It is Paris") for n in range(4)))
    (opened,) = (await import_log(engine, form, first)).benchmarks
    made = await seal_benchmark(engine, SealAsked(benchmark_id=opened, share=0.5), by="ida")
    left = await _cases_of(engine, opened)
    assert (len(left), made.benchmark_id != opened) == (2, True)
    other = tmp_path / "b.json"
    other.write_text(first.read_text("utf-8").replace("eval1", "eval2"), "utf-8")
    assert (await import_log(engine, form, other)).benchmarks == (opened,)
    assert await _cases_of(engine, opened) == left


async def test_what_is_no_benchmark_is_named_before_anything_is_read(engine: Engine) -> None:
    await save(engine, case("a"), case(SECOND), benchmark(FIRST, "a"))
    with pytest.raises(BadInputError, match=f"{SECOND} is a test-case, no benchmark"):
        await _grown(engine, "a", "b", "c", "d", "e")
