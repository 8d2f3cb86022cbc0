"""A small whole file of every format that is read, for tests that do something to each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import parquet

from tests.shared.agent.traces import document, span
from tests.shared.interop.experiment_shapes import RIGHT, langsmith_rows, opik_experiment, opik_trace
from tests.shared.interop.log_parts import (
    CHAT,
    CHECKS,
    DEEPEVAL,
    EVALS,
    LOG,
    TAU,
    TAU2,
    TAU2_TASK,
    TRACE,
    line,
    observation,
    result,
    results,
    tau2_simulation,
)
from tests.shared.interop.makers import Json, inspect_archive, inspect_json, inspect_sample, written
from tests.shared.interop.plugin_results import grader, run
from tests.shared.interop.plugin_results import results as plugin_results
from tests.shared.interop.report_shapes import (
    adk_result,
    azure_results,
    braintrust_rows,
    harbor_job,
    harbor_trial,
    phoenix_runs,
    pydantic_case,
    pydantic_report,
    strands_report,
)
from tests.shared.interop.session_shapes import SHAPES, claude_logs, plan

SAMPLES = tuple(inspect_sample(n, 1, "It is Paris") for n in range(3))
ITEM: Json = {
    "run_id": "r", "eval_id": "geo", "data_source_idx": 0, "item": {"q": "France?"}, "sample": {"output_text": "Paris", "model": "m"},
    "grades": {"exact": 1.0}, "passes": {"exact": True},
}  # fmt: skip
RUN: Json = {
    "id": "r",
    "trace_id": "r",
    "session_id": "s",
    "run_type": "chain",
    "name": "agent",
    "inputs": {"q": 1},
    "outputs": {"answer": "A"},
}
TRAJECTORY: Json = {
    "schema_version": "ATIF-v1.8", "trajectory_id": "t1", "agent": {"name": "coder", "version": "1"},
    "steps": [{"step_id": 1, "source": "user", "message": "do"}, {"step_id": 2, "source": "agent", "message": "done"}],
}  # fmt: skip
AGGREGATE: Json = {
    "schema_version": "0.3.0", "evaluation_id": "geo/m/1", "evaluation_results": [{"evaluation_name": "exact"}],
    "model_info": {"id": "org/m"},
}  # fmt: skip


def _table(path: Path) -> Path:
    columns = {"id": ["a", "b", "c"], "question": ["A?", "B?", "C?"], "answer": ["1", "2", "3"]}
    cast("Any", parquet).write_table(cast("Any", pa).table(columns), path)  # pyarrow brings no types
    return path


def _spans(path: Path) -> Path:
    spans = [span(f"{n:016x}", "chat m", CHAT, trace=f"{n + 1:032x}") for n in range(3)]
    return written(path, [document(one) for one in spans])


def _adk_case(number: int) -> Json:
    turn = {"user_content": {"parts": [{"text": f"{number}?"}]}, "final_response": {"parts": [{"text": "A"}]}}
    return {"eval_id": f"e{number}", "conversation": [turn]}


def _json(said: object) -> Callable[[Path], Path]:
    return lambda path: written(path, said)


def lm_eval_line(number: int, of_filter: str = "none", **more: object) -> Json:
    """A line of lm-evaluation-harness 0.4."""
    return {
        "doc_id": number, "doc": {"question": f"{number}?", "answer": "Paris"}, "target": "Paris",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {number}?", "arg_1": {"until": ["Q:"], "do_sample": False}}},
        "resps": [["It is Paris."]], "filtered_resps": ["Paris"], "filter": of_filter, "metrics": ["exact_match"],
        "doc_hash": "d", "prompt_hash": "p", "target_hash": "t", "exact_match": 1.0, **more,
    }  # fmt: skip


def ragas_row(number: int) -> Json:
    """A row of ragas's results: a grade, and an aspect, which is 1 or 0."""
    return {
        "user_input": f"{number}?", "retrieved_contexts": ["Paris is the capital."], "response": "Paris", "reference": "Paris",
        "faithfulness": 0.87, "concise": 1,
    }  # fmt: skip


