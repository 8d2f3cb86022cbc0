"""Each type has exactly the documented fields and our additions: the lists here are written by hand."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES
from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.domain.records import ASKED, DEFINITIONS, IMPORTABLE, RECORDED, RESULTS, TYPES, fields_from_json
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.server.resources.schema import field_definitions
from tests.domain.every_type import BARE, FULL

EXAMPLES = {one.slug: one for one in FULL}
LEAST = {one.slug: one for one in BARE}


def fields_of(slug: str) -> set[str]:
    return {str(info.alias) for info in TYPES[slug].model_fields.values()}


def assert_fields(slug: str, seed: str, *, added: str = "", read_by_us: str = "") -> None:
    """`read_by_us`: fields that neither names, and what reads them stands beside the call."""
    expected = [*seed.split(), *added.split(), *read_by_us.split()]
    assert len(set(expected)) == len(expected)
    assert fields_of(slug) == set(expected)


def parsed(slug: str, **changes: JsonValue) -> Fields:
    """The least record of the type with those fields changed."""
    return fields_from_json(
        TYPES[slug], json.dumps({**LEAST[slug].model_dump(mode="json", exclude_none=True), **changes})
    )


def options(slug: str, field: str) -> tuple[str, ...] | None:
    return next(one.options for one in field_definitions(slug) if one.name == field)


def refused(slug: str, **changes: JsonValue) -> str:
    """The field that the refusal names."""
    with pytest.raises(InvalidRecordError) as refusal:
        parsed(slug, **changes)
    return refusal.value.field


def test_a_test_case_has_the_seeds_fields_and_the_contracts() -> None:
    assert_fields(
        "test-case",
        "name description agentId skillId promptVersionRef inputs expectedOutputs rubricId tags status createdAt createdBy",
        added="assertions threshold passRule maxScore timeoutMs promptId",
        read_by_us="scoring written acceptedOutputs canary extra group world faults "  # assertScoringFunction: engine.judging runs it
        "conversation turns everyTurn agentTurns",
    )
    assert options("test-case", "status") == ("active", "draft", "deprecated")
    assert refused("test-case", status="retired") == "fields.status"
    assert refused("test-case", inputs=["not a record"]) == "fields.inputs"


def test_max_score_is_one_unless_it_is_given_and_never_zero() -> None:
    assert parsed("test-case").model_dump()["maxScore"] == 1
    assert refused("test-case", maxScore=0) == "fields.maxScore"
    assert refused("test-case", timeoutMs=0) == "fields.timeoutMs"


def test_a_rubric_has_the_seeds_fields_and_keeps_the_order_of_its_criteria() -> None:
    assert_fields("rubric", "name description criteriaIds passingThreshold version isActive")
    rubric = parsed("rubric", criteriaIds=["z", "a", "m"])
    assert rubric.model_dump()["criteriaIds"] == ("z", "a", "m")
    assert rubric.model_dump()["version"] == 1
    assert refused("rubric", version=0) == "fields.version"


def test_a_criterion_that_a_rubric_lists_twice_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="criteriaIds: a criterion is listed twice"):
        parsed("rubric", criteriaIds=["a", "b", "a"])


def test_a_criterion_has_the_seeds_fields_a_judge_type_and_a_weight_from_0_to_1() -> None:
    assert_fields(
        "rubric-criterion", "rubricId name description weight scoringGuide minScore maxScore", added="judgeType"
    )
    assert options("rubric-criterion", "judgeType") == ("llm", "heuristic", "human")
    assert parsed("rubric-criterion").model_dump()["judgeType"] == "llm"
    for weight in (0, 0.5, 1):
        assert parsed("rubric-criterion", weight=weight).model_dump()["weight"] == weight
    for weight in (-0.01, 1.01):
        assert refused("rubric-criterion", weight=weight) == "fields.weight"


@pytest.mark.parametrize("low", [1, 2])
def test_a_criterion_without_a_range_is_refused(low: int) -> None:
    with pytest.raises(InvalidRecordError, match=f"maxScore: 1 must be greater than minScore {low}"):
        parsed("rubric-criterion", minScore=low, maxScore=1)


def test_a_test_run_has_the_seeds_fields_and_the_contracts() -> None:
    assert_fields(
        "test-run",
        "testCaseId agentRunId promptVersionRef actualOutput passed totalScore maxPossibleScore ranAt durationMs judgeType",
        added="benchmarkRunId trial outcome rubricId rubricVersion digests producedBy selfJudged executionId promptVersion"
        " passRule exactMatch semanticScore lengthDiff tokenDiff outputDiff isRegression regressionType regressionTypes"
        " flipped latencyMs inputTokens outputTokens costUsd warnings group checks askedDigest answeredBy addressesJudge",
    )
    assert options("test-run", "judgeType") == ("llm", "heuristic", "human")
    assert options("test-run", "passRule") == ("rubric_threshold", "assertions", "max_score", "similarity_0_8")
    digests = EXAMPLES["test-run"].model_dump(mode="json")["digests"]
    assert set(digests) == {"testCase", "rubric", "judge", "scorer", "embedder", "promptVersion", "target"}
    assert refused("test-run", trial=0) == "fields.trial"


def test_only_scored_and_timed_out_units_become_test_runs() -> None:
    assert options("test-run", "outcome") == ("scored", "timed-out")
    for outcome in set(get_args(Outcome)) - {"scored", "timed-out"}:
        assert refused("test-run", outcome=outcome) == "fields.outcome"


def test_a_judgment_has_the_seeds_fields_and_a_confidence_from_0_to_1() -> None:
    assert_fields(
        "eval-judgment",
        "testRunId criterionId score maxScore rationale judgedBy judgedByType judgedAt confidence",
        added="handedInBy origin",
        read_by_us="minScore",  # the CHECK that refuses a score below its criterion's range
    )
    assert options("eval-judgment", "judgedByType") == ("llm", "heuristic", "human")
    for confidence in (-0.01, 1.01):
        assert refused("eval-judgment", confidence=confidence) == "fields.confidence"


@pytest.mark.parametrize("field", ["rationale", "judgedBy"])
@pytest.mark.parametrize("blank", ["", " \n\t", "\u200b\u2060", "\u3164\u2800"])
def test_a_judgment_without_a_visible_rationale_or_judge_cannot_be_made(field: str, blank: str) -> None:
    assert refused("eval-judgment", **{field: blank}) == f"fields.{field}"


def test_a_benchmark_has_the_seeds_fields_and_a_schedule() -> None:
    assert_fields(
        "benchmark",
        "name description testCaseIds dimension passingThreshold ownerId lastRunAt lastScore status",
        added="schedule sealed lastJudgedBy scoreCard",
    )
    assert options("benchmark", "status") == ("active", "retired")


@pytest.mark.parametrize(("ids", "why"), [([], "at least one"), (["a", "a"], "listed twice")])
def test_a_benchmark_without_cases_or_with_one_twice_is_refused(ids: list[JsonValue], why: str) -> None:
    with pytest.raises(InvalidRecordError, match=why):
        parsed("benchmark", testCaseIds=ids)


def test_a_benchmark_run_has_the_seeds_fields_and_a_pass_rate_from_0_to_100() -> None:
    assert_fields(
        "benchmark-run",
        "benchmarkId testRunIds overallScore passRate ranAt triggeredBy notes",
        added="promptVersionRef purpose trials passed passedCount totalCount errorCount scoreCi passRateCi evidence",
        # `isRegression`: the quality gate and the outbox; `digests`: which earlier run it is compared with
        read_by_us="isRegression fallenSince fall groups effectiveCases cached digests selection canariesPassed answeredBy judgedBy"
        " comparedWith notCompared comparedPart",
    )
    assert options("benchmark-run", "purpose") == ("scheduled", "manual", "comparison")
    assert options("benchmark-run", "evidence") == ("supported", "within-noise", "undecidable")
    assert parsed("benchmark-run", passRate=100).model_dump()["passRate"] == 100
    assert refused("benchmark-run", passRate=100.5) == "fields.passRate"
    assert refused("benchmark-run", overallScore=1.5) == "fields.overallScore"
    assert refused("benchmark-run", triggeredBy=" ") == "fields.triggeredBy"


def test_a_trend_has_the_seeds_fields_and_its_data_points_are_a_string() -> None:
    assert_fields(
        "eval-trend",
        "benchmarkId dimension dataPoints direction lastComputedAt",
        added="window consecutiveDegrading slope pValue volatile provisional evidence changePoints judgedBy",
    )
    assert options("eval-trend", "direction") == ("improving", "degrading", "stable")
    assert refused("eval-trend", dataPoints=[{"date": "2026-03-01", "score": 1}]) == "fields.dataPoints"
    for window in (2, 13):
        assert refused("eval-trend", window=window) == "fields.window"


def test_a_comparison_has_the_seeds_fields_and_a_winner() -> None:
    assert_fields(
        "prompt-comparison",
        "benchmarkId promptVersionA promptVersionB scoreA scoreB winner sampleSize comparedAt notes",
        added="benchmarkRunIdA benchmarkRunIdB tieThreshold scoreDelta deltaCi pValue verdict"
        " judgeState judgeNote correctedDelta correctedCi correctedLabels attempt level pooled"
        " whatChanged storedResults openPart groups effectiveCases missingOutputs outputsDigest decidedScoreA decidedScoreB"
        " decidedDelta",
    )
    assert options("prompt-comparison", "verdict") == ("improved", "regressed", "equivalent", "inconclusive")
    assert parsed("prompt-comparison").model_dump()["tieThreshold"] == 0.01


def test_a_failure_has_the_seeds_fields_types_and_severities() -> None:
    assert_fields(
        "eval-failure",
        "testRunId failureType description affectedCriterionIds severity rootCause resolvedAt resolutionNotes",
        added="benchmarkRunId classifiedBy confidence signals modelCause causeKey",
    )
    seeds = {"wrong-output", "hallucination", "format-error", "timeout", "refusal"}
    assert seeds <= {*FAILURE_TYPES}
    assert {*(options("eval-failure", "failureType") or ())} == {*FAILURE_TYPES}
    assert options("eval-failure", "severity") == ("critical", "major", "minor")


def test_a_test_case_of_seed_5_is_ours_by_other_names() -> None:
    """The figures over its runs (totalRuns, passRate, …) are computed and not kept; id and times are the envelope's."""
    assert {"promptId", "name", "description", "inputs", "expectedOutputs"} <= fields_of("test-case")
    assert not {"totalRuns", "passRate", "avgScore", "lastRun", "lastPassed"} & fields_of("test-case")
    assert refused("test-case", name=" ") == "fields.name"


