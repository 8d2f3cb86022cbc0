"""The table of tools in their fixed order: what each is called, takes, answers and may do, and where it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcp_types import ToolAnnotations
from pydantic import BaseModel

from minions_evals_mcp.domain.speaker import Role
from minions_evals_mcp.server.edge.guard import ToolArguments
from minions_evals_mcp.server.signatures import analysis, records, release, runs, scoring

Toolset = Literal["runs", "analysis", "scoring", "records", "release"]
TOOLSETS: tuple[Toolset, ...] = ("runs", "analysis", "scoring", "records", "release")


Reach = Literal["", "judges", "explains"]
"""Why a tool may call a model: it judges or makes outputs, or it explains failures."""
ALWAYS_LOADED = frozenset({"list_records", "run_benchmark", "get_run", "save_records"})
"""The entry tools. Claude Code shows these without a search."""


@dataclass(frozen=True, slots=True)
class ToolConditions:
    """How this server was started, as far as it decides what tools may do: whether a model can be called, and may explain."""

    calls_models: bool = False
    explains: bool = False


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool. `target` is `module:function` under `server/tools`, imported at the first call.

    `declared` is the type of its arguments, or the name of the tool whose arguments are derived from an operation. `role`: a person
    needs it; else the operation's row says which, or whether it writes does.
    """

    toolset: Toolset
    title: str
    declared: type[ToolArguments] | str
    answer: type[BaseModel]
    target: str
    description: str
    writes: bool = True
    destructive: bool = False
    idempotent: bool = False
    reach: Reach = ""
    search: str = ""
    role: Role | None = None

    @property
    def arguments(self) -> type[ToolArguments]:
        """The type of its arguments; one that is derived is made at its first use."""
        if not isinstance(self.declared, str):
            return self.declared
        from minions_evals_mcp.server.edge.derived import arguments_of  # noqa: PLC0415  the start needs the schema alone

        return arguments_of(self.declared)

    @property
    def needs(self) -> Role:
        """The role that a person must have in the store."""
        if not isinstance(self.declared, str):
            return self.role or ("editor" if self.writes else "viewer")
        from minions_evals_mcp.operations.table import offered_as  # noqa: PLC0415  as above

        return offered_as("mcp", self.declared).needs

    def annotations(self, start: ToolConditions) -> ToolAnnotations:
        """What a host may assume of the tool on this start. Without a key and a target no call leaves this machine."""
        allowed = self.reach == "judges" or (self.reach == "explains" and start.explains)
        return ToolAnnotations(
            title=self.title,
            read_only_hint=not self.writes,
            destructive_hint=self.destructive,
            idempotent_hint=self.idempotent or not self.writes,
            open_world_hint=allowed and start.calls_models,
        )


