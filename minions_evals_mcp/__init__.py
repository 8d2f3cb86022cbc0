"""A memory of quality for fleets of LLM agents: judge what they produce, keep every judgment, catch regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine, EngineConfig
    from minions_evals_mcp.engine.prompt_scoring.evaluators import embedding_similarity, llm_judge, rule_based
    from minions_evals_mcp.engine.prompt_scoring.score import compare_versions, run_test, run_test_suite
    from minions_evals_mcp.evaluation.case import Case
    from minions_evals_mcp.evaluation.checks import Rubric, Score, Verdict
    from minions_evals_mcp.evaluation.evaluate import evaluate, evaluate_async
    from minions_evals_mcp.evaluation.result import EvaluationResult
    from minions_evals_mcp.opening import open_engine, open_engine_sync
    from minions_evals_mcp.targets.function.output import Output
    from minions_evals_mcp.targets.function.tracing import step, tool

__all__ = [
    "Case",
    "Engine",
    "EngineConfig",
    "EvaluationResult",
    "Output",
    "Rubric",
    "Score",
    "Verdict",
    "compare_versions",
    "embedding_similarity",
    "evaluate",
    "evaluate_async",
    "llm_judge",
    "open_engine",
    "open_engine_sync",
    "rule_based",
    "run_test",
    "run_test_suite",
    "step",
    "tool",
]

_HOMES = {
    "Case": "evaluation.case",
    "Engine": "engine.context",
    "EngineConfig": "engine.context",
    "EvaluationResult": "evaluation.result",
    "Output": "targets.function.output",
    "Rubric": "evaluation.checks",
    "Score": "evaluation.checks",
    "Verdict": "evaluation.checks",
    "compare_versions": "engine.prompt_scoring.score",
    "embedding_similarity": "engine.prompt_scoring.evaluators",
    "evaluate": "evaluation.evaluate",
    "evaluate_async": "evaluation.evaluate",
    "llm_judge": "engine.prompt_scoring.evaluators",
    "open_engine": "opening",
    "open_engine_sync": "opening",
    "rule_based": "engine.prompt_scoring.evaluators",
    "run_test": "engine.prompt_scoring.score",
    "run_test_suite": "engine.prompt_scoring.score",
    "step": "targets.function.tracing",
    "tool": "targets.function.tracing",
}

_MOVED = (
    "branches",
    "rows",
    "runs",
    "seals",
    "testing",
    "versions",
)
"""The modules of `api` whose names were once found here, and still are."""

_ONCE = {
    "test_case": "get_test_case",
    "test_case_executions": "list_test_case_executions",
    "test_case_stats": "get_test_case_stats",
    "test_cases": "list_test_cases",
}
"""Names that pytest would take for tests where they are imported: what they are called now."""


def __getattr__(name: str) -> Any:
    """The public names, imported at first use so that `--help` need not wait for them."""
    from importlib import import_module  # noqa: PLC0415  kept out of a bare import
    from importlib.util import find_spec  # noqa: PLC0415  likewise

    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if not name.startswith("_"):
        if (
            find_spec(f"{__name__}.{name}") is not None
        ):  # a module of ours: the tables below would all be imported first
            return import_module(f"{__name__}.{name}")
        now = _ONCE.get(name, name)
        for module in (import_module(f"{__name__}.api.{known}") for known in _MOVED):
            if now in module.__all__:
                return getattr(module, now)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, which are imported at first use."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
