"""Probing a model judge without labels: outputs that mislead bad judges, judged by the criteria of a run that it judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import anyio
from pydantic import Field

from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, Observed, Verdict
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.request_fields import Dollars, More, Names
from minions_evals_mcp.domain.results import ProbeResult
from minions_evals_mcp.domain.values import Text, Value, to_millis
from minions_evals_mcp.engine.budget import Budget, HaltedError
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import request_of
from minions_evals_mcp.engine.judge.panel import Panel
from minions_evals_mcp.engine.judge.yardstick import Measure, measures
from minions_evals_mcp.engine.licences.licence import probe_result
from minions_evals_mcp.engine.people.draws import judged_job
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.judges.grading import best_of
from minions_evals_mcp.judges.llm import MAX_TOKENS, LlmJudge
from minions_evals_mcp.judges.probes import PROBES, Probe, ProbedOutput, ProbeKind, probes_of, truncated
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.models.prices import estimate_usd
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.stats.sequential import case_order
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging import judge_labels
from minions_evals_mcp.store.queries.judging.judge_labels import JudgedText, JudgeKey, ProbeVerdict

PROBED = 30
PROMPT_CHARACTERS = 3_000
"""What prompt, case and criterion add to a probe."""


class CheckRequest(Value):
    """The subject of the probes: the judge of that run, or of the benchmark's newest, on at most `limit` of its cases."""

    ident: Annotated[
        Annotated[Text, Names(("benchmark", "benchmark-run"))],
        Field(description="A benchmark or a run"),
        More("A benchmark (for its newest run judged by a model), or a benchmark-run by id or key."),
    ]
    limit: Annotated[
        int,
        Field(ge=1, description="Maximum number of cases"),
        More("Maximum number of its cases. A probe needs 6 outputs of a kind to fail."),
    ] = PROBED
    probes: Annotated[
        tuple[ProbeKind, ...],
        Field(strict=False, min_length=1, description="Only these probes"),
        More(
            "Only these probes. Leave out those your criterion does not cover: a tone criterion need not fail an off-topic answer."
        ),
    ] = PROBES
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        More("Stop before spending more than this."),
    ] = None


class ProbeLine(Value):
    """The judge's answer to one probe, for a person to read; `score` is a share of the range."""

    probe: str
    subject: str
    wrong: bool
    text: str
    score: float | None
    rationale: str


class CriterionCheck(Value):
    """The probes of one criterion: how many verdicts were wrong, and each of them."""

    criterion_id: str
    results: tuple[ProbeResult, ...]
    lines: tuple[ProbeLine, ...]


class JudgeCheck(Value):
    """The result of probing a judge: `errors` are probes without a usable reply, `stopped` says why some were not asked."""

    run_id: str
    judge: str
    calls: int
    cost_usd: float
    errors: int
    stopped: str
    criteria: tuple[CriterionCheck, ...]


class CheckEstimate(Value):
    """The calls that probing would make: calls, and a bound on their cost; None where the price is unknown."""

    run_id: str
    judge: str
    calls: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class _ProbeCall:
    """A probe with the case and criterion under which it is judged; `against` is the text shown beside it, if any."""

    key: JudgeKey
    criterion: Criterion
    measure: Measure
    probe: Probe
    against: str = ""

    @property
    def calls(self) -> int:
        """Returns how often the model is asked: with two texts in both orders."""
        return 2 if self.against else 1

    def work(self) -> Work:
        """The probe as an output of the case."""
        case = self.measure.case.fields
        return Work(case.inputs, case.expected_outputs, Observed(output={"output": self.probe.text}))


@dataclass(slots=True, eq=False)
class _Checking:
    """One probing: the judge, what is asked of it, and what that came to."""

    engine: Engine
    run_id: str
    judge: LlmJudge
    asked: list[_ProbeCall]
    budget: Budget
    errors: int = 0
    stopped: list[str] = field(default_factory=list[str])


