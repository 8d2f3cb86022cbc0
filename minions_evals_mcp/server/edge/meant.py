"""The arguments of the tools that are ids of records: their beginning will do, and `latest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from minions_evals_mcp.server.edge.guard import Arguments

if TYPE_CHECKING:
    from minions_evals_mcp.operations.engine import Engine

A = TypeVar("A", bound=Arguments)

EVERYWHERE = {
    "benchmark_id": ("benchmark",),
    "test_case_id": ("test-case",),
    "branch_id": ("test-branch",),
    "comparison_id": ("prompt-comparison",),
}
"""Arguments by name, each with the types of the records that it names."""
OF_TOOL: dict[str, dict[str, tuple[str, ...]]] = {
    "get_record": {"id": ()},
    "promote_failure": {"id": ("eval-failure", "test-run", "agent-run"), "into": ("benchmark",)},
    "approve_prompt_version": {"prompt_version_ref": ("prompt-version",)},
}
"""Those of one tool. What a tool deletes is named in full."""


async def with_meant_ids(engine: Engine, tool: str, request: A) -> A:
    """The arguments with the ids that they mean, written out; raises `BadInputError` where one begins several."""
    from minions_evals_mcp.engine.meant_ids import meant_id  # noqa: PLC0415  the engine's modules come with the engine

    meant: dict[str, str] = {}
    for name, kinds in {**EVERYWHERE, **OF_TOOL.get(tool, {})}.items():
        given = getattr(request, name, None)
        if isinstance(given, str):
            meant[name] = await meant_id(engine, given, *kinds)
    return request.model_copy(update=meant)


def changed_ids(request: Arguments, meant: Arguments) -> list[str]:
    """The arguments that were written out."""
    return [name for name in type(request).model_fields if getattr(request, name) != getattr(meant, name)]
