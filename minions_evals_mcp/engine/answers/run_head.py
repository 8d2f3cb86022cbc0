"""What stands above a run's cases: what was measured with what, what it cost, and what changed since the run before."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.report_data import Side, find_subject, read_side
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import overview, run_cases
from minions_evals_mcp.store.rows import WHOLE

JUDGES = {"heuristic": "rules", "llm": "a model", "human": "people"}
PARTS = {
    "testCase": "the cases", "rubric": "the rubric", "judge": "the judge", "scorer": "the scorer", "embedder": "the embedder",
    "target": "the target",
}  # fmt: skip


class Before(Value):
    """The run before, and what is other than in it; `change` is of the score, where both were measured alike."""

    run_id: str
    at: Timestamp
    version: str
    score: float
    passed: int
    total: int
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


async def read_run_head(engine: Engine, ident: str) -> RunHead:
    """The run under that id or key; raises as `find_subject` does."""
    subject = await find_subject(engine, ident)
    side = await read_side(engine, subject.run_id)
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
        before=None if previous is None else _before(db, side, job, previous),
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


def _before(db: Db, side: Side, job: Job, previous: str) -> Before | None:
    found, its = runs.benchmark_run(db, previous), jobs.job(db, previous)
    if found is None or its is None:
        return None
    fields = found.fields
    changed = _changed(db, job, its, fields.prompt_version_ref)
    now = side.summary.benchmark_run
    alike = now is not None and not any(part in changed for part in list(PARTS.values())[:5])
    score = now["overallScore"] if now is not None else None
    return Before(
        run_id=previous,
        at=fields.ran_at,
        version=named(version_names(db, [fields.prompt_version_ref]), fields.prompt_version_ref),
        score=fields.overall_score,
        passed=fields.passed_count,
        total=fields.total_count,
        change=score - fields.overall_score if alike and isinstance(score, float | int) else None,
        evidence=None if now is None else now.get("evidence"),  # pyright: ignore[reportArgumentType]  as the record's type says
        changed=changed,
    )


def _changed(db: Db, job: Job, its: Job, before: str | None) -> tuple[str, ...]:
    """What is other than in the run before: the version first, then what the output was made and measured with."""
    request = job.spec["request"]
    now = request.get("promptVersionRef") if isinstance(request, dict) else None
    found: list[str] = []
    if now != before:
        names = version_names(db, [before, str(now) if now else None])
        found.append(
            f"the version ({named(names, before) or 'none'} → {named(names, str(now) if now else None) or 'none'})"
        )
    one, other = job.spec["measured"], its.spec["measured"]
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    return (*found, *(words for name, words in PARTS.items() if one.get(name) != other.get(name)))
