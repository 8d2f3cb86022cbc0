"""Every way out of a store, as the code lists them: commands, tools, resources, pages, queries. A new one that no table here knows
fails the test that asks for it."""

from __future__ import annotations

from minions_evals_mcp.cli.commands import COMMANDS, NOUNS
from minions_evals_mcp.report.documents.forms import FORMS
from minions_evals_mcp.server.resources.picture import PAGE as PICTURE

Arguments = tuple[tuple[str, ...], ...]
RUNS = ("run-v1", "run-v2", "told", "TOLD:A", "run-caller", "run-human")
"""Keys of runs; `TOLD` stands for the id of the comparison under the key `told`."""

NOT_ASKED: dict[str, str] = {
    "view": "serves the page, whose every address is asked in process",
    "watch": "runs a benchmark again and again, by the verb of run-benchmark",
    "demo": "works on a store of its own",
    "init": "writes a suite of its own",
    "eval": "runs a config of the caller's own",
    "score": "checks rows of the caller's own",
    "pick": "picks among rows of the caller's own",
    "people add": "says nothing of a case",
    "people role": "says nothing of a case",
    "people assign": "counts outputs by person",
    "people remove": "says nothing of a case",
    "people list": "says nothing of a case",
    "mcp install": "reads a host's settings file only",
}
"""Commands that are not run, and why nothing sealed can come out of them."""


def each(*idents: str, then: tuple[str, ...] = ()) -> Arguments:
    """The arguments once for each of those ids."""
    return tuple((ident, *then) for ident in idents)


