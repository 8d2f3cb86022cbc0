"""The engine's findings: runs, judgments, failures, trends, comparisons. Only the engine writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from minions_evals_mcp.domain.definitions import Fields, Ids, Json, JudgeType
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.metric_scores import CheckScore
from minions_evals_mcp.domain.values import Amount, Count, Id, Text, Timestamp, Unit, Value, Visible

Outcome = Literal[
    "scored", "judge-error", "target-error", "user-error", "timed-out", "skipped", "awaiting-judgments", "not-judgeable"
]
UNSCORED: tuple[Outcome, ...] = ("judge-error", "target-error", "user-error", "not-judgeable")
"""Outcomes of outputs that were to be judged and could not be: the instrument's, never the agent's."""
SETTLED = "the comparison was settled after"
"""How the reason begins for which a sequential comparison leaves out cases."""
NO_OUTPUT = "no recorded agent-run"
"""How the reason of a skipped output begins of which there is none to judge: a target can make it."""
JUDGED: tuple[Outcome, ...] = ("scored", "timed-out")
"""Outcomes that have a verdict; every other is none, and no pass."""
DecidedBy = Literal["rubric_threshold", "assertions", "max_score", "similarity_0_8"]
Severity = Literal["critical", "major", "minor"]
RegressionType = Literal["FAILED", "SCORE_DROP", "LENGTH_CHANGE"]
Evidence = Literal["supported", "within-noise", "undecidable"]
EVIDENCE_WORDS: Mapping[str, str] = {
    "supported": "statistically significant",
    "within-noise": "not significant",
    "undecidable": "too few cases changed to test",
}
"""Whether a fall of the passes is more than chance, in words."""
Direction = Literal["improving", "degrading", "stable"]
Percent = Annotated[float, Field(ge=0, le=100)]
Interval = Annotated[tuple[float, float], Field(strict=False)]


class Digests(Value):
    """The digests of what a score was measured with; two runs compare only where these agree."""

    test_case: str | None = None
    rubric: str | None = None
    judge: str | None = None
    scorer: str | None = None
    embedder: str | None = None
    prompt_version: str | None = None
    target: str | None = None

    def __eq__(self, other: object) -> bool:
        """Compared with the digests of nothing wherever a row is written: pydantic's own way takes as long as the row."""
        return isinstance(other, Digests) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))


class DiffPart(Value):
    """A stretch of text that two outputs share, or that only one of them has."""

    op: Literal["equal", "insert", "delete"]
    text: str


class TestRun(Fields):
    """One output of one test case, judged. Only the outcomes `scored` and `timed-out` become test runs.

    `group` is the test case's, else the agent-run's, when it was judged. `checks` are the scores of the case's own checks;
    `askedDigest` is the digest of the case without them. `answeredBy`: the models that the replies of the judges name, which
    change where a provider moves an alias. `addressesJudge`: a model judged it, and it holds words to a judge.
    """

    __test__ = False
    slug: ClassVar[str] = "test-run"

    test_case_id: Id
    agent_run_id: Id | None = None
    prompt_version_ref: Id | None = None
    prompt_version: int | None = None
    benchmark_run_id: Id | None = None
    trial: Annotated[int, Field(ge=1)] = 1
    outcome: Literal["scored", "timed-out"]
    actual_output: Json
    passed: bool
    total_score: float
    max_possible_score: float
    ran_at: Timestamp
    duration_ms: Count
    judge_type: JudgeType
    rubric_id: Id | None = None
    rubric_version: int | None = None
    digests: Digests = Digests.trusted()
    produced_by: str | None = None
    self_judged: bool = False
    execution_id: str | None = None
    pass_rule: DecidedBy
    exact_match: bool | None = None
    semantic_score: Unit | None = None
    length_diff: int | None = None
    token_diff: int | None = None
    output_diff: Annotated[tuple[DiffPart, ...], Field(strict=False)] | None = None
    warnings: Annotated[tuple[str, ...], Field(strict=False)] = ()
    is_regression: bool = False
    regression_type: RegressionType | None = None
    regression_types: Annotated[tuple[RegressionType, ...], Field(strict=False)] = ()
    flipped: bool = False
    latency_ms: Amount | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Amount | None = None
    checks: Annotated[tuple[CheckScore, ...], Field(strict=False)] = ()
    asked_digest: str | None = None
    group: Annotated[str | None, Field(exclude_if=lambda group: group is None)] = None
    answered_by: Annotated[str | None, Field(exclude_if=lambda models: models is None)] = None
    addresses_judge: Annotated[bool, Field(exclude_if=lambda addresses: not addresses)] = False


