"""Agents' trajectories (ATIF): one a document, or one a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, Recorded
from minions_evals_mcp.interop.trajectory import trajectory_run
from minions_evals_mcp.sessions.conversation import finite, without

NAME = "atif"
LISTS = frozenset({""})


def read(path: Path) -> Iterator[Item]:
    """An agent-run for each trajectory, with its steps and figures as they are."""
    yield EvaluationLog(NAME, path.stem, path.stem, own_id=False)
    for where, row in rows_of(path, LISTS):
        try:
            run = trajectory_run(row)
        except ValueError as error:
            raise InvalidRecordError(str(error), where=where) from None
        yield Recorded(_with_rest(run, row), where)


def _with_rest(run: Json, row: Json) -> Json:
    about: Json = {"log": {"format": NAME}, "rest": without(row, "steps"), "steps": row.get("steps")}
    return {**run, "fields": {**obj(run.get("fields")), "extra": finite(about)}}
