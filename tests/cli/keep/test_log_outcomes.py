"""Outcomes of imported logs: what another tool recorded as an error is no answer, its epochs keep their order, its verdicts count."""

from __future__ import annotations

from typing import cast

import pytest
from pydantic import JsonValue

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.log_parts import TAU, line, result, results
from tests.shared.interop.makers import INSPECT_HEADER, Json, inspect_json, inspect_sample, written
from tests.shared.interop.whole_files import ITEM

BROKEN_TAU: Json = {
    "task_id": 3,
    "reward": 0.0,
    "info": {"error": "Trial lost", "traceback": "…"},
    "traj": [],
    "trial": 2,
}
OTHER_TAU: Json = {
    **TAU, "task_id": 4, "trial": 0, "info": {**TAU["info"], "task": {**TAU["info"]["task"], "instruction": "Cancel the flight."}},
}  # fmt: skip
FAILED = "grader crashed at item 7"
ERRORS: dict[str, tuple[str, object]] = {
    "inspect": ("a.json", {**INSPECT_HEADER, "samples": [
        inspect_sample(1, 1, "It is Paris"),
        {**inspect_sample(2, 1, "Rome"), "scores": {}, "error": {"message": FAILED, "traceback": ""}},
    ]}),
    "promptfoo": ("r.json", results(
        result(0, 0, {"type": "contains", "value": "{{country}}"}),
        result(1, 0, {"type": "contains", "value": "{{country}}"}, success=False, failureReason=2, error=FAILED, response={}),
    )),
    "tau-bench": ("m-airline.json", [TAU, OTHER_TAU, {**BROKEN_TAU, "task_id": 4, "trial": 1}]),
    "every-eval-ever": ("x_samples.jsonl", [line("a", "exact", 1.0), line("b", "exact", 0.0, error=FAILED)]),
    "openai-evals-items": ("items.jsonl", [
        ITEM, {**ITEM, "data_source_idx": 1, "item": {"q": "Spain?"}, "sample": {"error": {"message": FAILED}}},
    ]),
}  # fmt: skip
"""Of formats that record errors: a file with an output that is right and a sample that ended in an error."""


def judged(at: Terminal, name: str) -> Json:
    """The run that the command of `import` makes of a file."""
    taken = at.run("import", name, "--json").one()
    (version,) = cast("list[str]", taken["promptVersionRefs"])
    trials = ("--trials", str(taken["trials"])) if "trials" in taken else ()
    return at.run("run-benchmark", str(taken["benchmarkId"]), "--prompt-version", version, *trials, "--json").one()


def passes(run: Json) -> tuple[JsonValue, JsonValue]:
    """How many passed, of how many that were scored."""
    summary = cast("Json", run["benchmarkRun"])
    return summary["passedCount"], summary["totalCount"]


@pytest.mark.parametrize("name", ERRORS)
def test_what_a_tool_recorded_as_an_error_is_an_error_and_no_wrong_answer(at: Terminal, name: str) -> None:
    file, told = ERRORS[name]
    written(at.folder / file, told)
    run = judged(at, file)
    outcomes = cast("Json", run["outcomes"])
    right = 2 if name == "tau-bench" else 1
    assert (outcomes["scored"], outcomes["target-error"]) == (right, 1)
    assert passes(run) == (right, right)


def test_a_trial_of_tau_bench_without_its_task_is_left_out_and_said(at: Terminal) -> None:
    written(at.folder / "m-airline.json", [TAU, {**BROKEN_TAU, "task_id": 9}])
    ended = at.run("import", "m-airline.json")
    assert ended.code == 0
    assert "1 samples" in ended.out
    assert "a trial that ended in an error, of a task that no other trial describes: Trial lost" in ended.out


@pytest.mark.parametrize("started", ["2026-11-20T10:00:01+00:00", None])
def test_epoch_one_is_trial_one(at: Terminal, started: str | None) -> None:
    """Whether all began at one moment, or nobody knows when."""
    told = [inspect_sample(1, epoch, "Paris" if epoch == 2 else "Rome", started_at=started) for epoch in (1, 2, 3)]
    inspect_json(at.folder / "a.json", *told)
    judged(at, "a.json")
    runs = cast("list[Json]", at.run("list", "test-run", "--json").one()["records"])
    fields = [cast("Json", one["fields"]) for one in sorted(runs, key=lambda one: str(one["id"]))]
    assert [one["passed"] for one in fields] == [False, True, False]


def test_a_recorded_verdict_counts_in_its_run_and_is_not_available_for_another_output(at: Terminal) -> None:
    header = {**INSPECT_HEADER, "eval": {**cast("Json", INSPECT_HEADER["eval"]), "scorers": [{"name": "own"}]}}
    told = [{**inspect_sample(n, 1, "It is Paris"), "scores": {"own": {"value": "CI"[n]}}} for n in (0, 1)]
    written(at.folder / "a.json", {**header, "samples": told})
    run = judged(at, "a.json")
    assert passes(run) == (1, 2)
    target = at.file("target.yaml", "command: {run: [echo, Paris]}\n")
    again = at.run("run-benchmark", "log:inspect/capitals", "--target-config", str(target), "--trials", "2", "--json")
    assert again.code == 3
    assert "not available: scorer own of inspect" in again.out + again.err