async def estimate_check(engine: Engine, request: CheckRequest) -> CheckEstimate:
    """Returns what `judge_check` would ask; nothing is asked."""
    checking = await _checking(engine, request)
    calls = sum(question.calls for question in checking.asked)
    return CheckEstimate(
        run_id=checking.run_id, judge=checking.judge.name, calls=calls, cost_usd=_bound(checking, calls)
    )


async def judge_check(engine: Engine, request: CheckRequest) -> JudgeCheck:
    """Probes the judge; what was asked before is not asked again, and each verdict is kept as it comes.

    Raises `BadInputError` where no model judged, `ConflictError` where judge or rubric were changed since the run.
    """
    checking = await _checking(engine, request)
    limiter = anyio.CapacityLimiter(engine.config.concurrency)
    async with anyio.create_task_group() as calls:
        for question in checking.asked:
            calls.start_soon(_ask, checking, question, limiter)
    return JudgeCheck(
        run_id=checking.run_id,
        judge=checking.judge.name,
        calls=checking.budget.calls,
        cost_usd=checking.budget.spent_usd,
        errors=checking.errors,
        stopped=checking.stopped[0] if checking.stopped else "",
        criteria=await engine.store.read(partial(_checks, run_id=checking.run_id)),
    )


async def _checking(engine: Engine, request: CheckRequest) -> _Checking:
    job = await engine.store.read(partial(judged_job, ident=request.ident))
    model = planning.model_of(job)
    if model is None:
        raise BadInputError(
            f"the run {job.id} was judged by its caller, and no judge model is configured.",
            remedy=f"{_judged_by_a_model(job.id, job.subject_id)}.",
        )
    stopped: list[str] = []
    budget = Budget(request.max_cost_usd, None, stopped.append)
    run = request_of(job).model_copy(update={"max_cost_usd": request.max_cost_usd})
    panel = planning.judge_for(engine, run, budget, model=model).panel
    assert panel.llm is not None, "a model was named"
    questions = await engine.store.read(partial(_plan, run_id=job.id, request=request, panel=panel))
    return _Checking(engine, job.id, panel.llm, questions, budget, stopped=stopped)


def _plan(db: Db, *, run_id: str, request: CheckRequest, panel: Panel) -> list[_ProbeCall]:
    """The probes of each criterion that were not asked yet."""
    known: dict[str, RubricInUse] = {}
    questions: list[_ProbeCall] = []
    for criterion_id, key in judge_labels.judges_of_runs(db, [run_id]):
        if not criterion_id:
            continue
        texts = judge_labels.judged_texts(db, run_id, criterion_id, key)
        chosen = set(case_order(sorted(text.test_case_id for text in texts), 0)[: request.limit])
        texts = [text for text in texts if text.test_case_id in chosen]
        answered_probes = {
            (verdict.probe, verdict.subject) for verdict in judge_labels.probes_kept(db, key.digest, criterion_id)
        }
        for text, other in zip(texts, [*texts[1:], *texts[:1]], strict=True):
            (measure,) = measures(db, (text.test_case_id,), known)
            criterion = _criterion(measure, criterion_id, key, panel)
            questions += [
                probe
                for probe in _probes(key, criterion, measure, text, output_text(other.output))
                if probe.probe.kind in request.probes and (probe.probe.kind, probe.probe.subject) not in answered_probes
            ]
    return questions


def _criterion(measure: Measure, criterion_id: str, key: JudgeKey, panel: Panel) -> Criterion:
    if panel.digest(measure) != key.judge or measure.rubric_digest() != key.rubric:
        raise ConflictError(
            f"the judge or the rubric of {measure.case.id} has changed since the run, so the probe would test another judge.",
            remedy="Run or rejudge the benchmark, then probe that run.",
        )
    return next(criterion for criterion in panel.criteria(measure) if criterion.id == criterion_id)


def _probes(
    key: JudgeKey, criterion: Criterion, measure: Measure, text: JudgedText, other: str
) -> Iterator[_ProbeCall]:  # fmt: skip
    text_shown = output_text(text.output)
    judged = ProbedOutput(text.test_run_id, text_shown, text.score, measure.case.fields.expected_outputs, other)
    for probe in probes_of(judged):
        yield _ProbeCall(key, criterion, measure, probe)
    against = truncated(text_shown) or (other if other != text_shown else "")
    if against:
        yield _ProbeCall(key, criterion, measure, Probe("order", text.test_run_id, text_shown), against)


