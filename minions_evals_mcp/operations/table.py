"""The table of operations: the name of each at every interface, the fields that an interface leaves out and why, who may call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast

from minions_evals_mcp.domain.speaker import EDITOR, Role

if TYPE_CHECKING:
    from pydantic import BaseModel

Interface = Literal["cli", "mcp", "message", "graphql", "python"]
INTERFACES: tuple[Interface, ...] = ("cli", "mcp", "message", "graphql", "python")
Caller = Literal["person", "agent"]
_NONE: Mapping[str, str] = {}
_NO_DEFAULTS: Mapping[str, tuple[object, str]] = {}


@dataclass(frozen=True, slots=True)
class Offer:
    """An operation at one interface.

    `names` holds the fields that are called otherwise there, `left_out` those that it does not take, each with the reason,
    `required` those that must be given there although they have a default, each with the reason, `defaults` those with a default
    of that interface's own and the reason. At the command line a name in capitals is given by its position.
    """

    name: str
    names: Mapping[str, str] = field(default_factory=lambda: _NONE)
    left_out: Mapping[str, str] = field(default_factory=lambda: _NONE)
    required: Mapping[str, str] = field(default_factory=lambda: _NONE)
    defaults: Mapping[str, tuple[object, str]] = field(default_factory=lambda: _NO_DEFAULTS)


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the table. An interface that does not offer the operation has the reason in place of its `Offer`.

    `long_running`: the call starts a job, so it is a task at MCP, can be cancelled and goes on under its key.
    `dry_run`: the module has `estimate`, which prices the request and runs nothing. At MCP `paged`: the caller chooses the length of
    its lists; `detailed`: and whether the answer is whole; `browsed`: and reads its list a page at a time; `timed`: the call does as
    much as fits its wait; `followed`: and waits for a run, a page of whose lists it shows.
    `needs`: the role that a person must have in the store.
    """

    module: str
    cli: Offer | str
    mcp: Offer | str
    message: Offer | str
    graphql: Offer | str
    python: Offer | str
    long_running: bool = False
    dry_run: bool = False
    paged: bool = False
    detailed: bool = False
    browsed: bool = False
    timed: bool = False
    followed: bool = False
    callers: frozenset[Caller] = frozenset({"person", "agent"})
    needs: Role = EDITOR

    def at(self, interface: Interface) -> Offer | str:
        """The operation at that interface, or the reason why it is not offered there."""
        offers: dict[Interface, Offer | str] = {
            "cli": self.cli, "mcp": self.mcp, "message": self.message, "graphql": self.graphql, "python": self.python,
        }  # fmt: skip
        return offers[interface]

    def load(self) -> ModuleType:
        """The operation's module, imported at its first use."""
        return import_module(f"minions_evals_mcp.operations.{self.module}")

    @property
    def request(self) -> type[BaseModel]:
        """The type of its request."""
        return cast("type[BaseModel]", self.load().Request)

    @property
    def stops_early(self) -> bool:
        """Whether a cap of the request can stop it before its end."""
        return not {"max_cost_usd", "max_seconds"}.isdisjoint(self.request.model_fields)


LEFT_OUT: Mapping[Interface, Mapping[str, str]] = {
    "message": {"key": "the message's id is the key: a message with the same id runs once"},
    "graphql": {"triggered_by": "every request of that interface is triggered by `graphql`"},
}
"""Fields that an interface takes from none of its callers, each with the reason."""

NAMES: Mapping[Interface, Mapping[str, str]] = {
    "cli": {"faults": "fault"},
    "mcp": {"key": "idempotency_key"},
    "graphql": {"key": "idempotency_key"},
}
"""Fields that an interface calls otherwise in every operation."""

DEFAULTS: Mapping[Interface, Mapping[str, object]] = {
    "cli": {"trials": None},
    "mcp": {"triggered_by": "mcp"},
    "message": {"triggered_by": None},
}
"""Defaults of an interface's own. None: it asks elsewhere: the project file for trials, the message for its sender."""

