"""The outputs that people should label next: drawn at random, so that what they say stands for all of a run's outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_job, request_of
from minions_evals_mcp.engine.licences.corrected import draw_chance, drawn_verdicts
from minions_evals_mcp.engine.licences.licence import FEWEST_LABELS
from minions_evals_mcp.engine.people.assignments import assign, judging_person
from minions_evals_mcp.engine.request import RunRequest
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


class RaterQueue(Value):
    """The run in which one person judges what was drawn."""

    person: str
    run_id: str
    waiting: int


class LabelDraw(Value):
    """Outputs that were drawn for people to judge: `chance` is that of each of the `of` outputs that were not drawn before.

    `raters`: where each of several people judges all of them, the run of each; `run_id` is then the first one's.
    """

    run_id: str
    judged_run_id: str
    test_case_ids: tuple[str, ...]
    of: int
    chance: float
    waiting: int
    raters: tuple[RaterQueue, ...] = ()


class Adjudication(Value):
    """The outputs on whose verdict people differ, `differ` of the `labelled` that two or more judged, in a run for who decides."""

    run_id: str
    judged_run_id: str
    person: str
    labelled: int
    differ: int
    waiting: int


class _Frame(Value):
    """The judged run, its cases that were not drawn yet, and how many were."""

    run_id: str
    left: tuple[str, ...]
    drawn: int


async def draw_labels(
    engine: Engine, ident: str, *, number: int = DRAWN, triggered_by: str, raters: Sequence[str] = ()
) -> LabelDraw:
    """Draws that many outputs of a run that a model judged (or of a benchmark's newest) and asks people about them: anybody, or each
    of the `raters` about all.

    Raises `BadInputError` where no run was judged by a model, or all its outputs were drawn already; `NotFoundError`.
    """
    for name in raters:
        await engine.store.read(partial(judging_person, name=name))
    frame = await engine.store.read(partial(_frame, ident=ident))
    if not frame.left:
        raise BadInputError(
            f"all {frame.drawn} cases of the run {frame.run_id} have already been drawn.",
            remedy=f"{Next('judge', reason='asks for the waiting ones')}. A new run has new outputs.",
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
    queues = [await _queue(engine, request, person) for person in raters or ("",)]
    return LabelDraw(
        run_id=queues[0].run_id,
        judged_run_id=frame.run_id,
        test_case_ids=chosen,
        of=len(frame.left),
        chance=chance,
        waiting=queues[0].waiting,
        raters=tuple(queues) if raters else (),
    )


async def _queue(engine: Engine, request: RunRequest, person: str) -> RaterQueue:
    """A run of people over those outputs, which is the person's alone where one is named."""
    if person:  # what others said of an output is not taken over
        request = request.model_copy(update={"fresh": True})
    job = await run_benchmark(engine, request)
    counts = await engine.store.read(lambda db: jobs.unit_counts(db, job.id))
    waiting = counts.get("awaiting-judgments", 0)
    if person and waiting:
        (person,) = (await assign(engine, job.id, [person])).outputs
    return RaterQueue(person=person, run_id=job.id, waiting=waiting)


async def adjudicate_labels(engine: Engine, ident: str, *, person: str, triggered_by: str) -> Adjudication:
    """Asks one person about the outputs on whose verdict others differ; what they say then counts as people's verdict.

    Raises as `draw_labels` does, and `BadInputError` where no two people differ.
    """
    await engine.store.read(partial(judging_person, name=person))
    job = await engine.store.read(partial(judged_job, ident=ident))
    labels = (await engine.store.read(partial(drawn_verdicts, run_id=job.id))).verdicts
    several = {output: verdicts for output, verdicts in labels.items() if len(verdicts) > 1}
    apart = [output for output, verdicts in several.items() if len(verdicts) % 2 == 0 and len({*verdicts}) > 1]
    if not apart:
        agreed = (
            f"people agree on all {len(several)} outputs judged by two or more of them."
            if several
            else "no output has been judged by two people."
        )
        two = Next("label", {"run_id": job.id, "raters": "NAME"}, "given twice, has two people judge the same outputs")
        raise BadInputError(agreed, remedy="" if several else f"{two}.")
    rejudged = await rejudge_request(engine, job.id, judge="human", triggered_by=triggered_by)
    cases = tuple(dict.fromkeys(case_id for case_id, *_ in apart))
    said = f"{len(cases)} cases on which people differ, for {person} to decide"
    request = rejudged.model_copy(update={"case_ids": cases, "selection": said, "label_chance": 1.0})
    queue = await _queue(engine, request, person)
    return Adjudication(
        run_id=queue.run_id, judged_run_id=job.id, person=queue.person, labelled=len(several), differ=len(apart),
        waiting=queue.waiting,
    )  # fmt: skip


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
        subject = ident if judged_run is None else judged_run.subject_id
        raise BadInputError(
            f"{ident} has no run that a model judged.",
            remedy="Labels measure whether a model judge can be trusted. First:"
            f" {Next('run-benchmark', {'benchmark_id': subject, 'judge': 'llm'}, 'uses a model judge')}.",
        )
    return job
