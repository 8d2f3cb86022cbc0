"""One record of every type with every field filled, and one with only what the type asks for."""

from __future__ import annotations

from datetime import UTC, datetime

from minions_evals_mcp.domain.assertions import Assertion, ScoringCode
from minions_evals_mcp.domain.audits import Audit, CaseAudit
from minions_evals_mcp.domain.conversations import Conversation, Ends, Reply, Withheld
from minions_evals_mcp.domain.definitions import (
    Benchmark,
    Fields,
    Rubric,
    RubricCriterion,
    ScoreCardSetting,
    TestBranch,
    TestCase,
    World,
)
from minions_evals_mcp.domain.metric_scores import CheckScore
from minions_evals_mcp.domain.neighbours import (
    AgentMessage,
    AgentRun,
    ApprovalRequest,
    ContextRef,
    MemoryItem,
    PromptVersion,
    ProposalDraft,
    QualityGate,
    SkillDefinition,
    Task,
    ToolCall,
)
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import (
    Approval,
    ApprovalFamily,
    BenchmarkRun,
    ComparedPart,
    DiffPart,
    Digests,
    EvalFailure,
    EvalJudgment,
    EvalMetric,
    EvalTrend,
    FamilyBenchmark,
    JudgeLicence,
    ModelCause,
    ProbeResult,
    PromptComparison,
    SupportedFall,
    TestBranchExecution,
    TestRun,
)
from minions_evals_mcp.domain.worlds import (
    DatabaseState,
    Fault,
    FolderState,
    MockRule,
    StateChange,
    WorldServer,
    WorldTool,
)

AT = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
DIGESTS = Digests(test_case="a", rubric="b", judge="c", scorer="d", embedder="e", prompt_version="f", target="g")

