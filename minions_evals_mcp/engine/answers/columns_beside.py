"""The other columns of the config that a run is one of."""

from __future__ import annotations

from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.overview import ConfigColumn, config_columns


def columns_beside(db: Db, run_id: str) -> list[tuple[str, str]]:
    """Short id and name of each column that was evaluated with the run; empty where it is no column, or the only one."""
    job = jobs.job(db, run_id)
    return (
        [] if job is None else [(short_id(ident), name) for ident, name in columns_of(db, job.subject_id, but=run_id)]
    )


def columns_of(db: Db, benchmark_id: str, *, but: str) -> list[tuple[str, str]]:
    """The other columns of the config of which that run is one, by run and name."""
    columns = config_columns(db, benchmark_id)
    if but not in {column.run_id for column in columns}:
        return []
    names = version_names(db, (column.version for column in columns))
    others = {column.run_id: _name(column, names) for column in reversed(columns) if column.run_id != but}
    return list(reversed(others.items()))


def _name(column: ConfigColumn, names: dict[str, str]) -> str:
    return f"{column.provider}: {named(names, column.version) or 'no version'}"
