"""Ids offered while somebody types: in prompts' arguments and in addresses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mcp_types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.server.edge.argument_types import LISTED, MESSAGE, RUN
from minions_evals_mcp.server.edge.guard import EvalsServer, is_text
from minions_evals_mcp.server.resources import addresses
from minions_evals_mcp.server.session.opened import ServerSession

MOST = 100
"""The protocol allows no more values."""
OF_ADDRESS = {addresses.RESULTS: "run", addresses.TREND: "benchmark", addresses.HISTORY: "test-case"}
OF_ARGUMENT = {
    "runId": "run", "benchmarkId": "benchmark", "testCaseId": "test-case", "promptVersionRef": "prompt-version",
    "versionA": "prompt-version", "versionB": "prompt-version", "comparisonId": "prompt-comparison",
}  # fmt: skip
FIXED: Mapping[tuple[str, str], tuple[str, ...]] = {
    (addresses.SCHEMA, "type"): tuple(kind for kind in LISTED if kind not in {RUN, MESSAGE}),
    (addresses.RECORD, "type"): LISTED,
    (addresses.RESULTS, "status"): ("passed", "failed", "unscored"),
    (addresses.SKILL, "name"): (
        "run-test-case", "run-benchmark", "detect-trend", "compare-prompt-versions", "classify-failure",
    ),
}  # fmt: skip


def register_completion(server: EvalsServer, session: ServerSession) -> None:
    """Answers `completion/complete`."""

    @server.completion()
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        given = (context.arguments if context else None) or {}
        if isinstance(ref, ResourceTemplateReference):
            fixed = FIXED.get((ref.uri, argument.name))
            if fixed is not None:
                return _completion([word for word in fixed if word.startswith(argument.value)])
        return await _ids(session, _kind(ref, argument.name, given), argument.value)

    _ = complete


def _kind(ref: PromptReference | ResourceTemplateReference, name: str, given: Mapping[str, str]) -> str | None:
    """The type of record whose id is asked for; None where it is no id."""
    if isinstance(ref, PromptReference):
        return OF_ARGUMENT.get(name)
    if name != "id":
        return None
    kind = given.get("type") if ref.uri == addresses.RECORD else OF_ADDRESS.get(ref.uri)
    return kind if kind in LISTED else None


async def _ids(session: ServerSession, kind: str | None, typed: str) -> Completion:
    if kind is None or not is_text(typed):
        return _completion([])
    try:
        engine = await session.engine()
    except EvalsError:  # whoever types is not the one to be told; the first call says why
        return _completion([])
    from minions_evals_mcp.store.queries.pages.listings import ids_beginning  # noqa: PLC0415  the store's modules come with the engine

    return _completion(await engine.store.read(partial(ids_beginning, kind=kind, typed=typed, limit=MOST + 1)))


def _completion(values: list[str]) -> Completion:
    return Completion(values=values[:MOST], has_more=len(values) > MOST)