MODEL_TARGET = "a model only: code, commands and addresses are the operator's to name"
LIMITED: Mapping[Interface, Mapping[str, str]] = {
    "mcp": {
        "target": MODEL_TARGET,
        "subject": "a benchmark only: files are the operator's to name",
        "reader": "rules or the caller: the operator's model reads at the command line",
    },
    "message": {
        "target": MODEL_TARGET,
        "decision": "a person names the version in use where they are known: not by message",
    },
}
"""Fields of which an interface takes less than the request does, each with the reason; `fields.py` has their types."""

_ENGINE_REQUEST = "`{0}` takes the engine's own `{1}`, which is documented; it is made of this request everywhere else"
_KNOWN_SPEAKER = "the terminal, or the token of the call, identifies the person"
_WHO_JUDGES = "who judges what is for the operator of a team's queue to say, at the command line and on the page"
_NO_BENCHMARKS = "document 5 has no benchmarks"
_OF_DOCUMENT_5: Mapping[str, str] = dict.fromkeys(
    ("judge", "target", "recorded", "trials", "fresh", "max_cost_usd", "max_seconds", "world", "faults"),
    "document 5 names a case and a version; the operator's target makes what is not recorded",
)
_CASES_WORLD: Mapping[str, str] = dict.fromkeys(
    ("world", "faults"), "a case names its world; a host pays for every field"
)
_PERSONS_COMMAND = "a person's command: what is erased cannot be brought back"
_RUN_CLI = {"prompt_version_ref": "prompt_version"}