@pytest.mark.parametrize("expected", [{"output": ""}, {"output": "yes", "reason": ""}])
def test_an_empty_expected_output_is_refused(expected: JsonValue) -> None:
    with pytest.raises(InvalidRecordError, match="expectedOutputs"):
        parsed("test-case", expectedOutputs=expected)


def test_an_execution_of_seed_5_is_a_test_run() -> None:
    same = {
        "testCaseId", "executionId", "passed", "actualOutput", "outputDiff", "exactMatch", "semanticScore", "lengthDiff",
        "tokenDiff", "isRegression", "regressionType", "promptVersion",
    }  # fmt: skip
    renamed = {"score": "totalScore", "runDuration": "durationMs", "createdAt": "ranAt"}
    assert same | set(renamed.values()) <= fields_of("test-run")
    assert options("test-run", "regressionType") == ("FAILED", "SCORE_DROP", "LENGTH_CHANGE")
    for score in (-0.1, 1.1):
        assert refused("test-run", semanticScore=score) == "fields.semanticScore"
    assert parsed("test-run", lengthDiff=-12, tokenDiff=-3).model_dump()["lengthDiff"] == -12
    assert refused("test-run", outputDiff=[{"op": "replace", "text": "x"}]) == "fields.outputDiff.0.op"


def test_a_branch_has_the_fields_of_seed_5_and_keeps_only_what_is_given() -> None:
    assert_fields(
        "test-branch",
        "testCaseId name description provider model temperature maxTokens topP isControl isActive totalRuns avgLatency"
        " avgCost avgQualityScore avgTokensPerSec consistencyScore passRate otherParams",
        added="errorCount",
    )
    assert options("test-branch", "provider") == tuple(PROVIDERS)
    bare = parsed("test-branch").model_dump()
    assert (bare["temperature"], bare["maxTokens"], bare["topP"], bare["isActive"]) == (None, None, None, True)
    assert parsed("test-branch", temperature=2, topP=1, maxTokens=2048).model_dump()["temperature"] == 2
    for field, wrong in (("temperature", 2.1), ("topP", 1.1), ("maxTokens", 0), ("passRate", 101)):
        assert refused("test-branch", **{field: wrong}) == f"fields.{field}"


