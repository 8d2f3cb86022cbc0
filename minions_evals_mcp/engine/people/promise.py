"""A promised error: where a judge is sure enough its verdicts stand, for labels certify it; the rest waits for people."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.licences.corrected import drawn_labels
from minions_evals_mcp.engine.people.draws import judged_job
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.stats.promised_error import SLACK, LabelledAnswer, Promise, promised_error
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import JudgedRunOutput, run_outputs


class JudgePromise(Value):
    """The certificate by labels that the judge errs in at most that share of its answers, once it answers only where it is sure.

    `threshold` is the confidence from which on it answers, None where nothing is certified; `answered` are outputs of the run
    that stand as judged, `waiting_cases` those that wait for people, in `queue_run_id`.
    """

    judged_run_id: str
    max_error: float
    threshold: float | None
    labels: int
    wrong: int
    answered: int
    outputs: int
    waiting_cases: tuple[str, ...]
    queue_run_id: str | None
    in_words: str


class _Sorted(Value):
    run_id: str
    outputs: int
    answered: int
    waiting: tuple[str, ...]


async def promise_error(engine: Engine, ident: str, *, max_error: float, triggered_by: str) -> JudgePromise:
    """Certifies the threshold by the labels of the run that were drawn at random, and queues what lies below for people.

    Raises `BadInputError` where no run was judged by a model, or `max_error` is no share.
    """
    if not 0 < max_error < 1:
        raise BadInputError(f"invalid max-judge-error {max_error:g}.", remedy="Give a share, such as 0.1.")
    certified, split = await engine.store.read(partial(_certified, ident=ident, max_error=max_error))
    queue = None
    if certified.threshold is not None and split.waiting:
        request = await rejudge_request(engine, split.run_id, judge="human", triggered_by=triggered_by)
        sentence = f"{len(split.waiting)} cases where the judge's confidence is below {certified.threshold:g}"
        job = await run_benchmark(engine, request.model_copy(update={"case_ids": split.waiting, "selection": sentence}))
        queue = job.id
    return JudgePromise(
        judged_run_id=split.run_id,
        max_error=max_error,
        threshold=certified.threshold,
        labels=certified.labels,
        wrong=certified.wrong,
        answered=split.answered,
        outputs=split.outputs,
        waiting_cases=split.waiting,
        queue_run_id=queue,
        in_words=_in_words(certified, split),
    )


def _certified(db: Db, *, ident: str, max_error: float) -> tuple[Promise, _Sorted]:
    job = judged_job(db, ident=ident)
    outputs = run_outputs(db, job.id)
    labels = drawn_labels(db, job.id)
    passed = {} if labels is None else labels.passed
    answers = [
        LabelledAnswer(output.confidence, output.passed != passed[output.output])
        for output in outputs
        if output.output in passed and output.confidence is not None
    ]
    promised = promised_error(answers, error=max_error)
    left = [output for output in outputs if output.output not in passed]
    stands = [output for output in left if _is_sure(output, promised.threshold)]
    waiting = dict.fromkeys(output.test_case_id for output in left if not _is_sure(output, promised.threshold))
    return promised, _Sorted(run_id=job.id, outputs=len(outputs), answered=len(stands), waiting=tuple(waiting))


def _is_sure(output: JudgedRunOutput, threshold: float | None) -> bool:
    """Tells whether the judge answers the output: an unknown confidence is never enough."""
    return threshold is not None and output.confidence is not None and output.confidence >= threshold - SLACK


def _in_words(held: Promise, split: _Sorted) -> str:
    promise = f"at most {100 * held.error:g} % of its answers differ from people's"
    if held.threshold is not None:
        return (
            f"Granted: where the judge is at least {held.threshold:g} confident, {promise} ({held.wrong} of {held.labels} labels"
            " do;"
            f" this fails in at most {100 * held.delta:g} % of draws). {split.answered} of {split.outputs} outputs keep the judge's"
            f" verdict, {len(split.waiting)} cases wait for people."
        )
    if held.labels < held.needed:
        return (
            f"Not granted: to show that {promise}, {held.needed} randomly drawn labels are needed, and there are {held.labels}."
            f" {Next('label', {'run_id': split.run_id, 'draw': 2 * held.needed}, 'draws more')}."
        )
    return (
        f"Not granted: even among its most confident answers, {held.wrong} of {held.labels} differ from people's"
        f" (up to {100 * held.bound:.0f} %), so {100 * held.error:g} % cannot be guaranteed."
    )