TYPES = (
    "test-case", "rubric", "rubric-criterion", "benchmark", "test-branch", "test-run", "eval-judgment", "benchmark-run",
    "eval-metric", "eval-trend", "prompt-comparison", "eval-failure", "approval", "test-branch-execution", "judge-licence",
    "agent-run", "prompt-version", "proposal-draft", "agent-message", "task", "approval-request", "memory-item",
)  # fmt: skip
EXPORTED = ("inspect-json", "promptfoo", "otel-events", "every-eval-ever", "junit")
"""Formats that are texts; Parquet holds the same rows."""
OF_COMMANDS: dict[str, Arguments] = {
    "import": (("exported.jsonl",), ("exported.jsonl", "--json")),
    "export": (
        *(("--type", kind) for kind in ("test-case", "benchmark", "agent-run")),
        *((ident, "--format", form, "-o", f"report.{ident}.{form}") for ident in ("run-v1", "b", "v1") for form in EXPORTED),
        (),
    ),
    "list": each(*TYPES, then=("--json",)),
    "show": each("c1", "b", "r", "br", "v1", "v1/1", "br-run", "letter", "run-v1", "told"),
    "delete": each("c1", "b", "r", "br"),
    "run": each("b", "c1"),
    "run-test-case": (("c1",), ("c1", "--agent-run", "v1/1")),
    "run-benchmark": (
        ("b",), ("b", "--dry-run"), ("b", "--judge", "caller"), ("b", "--filter", "text~x"), ("b", "--filter", "status=failed"),
        ("b", "--rerun-failed", "run-v2"),
    ),
    "compare": (
        ("b", "--from", "v1", "--to", "v3", "--key", "cli"), ("b", "--from", "v1", "--to", "v2", "--key", "told", "--json"),
        ("run-v1", "run-v2"), ("TOLD:A", "TOLD:B"),
    ),
    "try-version": (("b", "v2"), ("b", "v2", "--sealed"), ("b", "v2", "--sealed", "--json")),
    "audit": each("b", "open-b"),
    "prompt use": (("v2", "--by", "x"), ("v2", "--by", "x", "--json")),
    "prompt take": (("p", "b"), ("p", "open-b", "--json")),
    "cases": each("p"),
    "batch-run-tests": (("p",), ("p", "c1", "c4", "--prompt-version", "v1")),
    "set": (("c4", "name=easier"), ("c4", "expectedOutput=x", "--json")),
    "add": (("test-branch", "testCaseId=c1", "name=n", "provider=openai", "model=m"),),
    "versions": (("p",), ("v1", "v2")),
    "approve": (("v2", "--by", "x"), ("v2", "--by", "x", "--comparison", "TOLD")),
    "trend": each("b", "open-b"),
    "what-changed": each("b", "open-b"),
    "calibrate": each("b"),
    "plan": each("b"),
    "suite from-traces": (
        ("--agent", "agent"), ("--agent", "agent", "--reader", "caller", "--json"), ("--agent", "agent", "--accept", "c8"),
    ),
    "suite from-prompt": (("--version", "v1", "--json"), ("--accept", "c8")),
    "promote": (("run-v2:c8",), ("run-v2:8.1", "--corrected", "x"), ("v1/1",), ("TOLD:B:c8",)),
    "seal": ((), ("b",)),
    "rejudge": each("run-v1", "TOLD:A"),
    "ab-test": (("c1",), ("c1", "--dry-run")),
    "lift": ((".", "--with", "exported.jsonl", "--cases", "b", "--target", "command:cat"), ("b", "--with", "exported.jsonl", "--json")),
    "branches": each("c1"),
    "classify": each(*RUNS, "run-v2:1.1"),
    "submit": (("answers.json",),),
    "judge": (("--by", "maria"), ("run-human", "--by", "maria"), ("--json",)),
    "label": each("b"),
    "label-user": (("run-v1", "--sound", "c1", "--reason", "x"), ("b", "--spoiled", "1.1", "--reason", "x", "--json")),
    "judge-check": each("b"),
    "agreement": each("b"),
    "live": (("--once",), ("--once", "--json", "--hours", "8784")),
    "stats": each("c1", "c4"),
    "history": each("c1", "c4"),
    "accept": (("c1",), ("c4", "--output", "x"), ("run-v2:2.1",), ("run-human:1.1",)),
    "runs": ((), ("--json",), *each(*RUNS), *each(*RUNS, then=("--json",))),
    "outbox": ((), ("--json",)),
    "forget": (
        ("--subject", "Zq7xinput3"), ("--subject", "Zq7xinput3", "--yes"), ("--record", "c1", "--yes", "--json"),
        ("--record", "run-v2", "--yes"), ("--record", "none", "--yes"), ("--before", "2000-01-01", "--yes"),
    ),
    "scorecard": each("run-v1", "TOLD:A"),
    "report": tuple((run, "-o", f"report{form}") for run in ("run-v1", "run-v2", "told", "TOLD:A", "b") for form in FORMS),
    "diff": (("run-v1", "run-v2"), ("TOLD:A", "TOLD:B"), ("run-v1", "run-v2", "--json")),
    "doctor": ((), ("--json",)),
    "db check": ((), ("--deep",), ("--json",)),
    "db backup": (("copy.db",), ("copy2.db", "--json")),
    "db salvage": (("salvaged.db",),),
    "db path": ((),),
    "world attack": (("b",),),
    "world check": ((),),
    "world serve": ((),),
    "conversations": tuple((run, *form) for run in ("run-v1", "run-v2", "told", "b") for form in ((), ("--spoiled", "--json"))),
    "world show": tuple((run, *form) for run in ("run-v1", "run-v2", "told", "b") for form in ((), ("--state", "--json"))),
}  # fmt: skip
"""How each command is asked, so that it would show what is sealed if it could."""


CHANGING = ("accept", "add", "delete", "set", "forget")
"""Commands that change or erase what the others would show: asked last, in this order."""
TALKATIVE = frozenset({"audit", "export", "list", "show", "history", "report", "diff", "runs"})
"""Commands that show what cases say where nothing is sealed: without the seal these are asked, to see that they would tell."""


def commands() -> set[str]:
    """Every command of the table of commands, and what stands only under a noun."""
    alone = {
        f"{noun} {verb}"
        for noun, (_, verbs) in NOUNS.items()
        for verb, (target, _) in verbs.items()
        if COMMANDS.get(verb, ("",))[0] != target
    }
    return {*COMMANDS, *alone}