TABLE: Mapping[str, Operation] = {
    "ab_test": Operation(
        "ab_test",
        cli=Offer(
            "ab-test",
            names={
                "test_case_id": "CASE", "test_case_ids": "CASE", "benchmark_id": "CASE",
                "branch_ids": "branch", "branches": "inline", "winner_criteria": "criteria",
            },
        ),
        mcp=Offer("run_ab_test"),
        message=Offer("run-ab-test"),
        graphql=Offer(
            "runABTest",
            left_out={"branches": "document 5 runs stored branches; createTestBranch makes them"},
            required={"branch_ids": "document 5 requires it"},
        ),
        python=Offer("run_ab_test"),
        long_running=True,
        dry_run=True,
    ),
    "plan_benchmark": Operation(
        "plan_benchmark",
        cli=Offer("plan", names={"benchmark_id": "ID"}),
        mcp=Offer("plan_benchmark"),
        message="it is an answer from stored runs, and messages ask for work",
        graphql=_NO_BENCHMARKS,
        python=Offer("plan_benchmark"),
        needs="viewer",
    ),
    "run_benchmark": Operation(
        "run_benchmark",
        cli=Offer(
            "run-benchmark",
            names={**_RUN_CLI, "benchmark_id": "ID"},
            left_out={
                "rejudge_run_id": "`rejudge RUN` is a command of its own",
                "test_case_ids": "its options filter, rerun-failed, sample and limit choose cases",
            },
        ),
        mcp=Offer(
            "run_benchmark",
            left_out={
                "cache": "`recorded` reuses what was recorded; a host pays for every field",
                **dict.fromkeys(
                    ("filter", "rerun_failed", "sample", "seed", "limit"), "testCaseIds choose cases; a host pays for every field"
                ),
            },
        ),
        message=Offer("run-benchmark"),
        graphql=_NO_BENCHMARKS,
        python=_ENGINE_REQUEST.format("run_benchmark", "RunRequest"),
        long_running=True,
        dry_run=True,
        paged=True,
    ),
    "run_test_case": Operation(
        "run_test_case",
        cli=Offer(
            "run-test-case",
            names={**_RUN_CLI, "test_case_id": "ID", "agent_run_id": "agent_run"},
            left_out=dict.fromkeys(("prompt_id", "test_case_ids"), "`batch-run-tests` is a command of its own"),
        ),
        mcp=Offer("run_test_case"),
        message=Offer(
            "run-test-case",
            left_out=dict.fromkeys(("prompt_id", "test_case_ids"), "`batch-run-tests` is a message of its own"),
            required={"test_case_id": "without a prompt it is what is run"},
        ),
        graphql=Offer(
            "runTestCase",
            names={"prompt_version_ref": "prompt_version"},
            left_out={
                **_OF_DOCUMENT_5,
                "prompt_id": "`batchRunTests` is a mutation of its own",
                "test_case_ids": "`batchRunTests` is a mutation of its own",
                "agent_run_id": "document 5 runs a case against a version of its prompt",
            },
            required={"test_case_id": "document 5 requires it"},
        ),
        python=_ENGINE_REQUEST.format("run_test_case", "RunRequest"),
        long_running=True,
        dry_run=True,
    ),
    "batch_run_tests": Operation(
        "batch_run_tests",
        cli=Offer("batch-run-tests", names={**_RUN_CLI, "prompt_id": "PROMPT", "test_case_ids": "CASES"}),
        mcp="`run_test_case` takes promptId: a host pays for every tool",
        message=Offer("batch-run-tests", left_out={"trials": "a batch runs each case once"}),
        graphql=Offer("batchRunTests", names={"prompt_version_ref": "prompt_version"}, left_out=_OF_DOCUMENT_5),
        python="`batch_run_tests` takes the fields themselves, as document 5 has them",
    ),
    "attack_benchmark": Operation(
        "operator.attack_benchmark",
        cli=Offer("world attack", names={**_RUN_CLI, "benchmark_id": "ID", "kinds": "kind", "languages": "language"}),
        mcp="a run of attacks starts the operator's agent dozens of times: the operator asks for it",
        message="the agent observes; it attacks nobody",
        graphql=_NO_BENCHMARKS,
        python="the command line attacks; a program plants texts in its own world",
    ),
    "compare_versions": Operation(
        "compare_versions",
        cli=Offer(
            "compare",
            names={"benchmark_id": "ID", "run_ids": "ID", "version_a": "from_", "version_b": "to"},
        ),
        mcp=Offer("compare_prompt_versions", left_out=_CASES_WORLD),
        message=Offer(
            "compare-prompts",
            names={"version_a": "prompt_version_a", "version_b": "prompt_version_b"},
            left_out={"run_ids": "two stored runs are compared at once, without the agent"},
            required=dict.fromkeys(("benchmark_id", "version_a", "version_b"), "without stored runs they are what is compared"),
        ),
        graphql=_NO_BENCHMARKS,
        python=_ENGINE_REQUEST.format("compare_prompt_versions", "ComparisonRequest"),
        long_running=True,
        dry_run=True,
    ),
    "forget": Operation(
        "operator.forget",
        cli=Offer("forget", names={"record_id": "record"}, left_out={"triggered_by": "whoever types the command asks"}),
        mcp=_PERSONS_COMMAND,
        message=_PERSONS_COMMAND,
        graphql=_PERSONS_COMMAND,
        python="a person's command: a program runs it as one",
        callers=frozenset({"person"}),
    ),
    "assign_judging": Operation(
        "operator.assign_judging",
        cli=Offer("people assign", names={"run_id": "RUN_ID", "people": "to"}),
        mcp=_WHO_JUDGES,
        message=_WHO_JUDGES,
        graphql=_WHO_JUDGES,
        python=_WHO_JUDGES,
    ),
    "try_version": Operation(
        "try_version",
        cli=Offer("try-version", names={"benchmark_id": "ID", "version": "VERSION"}),
        mcp=Offer(
            "try_version",
            left_out={
                "max_attempts": "the answer names the budget that is left; a host pays for every field",
                "max_seconds": "`cancel_run` stops it; a host pays for every field",
                **_CASES_WORLD,
            },
        ),
        message="an optimiser waits for the answer, and a message has none",
        graphql=_NO_BENCHMARKS,
        python=_ENGINE_REQUEST.format("try_version", "TrialRequest"),
        long_running=True,
    ),
    "detect_trend": Operation(
        "detect_trend",
        cli=Offer(
            "trend",
            names={"benchmark_id": "ID"},
            left_out=dict.fromkeys(("what_changed", "since"), "`what-changed` is a command of its own"),
        ),
        mcp=Offer("detect_trend", defaults={"limit": (12, "as many as fit a short answer")}),
        message=Offer(
            "detect-trend", left_out=dict.fromkeys(("limit", "what_changed", "since"), "the answer names the trend's record")
        ),
        graphql=_NO_BENCHMARKS,
        python="`summarize_trend` and `what_changed` take the fields themselves",
        needs="viewer",
        detailed=True,
    ),
    "classify_failure": Operation(
        "classify_failure",
        cli=Offer(
            "classify",
            names={"run_id": "RUN_ID"},
            left_out={"ask_model": "an option of its own can also forbid what the operator allowed"},
        ),
        mcp=Offer(
            "classify_failure",
            names={"run_id": "id"},
            defaults={"ask_model": (False, "a caller has to ask for what costs, and the operator to allow it")},
        ),
        message=Offer(
            "classify-failure",
            left_out=dict.fromkeys(("ask_model", "max_cost_usd"), "the agent's operator says how often a model is asked in a day"),
        ),
        graphql="document 5 has no analysis of failures",
        python="`classify_failure` takes one test-run and the fields themselves",
        dry_run=True,
        paged=True,
        browsed=True,
        timed=True,
    ),
    "audit": Operation(
        "audit",
        cli=Offer("audit", names={"subject": "SUBJECT"}),
        mcp=Offer(
            "audit_benchmark",
            names={"subject": "benchmark_id"},
            left_out=dict.fromkeys(
                ("with_judge", "max_cost_usd", "dry_run"), "by rule alone: the operator asks a model, at the command line"
            ),
        ),
        message="whoever asks for an audit reads it; an agent is told of nothing by it",
        graphql=_NO_BENCHMARKS,
        python="`audit` takes a file, and functions that are handed each case",
        browsed=True,
    ),
    "rejudge": Operation(
        "rejudge",
        cli=Offer("rejudge", names={"run_id": "ID"}),
        mcp="`run_benchmark` takes rejudgeRunId: a host pays for every tool",
        message="`run-benchmark` takes rejudgeRunId",
        graphql=_NO_BENCHMARKS,
        python=_ENGINE_REQUEST.format("run_benchmark", "RunRequest"),
    ),
    "get_run": Operation(
        "get_run",
        cli=Offer("runs", names={"run_id": "ID"}, left_out={"packet": "the JSON of a run has its judgment requests in full"}),
        mcp=Offer("get_run"),
        message="the reply to a message carries its run",
        graphql="document 5 has executions of test cases, no runs",
        python="`summarize` takes the run's id",
        needs="viewer",
        followed=True,
    ),
    "cancel_run": Operation(
        "cancel_run",
        cli="Ctrl-C stops the command that carries a run out",
        mcp=Offer("cancel_run"),
        message="the agent carries its runs out one by one; a signal stops it",
        graphql="document 5 has no runs in the background",
        python="the program that awaits a run cancels it",
    ),
    "lift": Operation(
        "operator.lift",
        cli=Offer("lift", names={"subject": "SUBJECT"}),
        mcp="it starts the operator's agent in folders that it lays files into: the operator asks for it",
        message="as at MCP",
        graphql=_NO_BENCHMARKS,
        python="`lift` measures two sides that a program has run",
    ),
    "calibrate": Operation(
        "operator.calibrate",
        cli=Offer("calibrate", names={**_RUN_CLI, "benchmark_id": "ID"}),
        mcp="it runs a benchmark many times to set a gate's limit: the operator asks for it",
        message="as at MCP",
        graphql=_NO_BENCHMARKS,
        python=Offer("calibrate"),
    ),
    "judge_check": Operation(
        "operator.judge_check",
        cli=Offer("judge-check", names={"ident": "ID"}),
        mcp="whoever is judged does not probe its judge: the operator asks for it",
        message="as at MCP",
        graphql="document 5 has no probes of judges",
        python="probes are of the operator's judge, and asked for at the command line",
        dry_run=True,
    ),
    "label_user": Operation(
        "operator.label_user",
        cli=Offer("label-user", names={"run_id": "RUN_ID"}),
        mcp=Offer("label_user"),
        message="a person's word; a message is an agent's",
        graphql=_NO_BENCHMARKS,
        python="a person's word: a program speaks for none",
        needs="judge",
        callers=frozenset({"person"}),
    ),
    "promote_failure": Operation(
        "promote_failure",
        cli=Offer("promote", names={"failure_id": "FAILURE"}),
        mcp=Offer("promote_failure", names={"failure_id": "id"}),
        message="whoever corrects an output reads the case that it makes",
        graphql="document 5 has no failures",
        python="`promote_failure` takes the fields themselves",
    ),
    "seal": Operation(
        "operator.seal",
        cli=Offer("seal", names={"benchmark_id": "BENCHMARK"}),
        mcp="whoever is measured does not choose what is hidden: the operator seals",
        message="as at MCP",
        graphql=_NO_BENCHMARKS,
        python=_ENGINE_REQUEST.format("seal_benchmark", "SealAsked"),
        callers=frozenset({"person"}),
    ),
    "suite_from_traces": Operation(
        "suites.suite_from_traces",
        cli=Offer(
            "suite from-traces",
            names={"agent_id": "agent", "dimensions": "dimension"},
            left_out={"notes": "an option of its own names the file that holds them"},
        ),
        mcp=Offer(
            "suite_from_traces",
            left_out={
                "max_cost_usd": "the operator's model reads at the command line",
                "each": "one draft a kind fits a short answer; a host pays for every field",
                "most_traces": "the newest 2,000 fit an answer",
            },
        ),
        message="whoever asks for drafts reads them; the agent accepts none",
        graphql="document 5 has no traces",
        python=Offer("suite_from_traces"),
    ),
    "suite_from_prompt": Operation(
        "suites.suite_from_prompt",
        cli=Offer(
            "suite from-prompt",
            names={"prompt_version_ref": "version", "documents": "DOCUMENTS"},
            left_out={
                "cases": "an option of its own names the file that holds them",
                "prompt": "an option of its own names the file that holds it",
            },
        ),
        mcp=Offer(
            "suite_from_prompt",
            left_out={
                "max_cost_usd": "the operator's model writes at the command line",
                "writer": "the caller writes; the operator's model writes at the command line",
                "prompt": "a document does; a host pays for every field",
                "count": "the caller writes as many as it likes",
            },
        ),
        message="whoever asks for drafts reads them; the agent accepts none",
        graphql="document 5 has no documents to write cases of",
        python=Offer("suite_from_prompt"),
    ),
    "approve_prompt_version": Operation(
        "approve_prompt_version",
        cli=Offer(
            "approve",
            names={
                "prompt_version_ref": "VERSION", "comparison_id": "comparison", "benchmark_ids": "benchmark",
                "decided_by": "by",
            },
            left_out={
                "decision": "an option of its own refuses; a command of its own names the version in use",
                "decided_by_type": _KNOWN_SPEAKER,
            },
        ),
        mcp=Offer("approve_prompt_version", left_out={"decided_by_type": _KNOWN_SPEAKER}),
        message=Offer("approve-prompt-version", required={"decided_by": "a message says in whose name it decides"}),
        graphql="document 5 has no approvals",
        python=_ENGINE_REQUEST.format("approve_prompt_version", "ApprovalAsked"),
    ),
}  # fmt: skip
"""Each operation by the name of its module."""


def offered_as(interface: Interface, name: str) -> Operation:
    """The operation of that name at an interface."""
    return next(
        operation
        for operation in TABLE.values()
        if isinstance(offer := operation.at(interface), Offer) and offer.name == name
    )


def offers(interface: Interface) -> Mapping[str, Operation]:
    """The operations that an interface offers, by their names there."""
    return {
        offer.name: operation for operation in TABLE.values() if isinstance(offer := operation.at(interface), Offer)
    }