FULL: tuple[Fields, ...] = (
    TestCase(
        name="Refund in time", description="Within thirty days.", agent_id="agent:support", skill_id="skill:refund",
        prompt_version_ref="prompt/refund@3", prompt_id="prompt/refund", inputs={"question": "May I?", "note": None},
        expected_outputs={"output": "yes"}, rubric_id="rubric:1",
        assertions=(Assertion(type="contains", value="yes", threshold=1, weight=2, metric="tone"),), threshold=0.5,
        scoring=ScoringCode(language="python", code="1"), written={"description": "Refund"},
        pass_rule="max_score", max_score=5, timeout_ms=1000, tags=("refund",), status="active", created_at=AT,
        created_by="ada", canary=True, accepted_outputs=("Yes.",), group="refunds", world="world:1",
        conversation=Conversation(
            opening="Hello", goal="A refund", persona="in a hurry", language="en", knows={"order number": "A1"}, max_turns=4,
            withholds=(Withheld(fact="I lost it", when="/how/"),), turns=("Well?", Reply(when="name", say="Ada", times=2)),
            ends=Ends(says="goodbye", state="orders.A1"), retries=1,
        ),
        turns={"3": (Assertion(type="contains", value="a"),)}, every_turn=(Assertion(type="contains", value="a"),),
        agent_turns=(Assertion(type="contains", value="a"),),
        faults=(Fault(kind="slow", tool="refund", probability=0.5, ms=1500),),
        extra={"sample": 7},
    ),
    Rubric(name="Support", description="How we answer.", criteria_ids=("c1", "c2"), passing_threshold=0.7, version=2,
           is_active=True),
    RubricCriterion(rubric_id="rubric:1", name="Tone", description="Friendly.", weight=0.5, scoring_guide="0 to 4",
                    min_score=0, max_score=4, judge_type="llm"),
    Benchmark(name="Support", description="All of it.", test_case_ids=("t1", "t2"), dimension="quality",
              passing_threshold=0.8, owner_id="ada", last_run_at=AT, last_score=0.9, last_judged_by=("claude",), status="active",
              schedule="0 6 * * *", sealed=True, score_card=ScoreCardSetting(columns=("tone",))),
    TestBranch(
        test_case_id="t1", name="hot", description="warmer", provider="openai", model="gpt-x", temperature=1.5,
        max_tokens=100, top_p=0.9, other_params={"seed": 1}, is_control=True, is_active=False, total_runs=3,
        error_count=1, avg_latency=12.5, avg_cost=0.01, avg_quality_score=0.8, avg_tokens_per_sec=40.5, consistency_score=0.1,
        pass_rate=66.7,
    ),
    World(
        name="Shop", description="With refunds.", state={"orders": []}, seed=7,
        database=DatabaseState(sql="CREATE TABLE orders (id)"), folder=FolderState(files={"notes.txt": "Be kind."}),
        faults=(Fault(kind="tool-error", tool="refund", nth=1, text="busy"),),
        servers={
            "shop": WorldServer(
                tools=(WorldTool(
                    name="refund", description="Pays back.", input_schema={"type": "object"}, honeypot=True,
                    rules=(
                        MockRule(when="arguments.id", result={"ok": True},
                                 changes=(StateChange(op="add", path="/orders/-", value="{{arguments.id}}"),)),
                        MockRule(error="no"),
                    ),
                ),),
            ),
            "mail": WorldServer(mode="record", run=("mail",), env=("MAIL_KEY",), tape="mail.jsonl", ignore=("/at",),
                                on_miss="nearest"),
        },
    ),
    TestRun(
        test_case_id="t1", agent_run_id="r1", prompt_version_ref="p3", prompt_version=3, benchmark_run_id="b1", trial=2,
        outcome="scored", actual_output={"output": "yes", "cost": None}, passed=True, total_score=4,
        max_possible_score=5, ran_at=AT, duration_ms=12, judge_type="llm", rubric_id="rubric:1", rubric_version=2,
        digests=DIGESTS, produced_by="agent:support", self_judged=True, execution_id="e1",
        pass_rule="rubric_threshold", exact_match=True, semantic_score=0.9, length_diff=-3, token_diff=-1,
        output_diff=(DiffPart(op="equal", text="y"), DiffPart(op="insert", text="es")), is_regression=True,
        regression_type="FAILED", regression_types=("FAILED", "SCORE_DROP"), flipped=True, latency_ms=12.5,
        input_tokens=10, output_tokens=4, cost_usd=0.001, warnings=("a number differs",), group="refunds",
        checks=(CheckScore(name="tone", digest="ab12", score=0.5, passed=False, reason="rude", weight=2.0, duration_ms=3.5,
                           cost_usd=0.002, parts=(CheckScore(name="polite", digest="cd34", score=0.5, passed=False),)),),
        asked_digest="ef56", answered_by="judge-2", addresses_judge=True,
    ),
    EvalJudgment(test_run_id="run1", criterion_id="c1", score=3.5, min_score=0, max_score=4, rationale="It says yes.",
                 judged_by="anthropic:judge", judged_by_type="llm", judged_at=AT, confidence=0.9,
                 handed_in_by="agent", origin="submitted"),
    BenchmarkRun(
        benchmark_id="b1", test_run_ids=("run1", "run2"), overall_score=0.75, pass_rate=50, passed_count=1,
        total_count=2, error_count=1, passed=False, ran_at=AT, triggered_by="schedule:nightly", notes="t9 was skipped",
        prompt_version_ref="p3", purpose="scheduled", canaries_passed=("trap",),
        selection="tag=x: 2 of 9 cases", trials=2, score_ci=(0.5, 0.9),
        pass_rate_ci=(10.5, 90.5), evidence="undecidable", is_regression=True, fallen_since="br0", digests=DIGESTS,
        groups=2, effective_cases=1.5, cached=True, answered_by="judge-2", judged_by=("claude",),
        compared_with="r0", not_compared="the judge changed since br0",
        compared_part=ComparedPart(since="br0", compared=1, cases=2, gone=1),
        fall=SupportedFall(since="br0", of="passes", delta=-0.5, p_value=0.01, cases=2, changed=2),
    ),
    EvalMetric(benchmark_run_id="br1", dimension="Tone", score=3.1, max_score=4, notes="2 runs"),
    EvalTrend(benchmark_id="b1", dimension="quality", data_points='[{"date":"2026-03-01","score":0.5}]',
              direction="degrading", last_computed_at=AT, window=5, consecutive_degrading=3, slope=-0.02, p_value=0.04,
              volatile=True, provisional=True, evidence="supported", change_points=("br1",), judged_by=("claude",)),
    PromptComparison(
        benchmark_id="b1", prompt_version_a="p2", prompt_version_b="p3", benchmark_run_id_a="br1",
        benchmark_run_id_b="br2", score_a=0.5, score_b=0.75, winner="p3", sample_size=40, compared_at=AT,
        notes="same cases", tie_threshold=0.05, score_delta=0.25, delta_ci=(0.1, 0.4), p_value=0.01,
        verdict="improved", judge_state="qualified", judge_note="It can be trusted.", corrected_delta=0.2,
        corrected_ci=(0.05, 0.35), corrected_labels=60, attempt=1, level=0.03, pooled=("pc0",), stored_results=2,
        open_part=True, what_changed=("the version: p2 → p3",), groups=20, effective_cases=30.5,
        missing_outputs="1 of 40 is missing", outputs_digest="abc", decided_score_a=0.5, decided_score_b=0.7,
        decided_delta=0.2,
    ),
    EvalFailure(
        test_run_id="run1", benchmark_run_id="br1", failure_type="hallucination", description="An invented price.",
        affected_criterion_ids=("c1",), severity="major", root_cause="step 2: search gave nothing", resolved_at=AT,
        resolution_notes="prompt fixed", classified_by="rules/1", confidence=0.8, signals=("number: 42",),
        model_cause=ModelCause(by="anthropic:judge", at=AT, refused="-", failure_type="refusal", description="d", root_cause="r",
                               step=1, quote="x 1", confidence=0.5),
        cause_key="0123",
    ),
    Approval(prompt_version_ref="p3", comparison_id="pc1", decision="approved", reason="better", decided_by="ada",
             decided_by_type="human", override_reason="urgent", decided_at=AT,
             family=ApprovalFamily(attempt=2, level=0.0076, benchmarks=(
                 FamilyBenchmark(benchmark_id="b1", comparison_id="pc1", p_value=0.001, adjusted_p=0.002),
                 FamilyBenchmark(benchmark_id="b2", comparison_id="pc2")))),
    JudgeLicence(
        criterion_id="c1", judge_digest="d", judged_by="anthropic:judge", state="unqualified", reason="40 labels contradict it",
        labels=40, labels_digest="l", attempt=2, level=0.99, agreed=0.4, kappa=-0.2, kappa_ci=(-0.5, 0.1), sensitivity=0.4,
        specificity=0.4, youden_ci=(-0.5, 0.1), mean_absolute_error=0.6, ceiling=0.8,
        probes=(ProbeResult(probe="padded", outputs=20, wrong=9, failed=True),), computed_at=AT,
    ),
    Audit(
        subject="b1", kind="suite", digest="d", cheat_pass_rate=0.5, mutation_score=0.75, case_count=2, cheated_count=1,
        mutant_count=4, killed_count=3, look_count=1, not_audited_count=1, by_kind={"echo": 1}, findings={"no-reference": 1},
        with_judge="anthropic:judge", judge_error_count=1, judge_problem="no reply", spent_usd=0.25, covers={"b1": "d"}, auditor="audit/2",
        cases=(CaseAudit(test_case_id="c1", cheats_passed=("echo",)),), audited_at=AT,
    ),
    TestBranchExecution(
        branch_id="br1", execution_id="e1", output="{}", error="none", status="success", latency_ms=10.5,
        time_to_first_token=1.5, tokens_per_second=55.5, input_tokens=10, output_tokens=5, total_tokens=15,
        estimated_cost=0.002, quality_score=0.9, similarity_score=0.8, clarity_score=0.7, valid_json=True, checks_passed=True,
        consistency_hash="abc", prompt_version=3, prompt_version_ref="p3", test_case_id="t1",
        configuration={"provider": "openai"}, configuration_digest="abc",
    ),
    AgentRun(
        agent_id="agent:support", prompt_version_ref="p3", triggered_by="ada", triggered_at=AT, completed_at=AT,
        inputs={"question": "May I?"}, outputs={"output": "yes"},
        tool_calls_log=(ToolCall(tool="search", arguments={"q": "x"}, result=[1], error="slow", duration_ms=1.5, id="s2",
                                 started_at=AT, parent_id="s1", agent="agent:search", tokens_used=7, extra={"k": 1}),),
        tokens_used=100, cost=0.01, status="failed", error_message="no answer", stop_reason="max_turns", group="refunds",
        extra={"model": "m"},
    ),
    PromptVersion(content="Say {{word}}.", description="short", version_number=3, changelog="shorter",
                  variables=("word",), tags=("live",), prompt_id="prompt/refund", extra={"log": "l"}),
    SkillDefinition(name="Refund", prompt_ref="prompt/refund", quality_gates=(QualityGate(benchmark_id="b1", min_score=0.9),)),
    ProposalDraft(title="Offer", content="We offer.", scores={"relevance": 0.8}, agent_run_id="r1"),
    AgentMessage(from_agent_id="minions-evals", to_agent_id="orchestrator", type="benchmark-regression",
                 payload={"drop": 12}, sent_at=AT, status="processed"),
    Task(title="Investigate benchmark regression", description="12 points", status="in-progress", priority="high",
         assignee_id="ada", created_by="minions-evals", created_at=AT, due_at=AT, tags=("evals",),
         context_ref=ContextRef(type="benchmark-run", id="br1")),
    ApprovalRequest(
        title="Judge", description="Score it.", requested_by="minions-evals", requested_at=AT, required_by=AT,
        context_ref_type="run", context_ref_id="job1", payload={"runId": "job1"}, decision="approved",
        decided_by="ada", decided_at=AT, decision_notes="fine",
    ),
    MemoryItem(agent_id="agent:support", scope="fleet", key="lesson", value={"say": "yes"}, confidence=0.9,
               source_ref_type="eval-failure", source_ref_id="f1", created_at=AT, expires_at=AT),
)  # fmt: skip

