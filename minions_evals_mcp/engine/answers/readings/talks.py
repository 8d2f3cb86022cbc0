"""The conversations of a run."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.engine.answers.readings.user_errors import UserErrors, read_user_errors
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store import talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.talks import TalkRow


async def read_talks(
    engine: Engine, ident: str, *, case_id: str | None, most: int
) -> tuple[str, list[TalkRow], UserErrors | None]:
    """The run's id, its conversations in order, and how many their users spoiled; `ident` is a run, or a benchmark for its newest."""
    run_id = (await find_subject(engine, ident)).run_id
    rows, errors = await engine.store.read(partial(_read, job_id=run_id, case_id=case_id, most=most))
    return run_id, rows, errors


def _read(db: Db, *, job_id: str, case_id: str | None, most: int) -> tuple[list[TalkRow], UserErrors | None]:
    return talks.of_job(db, job_id, case_id=case_id, most=most), read_user_errors(db, job_id)