def test_a_branchs_execution_has_the_fields_of_seed_5() -> None:
    assert_fields(
        "test-branch-execution",
        "branchId executionId output error status latencyMs timeToFirstToken tokensPerSecond inputTokens outputTokens"
        " totalTokens estimatedCost qualityScore similarityScore clarityScore validJson consistencyHash promptVersion",
        added="testCaseId promptVersionRef configuration configurationDigest checksPassed",
    )
    assert options("test-branch-execution", "status") == ("success", "error")
    for field in ("branchId", "output", "latencyMs", "inputTokens", "outputTokens", "totalTokens"):
        assert TYPES["test-branch-execution"].model_fields[_python(field)].is_required()


def _python(field: str) -> str:
    return next(name for name, info in TYPES["test-branch-execution"].model_fields.items() if info.alias == field)


def test_a_metric_says_what_was_measured_over_which_benchmark_run() -> None:
    assert_fields("eval-metric", "benchmarkRunId dimension score maxScore notes")
    assert refused("eval-metric", dimension="") == "fields.dimension"


def test_a_judges_licence_says_what_labels_say_of_it() -> None:
    assert_fields(
        "judge-licence",
        "criterionId judgeDigest judgedBy state reason labels labelsDigest attempt level agreed kappa kappaCi sensitivity"
        " specificity youdenCi meanAbsoluteError ceiling probes computedAt",
    )
    assert options("judge-licence", "state") == ("unknown", "qualified", "unqualified")