BARE: tuple[Fields, ...] = (
    TestCase(name="n"),
    Rubric(name="n", passing_threshold=0),
    RubricCriterion(rubric_id="r", name="n"),
    Benchmark(name="n", test_case_ids=("t",)),
    TestBranch(test_case_id="t", name="n", provider="gemini", model="m"),
    World(name="w", servers={"s": WorldServer(tools=(WorldTool(name="t"),))}),
    TestRun(test_case_id="t", outcome="timed-out", actual_output={}, passed=False, total_score=0, max_possible_score=1,
            ran_at=AT, duration_ms=0, judge_type="heuristic", pass_rule="max_score"),
    EvalJudgment(test_run_id="r", criterion_id="c", score=0, min_score=0, max_score=1, rationale=".", judged_by="x",
                 judged_by_type="human", judged_at=AT, confidence=0),
    BenchmarkRun(benchmark_id="b", overall_score=0, pass_rate=0, passed_count=0, total_count=0, error_count=0,
                 passed=False, ran_at=AT, triggered_by="x"),
    EvalMetric(benchmark_run_id="b", dimension="d", score=0, max_score=1),
    EvalTrend(benchmark_id="b", data_points="[]", direction="stable", last_computed_at=AT),
    PromptComparison(benchmark_id="b", prompt_version_a="a", prompt_version_b="b", benchmark_run_id_a="1",
                     benchmark_run_id_b="2", score_a=0, score_b=0, winner="tie", sample_size=0, compared_at=AT,
                     score_delta=0, verdict="inconclusive"),
    EvalFailure(test_run_id="r", failure_type="timeout", description="d", severity="minor", classified_by="x",
                confidence=0),
    Approval(prompt_version_ref="p", decision="refused", reason="r", decided_by="x", decided_by_type="agent",
             decided_at=AT),
    JudgeLicence(criterion_id="c", judge_digest="d", judged_by="x", state="unknown", reason="r", labels=0, labels_digest="l",
                 computed_at=AT),
    Audit(subject="b", digest="d", audited_at=AT),
    TestBranchExecution(branch_id="b", output="", status="error", latency_ms=0, input_tokens=0, output_tokens=0,
                        total_tokens=0),
    AgentRun(agent_id="a", status="running"),
    PromptVersion(content="c", version_number=1),
    SkillDefinition(name="n"),
    ProposalDraft(title="t"),
    AgentMessage(from_agent_id="a", to_agent_id="b", type="t", sent_at=AT),
    Task(title="t"),
    ApprovalRequest(title="t", requested_by="x", requested_at=AT, context_ref_type="run", context_ref_id="j"),
    MemoryItem(agent_id="a", key="k", value="", confidence=0, source_ref_type="t", source_ref_id="i", created_at=AT),
)  # fmt: skip


def recorded(fields: Fields, **envelope: object) -> Record[Fields]:
    """The fields in an envelope."""
    return Record(f"{fields.slug}:1", fields, "A title", AT, AT, tags=("x",), created_by="ada")
