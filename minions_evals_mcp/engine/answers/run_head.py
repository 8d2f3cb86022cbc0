"""The head above a run's cases: what was measured with what, what it cost, and what changed since the run before."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.request_fields import OF_A_CONFIG
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.report_data import find_subject, read_side
from minions_evals_mcp.engine.answers.report_values import Side
from minions_evals_mcp.engine.answers.run_before import RunBefore, read_before
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.config_labels import target_label
from minions_evals_mcp.store.queries.pages import overview, run_cases
from minions_evals_mcp.store.rows import WHOLE

JUDGES = {"heuristic": "rules", "llm": "a model", "human": "people"}


RECENT = 200
"""The pace is that of the newest so many outputs."""


class Pace(Value):
    """How a run that goes on is getting along; `per_second` and `seconds_left` are None where too few were judged to say."""

    passed: int
    judged: int
    per_second: float | None
    seconds_left: float | None


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
    before: RunBefore | None
    previous: str | None
    following: str | None
    pace: Pace | None = None


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
        target=(target_label(db, job) or "recorded outputs").removeprefix(OF_A_CONFIG),
        judge=_judge(db, job),
        purpose=str(request.get("purpose", "manual")),
        cost_usd=overview.run_cost(db, job.id),
        began=job.created_at,
        ended=job.updated_at if job.state == "completed" else None,
        before=read_before(db, job.id),
        previous=previous,
        following=following,
        pace=_pace(db, job, side) if job.state != "completed" else None,
    )


def _pace(db: Db, job: Job, side: Side) -> Pace:
    passed, judged = run_cases.passed_so_far(db, job.id)
    per_second = run_cases.judged_per_second(db, job.id, newest=RECENT)
    left = side.summary.open / per_second if per_second and job.state == "running" else None
    return Pace(passed=passed, judged=judged, per_second=per_second, seconds_left=left)


def _judge(db: Db, job: Job) -> str:
    """Returns who judged: by name where a model did."""
    kinds = [JUDGES[kind] for kind in run_cases.judge_types(db, job.id)]
    model = job.spec.get("judgeModel")
    judges = [str(model) if kind == "a model" and isinstance(model, str) else kind for kind in kinds]
    so_far = " so far" if judges and job.state == "awaiting-judgments" else ""
    return (" and ".join(judges) or "nobody yet") + so_far
