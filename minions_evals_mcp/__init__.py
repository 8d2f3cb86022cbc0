"""A memory of quality for fleets of LLM agents: judge what they produce, keep every judgment, catch regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
    from minions_evals_mcp.engine.request import RunRequest
    from minions_evals_mcp.engine.run_benchmark import run_benchmark
    from minions_evals_mcp.engine.run_test_case import run_test_case

__all__ = ["Engine", "EngineConfig", "RunRequest", "open_engine", "run_benchmark", "run_test_case"]

_HOMES = {
    "Engine": "engine.context",
    "EngineConfig": "engine.context",
    "RunRequest": "engine.request",
    "open_engine": "engine.context",
    "run_benchmark": "engine.run_benchmark",
    "run_test_case": "engine.run_test_case",
}


def __getattr__(name: str) -> object:
    """The public names, imported at first use so that `--help` need not wait for them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  kept out of a bare import

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