SIMULATION: Json = {
    "trajectory": [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "In Paris."}],
    "evaluator_results": [{"key": "right", "score": True, "comment": "it is"}],
}  # fmt: skip
WHOLE: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "inspect-eval": ("a.eval", lambda path: inspect_archive(path, *SAMPLES)),
    "inspect-json": ("a.json", lambda path: inspect_json(path, *SAMPLES)),
    "promptfoo": ("r.json", _json(results(result(0, 0, CHECKS[0]), result(1, 0, CHECKS[0])))),
    "openai-evals": ("run.jsonl", _json(LOG)),
    "openai-evals-samples": ("samples.jsonl", _json([{"input": f"{n}?", "ideal": "Paris"} for n in range(3)])),
    "openai-evals-items": ("items.jsonl", _json([{**ITEM, "data_source_idx": n} for n in range(3)])),
    "otel": ("t.jsonl", _spans),
    "tau-bench": ("m-airline.json", _json([{**TAU, "task_id": n} for n in range(3)])),
    "tau2": (
        "results.json",
        _json({
            **TAU2,
            "tasks": [{**task, "id": str(n)} for n in range(3) for task in cast("list[Json]", TAU2["tasks"])],
            "simulations": [{**tau2_simulation(1.0), "task_id": str(n)} for n in range(3)],
        }),
    ),
    "tau2-tasks": ("tasks.json", _json([{**TAU2_TASK, "id": str(n)} for n in range(3)])),
    "deepeval": ("test_run_1.json", _json(DEEPEVAL)),
    "openevals": ("sims.json", _json([{**SIMULATION, "thread_id": f"t{n}"} for n in range(3)])),
    "claude-plugin-eval": (
        "aggregate-result.json",
        _json(plugin_results({name: {"with": [run(grader("a", passed=True, evidence="Right"))]} for name in ("x", "y", "z")})),
    ),
    "atif": ("t.jsonl", _json([{**TRAJECTORY, "trajectory_id": f"t{n}"} for n in range(3)])),
    "every-eval-ever": ("x_samples.jsonl", _json([line(name, "exact", 1.0) for name in "abc"])),
    "every-eval-ever-results": ("x.json", _json(AGGREGATE)),
    "lm-eval": ("samples_geo_2026-11-20T10-00-00.5.jsonl", _json([lm_eval_line(n // 2, ("strict", "loose")[n % 2]) for n in range(6)])),
    "mlflow": ("m.jsonl", _json([TRACE, {**TRACE, "info": {**cast("Json", TRACE["info"]), "trace_id": "tr-2"}}])),
    "langsmith": ("runs.jsonl", _json([{**RUN, "id": f"r{n}", "trace_id": f"r{n}"} for n in range(3)])),
    "langfuse": ("rows.jsonl", _json([observation(f"o{n}", traceId=f"t{n}", input="Q", output="A") for n in range(3)])),
    "parquet": ("t.parquet", _table),
    "ragas": ("r.jsonl", _json([ragas_row(n) for n in range(3)])),
    "data-set": ("goldens.json", _json([{"input": f"{n}?", "expected_output": "Paris", "context": ["c"]} for n in range(3)])),
    "adk-evalset": ("a.evalset.json", _json({"eval_set_id": "geo", "eval_cases": [*map(_adk_case, range(3))]})),
    "adk-result": ("a.evalset_result.json", _json(adk_result({name: {"same": True, "seconds": 0.5} for name in "abc"}))),
    "azure-evaluation": ("az.json", _json(azure_results({name: {"same": True, "near": 0.5} for name in "abc"}))),
    "phoenix-experiment": ("x.json", _json(phoenix_runs({name: {"same": True, "near": 0.5} for name in "abc"}))),
    "langsmith-evaluate": ("r.json", _json(langsmith_rows((RIGHT,) * 3))),
    "opik": ("experiment_1.json", _json(opik_experiment((RIGHT,) * 3))),
    "opik-trace": ("trace_t.json", _json(opik_trace())),
    "braintrust": ("rows.jsonl", _json(braintrust_rows({name: {"same": True, "near": 0.5} for name in "abc"}, spans=False))),
    "pydantic-evals": ("d.json", _json({"name": "geo", "cases": [{"inputs": f"{n}?", "expected_output": "A"} for n in range(3)]})),
    "strands": ("e.json", _json({"cases": [{"input": f"{n}?", "expected_output": "A"} for n in range(3)], "evaluators": []})),
    "pydantic-evals-report": (
        "report.json",
        _json(pydantic_report(
            *(pydantic_case(f"{name} [1/1]", {"same": True, "near": 0.5, "tone": "kind"}, source=name) for name in "abc"),
            pydantic_case("d", {}, error="down"),
        )),
    ),
    "harbor": (
        "result.json",
        _json(harbor_job(*(harbor_trial(f"{name}__x", {"reward": 1.0, "style": 0.5}, ("AgentTimeoutError", True)) for name in "abc"))),
    ),
    "strands-report": (
        "report.json", _json(strands_report({name: {"same": True, "near": 0.5} for name in "abc"}, ("same", "near"), trajectory=["look"])),
    ),
    "otel-logs": ("logs.json", _json(claude_logs(plan(1))[0])),
    **{
        form: (file, _json(shape(plan(1)) if file.endswith("l") else shape(plan(1))[0]))
        for form, file, shape in (SHAPES[name] for name in ("claude-session", "codex-rollout", "gemini-chat", "opencode-export"))
    },
    "skill-evals": ("evals.json", _json({"skill_name": "review", "evals": EVALS})),
}  # fmt: skip
"""By the name of the format: what the file is called, and what writes it."""
