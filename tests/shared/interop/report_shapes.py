"""Reports of evaluation libraries, made of a plan: what each case's evaluators said, or what failed."""

from __future__ import annotations

import math
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


def adk_result(cases: Mapping[str, Said | str], *, expected: bool = True, set_id: str = "geo") -> Json:
    """The result of an ADK evaluation; of a metric that was not evaluated the text begins with `!`, `~` only informs.

    A text in place of what was said is the error of the agent, which ADK writes as a failed case without a conversation.
    """
    ident = f"app_{set_id}_1795955614.5"
    return {
        "eval_set_result_id": ident, "eval_set_result_name": ident, "eval_set_id": set_id, "creation_timestamp": 1795955614.5,
        "eval_case_results": [_adk_case(name, said, set_id, expected=expected) for name, said in cases.items()],
    }  # fmt: skip


def _adk_case(name: str, said: Said | str, set_id: str, *, expected: bool) -> Json:
    metrics: list[Json] = (
        [] if isinstance(said, str) else [_adk_metric(metric, value) for metric, value in said.items()]
    )
    statuses = [metric["eval_status"] for metric in metrics]
    return {
        "eval_set_file": set_id, "eval_set_id": set_id, "eval_id": name.partition("#")[0], "eval_metric_results": None,
        "final_eval_status": 2 if not metrics or 2 in statuses else 1 if 1 in statuses else 3, "session_id": f"s-{name}",
        "overall_eval_metric_results": metrics, "session_details": None, "user_id": "u",
        "eval_metric_result_per_invocation": [] if isinstance(said, str) else [{
            "actual_invocation": adk_invocation(f"{name.partition('#')[0]}?", "It is Paris"),
            "expected_invocation": adk_invocation(f"{name.partition('#')[0]}?", "Paris") if expected else None,
            "eval_metric_results": metrics,
        }],
    }  # fmt: skip


def _adk_metric(name: str, value: bool | float | str) -> Json:
    status = (
        int(2 - value) if isinstance(value, bool) else 4 if isinstance(value, int | float) or value[:1] == "~" else 3
    )
    return {
        "metric_name": name, "threshold": 0.6, "criterion": {"threshold": 0.6}, "custom_function_path": None,
        "score": None if isinstance(value, str) else float(value), "eval_status": status, "details": {"rubric_scores": None},
    }  # fmt: skip


