"""A benchmark's standing is one thing for every reader: whole runs of outputs of its own, and no other."""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

import minions_evals_mcp
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.results import BenchmarkRun, EvalTrend
from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.pages.benchmark_page import read_benchmark_page
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.answers.what_changed import what_changed
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.run.accepted_runs import accept_run
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.queries import report_units, trend_points
from tests.workshop import all_of, answer, bench, benchmark, case, config_in, found, minion, opened, save

SIZE, GOOD = 8, 4
TARGET = "python:tests.engine.conclude.test_standing:half"


async def half(inputs: dict[str, str]) -> str:
    """A target that answers half of the cases well."""
    return "good" if int(inputs["q"].removeprefix("c")) < GOOD else "bad"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    """A benchmark that stands at one half, and after that a candidate at 1.0, chosen cases at 1.0, and cached outputs at 0."""
    async with opened(config_in(tmp_path)) as engine:
        names = [f"c{number}" for number in range(SIZE)]
        await save(
            engine,
            [case(name, expectedOutputs={"output": "good"}) for name in names],
            benchmark("b", *names, passingThreshold=0.4),
            [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2)],
            [
                answer(f"v{n}/{name}", name, "good" if n == 2 else "bad", promptVersionRef=f"v{n}")
                for n in (1, 2)
                for name in names
            ],
            minion("writing", "skill-definition", name="Writing", qualityGates=[{"benchmarkId": "b", "minScore": 0.9}]),
        )
        await bench(engine, "b", target=TARGET, key="standing")
        await compare_prompt_versions(engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2"))
        await bench(
            engine, "b", target=TARGET, key="chosen", case_ids=[*names[:GOOD]], selection="the first: 4 of 8 cases"
        )
        await save(engine, [case(name, expectedOutputs={"output": "bad"}, name=name) for name in names[:GOOD]])
        await bench(engine, "b", target=TARGET, cache=True, key="cached")
        yield engine


async def test_the_other_runs_score_otherwise(engine: Engine) -> None:
    made = [(run.fields.overall_score, run.fields.is_standing) for run in await all_of(engine, BenchmarkRun)]
    assert sorted(made) == [(0.0, False), (0.0, False), (0.5, True), (1.0, False), (1.0, False)]
    cached = next(run for run in await all_of(engine, BenchmarkRun) if run.fields.cached)
    assert "every output came from the cache" in cached.fields.notes


async def test_every_reader_of_the_standing_reads_the_same_run(engine: Engine) -> None:
    standing = (await summarize(engine, "standing")).run_id
    fields = (await found(engine, "b", Benchmark)).fields
    assert fields.last_score == 0.5
    trend = (await found(engine, "trend:b", EvalTrend)).fields
    assert [point["score"] for point in json.loads(trend.data_points)] == [0.5]
    skill = await engine.store.read(lambda db: records.minion(db, "writing"))
    assert skill is not None
    (gate,) = await engine.store.read(lambda db: records.gates(db, skill))
    assert (gate.run_id, gate.score, gate.wire()["holds"]) == (standing, 0.5, False)
    assert [point.run_id for point in (await summarize_trend(engine, "b")).points] == [standing]
    assert [level.run_id for level in (await what_changed(engine, "b")).levels] == [standing]
    (row,) = (await read_overview(engine, skip=0, limit=10)).rows
    assert row.standing is not None
    assert (row.standing.run_id, row.standing.scores) == (standing, (0.5,))
    page = await read_benchmark_page(engine, "b")
    assert ([point.run_id for point in page.points], [one.run_id for one in page.targets]) == ([standing], [standing])
    read = engine.store.read
    earlier = await read(lambda db: runs.earlier(db, "b"))
    assert earlier is not None
    assert (earlier.id, earlier.score) == (standing, 0.5)
    assert [point.run_id for point in await read(lambda db: report_units.history(db, "b", limit=9))] == [standing]
    assert await read(lambda db: report_units.newest_run(db, "b")) == standing
    assert [point.run_id for point in await read(lambda db: trend_points.history(db, "b"))] == [standing]
    for key in ("chosen", "cached"):
        assert (await summarize(engine, key)).trend is None
        with pytest.raises(BadInputError, match="not a complete run of a benchmark"):
            await accept_run(engine, (await summarize(engine, key)).run_id, by="anna")


ANY_RUN = {
    "store/check_rules.py": "rules hold for every run",
    "store/salvage.py": "what is kept is kept whole",
    "store/records.py": "gates, which name WHOLE",
    "store/runs.py": "by an id, or the newest of all",
    "store/erasure/sweep.py": "content that is erased, of any run",
    "store/queries/run_origins.py": "by ids",
    "store/queries/run_pairs.py": "the newest runs of all cases, those of comparisons among them",
    "store/queries/newest.py": "`latest` is the benchmark that ran last, however",
    "store/queries/failure_causes.py": "the benchmarks that failures are of",
    "store/queries/judging/attempts.py": "the runs of comparisons",
    "store/queries/judging/judge_labels.py": "judgments that people label, of any run",
    "store/queries/judging/stored_results.py": "results that comparisons may use again",
    "store/queries/trend_points.py": "by an id, beside WHOLE",
    "store/queries/pages/matrix_cells.py": "the newest run of each version, comparisons included",
    "store/queries/pages/prompt_lists.py": "the newest run of each version, comparisons included",
    "store/queries/pages/overview.py": "whether a benchmark ran at all, beside WHOLE",
    "store/queries/pages/run_cases.py": "the caller says `whole`",
}
"""The modules that read benchmark-runs by anything but the standing, and why they may."""


def statements(path: Path) -> Iterator[str]:
    """The SQL texts of a module, with the names that stand in them."""
    tree = ast.parse(path.read_text("utf-8"))
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            yield node.value


def test_whoever_reads_benchmark_runs_reads_the_standing_or_says_why_not() -> None:
    root = Path(minions_evals_mcp.__file__).parent
    others = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for text in statements(path)
        if "FROM benchmark_run" in text and "WHOLE" not in text
    }
    assert others <= ANY_RUN.keys(), sorted(others - ANY_RUN.keys())
    named = {str(path.relative_to(root)) for path in root.rglob("*.py") if "$.selection" in path.read_text("utf-8")}
    of_comparisons = {"store/queries/judging/attempts.py", "store/queries/judging/stored_results.py"}
    assert named <= {"store/rows.py", *of_comparisons}, "the standing is defined in store/rows.py alone"
