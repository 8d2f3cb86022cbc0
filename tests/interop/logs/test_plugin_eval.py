"""Results of `claude plugin eval`: both arms come in, and their verdicts and scores are those that the program computed."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from minions_evals_mcp.interop.logs.sample import Produced
from tests.shared.interop.makers import Json, samples, written
from tests.shared.interop.plugin_results import grader, results, run


def _produced(path: Path) -> list[tuple[str, int, Produced]]:
    return [
        (sample.produced.variant.id, sample.epoch, sample.produced)
        for sample in samples(path, "claude-plugin-eval")
        if sample.produced is not None and sample.produced.variant is not None
    ]


def test_each_run_of_each_arm_is_an_output_with_its_graders(tmp_path: Path) -> None:
    judged = grader("good", passed=True, judgeVotes=[True, True, False], evidence="11 [km]")
    document = results({"adds": {"with": [run(judged), run(judged)], "without": [run(grader("good", passed=False))]}})
    first, second, third = _produced(written(tmp_path / "aggregate-result.json", document))
    assert [found[:2] for found in (first, second, third)] == [("without", 1), ("with", 1), ("with", 2)]
    assert (second[2].output, second[2].cost, second[2].latency_ms) == ("11 [km]", 0.05, 2000)
    assert cast("Json", second[2].scores[0].about["grader"])["judgeVotes"] == [True, True, False]
    assert (first[2].output, first[2].stop_reason) == (None, "the results hold no output")


def test_a_grader_that_is_not_scored_or_is_of_one_arm_decides_nothing(tmp_path: Path) -> None:
    graders = (
        grader("a", passed=True),
        grader("used", passed=False, withOnly=True),
        grader("note", passed=False, scored=False),
    )
    path = written(tmp_path / "aggregate-result.json", results({"adds": {"with": [run(*graders)], "without": []}}))
    (sample,) = samples(path)
    assert [cast("Json", check["value"])["scorer"] for check in sample.assertions] == ["a"]


def test_a_run_that_broke_has_no_verdict(tmp_path: Path) -> None:
    broken: list[Json] = [{**run(grader("a", passed=False)), "error": "timeout"}, {**run(), "skippedPaidGraders": True}]
    document = results({"adds": {"with": broken, "without": [run(grader("a", passed=True))]}})
    _, first, second = _produced(written(tmp_path / "aggregate-result.json", document))
    assert (first[2].error, first[2].scores) == ("timeout", ())
    assert second[2].error == "its paid graders were skipped"