CATALOGUE: Mapping[str, ToolEntry] = {
    "run_test_case": ToolEntry(
        "runs", "Run a test case", "run_test_case", runs.RunAnswer, "running:run_test_case", reach="judges",
        search="run one eval test case",
        description="""\
Judges one output of a test case (from the target, or recorded) and saves score, reasons and failure.
Use: one case, or promptId for a batch. judge=caller: returns a prompt for you to judge.
Not: a benchmark (run_benchmark); to save nothing (score_outputs).
Costs: one model call per criterion for llm.
Errors: unknown id, no output, reused key.""",
    ),
    "run_benchmark": ToolEntry(
        "runs", "Run a benchmark", "run_benchmark", runs.RunAnswer, "running:run_benchmark", reach="judges",
        search="regression test an agent or prompt; eval suite; measure quality",
        description="""\
Judges every active case of a benchmark. Rules: verdict within 10 s, otherwise poll get_run.
Use: to measure a version. rejudgeRunId judges stored outputs again.
Not: two versions (compare_prompt_versions).
Costs: model calls for llm and targets. judge=caller needs no key.
Errors: unknown id, no key, reused key.""",
    ),
    "compare_prompt_versions": ToolEntry(
        "analysis", "Compare prompt versions", "compare_prompt_versions", runs.RunAnswer, "comparing:compare_prompt_versions",
        reach="judges",
        search="A/B two prompt versions; is the new prompt better",
        description="""\
Runs a benchmark under two prompt versions on the same cases: winner, verdict (improved … inconclusive), interval.
Use: before approve_prompt_version. Continues like run_benchmark.
Not: to compare models (run_ab_test).
Costs: two benchmark runs.
Errors: unknown version, no outputs of a version, reused key.""",
    ),
    "try_version": ToolEntry(
        "analysis", "Try a candidate version", "try_version", runs.RunAnswer, "trying:try_version", reach="judges",
        search="optimise a prompt against an eval",
        description="""\
Compares a candidate with the version in use. Returns the open part in full, and a sealed part's verdict and remaining budget.
Use: in an optimiser's loop; sealed=true only for candidates to ship.
Not: to see sealed cases.
Costs: two benchmark runs per part. The same idempotencyKey resumes.
Errors: no budget left, unknown version, no outputs.""",
    ),
    "classify_failure": ToolEntry(
        "analysis", "Explain why a run failed", "classify_failure", analysis.FailuresAnswer, "analysis:classify_failure",
        idempotent=True, reach="explains",
        search="why did an eval fail; root cause",
        description="""\
Classifies failures again: type, severity, root cause with its step, and the evidence.
Use: after a run with failures; askModel where rules are unsure.
Not: for outputs without a run (score_outputs).
Costs: nothing by rules. askModel: one model call per failure.
Errors: the run passed; unknown id; no model configured.""",
    ),
    "promote_failure": ToolEntry(
        "analysis", "Turn a failure into a test case", "promote_failure", analysis.PromotedAnswer, "analysis:promote_failure",
        idempotent=True,
        search="turn a failure or trace into a regression test",
        description="""\
Creates a test case from a failed run or trace, with a check that this output fails and the corrected output passes.
Use: to prevent a fixed failure from coming back; without corrected, it is a draft.
Not: for sealed cases.
Costs: nothing.
Errors: the run passed; unknown id; corrected changes nothing.""",
    ),
    "suite_from_traces": ToolEntry(
        "analysis", "Draft cases from traces", "suite_from_traces", analysis.TraceSuiteAnswer, "analysis:suite_from_traces",
        search="test suite from production logs, failure clusters",
        description="""\
Reads an agent's production traces: failures by kind, and draft cases whose checks fail the trace.
Use: reader=rules, or reader=caller and send notes on the returned traces. Then accept drafts.
Not: one known failure (promote_failure).
Costs: nothing. Personal data is masked.
Errors: no trace of that agent.""",
    ),
    "suite_from_prompt": ToolEntry(
        "analysis", "Draft cases from a prompt", "suite_from_prompt", analysis.PromptSuiteAnswer, "analysis:suite_from_prompt",
        search="synthetic test cases from documents, edge cases, adversarial variants",
        description="""\
Drafts synthetic cases from a prompt or documents, audited and without duplicates.
Use: returns texts. Call again with the same sources and your cases. Then accept drafts.
Not: production traces (suite_from_traces).
Costs: nothing.
Errors: no text; unknown version.""",
    ),
    "detect_trend": ToolEntry(
        "analysis", "Show a benchmark's trend", "detect_trend", analysis.TrendAnswer, "analysis:detect_trend", writes=False,
        search="quality drift over time",
        description="""\
Returns whether a benchmark improves, degrades or is stable over its last runs, and why: slope, interval, p-value, breaks.
Use: to see drift over many runs.
Not: to compare two versions (compare_prompt_versions).
Costs: nothing.
Errors: the benchmark has no completed run.""",
    ),
    "audit_benchmark": ToolEntry(
        "analysis", "Audit a benchmark's checks", "audit_benchmark", analysis.AuditAnswer, "auditing:audit_benchmark",
        search="can a wrong answer pass the checks",
        description="""\
Tries wrong answers on a benchmark's checks: per case, which pass and which check would stop them.
Use: before you trust a benchmark, and after its cases change.
Not: outputs of an agent (run_benchmark).
Costs: nothing.
Errors: unknown benchmark, no active case.""",
    ),
    "plan_benchmark": ToolEntry(
        "analysis", "Plan a benchmark's size", "plan_benchmark", analysis.PlanAnswer, "statistics:plan_benchmark", writes=False,
        search="sample size, statistical power, minimum detectable effect",
        description="""\
Computes how many cases, groups or trials detect a given difference, from the benchmark's own runs.
Use: before a comparison, or after an inconclusive one.
Not: to compare (compare_prompt_versions).
Costs: nothing.
Errors: unknown benchmark, no finished run, sealed.""",
    ),
    "get_run": ToolEntry(
        "runs", "Look at a run", "get_run", runs.RunAnswer, "running:get_run", writes=False,
        search="result, score and failures of an evaluation run",
        description="""\
Returns a run's status: summary, top failures, unscored cases, pending judgments.
Use: to poll (waitSeconds), to page (cursor), to fetch the next judgment requests.
Not: to start or resume a run (call run_… again with its idempotencyKey).
Costs: nothing.
Errors: unknown runId; list_records type run lists them.""",
    ),
    "cancel_run": ToolEntry(
        "runs", "Cancel a run", "cancel_run", runs.RunAnswer, "running:cancel_run", idempotent=True,
        description="""\
Stops a run. Judged cases are saved, and the same idempotencyKey resumes it.
Use: when a run is no longer wanted or costs too much.
Not: to undo a run: results stay.
Costs: calls in flight may still be billed.
Errors: another process works on it; unknown runId.""",
    ),
    "submit_judgments": ToolEntry(
        "runs", "Submit judgments", runs.SubmitJudgments, runs.RunAnswer, "running:submit_judgments", role="judge",
        search="submit LLM judge scores",
        description="""\
Submits your scores for a run with judge=caller, or your messages as the user of its conversations. Returns the next requests.
Use: a score within range and a rationale quoting the output, for every criterion of a request, or a message if it asks for one.
Not: to change a judgment. Judging your own output marks the run selfJudged.
Costs: nothing. A message makes the target answer.
Errors: all or nothing, naming the invalid part.""",
    ),
    "label_user": ToolEntry(
        "runs", "Overrule the user check", "label_user", runs.RunAnswer, "running:label_user", idempotent=True, reach="judges",
        search="simulated user spoiled a conversation",
        description="""\
Records in which conversations the simulated user did its part (sound) or spoiled them, and judges the run again.
Use: if a person disagrees with the user check.
Not: as an agent: refused.
Costs: judging cases that had no verdict.
Errors: not a person; unknown conversation.""",
    ),
    "run_ab_test": ToolEntry(
        "analysis", "A/B test models", "run_ab_test", runs.RunAnswer, "ab_testing:run_ab_test", reach="judges",
        search="compare models by quality, cost, latency",
        description="""\
Runs 2–5 branches (models and parameters) of one test case side by side and ranks them by winnerCriteria.
Use: to choose a model; save test-branch records first. Continues like run_benchmark.
Not: to compare prompt versions (compare_prompt_versions).
Costs: one model call per branch and iteration.
Errors: unknown branch, no provider key, unsupported parameter.""",
    ),
    "get_statistics": ToolEntry(
        "analysis", "Read statistics", analysis.GetStatistics, analysis.StatisticsAnswer, "statistics:get_statistics", writes=False,
        search="pass rate and history of a test case",
        description="""\
Returns a test case's history: runs, pass rate, mean score, regressions, trend by day. Or a prompt's or skill's cases, or a branch.
Use: to see a case over time and prompt versions.
Not: for a benchmark's trend (detect_trend).
Costs: nothing.
Errors: unknown test case or branch.""",
    ),
    "score_outputs": ToolEntry(
        "scoring", "Score outputs, save nothing", scoring.ScoreOutputs, scoring.ScoresAnswer, "scoring:score_outputs", writes=False,
        search="score text with assertions, no model",
        description="""\
Checks outputs by assertions (rows), selects the best of several by max-score (picks), or makes a table's or run's score card.
Use: quick checks and choices; two tables or runs compared.
Not: to save judgments or ask a model (run_test_case).
Costs: nothing.
Errors: a bad row has its error in its result.""",
    ),
    "list_records": ToolEntry(
        "records", "List records", records.ListRecords, records.RecordsAnswer, "records:list_records", writes=False,
        search="find ids of test cases, benchmarks, runs, prompt versions",
        description="""\
Lists one type's records in pages. run (runs) and message (to the EvalAgent) come newest first.
Use: to find ids. Types with definitions: test-case, rubric, rubric-criterion, benchmark, agent-run, prompt-version.
Not: for one record (get_record).
Costs: nothing; detail=full shows whole records.
Errors: unknown type.""",
    ),
    "get_record": ToolEntry(
        "records", "Read a record", records.GetRecord, records.RecordAnswer, "records:get_record", writes=False,
        description="""\
Shows one record of any type with its relations, or a message and its outcome.
Use: to read a case, judgment, failure or agent-run; fields selects keys, cursor reads long records in parts.
Not: for a run's progress (get_run).
Costs: nothing.
Errors: unknown id.""",
    ),
    "save_records": ToolEntry(
        "records", "Save records", records.SaveRecords, records.SavedAnswer, "records:save_records", idempotent=True,
        search="write an eval suite: test cases, checks, rubrics, benchmark",
        description="""\
Creates or updates definitions (test-case, rubric, rubric-criterion, benchmark, …) and copies (agent-run, prompt-version), all or nothing.
Use: to write a suite; a new baseline (merge expectedOutputs; judges waiting outputs); an eval-failure's resolution (id, resolutionNotes).
Not: to change results or recorded outputs: refused.
Costs: nothing. Saving the same twice changes nothing.
Errors: the record, field and reason.""",
    ),
    "approve_prompt_version": ToolEntry(
        "release", "Approve a prompt version", "approve_prompt_version", release.ApprovalAnswer, "release:approve_prompt_version",
        destructive=True,
        search="release gate for a prompt version",
        description="""\
Records that a prompt version is approved or refused, or (by a person) is the version in use.
Use: when a comparison's verdict is improved over the current version.
Not: to override an inconclusive one: only a person can, at the command line.
Costs: nothing. It cannot be undone.
Errors: hard-rule HR2 with the missing evidence and the call that supplies it.""",
    ),
    "send_message": ToolEntry(
        "release", "Message the EvalAgent", release.SendMessage, release.ReceiptAnswer, "release:send_message",
        description="""\
Sends a message to the EvalAgent daemon.
Use: for work that should continue without you, or to judge an agent-run on arrival.
Not: when you need the result now (the tools above).
Costs: the requested work.
Errors: a malformed payload, by field; agentRunning=false: no daemon is running yet.""",
    ),
    "delete_record": ToolEntry(
        "records", "Hide a record", records.DeleteRecord, records.DeletedAnswer, "records:delete_record", idempotent=True,
        description="""\
Hides a definition or copy from lists. References keep working, and saving it again restores it.
Use: for cases and benchmarks that are no longer wanted.
Not: for results, which are never deleted.
Costs: nothing.
Errors: unknown id, or the id of a result.""",
    ),
}  # fmt: skip