BRANCHES = [{"name": name, "provider": "openai", "model": name} for name in ("one", "other")]
OF_TOOLS: dict[str, list[dict[str, object]]] = {
    "run_test_case": [{"testCaseId": "c1", "waitSeconds": 50}, {"testCaseId": "c1", "agentRunId": "v1/1", "waitSeconds": 50}],
    "run_benchmark": [
        {"benchmarkId": "b", "waitSeconds": 50}, {"benchmarkId": "b", "testCaseIds": ["c1"], "waitSeconds": 50},
        {"benchmarkId": "b", "judge": "caller", "waitSeconds": 50}, {"benchmarkId": "b", "rejudgeRunId": "run-v1"},
        {"benchmarkId": "b", "dryRun": True},
    ],
    "compare_prompt_versions": [
        {"benchmarkId": "b", "versionA": "v1", "versionB": "v3", "waitSeconds": 50, "idempotencyKey": "tool"},
        {"benchmarkId": "b", "versionA": "v1", "versionB": "v3", "dryRun": True}, {"runIds": ["run-v1", "run-v2"]},
        {"runIds": ["TOLD:A", "TOLD:B"]},
    ],
    "audit_benchmark": [{"benchmarkId": "b", "detail": "full"}, {"benchmarkId": "open-b"}],
    "plan_benchmark": [{"benchmarkId": "b"}, {"benchmarkId": "open-b"}],
    "try_version": [
        {"benchmarkId": "b", "version": "v2"}, {"benchmarkId": "b", "version": "v2", "sealed": True},
        {"benchmarkId": "b", "version": "v3", "content": "Say: {{q}}", "sealed": True, "idempotencyKey": "c"},
    ],
    "classify_failure": [{"id": run} for run in (*RUNS, "run-v2:1.1")],
    "detect_trend": [{"benchmarkId": "b"}, {"benchmarkId": "b", "whatChanged": True}, {"benchmarkId": "open-b", "detail": "full"}],
    "get_run": [{"runId": run, "detail": "full", "limit": 100} for run in RUNS],
    "cancel_run": [{"runId": "run-caller"}],
    "submit_judgments": [{
        "runId": "run-caller", "judgedBy": "x",
        "packets": [{"digest": "d", "judgments": [{"criterionId": "r/good", "score": 1, "rationale": "it reads so"}]}],
    }],
    "label_user": [{"runId": "run-v1", "sound": ["c1"], "reason": "x"}, {"runId": "run-v2", "spoiled": ["1.1"], "reason": "x"}],
    "run_ab_test": [
        {"testCaseId": "c1", "branches": BRANCHES}, {"benchmarkId": "b", "branches": BRANCHES},
    ],
    "suite_from_traces": [{"agentId": "agent"}, {"agentId": "agent", "reader": "caller"}, {"agentId": "agent", "accept": ["c8"]}],
    "suite_from_prompt": [
        {"promptVersionRef": "v1"}, {"documents": [{"name": "d", "text": "x"}], "cases": [{"inputs": {"input": "x"}, "expected": "y"}]},
        {"accept": ["c8"]},
    ],
    "promote_failure": [{"id": one} for one in ("run-v2:c8", "TOLD:B:c8", "v1/1")],
    "get_statistics": [
        {"testCaseId": "c1", "executions": True, "detail": "full"}, {"testCaseId": "c4", "detail": "full"},
        {"promptId": "p", "detail": "full"}, {"branchId": "br", "detail": "full"},
    ],
    "score_outputs": [{"runId": "run-v1"}, {"runId": "TOLD:A"}, {"runId": "run-v1", "compareRunId": "run-v2"}],
    "list_records": [{"type": kind, "detail": "full", "limit": 100} for kind in (*TYPES, "run", "message", "skill-definition")],
    "get_record": [
        {"id": ident, "detail": "full"}
        for ident in ("c1", "b", "r", "br", "v1/1", "br-run", "letter", "run-v1", "run-v2:2.1", "run-v2:2.1:failure", "draft", "told")
    ],
    "save_records": [
        {"records": [{"id": "c1", "type": "test-case", "fields": {"name": "easier", "inputs": {"q": "x"}}}]},
        {"records": [{"id": "mine", "type": "benchmark", "fields": {"name": "mine", "testCaseIds": ["c1"]}}]},
        {"records": [{"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c1"]}}]},
    ],
    "approve_prompt_version": [{"promptVersionRef": "v2", "decidedBy": "x"}],
    "send_message": [{"type": "run-benchmark", "payload": {"benchmarkId": "b"}}],
    "delete_record": [{"id": "c1"}, {"id": "b"}],
}  # fmt: skip