class EvalJudgment(Fields):
    """One criterion's score for one output, and why. A judgment without a rationale cannot be made.

    `handedInBy`: `person:NAME` or `agent`, as the door knows who spoke; absent where the engine asked a model or a rule.
    `origin`: a judgment that was submitted, or imported, which is a person's only if a person imported it.
    """

    slug: ClassVar[str] = "eval-judgment"

    test_run_id: Id
    criterion_id: Id
    score: float
    min_score: float
    max_score: float
    rationale: Visible
    judged_by: Visible
    judged_by_type: JudgeType
    judged_at: Timestamp
    confidence: Unit | None = None
    handed_in_by: str | None = None
    origin: Literal["submitted", "imported"] | None = None


class SupportedFall(Value):
    """A statistically significant fall, of any size: of passes, or of scores where passes alone do not show it.

    `delta` is the mean change over the cases of both runs (0 to 1), `pValue` that of the paired test; `changed` counts the
    cases that changed or, where cases share groups, the groups.
    """

    since: Id
    of: Literal["passes", "scores"]
    delta: float
    p_value: Unit
    cases: Count
    changed: Count


class ComparedPart(Value):
    """The part of a run that is compared with the earlier run `since`: `compared` of its `cases`.

    The other cases are new or were edited since. `gone` counts the cases of the earlier run that were not run again.
    """

    since: Id
    compared: Count
    cases: Count
    gone: Count


class BenchmarkRun(Fields):
    """All results of one benchmark, taken together, or of those of its cases that `selection` names.

    `overallScore` is 0–1, `passRate` 0–100; `passed` is null where the benchmark has no `passingThreshold`.
    `canariesPassed` are cases that no honest output passes and this run did: it approves nothing. `fallenSince` is the last
    passing run, where this one is still below it though no further below the run before. `groups`: the independent groups
    that its cases form, where some share one; `effectiveCases`: the number of independent cases that would tell as much.
    `fall`: passes or scores fell significantly since the run that it is compared with. `cached`: all its outputs came from the
    target's cache. `judgedBy`: who judged, where a caller, a person or rules did instead of a criterion's own judge.
    `notCompared`: why no case is compared with an earlier run, though there is one. `comparedPart`: given where some are not.
    `comparedWith`: the earlier run that it is compared with, where that is not the newest one.
    """

    slug: ClassVar[str] = "benchmark-run"

    benchmark_id: Id
    test_run_ids: Ids = ()
    overall_score: Unit
    pass_rate: Percent
    passed_count: Count
    total_count: Count
    error_count: Count
    passed: bool | None = None
    ran_at: Timestamp
    triggered_by: Text
    notes: str = ""
    prompt_version_ref: Id | None = None
    purpose: Literal["scheduled", "manual", "comparison"] = "manual"
    selection: str | None = None
    trials: Annotated[int, Field(ge=1)] = 1
    score_ci: Interval | None = None
    pass_rate_ci: Interval | None = None
    evidence: Evidence | None = None
    is_regression: bool = False
    fallen_since: Annotated[Id | None, Field(exclude_if=lambda since: since is None)] = None
    fall: Annotated[SupportedFall | None, Field(exclude_if=lambda fall: fall is None)] = None
    canaries_passed: Annotated[Ids, Field(exclude_if=lambda passed: not passed)] = ()
    groups: Annotated[Count | None, Field(exclude_if=lambda groups: groups is None)] = None
    effective_cases: Annotated[Amount | None, Field(exclude_if=lambda cases: cases is None)] = None
    cached: Annotated[bool, Field(exclude_if=lambda cached: not cached)] = False
    answered_by: Annotated[str | None, Field(exclude_if=lambda models: models is None)] = None
    judged_by: Annotated[tuple[str, ...], Field(exclude_if=lambda judges: not judges)] = ()
    compared_with: Annotated[Id | None, Field(exclude_if=lambda other: other is None)] = None
    not_compared: Annotated[str, Field(exclude_if=lambda why: not why)] = ""
    compared_part: Annotated[ComparedPart | None, Field(exclude_if=lambda part: part is None)] = None
    digests: Digests = Digests.trusted()

    @property
    def is_standing(self) -> bool:
        """Whether it is a point of the benchmark's standing: a whole run, of no comparison, with outputs of its own."""
        return self.purpose != "comparison" and self.selection is None and not self.cached


class EvalMetric(Fields):
    """The mean of one criterion or named metric over a benchmark run."""

    slug: ClassVar[str] = "eval-metric"

    benchmark_run_id: Id
    dimension: Text
    score: float
    max_score: float
    notes: str = ""


