"""JSON written piece by piece, however many outputs there are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.log_exports.exported_outputs import Export, ExportedOutput


def text(value: JsonValue) -> str:
    """The value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


async def one_document(
    before: Json,
    key: str,
    export: Export,
    of: Callable[[ExportedOutput, int], Json],
    *,
    closing: Callable[[], str] = lambda: "}",
) -> AsyncIterator[str]:
    """An object of those keys and the outputs as a list under `key`; `closing` says what follows and closes what is open.

    NaN is written as the bare word, as the tools write it that know it.
    """
    members = "".join(f"{text(name)}: {text(value)}, " for name, value in before.items())
    yield f"{{{members}{text(key)}: ["
    place = 0
    async for output in export.outputs:
        yield (",\n" if place else "\n") + json.dumps(of(output, place), ensure_ascii=False)
        place += 1
    yield f"\n]{closing()}\n"