OF_PAGES: dict[str, tuple[dict[str, str], ...]] = {
    "/": ({}, {"of": "b"}),
    "/running": ({},),
    "/runs": ({}, {"of": "b"}),
    "/compare": ({}, {"run": "run-v1"}),
    "/run": tuple({"id": run} for run in RUNS),
    "/cases": (*({"id": run, "status": "failed"} for run in RUNS), *({"id": run, "columns": "all"} for run in RUNS)),
    "/progress": tuple({"id": run} for run in RUNS),
    "/case": (
        {"id": "c1"},
        {"run": "run-v2", "at": "1.1", "as": "json"},
        {"run": "run-v2", "at": "1.1"},
        {"run": "run-v2", "at": "8.1"},
        {"run": "run-v2", "at": "8.1", "beside": "expected"},
        {"run": "run-v2", "at": "8.1", "beside": "before"},
        {"run": "run-v2", "at": "1.1", "beside": "run-v1"},
        {"run": "run-caller", "at": "1.1"},
    ),
    "/trajectory": ({"run": "run-v2", "at": "8.1"}, {"run": "run-v2", "at": "2.1"}),
    "/benchmark": ({"id": "b"}, {"id": "open-b"}),
    "/comparison": ({"before": "run-v1", "after": "run-v2"}, {"before": "TOLD:A", "after": "TOLD:B"}, {"id": "told"}),
    "/matrix": ({"run": "run-v1"}, {"run": "run-v2"}, {"run": "TOLD:A"}),
    "/failures": ({}, {"before": "9999"}),
    "/prompts": ({}, {"id": "p"}, {"version": "v1"}),
    "/promote": ({"id": "run-v2:c8"}, {"id": "v1/1", "run": "run-v2", "at": "9.1"}),
    "/costs": ({}, {"days": "90"}),
    "/production": ({}, {"hours": "2160", "agent": "desk"}),
    "/metrics": ({},),
    "/production/live": ({}, {"hours": "2160"}),
    "/find": ({}, {"q": "TOLD"}),
    "/stop": ({"id": "run-human"},),
    "/audit": ({}, {"id": "b"}, {"id": "open-b"}),
    "/outbox": ({}, {"before": "9999"}),
    "/report": tuple({"id": run} for run in RUNS),
    "/again": ({"id": "run-v1"}, {"id": "run-v2", "cases": "failed"}),
    "/ab": ({"id": "c1"}, {"id": "br"}),
    "/agreement": ({}, {"run": "run-human"}),
    "/label": ({},),
    "/assign": ({"run": "run-human"},),
    "/judge": ({}, {"run": "run-human"}),
    "/note": ({"run": "run-v1", "at": "1.1", "thumb": "good", "reason": "x"},),
    "/user": ({"run": "run-v1", "at": "1.1", "said": "sound", "reason": "x"},),
    "/play": ({"runId": "run-human", "digest": "d", "message": "hi"},),
    "/page.css": ({},),
    "/page.js": ({},),
    "/theme.js": ({},),
    "/htmx.js": ({},),
    "/trend.js": ({},),
    "/uplot.js": ({},),
    "/inter.woff2": ({},),
    "/jetbrains-mono.woff2": ({},),
}
"""The addresses of the page, each asked with what would have it show a sealed case."""

