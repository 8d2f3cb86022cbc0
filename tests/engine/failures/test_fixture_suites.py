"""The shipped suites, judged by rule: every verdict and failure type is what a person wrote beside it."""

from __future__ import annotations

import pytest
import yaml

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.results import EvalFailure, TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.failures.classify_failure import classify_failure
from minions_evals_mcp.engine.records.save_records import save_records
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.shipped import shipped_folder
from tests.workshop import START, all_of, bench, failure_of

FIXTURES = shipped_folder("fixtures")


@pytest.mark.parametrize(("suite", "runs"), [("support-agent", 52), ("retrieval-agent", 20), ("prompts", 24)])
async def test_every_recorded_run_is_judged_as_the_person_judged_it(engine: Engine, suite: str, runs: int) -> None:
    arrivals, relations = read_suite(FIXTURES / f"{suite}.yaml", new_id=engine.new_id, now=START)
    await save_records(engine, arrivals, relations)
    expected = yaml.safe_load((FIXTURES / "expected" / f"{suite}.yaml").read_text(encoding="utf-8"))
    (subject,) = await all_of(engine, Benchmark)
    for version in await all_of(engine, PromptVersion):
        await bench(engine, subject.id, prompt_version_ref=version.id, judge="heuristic")
    found: dict[tuple[str, str | None], tuple[bool, str | None]] = {}
    for run in await all_of(engine, TestRun):
        kind = None if run.fields.passed else (await failure_of(engine, run.id)).failure_type
        found[run.fields.test_case_id, run.fields.prompt_version_ref] = (run.fields.passed, kind)
    assert found == {(one["case"], one["promptVersion"]): (one["passed"], one.get("failureType")) for one in expected}
    assert len(found) == runs


async def test_classifying_a_recorded_failure_again_by_rule_changes_nothing(engine: Engine) -> None:
    for suite in ("retrieval-agent", "support-agent"):
        arrivals, relations = read_suite(FIXTURES / f"{suite}.yaml", new_id=engine.new_id, now=START)
        await save_records(engine, arrivals, relations)
    for subject in await all_of(engine, Benchmark):
        await bench(engine, subject.id, judge="heuristic")
    kept = [one for one in await all_of(engine, EvalFailure) if one.id.endswith(":failure")]
    assert len(kept) > 10
    for failure in kept:
        again = await classify_failure(engine, failure.fields.test_run_id, explain=False)
        assert again.fields == failure.fields
