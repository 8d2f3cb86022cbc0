"""What stands above a run's cases: what was measured with what, what it cost, and what changed since the run before."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, Evidence
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.real_change import real_change
from minions_evals_mcp.engine.answers.report_data import Side, find_subject, read_side
from minions_evals_mcp.engine.conclude.setup import RunSetup, changes, setup_of
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.pages import overview, run_cases
from minions_evals_mcp.store.rows import WHOLE

JUDGES = {"heuristic": "rules", "llm": "a model", "human": "people"}


class Before(Value):
    """The run before, and what is other than in it; `change` is of the score, where both were measured alike."""

    run_id: str
    at: Timestamp
    score: float
    change: float | None
    evidence: Evidence | None
    changed: tuple[str, ...]


class RunHead(Value):
    """A run with its surroundings; `previous` and `following` are runs of the same benchmark."""

    side: Side
    key: str
    version: str
    version_id: str | None
    target: str
    judge: str
    purpose: str
    cost_usd: float | None
    began: Timestamp
    ended: Timestamp | None
    before: Before | None
    previous: str | None
    following: str | None


async def read_run_head(engine: Engine, ident: str, *, causes: bool = True) -> RunHead:
    """The run under that id or key, with what its failures go back to; raises as `find_subject` does."""
    subject = await find_subject(engine, ident)
    side = await read_side(engine, subject.run_id, causes=causes)
    return await engine.store.read(partial(_head, side=side))


def _head(db: Db, *, side: Side) -> RunHead:
    job = kept_job(db, side.summary.run_id)
    request = job.spec["request"]
    assert isinstance(request, dict)
    version = request.get("promptVersionRef")
    version_id = version if isinstance(version, str) else None
    previous, following = (
        run_cases.beside(db, job.id, job.subject_id, whole=WHOLE) if job.kind == "benchmark" else (None, None)
    )
    return RunHead(
        side=side,
        key=job.key,
        version=named(version_names(db, [version_id]), version_id),
        version_id=version_id,
        target=_target(request.get("target")),
        judge=_judge(db, job),
        purpose=str(request.get("purpose", "manual")),
        cost_usd=overview.run_cost(db, job.id),
        began=job.created_at,
        ended=job.updated_at if job.state == "completed" else None,
        before=None if previous is None else _before(db, job, previous),
        previous=previous,
        following=following,
    )


def _target(name: object) -> str:
    return str(name).removeprefix("config:") if isinstance(name, str) else "recorded outputs"


def _judge(db: Db, job: Job) -> str:
    """Who judged: by name where a model did."""
    kinds = [JUDGES[kind] for kind in run_cases.judge_types(db, job.id)]
    model = job.spec.get("judgeModel")
    told = [str(model) if one == "a model" and isinstance(model, str) else one for one in kinds]
    return " and ".join(told) or "nobody yet"


def _before(db: Db, job: Job, previous: str) -> Before | None:
    then, now = runs.benchmark_run(db, previous), runs.benchmark_run(db, job.id)
    if then is None:
        return None
    fields = then.fields
    evidence = None if now is None else real_change(db, previous, job.id)
    return Before(
        run_id=previous,
        at=fields.ran_at,
        score=fields.overall_score,
        change=None if now is None or evidence is None else now.fields.overall_score - fields.overall_score,
        evidence=evidence,
        changed=() if now is None else changes(_setup(db, then), _setup(db, now)),
    )


def _setup(db: Db, run: Record[BenchmarkRun]) -> RunSetup:
    """What the run was made and judged with, its version by name."""
    found = setup_of(db, run.id, run.fields)
    return found.model_copy(update={"version": named(version_names(db, [found.version]), found.version) or None})