class EvalTrend(Fields):
    """The direction of a benchmark. `dataPoints` is a JSON string of {date, score, direction}.

    `evidence`: whether it fell by more than runs that resemble their neighbours do by chance; `changePoints`: the runs at
    which a new level began; `judgedBy` as in a benchmark-run.
    """

    slug: ClassVar[str] = "eval-trend"

    benchmark_id: Id
    dimension: str = ""
    data_points: Text
    direction: Direction
    last_computed_at: Timestamp
    window: Annotated[int, Field(ge=3, le=12)] = 5
    consecutive_degrading: Count = 0
    slope: float | None = None
    p_value: Unit | None = None
    volatile: bool = False
    provisional: bool = False
    evidence: Evidence | None = None
    change_points: Ids = ()
    judged_by: Annotated[tuple[str, ...], Field(exclude_if=lambda judges: not judges)] = ()


BY_LABELS = "passes, by people's labels"
"""What a verdict rests on that people's labels decide."""


class DecidedOn(NamedTuple):
    """The difference that decided a comparison, its interval, and what it is a difference of."""

    delta: float
    interval: Interval | None
    of: str = "score"


class PromptComparison(Fields):
    """Two prompt versions on the same cases: who scored higher, and whether that can be told from noise.

    `judgeState` and `judgeNote`: whether the judges of both runs could be trusted then. `correctedDelta`: the difference of
    passes (0 to 1) as people would have found it, from so many labels; where it stands the verdict is its own.
    `attempt`: the which one to beat version A; `level`: the error at which it was decided, and 1 minus that of `deltaCi`;
    `pooled`: earlier comparisons of the same contents, comparable, whose data count in interval, p-value and verdict;
    `storedResults`: where stored results were compared and all of either version decide, how many there were.
    `openPart`: made on the open part of a benchmark that is sealed in part: it approves nothing, and is no attempt.
    `whatChanged`: all that differs from run A to run B: the version (which to which), the target, judge, rubric or cases.
    `groups` and `effectiveCases` as in a benchmark-run. `missingOutputs`: why outputs that are missing leave it open.
    `outputsDigest` identifies what was compared: the same outputs, cases, rubric and judge are the same comparison.
    `scoreA`, `scoreB` and `scoreDelta` are over all outputs of each run. `decidedScoreA`, `decidedScoreB` and `decidedDelta` are
    over what decides, the cases of both runs and what is pooled with them: verdict, `deltaCi` and `pValue` are theirs.
    """

    slug: ClassVar[str] = "prompt-comparison"

    benchmark_id: Id
    prompt_version_a: Id
    prompt_version_b: Id
    benchmark_run_id_a: Id
    benchmark_run_id_b: Id
    score_a: Unit
    score_b: Unit
    winner: Id
    sample_size: Count
    compared_at: Timestamp
    notes: str = ""
    tie_threshold: Amount = 0.01
    score_delta: float
    delta_ci: Interval | None = None
    p_value: Unit | None = None
    verdict: Literal["improved", "regressed", "equivalent", "inconclusive"]
    judge_state: Literal["none", "unknown", "qualified", "unqualified"] = "none"
    judge_note: str = ""
    corrected_delta: float | None = None
    corrected_ci: Interval | None = None
    corrected_labels: Count = 0
    attempt: Annotated[int, Field(ge=1)] | None = None
    level: Unit | None = None
    pooled: Ids = ()
    stored_results: Annotated[int, Field(ge=1)] | None = None
    open_part: Annotated[bool, Field(exclude_if=lambda is_open: not is_open)] = False
    what_changed: Annotated[tuple[str, ...], Field(strict=False)] = ()
    groups: Annotated[Count | None, Field(exclude_if=lambda groups: groups is None)] = None
    effective_cases: Annotated[Amount | None, Field(exclude_if=lambda cases: cases is None)] = None
    missing_outputs: Annotated[str, Field(exclude_if=lambda missing: not missing)] = ""
    outputs_digest: Annotated[str | None, Field(exclude_if=lambda digest: digest is None)] = None
    decided_score_a: Annotated[Unit | None, Field(exclude_if=lambda score: score is None)] = None
    decided_score_b: Annotated[Unit | None, Field(exclude_if=lambda score: score is None)] = None
    decided_delta: Annotated[float | None, Field(exclude_if=lambda delta: delta is None)] = None

    @property
    def is_sequential(self) -> bool:
        """Whether it was tested after every case, and is decided by these looks."""
        return self.notes.startswith("sequential")

    @property
    def decided_scores(self) -> tuple[float, float]:
        """Both scores over what decides; of a comparison that was kept before these were, over all of each run."""
        if self.decided_score_a is None or self.decided_score_b is None:
            return self.score_a, self.score_b
        return self.decided_score_a, self.decided_score_b

    @property
    def decided_on(self) -> DecidedOn:
        """The difference on which the verdict rests, with its interval: of passes where people's labels decide, else of scores."""
        if self.corrected_delta is not None and self.corrected_ci is not None:
            return DecidedOn(self.corrected_delta, self.corrected_ci, BY_LABELS)
        delta = self.score_delta if self.decided_delta is None else self.decided_delta
        return DecidedOn(delta, self.delta_ci)


