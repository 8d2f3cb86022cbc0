"""An A/B test under the title of what it is about, for a page and a report."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.engine.ab_test.results import AbTestResult, ab_test_result
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units


async def titled_ab_test(engine: Engine, run_id: str) -> tuple[AbTestResult, str]:
    """The A/B test as far as it is, and the title of its test case or benchmark; raises as `ab_test_result` does."""
    result = await ab_test_result(engine, run_id)
    subject = result.test_case_id or result.benchmark_id or result.run_id
    titles = await engine.store.read(partial(report_units.titles, idents=[subject]))
    return result, titles.get(subject, subject)


async def ab_test_under(engine: Engine, ident: str) -> str | None:
    """The id of the A/B test that goes by that id, its beginning, its key or `latest`; None where something else does."""
    return await engine.store.read(partial(_ab_test_under, ident=ident))


def _ab_test_under(db: Db, *, ident: str) -> str | None:
    try:
        job = kept_job(db, ident)
    except NotFoundError:
        return None
    return job.id if job.kind == "ab-test" else None
