"""The operations that advice names: the command, the tool and the query of each, and what their arguments are called there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from minions_evals_mcp.next_steps import Value

_NO_NAMES: Mapping[str, str] = {}
_NO_VALUES: Mapping[str, Value] = {}


@dataclass(frozen=True, slots=True)
class At:
    """An operation at an interface that takes arguments by name.

    `names` holds the arguments that it calls otherwise, "" for one that it does not take; `needs` what each call has to give
    where the advice does not.
    """

    name: str
    names: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)
    needs: Mapping[str, Value] = field(default_factory=lambda: _NO_VALUES)
    fixed: Mapping[str, Value] = field(default_factory=lambda: _NO_VALUES)


@dataclass(frozen=True, slots=True)
class AdvisedOperation:
    """An operation: its command with the arguments that are given by position, and where else it is offered.

    `left_out`: arguments that the command does not take. An operation without a tool is for the operator, or with `person` for a
    person, at the command line.
    """

    command: str
    positions: tuple[str, ...] = ()
    tool: At | None = None
    graphql: At | None = None
    message: At | None = None
    left_out: tuple[str, ...] = ()
    person: bool = False
    has_store: bool = True


OPTIONS: Mapping[str, str] = {
    "version_a": "--from", "version_b": "--to", "prompt_version_ref": "--prompt-version", "branch_ids": "--branch",
    "agent_run_id": "--agent-run", "with_": "--with", "as_": "--as", "from_file": "--from",
    "winner_criteria": "--criteria", "branches": "--inline", "comparison_id": "--comparison", "decided_by": "--by",
    "faults": "--fault", "benchmark_ids": "--benchmark", "people": "--to", "raters": "--rater",
}  # fmt: skip
"""Options that are called otherwise than their argument."""

ARGUMENTS: Mapping[str, str] = {"key": "idempotencyKey", "case_ids": "testCaseIds", "run_id": "runId"}
"""Tool arguments that are called otherwise than their argument in camel case."""

OF_TOOLS = frozenset({
    "key", "judge", "target", "trials", "fresh", "max_cost_usd", "prompt_version_ref", "agent_run_id", "case_ids", "columns",
    "tie_threshold", "iterations", "branch_ids", "winner_criteria", "override_reason", "version_a", "version_b",
})  # fmt: skip
"""Arguments that a caller of tools can give; every other one is an option of whoever starts the program."""

_RUN = {"cache": "", "max_seconds": "", "recorded": "", "judge_model": "", "embedder": ""}
_MESSAGE_RUN = {**_RUN, "key": ""}

_PICKS: Value = [{"outputs": ["OUTPUT-A", "OUTPUT-B"], "assert": [{"type": "max-score"}]}]
_PACKETS: Value = [{"digest": "DIGEST", "judgments": [{"criterionId": "CRITERION", "score": 0, "rationale": "WHY"}]}]

OPERATIONS: Mapping[str, AdvisedOperation] = {
    "ab-test": AdvisedOperation(
        "ab-test", ("test_case_id|benchmark_id|test_case_ids",),
        At("run_ab_test", {"max_seconds": ""}, {"branchIds": ["BRANCH-A", "BRANCH-B"]}),
    ),
    "accept": AdvisedOperation(
        "accept", ("test_case_id",),
        At(
            "save_records", {"test_case_id": ""},
            fixed={
                "records": [{"id": "{test_case_id}", "type": "test-case", "fields": {"expectedOutputs": {"output": "OUTPUT"}}}],
                "merge": True,
            },
        ),
    ),
    "accept-run": AdvisedOperation("accept", ("run_id",), person=True),
    "agreement": AdvisedOperation("agreement", ("benchmark_id",), person=True),
    "approve": AdvisedOperation("approve", ("prompt_version_ref",), At("approve_prompt_version")),
    "approve-as-person": AdvisedOperation("approve", ("prompt_version_ref",), person=True),
    "audit": AdvisedOperation("audit", ("benchmark_id",), At("audit_benchmark", {"json": "", "subject": "benchmarkId"})),
    "branches": AdvisedOperation(
        "branches", ("test_case_id",), At("list_records", {"test_case_id": ""}, fixed={"type": "test-branch"}),
        At("testBranches"),
    ),
    "calibrate": AdvisedOperation("calibrate", ("benchmark_id",)),
    "classify": AdvisedOperation("classify", ("run_id",), At("classify_failure", {"run_id": "id"})),
    "compare": AdvisedOperation("compare", ("benchmark_id",), At("compare_prompt_versions", {**_RUN, "sequential": ""})),
    "db-check": AdvisedOperation("db check"),
    "db-salvage": AdvisedOperation("db salvage", ("into",)),
    "demo": AdvisedOperation("demo", has_store=False),
    "diff": AdvisedOperation("diff", ("run_a", "run_b"), person=True),
    "doctor": AdvisedOperation("doctor"),
    "eval": AdvisedOperation("eval", ("config",)),
    "history": AdvisedOperation(
        "history", ("test_case_id",), At("get_statistics", fixed={"executions": True}), At("testCaseExecutions"),
    ),
    "import": AdvisedOperation(
        "import", ("file",),
        At("save_records", {"file": "", "as_": "", "map": "", "into": ""}, fixed={"records": [{"type": "{as_}", "fields": {}}]}),
    ),
    "import-as-person": AdvisedOperation("import", ("file",), person=True),
    "import-version": AdvisedOperation(
        "import", ("file",),
        At("save_records", {"file": ""}, fixed={"records": [{"type": "prompt-version", "fields": {}}]}),
    ),
    "init": AdvisedOperation("init", has_store=False),
    "judge": AdvisedOperation("judge", person=True),
    "judge-check": AdvisedOperation("judge-check", ("run_id",)),
    "label": AdvisedOperation("label", ("run_id",), person=True),
    "lift": AdvisedOperation("lift", ("file",)),
    "list": AdvisedOperation("list", ("type",), At("list_records")),
    "plan": AdvisedOperation("plan", ("benchmark_id",), At("plan_benchmark", {})),
    "outbox": AdvisedOperation("outbox"),
    "people-add": AdvisedOperation("people add", ("name",)),
    "people-assign": AdvisedOperation("people assign", ("run_id",), person=True),
    "people-list": AdvisedOperation("people list"),
    "people-role": AdvisedOperation("people role", ("name", "role")),
    "pick": AdvisedOperation("pick", ("file",), At("score_outputs", {"file": ""}, fixed={"picks": _PICKS}), has_store=False),
    "promote": AdvisedOperation("promote", ("failure_id",), At("promote_failure", {"failure_id": "id"})),
    "prompt-take": AdvisedOperation("prompt take", ("prompt_id", "benchmark_id")),
    "prompt-use": AdvisedOperation("prompt use", ("prompt_version_ref",), person=True),
    "rejudge": AdvisedOperation(
        "rejudge", ("run_id",),
        At("run_benchmark", {"run_id": "rejudgeRunId", **_RUN}, {"benchmarkId": "BENCHMARK"}),
        left_out=("benchmark_id",),
    ),
    "run": AdvisedOperation("run", person=True),
    "run-benchmark": AdvisedOperation(
        "run-benchmark", ("benchmark_id",), At("run_benchmark", _RUN), message=At("run-benchmark", _MESSAGE_RUN)
    ),
    "run-test-case": AdvisedOperation(
        "run-test-case", ("test_case_id",), At("run_test_case", _RUN), message=At("run-test-case", _MESSAGE_RUN)
    ),
    "runs": AdvisedOperation("runs", (), At("list_records", fixed={"type": "run"})),
    "try-version": AdvisedOperation("try-version", ("benchmark_id", "version"), At("try_version", _RUN)),
    "set-variable": AdvisedOperation(""),
    "seal": AdvisedOperation("seal", ("benchmark_id",)),
    "seals": AdvisedOperation("seal"),
    "show": AdvisedOperation("show", ("id",), At("get_record")),
    "show-conversations": AdvisedOperation("conversations", ("run_id",)),
    "show-run": AdvisedOperation("runs", ("run_id",), At("get_run")),
    "submit": AdvisedOperation("submit", ("file",), At("submit_judgments", {"file": ""}, fixed={"runId": "RUN", "packets": _PACKETS})),
    "world-check": AdvisedOperation("world check", ("world",), person=True),
}  # fmt: skip
"""Each operation by its name."""