RESOURCES: dict[str, tuple[str, ...]] = {
    PICTURE: (PICTURE,),
    "evals://index": ("evals://index",),
    "evals://guide": ("evals://guide",),
    "evals://outbox": ("evals://outbox",),
    "evals://schemas/{type}": ("evals://schemas/test-case",),
    "evals://skills/{name}": ("evals://skills/run-benchmark",),
    "skill://{name}/{+path}": ("skill://evaluate-my-change/SKILL.md",),
    "evals://runs/{id}/results{?status,limit,cursor}": tuple(f"evals://runs/{run.replace(':', '%3A')}/results" for run in RUNS),
    "evals://production{?hours,agent,rubric,tag,version,model}": ("evals://production", "evals://production?hours=8784"),
    "evals://benchmarks/{id}/trend": ("evals://benchmarks/b/trend",),
    "evals://test-cases/{id}/history": ("evals://test-cases/c1/history", "evals://test-cases/c4/history"),
    "evals://{type}/{id}": (
        "evals://test-case/c1", "evals://benchmark/b", "evals://run/run-v1", "evals://run/run-caller", "evals://run/told",
        "evals://agent-run/v1%2F1", "evals://test-branch/br", "evals://test-branch-execution/br-run",
    ),
}  # fmt: skip

QUERIES: dict[str, tuple[str, ...]] = {
    "testCases": ('testCases(promptId: "p") { id name description input expectedOutput prompt { id name } }',),
    "testCase": ('testCase(id: "c1") { id name description input expectedOutput passRate avgScore lastPassed }',),
    "testCaseExecutions": (
        'testCaseExecutions(testCaseId: "c1") { id actualOutput expectedOutput outputDiff passed }',
    ),
    "testCaseStats": ('testCaseStats(testCaseId: "c4") { totalRuns passRate recentRuns { id passed } }',),
    "testBranches": ('testBranches(testCaseId: "c1") { id name }',),
    "testBranchExecutions": ('testBranchExecutions(branchId: "br") { id output }',),
}
_CASE = '{promptId: "p", name: "n", input: {q: "x"}, expectedOutput: "x"}'
_BRANCH = '{testCaseId: "c1", name: "n", provider: "openai", model: "m"}'
MUTATIONS: dict[str, tuple[str, ...]] = {
    "createPromptVersion": (
        'createPromptVersion(input: {promptId: "p", content: "Say 4: {{q}}"}) { id promptId versionNumber content changelog }',
    ),
    "createTestCase": (f"createTestCase(input: {_CASE}) {{ id }}",),
    "updateTestCase": (f'updateTestCase(id: "c1", input: {_CASE}) {{ id name input expectedOutput }}',),
    "deleteTestCase": ('deleteTestCase(id: "c1")',),
    "runTestCase": ('runTestCase(input: {testCaseId: "c1"}) { testCaseExecutionId actualOutput expectedOutput }',),
    "batchRunTests": (
        'batchRunTests(input: {promptId: "p", testCaseIds: ["c1", "c4"]}) { actualOutput expectedOutput }',
    ),
    "updateExpectedOutput": ('updateExpectedOutput(testCaseId: "c1", output: "x") { id name input }',),
    "createTestBranch": (f"createTestBranch(input: {_BRANCH}) {{ id }}",),
    "updateTestBranch": (f'updateTestBranch(id: "br", input: {_BRANCH}) {{ id name }}',),
    "deleteTestBranch": ('deleteTestBranch(id: "br")',),
    "runABTest": ('runABTest(input: {testCaseId: "c1", branchIds: ["br", "br2"]}) { criteria }',),
}
"""The queries and mutations of the testing API; each selects the fields that say what a case says."""

GIVEN = {
    "benchmarkId": "b", "runId": "run-v2", "promptVersionRef": "v2", "versionA": "v1", "versionB": "v2", "subject": "refunds",
    "count": "3",
}  # fmt: skip
"""What prompts are asked about."""