def _bound(checking: _Checking, calls: int) -> float | None:
    if not calls:
        return 0.0
    characters = sum(
        (len(question.probe.text) + len(question.against) + PROMPT_CHARACTERS) * question.calls
        for question in checking.asked
    )
    judge = checking.judge
    each = estimate_usd(judge.client.provider, judge.model, characters // calls, MAX_TOKENS)
    return None if each is None else round(each * calls, 6)


async def _ask(checking: _Checking, question: _ProbeCall, limiter: anyio.CapacityLimiter) -> None:
    """Asks about one probe and keeps the verdict; at a cap it stays open."""
    async with limiter:
        try:
            verdict = await (_both_orders if question.against else _judged)(checking.judge, question)
        except HaltedError:
            return
    if verdict is None:
        checking.errors += 1
        return
    at = to_millis(checking.engine.clock())
    await checking.engine.store.write(partial(judge_labels.save_probe, verdict=verdict, at=at))


async def _judged(judge: LlmJudge, question: _ProbeCall) -> ProbeVerdict | None:
    (verdict,) = await judge.judge((question.criterion,), question.work())
    if isinstance(verdict, JudgeErrored):
        return None
    return _verdict(
        question, wrong=question.probe.is_wrong(verdict), score=_share(verdict), rationale=_rationale(verdict)
    )


def _share(answer: Verdict | NotJudgeable) -> float | None:
    if isinstance(answer, NotJudgeable):
        return None
    return (answer.score - answer.min_score) / (answer.max_score - answer.min_score)


def _rationale(answer: Verdict | NotJudgeable) -> str:
    return answer.rationale if isinstance(answer, Verdict) else f"not judgeable: {answer.reason}"


async def _both_orders(judge: LlmJudge, question: _ProbeCall) -> ProbeVerdict | None:
    """Wrong where the choice between two texts follows their places."""
    fields = question.criterion.fields
    wanted = f"{fields.name}: {fields.description}"
    texts = (question.probe.text, question.against)
    picks: list[int] = []
    reasons: list[str] = []
    for shown in (texts, texts[::-1]):
        choice = await best_of(judge, wanted, shown, inputs=question.measure.case.fields.inputs)
        if isinstance(choice, JudgeErrored):
            return None
        picks.append(choice.chosen)
        reasons.append(choice.reason)
    return _verdict(question, wrong=picks[0] == picks[1], score=None, rationale=" / ".join(reasons))


def _verdict(question: _ProbeCall, *, wrong: bool, score: float | None, rationale: str) -> ProbeVerdict:
    wire = json.dumps({"text": question.probe.text, "score": score, "rationale": rationale}, ensure_ascii=False)
    return ProbeVerdict(
        question.key.digest, question.criterion.id, question.probe.kind, question.probe.subject, wrong, wire
    )


def _checks(db: Db, *, run_id: str) -> tuple[CriterionCheck, ...]:
    checks: list[CriterionCheck] = []
    for criterion_id, key in judge_labels.judges_of_runs(db, [run_id]):
        if criterion_id:
            results = tuple(probe_result(*row) for row in judge_labels.probed(db, criterion_id, key.digest))
            lines = tuple(map(_line, judge_labels.probes_kept(db, key.digest, criterion_id)))
            checks.append(CriterionCheck(criterion_id=criterion_id, results=results, lines=lines))
    return tuple(checks)


def _line(kept_probe: ProbeVerdict) -> ProbeLine:
    wire = json.loads(kept_probe.said)
    return ProbeLine(probe=kept_probe.probe, subject=kept_probe.subject, wrong=kept_probe.wrong, **wire)


def _judged_by_a_model(run_id: str, benchmark_id: str) -> Next:
    arguments = {"run_id": run_id, "benchmark_id": benchmark_id, "judge": "llm"}
    return Next("rejudge", arguments, "judges the same outputs with a model")
