"""Experiments as LangSmith's `evaluate()` and Opik write them, after a plan of what was said of each row."""

from __future__ import annotations

from tests.shared.interop.makers import Json

RIGHT, WRONG, BROKEN, DOWN = "right", "wrong", "broken", "down"
PLAN = (RIGHT, WRONG, BROKEN, DOWN)
"""Of each row: what the scorer `same` said, that it broke, or that the target itself failed."""


def _row(number: int, said: str) -> Json:
    score: Json = {"key": "same", "score": said == RIGHT, "comment": "so"}
    if said == BROKEN:
        score = {"key": "same", "comment": "TypeError()", "extra": {"error": True}}
    return {
        "run": {
            "id": f"r{number}", "inputs": {}, "error": "boom" if said == DOWN else None, "reference_example_id": f"e{number}",
            "outputs": None if said == DOWN else {"answer": said},
            "child_runs": [{"id": "t", "run_type": "tool", "name": "look", "inputs": {"q": 1}, "outputs": {"found": 2}}],
        },
        "example": {"id": f"e{number}", "dataset_id": "d", "inputs": {"question": f"Q{number}?"}, "outputs": {"answer": RIGHT}},
        "evaluation_results": {"results": [score, {"key": "near", "score": 0.3 * number}, {"key": "tone", "value": "warm"}]},
    }  # fmt: skip


def langsmith_rows(plan: tuple[str, ...] = PLAN) -> list[Json]:
    """What `evaluate()` returns."""
    return [_row(number, said) for number, said in enumerate(plan)]


def langsmith_table() -> list[Json]:
    """As `to_pandas` makes it."""
    return [
        {
            "inputs.question": row["example"]["inputs"]["question"],
            "outputs.answer": (row["run"]["outputs"] or {}).get("answer"),
            "error": row["run"]["error"],
            "reference.answer": RIGHT,
            **{
                f"feedback.{one['key']}": one.get("score", one.get("value"))
                for one in row["evaluation_results"]["results"]
            },
            "execution_time": 1.5,
            "example_id": row["example"]["id"],
            "id": row["run"]["id"],
        }
        for row in langsmith_rows()
    ]


def _opik_item(number: int, said: str) -> Json:
    return {
        "id": f"i{number}", "dataset_item_id": f"e{number}", "trace_id": f"t{number}",
        "dataset_item_data": {"question": f"Q{number}?", "expected_output": RIGHT}, "evaluation_task_output": {"output": said},
        "feedback_scores": [{"name": "near", "value": 0.3 * number}],
        "assertion_results": [{"value": "same", "passed": said == RIGHT, "reason": "so"}] if said in (RIGHT, WRONG) else [],
    }  # fmt: skip


def _opik_result(number: int, said: str) -> Json:
    return {
        "test_case": {
            "trace_id": f"t{number}", "dataset_item_id": f"e{number}", "task_output": {"output": said},
            "dataset_item_content": {"question": f"Q{number}?", "expected_output": RIGHT},
        },
        "score_results": [
            {"name": "same", "value": float(said == RIGHT), "reason": "so", "scoring_failed": said in (BROKEN, DOWN)},
            {"name": "near", "value": 0.3 * number},
        ],
        "trial_id": 0,
    }  # fmt: skip


def opik_experiment(plan: tuple[str, ...] = PLAN) -> Json:
    """As `opik export` writes it."""
    items = [_opik_item(number, said) for number, said in enumerate(plan)]
    return {"experiment": {"id": "1", "name": "x", "dataset_name": "d"}, "items": items}


def opik_results() -> Json:
    """What Opik's `evaluate()` returns."""
    results = [_opik_result(number, said) for number, said in enumerate(PLAN)]
    return {"experiment_id": "1", "dataset_id": "d", "test_results": results}


def opik_trace() -> Json:
    """A trace as `opik export` writes it."""
    trace = {
        "id": "t", "project_id": "p", "start_time": "2026-11-01T00:00:00Z", "input": {"messages": [{"role": "user", "content": "Hi"}]},
        "output": {"output": "Hello"}, "thread_id": "th", "total_estimated_cost": 0.01,
    }  # fmt: skip
    spans = [
        {
            "id": "s",
            "type": "tool",
            "name": "look",
            "input": {"q": 1},
            "output": {"found": 2},
            "start_time": "2026-11-01T00:00:01Z",
        }
    ]
    return {"trace": trace, "spans": spans, "downloaded_at": "x", "project_name": "shop"}