def adk_invocation(question: str, answer: str | None) -> Json:
    """A turn of an ADK conversation, with one tool call among its events."""
    parts: list[list[Json]] = [
        [{"text": "I look", "function_call": None}, {"text": None, "function_call": {"id": "c1", "name": "look", "args": {"q": "é"}}}],
        [{"text": None, "function_response": {"id": "c1", "name": "look", "response": {"found": 1}}}],
    ]  # fmt: skip
    events = [
        {"author": "app", "content": {"parts": part}, "usage_metadata": {"prompt_token_count": 5}} for part in parts
    ]
    return {
        "invocation_id": "e1", "user_content": {"role": "user", "parts": [{"text": question}]},
        "final_response": None if answer is None else {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": {"invocation_events": events}, "creation_timestamp": 1795955614.5, "duration": 0.5,
    }  # fmt: skip


def braintrust_rows(cases: Mapping[str, Said | str], *, spans: bool = True) -> list[Json]:
    """The rows of an experiment: scores on spans of their own, else on the root. A text that begins with `!` is a scorer's error.

    A text in place of what was said is the error of the task. What stands behind `#` in a name tells trials of one case apart.
    """
    return [row for name, said in cases.items() for row in _braintrust_trace(name, said, spans=spans)]


def _braintrust_trace(name: str, said: Said | str, *, spans: bool) -> list[Json]:
    question = name.partition("#")[0]
    given: Json = {} if isinstance(said, str) else {key: one for key, one in said.items() if not _failed(one)}
    failed = {} if isinstance(said, str) else {key: _traced(str(one)[1:]) for key, one in said.items() if _failed(one)}
    scores = {key: None if one == "n/a" else float(one) for key, one in given.items()}
    root: Json = {
        "id": f"r-{name}", "_xact_id": "1", "created": "2026-11-29T12:43:44.7Z", "experiment_id": "geo", "span_id": name,
        "root_span_id": name, "span_parents": None, "is_root": True, "span_attributes": {"type": "eval", "name": "eval", "exec_counter": 1},
        "input": f"{question}?", "expected": "Paris", "output": None if isinstance(said, str) else "It is Paris", "tags": ["t"],
        "error": _traced(said) if isinstance(said, str) else None, "scores": {} if spans else scores,
        "metadata": {"topic": question, **({"scorer_errors": failed} if failed else {})},
        "metrics": {"start": 1.0, "end": 1.5, "prompt_tokens": 7},
    }  # fmt: skip
    below: Json = {"_xact_id": "1", "root_span_id": name, "span_parents": [name], "is_root": False, "input": {"q": "é"}}
    tool: Json = {
        **below,
        "id": f"t-{name}",
        "span_attributes": {"type": "tool", "name": "look"},
        "output": {"found": 1},
    }
    scored = [
        {**below, "id": f"{key}-{name}", "span_attributes": {"type": "score", "name": key}, "scores": {key: value}}
        for key, value in scores.items()
    ]
    return [root, tool, *scored] if spans else [root]


def _traced(error: str) -> str:
    return f'Traceback (most recent call last):\n  File "a.py", line 1\n{error}'


def azure_results(cases: Mapping[str, Said]) -> Json:
    """What azure-ai-evaluation writes: `!` begins the text of a line that failed, `n/a` was skipped; a number is a figure of one's own."""
    rows = [_azure_row(name, said) for name, said in cases.items()]
    return {"rows": rows, "metrics": {"same.same": 0.5}, "studio_url": None}


def _azure_row(name: str, said: Said) -> Json:
    row: Json = {
        "inputs.query": f"{name.partition('#')[0]}?",
        "inputs.response": "It is Paris",
        "inputs.ground_truth": "Paris",
    }
    for evaluator, value in said.items():
        row |= {f"outputs.{evaluator}.{field}": one for field, one in _azure_fields(evaluator, value).items()}
    return row


def _azure_fields(name: str, value: bool | float | str) -> Json:
    if not isinstance(value, bool | str):
        return {"figure": value}
    skipped, score = value == "n/a", float(value) if isinstance(value, bool) else None
    if isinstance(value, str) and not skipped:
        return dict.fromkeys([name, f"{name}_result", f"{name}_reason", f"{name}_threshold"], math.nan)
    return {
        name: score, f"{name}_result": "not_applicable" if skipped else "pass" if value else "fail", f"{name}_reason": "as seen",
        f"{name}_passed": None if skipped else value, f"{name}_status": "skipped" if skipped else "completed",
        f"{name}_threshold": 0.5, f"{name}_properties": {"tokens": 1},
    }  # fmt: skip


def phoenix_runs(cases: Mapping[str, Said | str]) -> list[Json]:
    """Runs of a Phoenix experiment: truth values have labels, `!` begins an evaluator's error; a text is the error of the task."""
    return [_phoenix_run(name, said) for name, said in cases.items()]


def _phoenix_run(name: str, said: Said | str) -> Json:
    question, _, trial = name.partition("#")
    notes = [] if isinstance(said, str) else [phoenix_note(evaluator, value) for evaluator, value in said.items()]
    return {
        "example_id": f"ex-{question}", "repetition_number": int(trial or 1), "input": {"question": f"{question}?"},
        "reference_output": {"answer": "Paris"}, "output": None if isinstance(said, str) else "It is Paris",
        "error": said if isinstance(said, str) else None, "latency_ms": 500.0, "start_time": "2026-11-01T10:00:00+00:00",
        "end_time": "2026-11-01T10:00:01+00:00", "trace_id": "t1", "prompt_token_count": 7, "completion_token_count": 5,
        "annotations": notes,
    }  # fmt: skip


def phoenix_note(name: str, value: bool | float | str, *, kind: str = "CODE", label: str | None = None) -> Json:
    """What an evaluator annotated."""
    failed = _failed(value)
    return {
        "name": name, "annotator_kind": kind, "label": label or (str(value) if isinstance(value, bool) else None),
        "score": None if failed else float(value), "explanation": "as seen", "trace_id": "t2",
        "error": str(value)[1:] if failed else None, "metadata": {"k": 1}, "start_time": "2026-11-01T10:00:01+00:00",
        "end_time": "2026-11-01T10:00:02+00:00",
    }  # fmt: skip
