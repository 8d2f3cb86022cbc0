"""People's labels that were given elsewhere, taken in as a run by people of the outputs that a model judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from minions_evals_mcp.domain.values import Id, Text, Value
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import request_of
from minions_evals_mcp.engine.judge.panel import outside_criteria
from minions_evals_mcp.engine.judge.yardstick import measures
from minions_evals_mcp.engine.people.draws import judged_job
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.judges.task import Criterion
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.judging.judge_labels import run_outputs

Place = tuple[str, int]
"""A case and a trial."""
SHARE: dict[str, float] = {
    **dict.fromkeys(("true", "pass", "passed", "yes"), 1.0),
    **dict.fromkeys(("false", "fail", "failed", "no"), 0.0),
}
"""What stands for all or nothing of a criterion's range."""


class ImportedLabel(Value):
    """A row of labels: what somebody said of a case's output by one criterion; `where` it stood.

    `score`: a number within the criterion's range, or a word such as pass or fail. Without `criterionId` it is the only
    one that is asked of people.
    """

    where: str
    test_case_id: Id
    trial: int = 1
    criterion_id: Id | None = None
    score: str
    rationale: Text | None = None
    judged_by: Text | None = None


class LabelImport(Value):
    """The result of an import: `countAsPeoples` is false where no person imported it."""

    judged_run_id: str
    run_ids: tuple[str, ...]
    labels: int
    outputs: int
    count_as_peoples: bool


async def import_labels(
    engine: Engine, ident: str, labels: Sequence[ImportedLabel], *, triggered_by: str
) -> LabelImport:  # fmt: skip
    """Takes labels of a run's outputs in, those of each rater as a run of their own; all are vetted before any is kept.

    The names are kept. They count as people's labels only where a person speaks; they were not drawn, so that they say
    whether the judge can be trusted and correct no pass rate. Raises `InvalidRecordError` naming the row.
    """
    judged = await engine.store.read(partial(judged_job, ident=ident))
    by_rater: dict[str, list[ImportedLabel]] = {}
    for label in labels:
        by_rater.setdefault(label.judged_by or engine.speaker.name, []).append(label)
    given = {
        rater: await engine.store.read(partial(_vetted, judged=judged, labels=given))
        for rater, given in by_rater.items()
    }
    runs = [await _handed_in(engine, judged, rater, given, triggered_by) for rater, given in given.items()]
    return LabelImport(
        judged_run_id=judged.id,
        run_ids=tuple(runs),
        labels=len(labels),
        outputs=len({(label.test_case_id, label.trial) for label in labels}),
        count_as_peoples=engine.speaker.is_person,
    )


Given = Mapping[Place, tuple[GivenJudgment, ...]]
"""The judgments of one rater by output."""


def _vetted(db: Db, *, judged: Job, labels: Sequence[ImportedLabel]) -> Given:
    """One rater's judgments, each output by each criterion once; raises `InvalidRecordError`."""
    request, has_model = request_of(judged), isinstance(judged.spec["judgeModel"], str)
    there = {run_output.test_case_id for run_output in run_outputs(db, judged.id)}
    given: dict[Place, dict[str, GivenJudgment]] = {}
    known: dict[str, RubricInUse] = {}
    criteria: dict[Place, tuple[Criterion, ...]] = {}
    last: dict[Place, ImportedLabel] = {}
    for label in labels:
        place = (label.test_case_id, label.trial)
        if label.test_case_id not in there or label.trial > request.trials:
            raise _refused(label, f"the run {judged.id} has no such judged output", "testCaseId")
        if place not in criteria:
            (measure,) = measures(db, (label.test_case_id,), known)
            rubric = measure.yardstick
            criteria[place] = (
                outside_criteria(rubric, "human", has_model=has_model) if isinstance(rubric, RubricInUse) else ()
            )
        judgment = _judgment(label, criteria[place])
        if judgment.criterion_id in given.setdefault(place, {}):
            raise _refused(label, f"{judgment.criterion_id} is labelled twice by the same rater", "criterionId")
        given[place][judgment.criterion_id], last[place] = judgment, label
    for place, judgments in given.items():
        if missing := [criterion.id for criterion in criteria[place] if criterion.id not in judgments]:
            raise _refused(last[place], f"{place[0]} has no label by {', '.join(missing)}", "criterionId")
    return {place: tuple(judgments.values()) for place, judgments in given.items()}


def _judgment(label: ImportedLabel, criteria: Sequence[Criterion]) -> GivenJudgment:
    """The label as the judgment of one of the criteria, within its range."""
    names = ", ".join(criterion.id for criterion in criteria) or "none"
    if label.criterion_id is None and len(criteria) != 1:
        raise _refused(label, f"is missing; people judge {label.test_case_id} by {names}", "criterionId")
    criterion = next((criterion for criterion in criteria if label.criterion_id in {None, criterion.id}), None)
    if criterion is None:
        raise _refused(label, f"people do not judge {label.test_case_id} by it, but by {names}", "criterionId")
    low, high = criterion.fields.min_score, criterion.fields.max_score
    share = SHARE.get(label.score.strip().casefold())
    try:
        score = float(label.score) if share is None else low + share * (high - low)
    except ValueError:
        raise _refused(label, f"{label.score} is neither a number nor pass or fail", "score") from None
    if not low <= score <= high:
        raise _refused(label, f"{score:g} is outside {low:g} to {high:g}", "score")
    text = label.rationale or f"Imported label without a reason: {label.score}."
    return GivenJudgment(criterion_id=criterion.id, score=score, rationale=text)


def _refused(label: ImportedLabel, reason: str, field: str) -> InvalidRecordError:
    return InvalidRecordError(reason, field=field, record=label.test_case_id, where=label.where)


async def _handed_in(engine: Engine, judged: Job, rater: str, given: Given, triggered_by: str) -> str:
    """The id of the run of those outputs in which the rater's labels are kept."""
    cases = tuple(dict.fromkeys(case_id for case_id, _ in given))
    judge = "human" if engine.speaker.is_person else "caller"
    rejudged = await rejudge_request(engine, judged.id, judge=judge, triggered_by=triggered_by)
    sentence = f"{len(cases)} cases labelled elsewhere"
    request = rejudged.model_copy(update={"case_ids": cases, "selection": sentence, "fresh": True})
    job = await run_benchmark(engine, request)
    packets = (await summarize(engine, job.id, limit=job.total)).packets
    answered = tuple(
        AnsweredPacket(digest=packet.digest, judgments=given[packet.test_case_id, packet.trial])
        for packet in packets
        if (packet.test_case_id, packet.trial) in given
    )
    await submit_judgments(engine, Submission(run_id=job.id, judged_by=rater or None, packets=answered), imported=True)
    return job.id