class ModelCause(Value):
    """A model's words on why a run failed, beside what the rules found; or why its cause was not kept (`refused`).

    `step` is the number of the step in the log (from 1) in which `quote` stands word for word; 0 where the model says that
    the log shows no cause.
    """

    by: Text
    at: Timestamp
    refused: str = ""
    failure_type: FailureType | None = None
    description: str = ""
    root_cause: str = ""
    step: Count | None = None
    quote: str = ""
    confidence: Unit | None = None


class EvalFailure(Fields):
    """The record of why a run failed, as rules found it: what kind, how bad, which criteria, and the step it rests on.

    `modelCause` stands beside that, where a model was asked; neither replaces the other. Failures that go back to the same
    cause have the same `causeKey`.
    """

    slug: ClassVar[str] = "eval-failure"

    test_run_id: Id
    benchmark_run_id: Id | None = None
    failure_type: FailureType
    description: Text
    affected_criterion_ids: Ids = ()
    severity: Severity
    root_cause: str = ""
    resolved_at: Timestamp | None = None
    resolution_notes: str = ""
    classified_by: Text
    confidence: Unit
    signals: Annotated[tuple[str, ...], Field(strict=False)] = ()
    model_cause: ModelCause | None = None
    cause_key: str = ""


class FamilyBenchmark(Value):
    """A benchmark of the family, its comparison, and the p-value of the gain, alone and adjusted by Holm; none for a sealed one."""

    benchmark_id: Id
    comparison_id: Id
    p_value: Unit | None = None
    adjusted_p: Unit | None = None


class ApprovalFamily(Value):
    """The benchmarks that an approval decided over, strongest gain first: Holm's method, once, at the `level` of the `attempt`."""

    attempt: Annotated[int, Field(ge=1)]
    level: Unit
    benchmarks: Annotated[tuple[FamilyBenchmark, ...], Field(strict=False)]


class Approval(Fields):
    """A decision on a prompt version, with the comparison that it rests on.

    `family`: all benchmarks on which the version had been compared with the current one by then, decided together.
    """

    slug: ClassVar[str] = "approval"

    prompt_version_ref: Id
    comparison_id: Id | None = None
    decision: Literal["approved", "refused"]
    reason: Visible
    decided_by: Visible
    decided_by_type: Literal["human", "agent"]
    override_reason: Visible | None = None
    decided_at: Timestamp
    family: Annotated[ApprovalFamily | None, Field(exclude_if=lambda family: family is None)] = None


LicenceState = Literal["unknown", "qualified", "unqualified"]


class ProbeResult(Value):
    """The number of outputs of one kind of probe that a judge got wrong; `failed` where that is more than chance allows."""

    probe: Text
    outputs: Count
    wrong: Count
    failed: bool


class JudgeLicence(Fields):
    """The worth of a judge on one criterion by people's labels. Computed, one for each judge, criterion and set of labels.

    `judgeDigest` covers model, prompt, rubric and criterion. `attempt`: the number of this judge among those tried on these labels;
    the intervals are at `level`, which grows with it. Graded scores have an error, pass or fail sensitivity and specificity.
    """

    slug: ClassVar[str] = "judge-licence"

    criterion_id: Id
    judge_digest: Text
    judged_by: Visible
    state: LicenceState
    reason: Text
    labels: Count
    labels_digest: Text
    attempt: Annotated[int, Field(ge=1)] = 1
    level: Unit = 0.95
    agreed: Unit | None = None
    kappa: float | None = None
    kappa_ci: Interval | None = None
    sensitivity: Unit | None = None
    specificity: Unit | None = None
    youden_ci: Interval | None = None
    mean_absolute_error: Unit | None = None
    ceiling: float | None = None
    probes: Annotated[tuple[ProbeResult, ...], Field(strict=False)] = ()
    computed_at: Timestamp


class TestBranchExecution(Fields):
    """One output of one branch of an A/B test."""

    __test__ = False
    slug: ClassVar[str] = "test-branch-execution"

    branch_id: Id
    execution_id: str | None = None
    output: str
    error: str | None = None
    status: Literal["success", "error"]
    latency_ms: Amount
    time_to_first_token: Amount | None = None
    tokens_per_second: Amount | None = None
    input_tokens: Count
    output_tokens: Count
    total_tokens: Count
    estimated_cost: Amount | None = None
    quality_score: Unit | None = None
    similarity_score: Unit | None = None
    clarity_score: Unit | None = None
    valid_json: bool | None = None
    checks_passed: Annotated[bool | None, Field(exclude_if=lambda passed: passed is None)] = None
    consistency_hash: str | None = None
    prompt_version: int | None = None
    prompt_version_ref: Id | None = None
    test_case_id: Id | None = None
    configuration: Json | None = None
    configuration_digest: str | None = None