def test_an_audit_says_what_cheats_and_mutants_showed() -> None:
    assert_fields(
        "audit",
        "subject kind digest cheatPassRate mutationScore caseCount cheatedCount mutantCount killedCount lookCount notAuditedCount"
        " byKind findings withJudge judgeErrorCount judgeProblem spentUsd covers auditor cases auditedAt",
    )
    assert options("audit", "kind") == ("benchmark", "suite", "config")


def test_who_triggered_and_who_judged_are_named_whoever_they_are() -> None:
    for who in ("agent:eval", "ada@example.org", "schedule:nightly"):
        assert parsed("benchmark-run", triggeredBy=who).model_dump()["triggeredBy"] == who
        assert parsed("eval-judgment", judgedBy=who).model_dump()["judgedBy"] == who


def test_an_approval_has_the_contracts_fields() -> None:
    assert_fields(
        "approval",
        "promptVersionRef comparisonId decision reason decidedBy decidedByType overrideReason decidedAt",
        added="family",
    )
    assert options("approval", "decision") == ("approved", "refused")


@pytest.mark.parametrize(
    ("slug", "fields"),
    [
        ("agent-run", "agentId promptVersionRef triggeredBy triggeredAt completedAt inputs outputs toolCallsLog tokensUsed"
                      " cost status errorMessage stopReason group extra"),
        ("agent-message", "fromAgentId toAgentId type payload sentAt status"),
        ("prompt-version", "content description versionNumber changelog variables tags promptId extra"),
        ("skill-definition", "name promptRef qualityGates"),
        ("proposal-draft", "title content scores agentRunId"),
        ("task", "title description status priority assigneeId createdBy createdAt dueAt tags contextRef"),
        ("approval-request", "title description requestedBy requestedAt requiredBy contextRefType contextRefId payload"
                             " decision decidedBy decidedAt decisionNotes"),
        ("memory-item", "agentId scope key value confidence sourceRefType sourceRefId createdAt expiresAt"),
    ],
)  # fmt: skip
def test_a_neighbours_record_has_the_contracts_fields(slug: str, fields: str) -> None:
    assert_fields(slug, fields)


@pytest.mark.parametrize(
    ("slug", "field", "expected"),
    [
        ("agent-run", "status", "running success failed pending-approval"),
        ("agent-message", "status", "pending received processed failed"),
        ("task", "status", "backlog todo in-progress blocked done cancelled"),
        ("task", "priority", "critical high medium low"),
        ("approval-request", "decision", "pending approved rejected expired"),
        ("memory-item", "scope", "private fleet session"),
    ],
)
def test_a_neighbours_states_are_the_contracts(slug: str, field: str, expected: str) -> None:
    assert options(slug, field) == tuple(expected.split())


def test_a_blank_source_or_asker_is_refused() -> None:
    for field in ("requestedBy", "contextRefType", "contextRefId"):
        assert refused("approval-request", **{field: ""}) == f"fields.{field}"
    for field in ("sourceRefType", "sourceRefId", "key"):
        assert refused("memory-item", **{field: " "}) == f"fields.{field}"
    assert refused("eval-trend", dataPoints="") == "fields.dataPoints"


def test_every_type_is_of_one_kind_and_only_definitions_and_copies_can_be_imported() -> None:
    groups = (DEFINITIONS, RESULTS, RECORDED, ASKED)
    assert sum(len(group) for group in groups) == len(TYPES) == 25
    assert set(IMPORTABLE) == {kind.slug for kind in (*DEFINITIONS, *RECORDED)}
