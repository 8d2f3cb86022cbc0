"""Runs that were made, in a line each or one of them whole."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.cli.run.showing import show_summary
from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, kept_in, say, session
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.views import production
from minions_evals_mcp.operations.views import runs as listed
from minions_evals_mcp.presentation.verdict_words import verdict_sign


async def runs(id: str | None = None, /, *, limit: Limit = 20, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """List the newest runs, or show one: its progress, what failed, and the outputs that wait to be judged.

    Example: minions-evals runs --json

    Parameters
    ----------
    id
        One run, by id, the beginning of its id, its key, or latest.
    limit
        Maximum number of runs. For one run, of failures and judgment requests.
    """
    async with session(common) as engine:
        if id is not None:
            return await _one_run(engine, id, limit, common)
        lines, names, changes = await listed.named(engine, limit=limit, with_traces=common.json)
        of_traces = await production.count_production(engine)
    if common.json:
        say({"runs": [_job_line(line, changes.get(line.job.id)) for line in lines]})
        return 0
    if of_traces:
        runs_words = f"{of_traces} {'run that judged a production trace' if of_traces == 1 else 'runs that judged production traces'}"
        tell(as_typed(f"Not listed: {runs_words}. `minions-evals live --once` shows them.\n"))
    if not lines and of_traces:
        return 0
    if not lines:
        tell(as_typed("no runs yet; `minions-evals run-benchmark ID` makes one\n"))
        return 0
    from minions_evals_mcp.report.tables import show_jobs  # noqa: PLC0415  rich is imported where a person looks

    show_jobs(lines, names, {ident: verdict_sign(change) for ident, change in changes.items()})
    return 0


async def _one_run(engine: Engine, ident: str, limit: int, common: Common) -> int:
    """Shows a run; of a comparison that is made its verdict, which is also what `latest` means of a side of one."""
    job = await get_run.job(engine, ident)
    compared = None if common.json else await get_run.compared(engine, job.id, limit=limit)
    if compared is None:
        show_summary(await get_run.summary(engine, job.id, limit=limit), common)
        return 0
    from minions_evals_mcp.report.comparisons import show_comparison  # noqa: PLC0415  rich is imported where a person looks

    show_comparison(compared, store=common.db, place=kept_in(common), explain=True)
    return 0


def _job_line(line: listed.RunLine, change: listed.PairReading | None) -> dict[str, JsonValue]:
    job = line.job
    return {
        "runId": job.id, "key": job.key, "kind": job.kind, "subjectId": job.subject_id, "state": job.state,
        "reason": job.reason, "units": job.total, "startedAt": iso(job.created_at),
        "score": line.score, "passedCount": line.passed_count, "totalCount": line.total_count,
        "promptVersionRef": line.version, "target": line.target, "costUsd": line.cost_usd,
        "change": None if change is None else change.model_dump(mode="json"),
    }  # fmt: skip
