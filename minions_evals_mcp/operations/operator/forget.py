"""Forget: replace content by a tombstone, everywhere, and leave no byte of it in the store."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, More
from minions_evals_mcp.domain.values import Count, Id, Text, Value

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

LEAST = 3
"""The fewest characters of a subject: fewer would be found in everything."""


class Request(Value):
    """Erase what names a subject, what a record holds, or what is older than a day."""

    subject: Annotated[
        str | None,
        Field(min_length=LEAST, description="Every text that contains this"),
        More("Erase every text that contains this (case-insensitive), and each whole output that contains it."),
    ] = None
    record_id: Annotated[
        Id | None,
        Field(description="The record, run or test-run"),
        More("Erase the content of this record, run or test-run, and of the outputs, judgments and messages about it."),
    ] = None
    before: Annotated[
        date | None,
        Field(strict=False, description="Outputs and messages before this day"),
        More("Erase outputs, judgments, recorded agent-runs and messages from before this day (YYYY-MM-DD, UTC)."),
    ] = None
    triggered_by: Annotated[Text, Field(description="Who asks"), NAME_SAYS_IT] = "command-line"

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if sum(part is not None for part in (self.subject, self.record_id, self.before)) != 1:
            raise ValueError("subject: give exactly one of subject, recordId and before")
        return self


class Answer(Value):
    """The number of rows whose content was erased, by table, of records by their type. `encrypted` sealed cases could not be searched.

    With `sealed`, a benchmark is sealed and no rows are counted: their number would reveal something of its cases.
    """

    rows: dict[str, Count]
    encrypted: Count = 0
    sealed: bool = False

    @property
    def total(self) -> int:
        """All rows together."""
        return sum(self.rows.values())


async def run(engine: Engine, request: Request, *, counts_only: bool = False) -> Answer:
    """The erasure; it is done when this returns. What was copied elsewhere before, such as a backup, is not reached.

    `counts_only`: the answer counts what would be erased, and nothing is changed.
    """
    import anyio.to_thread  # noqa: PLC0415  the engine, at the first call

    from minions_evals_mcp.store.erasure.forgetting import count_erasable, forget  # noqa: PLC0415  as above
    from minions_evals_mcp.store.erasure.scope import ErasureScope  # noqa: PLC0415  as above

    before = None if request.before is None else datetime.combine(request.before, time(), UTC)
    wanted = ErasureScope(request.subject, request.record_id, before)
    work = partial(forget, by=request.triggered_by) if not counts_only else count_erasable
    erased = await anyio.to_thread.run_sync(partial(work, engine.config.db, wanted, at=engine.clock()))
    return Answer(rows=dict(sorted(erased.rows.items())), encrypted=erased.encrypted, sealed=erased.sealed)
