"""A failed run with all that its failure is explained from: the case, what was seen, and what the judges said."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Observed, Verdict
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.engine.judge.compose import WANTS_JSON, failed_output
from minions_evals_mcp.engine.judge.yardstick import Measure, measures
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import Analysis
from minions_evals_mcp.skills import ClassifyFailureParameters
from minions_evals_mcp.store import jobs, records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.targets.recorded import observed_run


@dataclass(frozen=True, slots=True)
class FailureMaterial:
    """The material that one failure is explained from."""

    run: Record[TestRun]
    failure: Record[EvalFailure]
    measure: Measure
    work: Work
    verdicts: list[Verdict]

    def by_rule(self, rule: ClassifyFailureParameters) -> Analysis:
        """Returns what the rules say of it."""
        return classify(
            failed_output(self.measure, self.work, self.verdicts, wants_json=self._wants_json()),
            critical_below=rule.critical_below,
            major_below=rule.major_below,
        )

    def _wants_json(self) -> bool:
        return any(f"failed {kind}" in verdict.rationale for verdict in self.verdicts for kind in WANTS_JSON)


def material(db: Db, *, test_run_id: str) -> FailureMaterial:
    """The material; raises `NotFoundError` for an unknown run, `BadInputError` for one that passed."""
    run, failure = failed_run(db, test_run_id)
    (measure,) = measures(db, (run.fields.test_case_id,), {})
    case = measure.case.fields
    work = Work(case.inputs, case.expected_outputs, _observed(db, run, measure.case), written=case.written)
    return FailureMaterial(
        run, failure, measure, work, [_verdict(judgment) for judgment in runs.judgments_of(db, test_run_id)]
    )


def failed_run(db: Db, test_run_id: str) -> tuple[Record[TestRun], Record[EvalFailure]]:
    """A failed run with its failure; raises as `material` does."""
    run = records.require(
        db, test_run_id, TestRun, remedy=f"Name a run, or RUN:CASE. {Next('runs', reason='lists the runs')}."
    )
    if run.fields.passed:
        raise BadInputError(f"the test-run {test_run_id} passed: there is no failure to classify.")
    return run, runs.failures_of(db, [test_run_id])[test_run_id]


def _observed(db: Db, record: Record[TestRun], case: Record[TestCase]) -> Observed:
    """Returns what was seen when the run was made: from its agent-run, else as its unit kept it, else from the run itself."""
    run = record.fields
    agent_run = None if run.agent_run_id is None else records.get(db, run.agent_run_id, AgentRun)
    if agent_run is not None:
        seen = observed_run(agent_run, timeout_ms=case.fields.timeout_ms)
        if isinstance(seen, Observed):
            return seen
    unit_output = jobs.observed(db, record.id)
    return unit_output or Observed(
        output=run.actual_output, latency_ms=run.latency_ms, timed_out=run.outcome == "timed-out"
    )


def _verdict(judged: Record[EvalJudgment]) -> Verdict:
    fields = judged.fields
    return Verdict(
        criterion_id=fields.criterion_id, score=fields.score, min_score=fields.min_score, max_score=fields.max_score,
        rationale=fields.rationale, judged_by=fields.judged_by, judged_by_type=fields.judged_by_type, confidence=fields.confidence,
    )  # fmt: skip
