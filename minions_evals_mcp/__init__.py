"""A memory of quality for fleets of LLM agents: judge what they produce, keep every judgment, catch regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
    from minions_evals_mcp.engine.evaluators import llm_judge, rule_based
    from minions_evals_mcp.engine.prompt_scoring import compare_versions, run_test, run_test_suite
    from minions_evals_mcp.engine.request import RunRequest
    from minions_evals_mcp.engine.run_benchmark import run_benchmark
    from minions_evals_mcp.engine.run_test_case import run_test_case

__all__ = [
    "Engine",
    "EngineConfig",
    "RunRequest",
    "compare_versions",
    "llm_judge",
    "open_engine",
    "rule_based",
    "run_benchmark",
    "run_test",
    "run_test_case",
    "run_test_suite",
]

_HOMES = {
    "Engine": "engine.context",
    "EngineConfig": "engine.context",
    "RunRequest": "engine.request",
    "compare_versions": "engine.prompt_scoring",
    "llm_judge": "engine.evaluators",
    "open_engine": "engine.context",
    "rule_based": "engine.evaluators",
    "run_benchmark": "engine.run_benchmark",
    "run_test": "engine.prompt_scoring",
    "run_test_case": "engine.run_test_case",
    "run_test_suite": "engine.prompt_scoring",
}


def __getattr__(name: str) -> object:
    """The public names, imported at first use so that `--help` need not wait for them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  kept out of a bare import

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
