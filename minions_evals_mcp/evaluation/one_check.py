"""One output that is at hand, checked and kept: a test case with a run of its own, as any other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.budget import Budget
from minions_evals_mcp.engine.context import Engine, OwnCheck
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, measures
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.run_benchmark import silent, start_cases
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.evaluation.checks import Checks
from minions_evals_mcp.evaluation.evaluate import own_checks
from minions_evals_mcp.evaluation.records import expected_record
from minions_evals_mcp.interop.score_rows import Answer, verdict_row
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.checks import Aggregate, OwnVerdict, Unmet
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.jobs import UnitRow
from minions_evals_mcp.targets.function.output import Output, observed

GIVEN = "python:given"
MADE_BY = "pytest"


@dataclass(frozen=True, slots=True)
class GivenOutput:
    """An output that is at hand, as a target."""

    observed: Observed

    @property
    def takes_version(self) -> bool:
        """It is made already."""
        return False

    def digest(self) -> str:
        """The digest of where it comes from."""
        return digest({"target": GIVEN})

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed:  # fmt: skip
        """The output itself."""
        del inputs, version, timeout_ms
        return self.observed.model_copy(update={"produced_by": GIVEN})


@dataclass(frozen=True, slots=True)
class CheckAsked:
    """An output with what it is to pass, and the case under which that is kept."""

    case_id: str
    title: str
    output: JsonValue
    checks: Checks
    expected: JsonValue = None
    threshold: float | None = None
    is_history: bool = True

    def observed(self) -> Observed:
        """The output with what came with it: an `Output` brings its tool calls, tokens and cost."""
        if isinstance(self.output, Output):
            return observed(self.output)
        return Observed(output=self.output if isinstance(self.output, dict) else {"output": self.output})

    def record(self, engine: Engine) -> Record[Fields]:
        """The test case; raises `InvalidRecordError` for an assertion that does not fit."""
        fields = TestCase(
            name=self.title,
            inputs={"test": self.case_id},
            expected_outputs=expected_record(self.expected),
            assertions=self.checks.assertions((), self.expected, "the check"),
            threshold=self.threshold,
            tags=("pytest",),
        )
        now = engine.clock()
        return Record(self.case_id, fields, self.title, now, now, ("pytest",), created_by=MADE_BY)


async def kept_check(engine: Engine, wanted: CheckAsked) -> Answer:
    """The verdict `{id, pass, score, results}`, kept; raises `InstrumentError` where there is none."""
    await save_records(engine, [Arrival(wanted.record(engine))])
    engine = replace(engine, own_checks={name: _asked_once(own) for name, own in own_checks(wanted.checks, {}).items()})
    request = RunRequest(
        subject_id=wanted.case_id,
        target=GIVEN,
        triggered_by=MADE_BY,
        purpose="manual" if wanted.is_history else "comparison",
        key=f"{wanted.case_id}#{engine.new_id()}",
    )
    started = await start_cases(
        engine, request, [wanted.case_id], kind="test-case", target=lambda _: GivenOutput(wanted.observed())
    )  # fmt: skip
    try:
        await started.finish(silent)
    except InstrumentError:
        raise InstrumentError(f"it could not be checked: {(await _unit(engine, started.job.id)).reason}") from None
    return await _answer(engine, started.job.id, request)


def _asked_once(own: OwnCheck) -> OwnCheck:
    """The function, called for the run; what it said is used again where each check's own verdict is told."""
    answers: list[OwnVerdict | Unmet] = []

    async def answer_once(work: Work) -> OwnVerdict | Unmet:
        if not answers:
            answers.append(await own(work))
        return answers[0]

    return answer_once


async def _unit(engine: Engine, job_id: str) -> UnitRow:
    (unit,) = (await engine.store.read(lambda db: jobs.units(db, job_id, first=0, last=1))).values()
    return unit


async def _answer(engine: Engine, job_id: str, request: RunRequest) -> Answer:
    """Each check's own verdict on the kept output; kept grades cost nothing again."""
    unit = await _unit(engine, job_id)
    (measure,) = await engine.store.read(lambda db: measures(db, [request.subject_id], {}))
    if unit.observed is None or not isinstance(measure.yardstick, ByAssertions):
        raise InstrumentError(f"it could not be checked: {unit.reason or 'there is nothing to check it by'}")
    judging = planning.judge_for(engine, request, Budget(None, None, lambda _: None), model=engine.judge_model())
    case = measure.case.fields
    work = Work(case.inputs, case.expected_outputs, unit.observed, case_id=measure.case.id, written=case.written)
    result = await judging.checked(unit.key, measure, work)
    if not isinstance(result, Aggregate):
        raise InstrumentError(f"it could not be checked: {result.reason}")
    return verdict_row(unit.test_run_id or "", result)
