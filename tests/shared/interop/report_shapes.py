"""Reports of evaluation libraries, made of a plan: what each case's evaluators said, or what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tests.shared.interop.makers import Json

Said = Mapping[str, bool | float | str]
"""What the evaluators of a case said by their names: a verdict, a score, a label. A text that begins with `!` is its error."""


def pydantic_case(name: str, said: Said, *, source: str | None = None, error: str | None = None) -> Json:
    """A case of a report of pydantic-evals; `error` is that of its task."""
    about: Json = {
        "name": name, "inputs": f"{source or name}?", "metadata": {"topic": name}, "expected_output": "Paris",
        "source_case_name": source, "trace_id": "t", "span_id": "s",
    }  # fmt: skip
    if error is not None:
        return {**about, "error_message": error, "error_stacktrace": "Traceback …"}
    kinds: dict[str, Json] = {"assertions": {}, "scores": {}, "labels": {}}
    for evaluator, value in said.items():
        if _failed(value):
            continue
        kind = "assertions" if isinstance(value, bool) else "labels" if isinstance(value, str) else "scores"
        source_of: Json = {"name": evaluator.upper(), "arguments": None}
        kinds[kind][evaluator] = {
            "name": evaluator,
            "value": value,
            "reason": "as seen",
            "source": source_of,
            "evaluator_version": "2",
        }
    failures = [
        {
            "name": evaluator,
            "error_message": str(value)[1:],
            "error_stacktrace": "…",
            "source": {"name": evaluator.upper()},
        }
        for evaluator, value in said.items()
        if _failed(value)
    ]
    return {
        **about, **kinds, "output": "It is Paris", "metrics": {"input_tokens": 7, "requests": 2}, "attributes": {"a": 1},
        "task_duration": 0.5, "total_duration": 0.75, "evaluator_failures": failures,
    }  # fmt: skip


def _failed(value: bool | float | str) -> bool:
    return isinstance(value, str) and value.startswith("!")


def pydantic_report(*cases: Json) -> Json:
    """A report of pydantic-evals."""
    return {
        "name": "answer", "dataset_name": "geo", "cases": [case for case in cases if "error_message" not in case],
        "failures": [case for case in cases if "error_message" in case], "analyses": [], "report_evaluator_failures": [],
        "experiment_metadata": {"commit": "abc"}, "trace_id": None, "span_id": None,
    }  # fmt: skip


def strands_report(cases: Mapping[str, Said | str], evaluators: Sequence[str], *, trajectory: object = None) -> Json:
    """A report of Strands: rows by evaluator; a text in place of what was said is the error of the case's task."""
    rows: list[Json] = []
    verdicts: list[tuple[float, bool, str, list[Json]]] = []
    for evaluator in evaluators:
        for name, said in cases.items():
            about: Json = {"name": name, "input": f"{name}?", "expected_output": "Paris", "metadata": {"topic": name}}
            answered: Json = {"actual_output": "It is Paris", "actual_trajectory": trajectory}
            tail: Json = {"evaluator": evaluator, "evaluator_type": evaluator.upper()}
            rows.append({**about, **({"session_id": f"s-{name}"} if isinstance(said, str) else answered), **tail})
            verdicts.append(_verdict(said, evaluator))
    return {
        "overall_score": 0.5, "scores": [one[0] for one in verdicts], "cases": rows,
        "test_passes": [one[1] for one in verdicts], "reasons": [one[2] for one in verdicts],
        "detailed_results": [one[3] for one in verdicts], "diagnoses": [{"kind": "d"} for _ in rows],
        "recommendations": ["r" for _ in rows],
    }  # fmt: skip


def _verdict(said: Said | str, evaluator: str) -> tuple[float, bool, str, list[Json]]:
    if isinstance(said, str):
        return 0, False, f"An error occurred: {said}", []
    value = said[evaluator]
    if value == "n/a":
        return 0.0, True, "nothing to judge", [{"score": 0.0, "test_pass": True, "label": "not_applicable"}]
    if isinstance(value, str):
        return 0, False, f"Evaluator error: {value[1:]}", []
    return (
        float(value),
        bool(value),
        "as seen",
        [{"score": float(value), "test_pass": bool(value), "reason": "as seen"}],
    )


def harbor_trial(name: str, rewards: Json | None, error: tuple[str, bool] | None = None) -> Json:
    """The result of a trial of Harbor; `error` is an exception and whether its reward is valid all the same."""
    raised: Json | None = None
    if error is not None:
        policy = {"should_retry": True, "should_grade": True, "has_valid_reward": error[1]}
        raised = {
            "exception_type": error[0],
            "exception_message": "as seen",
            "exception_traceback": "…",
            "policy": policy,
        }
    return {
        "id": f"id-{name}", "task_name": name.rpartition("__")[0], "trial_name": name, "source": "mini", "task_checksum": "c",
        "config": {"job_id": "j1", "agent": {"name": "coder"}},
        "agent_info": {"name": "coder", "version": "2", "model_info": {"name": "m", "provider": "p"}},
        "agent_result": {"n_input_tokens": 10, "n_cache_tokens": 3, "n_output_tokens": 5, "cost_usd": 0.5, "metadata": {"k": "v"}},
        "verifier_result": None if rewards is None else {"rewards": rewards}, "exception_info": raised,
        "started_at": "2026-11-01T10:00:00Z", "finished_at": "2026-11-01T10:00:09Z",
    }  # fmt: skip


def harbor_job(*trials: Json, whole: bool = True) -> Json:
    """The result of a job of Harbor: with its trials, else with what its statistics say of each."""
    about: Json = {"schema_version": 1, "id": "j1", "started_at": "2026-11-01T10:00:00Z", "n_total_trials": len(trials)}
    if whole:
        return {**about, "stats": {"evals": {}}, "trial_results": [*trials]}
    rewards: dict[str, dict[str, list[str]]] = {}
    exceptions: dict[str, list[str]] = {}
    for trial in trials:
        raised = trial["exception_info"]
        if raised:
            exceptions.setdefault(raised["exception_type"], []).append(trial["trial_name"])
        if not raised or raised["policy"]["has_valid_reward"]:
            given = cast("Json", cast("Json", trial["verifier_result"] or {}).get("rewards") or {})
            for name, value in given.items():
                rewards.setdefault(name, {}).setdefault(str(float(value)), []).append(trial["trial_name"])
    evals = {"coder__m__mini": {"n_trials": len(trials), "reward_stats": rewards, "exception_stats": exceptions}}
    return {**about, "stats": {"n_completed_trials": len(trials), "evals": evals}}
