"""`claude plugin eval`'s results, judged here: scores and passes are those that the program computed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.makers import Json, written
from tests.shared.interop.plugin_results import grader, results, run


@pytest.mark.parametrize("seed", range(3))
def test_scores_and_passes_are_those_of_the_program(at: Terminal, seed: int) -> None:
    """Its own rule, computed here: a run's score is the weighted share of its graders, and 1 passes."""
    drawn = random.Random(seed)  # noqa: S311  no secret
    weights = {"a": 1, "b": 2, "c": 1}

    def drawn_run(share: float) -> Json:
        return run(*(grader(name, passed=drawn.random() < share, weight=weight) for name, weight in weights.items()))

    cases: dict[str, dict[str, list[Json]]] = {
        f"case {number}": {"with": [drawn_run(0.8) for _ in range(3)], "without": [drawn_run(0.3) for _ in range(3)]}
        for number in range(6)
    }
    written(at.folder / "aggregate-result.json", results(cases))
    imported = at.run("import", "aggregate-result.json", "--json").one()
    versions = imported["promptVersionRefs"]
    assert isinstance(versions, list)
    for arm, version in zip(("without", "with"), versions, strict=True):
        benchmark = str(imported["benchmarkId"])
        ended = at.run("run-benchmark", benchmark, "--prompt-version", str(version), "--trials", "3", "--json").one()
        found: Any = ended["benchmarkRun"]
        runs = [made for arms in cases.values() for made in arms[arm]]
        assert found["passedCount"] == sum(_score(made) == 1 for made in runs)
        assert found["overallScore"] == pytest.approx(sum(map(_score, runs)) / 18)


def _score(made: Any) -> float:
    graders = made["graders"]
    return sum(one["weight"] * one["passed"] for one in graders) / sum(one["weight"] for one in graders)
