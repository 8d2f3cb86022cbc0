"""The outputs that people should label next: drawn at random, so that what they say stands for all of a run's outputs."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_job, request_of
from minions_evals_mcp.engine.licences.corrected import draw_chance
from minions_evals_mcp.engine.licences.licence import FEWEST_LABELS
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.stats.sequential import case_order
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.judging.judge_labels import newest_judged_run, people_runs, run_outputs

DRAWN = FEWEST_LABELS


class LabelDraw(Value):
    """Outputs that were drawn for people to judge: `chance` is that of each of the `of` outputs that were not drawn before."""

    run_id: str
    judged_run_id: str
    test_case_ids: tuple[str, ...]
    of: int
    chance: float
    waiting: int


class _Frame(Value):
    """The judged run, its cases that were not drawn yet, and how many were."""

    run_id: str
    left: tuple[str, ...]
    drawn: int


async def draw_labels(engine: Engine, ident: str, *, number: int = DRAWN, triggered_by: str) -> LabelDraw:
    """Draws that many outputs of a run that a model judged (or of a benchmark's newest) and asks people about them.

    Raises `BadInputError` where no run was judged by a model, or all its outputs were drawn already; `NotFoundError`.
    """
    frame = await engine.store.read(partial(_frame, ident=ident))
    if not frame.left:
        raise BadInputError(
            f"all {frame.drawn} cases of the run {frame.run_id} were drawn already.",
            remedy=f"{Next('judge', reason='asks for those that wait')}. A new run has new outputs.",
        )
    drawn = case_order(list(frame.left), int(text_digest(f"{frame.run_id}:{frame.drawn}")[:8], 16))[:number]
    chosen = tuple(ident for ident in frame.left if ident in set(drawn))
    chance = len(chosen) / len(frame.left)
    rejudged = await rejudge_request(engine, frame.run_id, judge="human", triggered_by=triggered_by)
    request = rejudged.model_copy(
        update={
            "case_ids": chosen,
            "selection": f"{len(chosen)} of {len(frame.left)} cases drawn at random for people to label",
            "label_chance": chance,
        }
    )
    job = await run_benchmark(engine, request)
    counts = await engine.store.read(lambda db: jobs.unit_counts(db, job.id))
    return LabelDraw(
        run_id=job.id,
        judged_run_id=frame.run_id,
        test_case_ids=chosen,
        of=len(frame.left),
        chance=chance,
        waiting=counts.get("awaiting-judgments", 0),
    )


def _frame(db: Db, *, ident: str) -> _Frame:
    job = judged_job(db, ident=ident)
    cases = dict.fromkeys(run_output.test_case_id for run_output in run_outputs(db, job.id))
    drawn = {
        case_id
        for run_id, _ in people_runs(db, job.subject_id)
        for rejudged_job in (jobs.job(db, run_id),)
        if rejudged_job is not None
        and request_of(rejudged_job).rejudge_run_id == job.id
        and draw_chance(rejudged_job) is not None
        for case_id in request_of(rejudged_job).case_ids or cases
    }
    left = tuple(case_id for case_id in cases if case_id not in drawn)
    return _Frame(run_id=job.id, left=left, drawn=len(cases) - len(left))


def judged_job(db: Db, *, ident: str) -> Job:
    """The benchmark-run under that id or key, or the newest of the benchmark, that a model or caller judged."""
    judged_run = find_job(db, ident)
    run_id = (
        newest_judged_run(db, ident)
        if judged_run is None
        else judged_run.id
        if newest_judged_run(db, judged_run.id)
        else None
    )
    job = None if run_id is None else jobs.job(db, run_id)
    if job is None:
        raise BadInputError(
            f"{ident} is no benchmark or benchmark-run whose outputs a model judged.",
            remedy="Labels say whether a model judge can be trusted. First:"
            f" {Next('run-benchmark', {'benchmark_id': 'BENCHMARK', 'judge': 'llm'}, 'has a model judge')}.",
        )
    return job