_GUESSED: dict[str, object] = {
    "agentId": "agent",
    "inputs": {"q": "ASKED"},
    "outputs": {"output": "SAID"},
    "promptVersionRef": "v1",
}
_CHECKED: dict[str, object] = {"promptId": "p", "name": "n", "input": {"q": "ASKED"}, "expectedOutput": "EXPECTED"}
OF_MESSAGES: dict[str, tuple[dict[str, object], ...]] = {
    "run-test-case": (
        {"testCaseId": "c1", "recorded": True}, {"testCaseId": "g0", "recorded": True}, {"testCaseId": "c2", "agentRunId": "o1"},
        {"testCaseId": "g0", "agentRunId": "o1"}, {"testCaseId": "g1", "agentRunId": "v1/2"},
    ),
    "run-benchmark": (
        {"benchmarkId": "b", "recorded": True}, {"benchmarkId": "mine", "recorded": True}, {"benchmarkId": "closed", "recorded": True},
        {"benchmarkId": "mine", "promptVersionRef": "v1"}, {"benchmarkId": "b", "filter": ["text~ASKED"]},
        {"benchmarkId": "b", "filter": ["text~EXPECTED"]}, {"benchmarkId": "b", "testCaseIds": ["ASKED"]},
        {"benchmarkId": "b", "promptVersionRef": "v1", "judge": "heuristic"}, {"benchmarkId": "mine", "judge": "human", "recorded": True},
    ),
    "compare-prompts": (
        {"benchmarkId": "b", "promptVersionA": "v1", "promptVersionB": "v2"},
        {"benchmarkId": "mine", "promptVersionA": "v1", "promptVersionB": "v2"},
        {"benchmarkId": "closed", "promptVersionA": "v1", "promptVersionB": "v2"},
    ),
    "classify-failure": ({"runId": "run-v2"}, {"runId": "o1"}, {"runId": "ASKED"}),
    "detect-trend": ({"benchmarkId": "b"}, {"benchmarkId": "mine"}),
    "agent-run-completed": (
        {"agentRunId": "o1"}, {"agentRunId": "o2"}, {"agentRunId": "o1", "testCaseId": "c2"}, {"agentRunId": "o1", "testCaseId": "g0"},
        {"agentRunId": "v1/2", "testCaseId": "g0"}, {"agentRun": {"id": "n1", "type": "agent-run", "fields": _GUESSED}},
        {"agentRun": {"id": "n2", "type": "agent-run", "fields": _GUESSED}, "testCaseId": "c2"},
        {"agentRun": {"id": "v1/2", "type": "agent-run", "fields": _GUESSED}},
    ),
    "approve-prompt-version": ({"promptVersionRef": "v2", "decidedBy": "x", "benchmarkIds": ["b"]},),
    "approval-decided": ({"approvalRequestId": "none", "decision": "approved", "decidedBy": "x"},),
    "instruction": ({"text": "What is ASKED?"},),
    "get-test-cases": ({"promptId": "p"},),
    "get-test-case": ({"testCaseId": "c2"}, {"testCaseId": "g0"}, {"testCaseId": "ASKED"}),
    "get-test-case-executions": ({"testCaseId": "c2"}, {"testCaseId": "g0"}),
    "get-test-case-stats": ({"testCaseId": "c2"}, {"testCaseId": "g0"}),
    "get-test-branches": ({"testCaseId": "c1"},),
    "get-branch-executions": ({"branchId": "br"},),
    "create-test-case": (_CHECKED, {**_CHECKED, "testCaseId": "c2"}),
    "update-test-case": (
        {"testCaseId": "c2", "input": {"q": "ASKED"}}, {"testCaseId": "c2", "expectedOutput": "EXPECTED"},
        {"testCaseId": "g1", "expectedOutput": "EXPECTED"},
    ),
    "batch-run-tests": ({"promptId": "p", "recorded": True}, {"promptId": "p", "testCaseIds": ["g0", "c2"], "recorded": True}),
    "update-expected-output": (
        {"testCaseId": "c2", "output": "EXPECTED"}, {"testCaseId": "g0", "output": "EXPECTED"},
    ),
    "create-test-branch": ({"testCaseId": "c2", "name": "n", "provider": "openai", "model": "m"},),
    "update-test-branch": ({"branchId": "br", "name": "ASKED"},),
    "run-ab-test": ({"testCaseId": "c2", "branches": BRANCHES}, {"testCaseId": "g0", "branches": BRANCHES}),
    "delete-test-branch": ({"branchId": "br"},),
    "delete-test-case": ({"testCaseId": "c2"}, {"testCaseId": "g1"}),
}  # fmt: skip
"""What a message says, with ASKED, EXPECTED and SAID for a guess at the sealed case c2."""
