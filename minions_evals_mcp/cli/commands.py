"""The table of commands: what each does, in which group help shows it, and what stands under a noun."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

ABOUT = "Quality records for fleets of LLM agents. Start with: minions-evals demo"
COMMANDS = {
    "demo": ("start.demo:demo", "Show how a regression is caught. Needs no key and no network."),
    "init": ("start.starting:init", "Write a small suite and a project file that run as they are."),
    "import": ("keep.suites:import_", "Import records from suite files or your own tables."),
    "export": ("keep.suites:export", "Write records as JSON lines."),
    "list": ("keep.suites:list_", "List the records of one type."),
    "show": ("keep.suites:show", "Show one record and the records it links to."),
    "add": ("keep.definitions:add", "Make a test case or version of a prompt, or a branch of a case."),
    "set": ("keep.definitions:set_", "Change fields of a test case, a branch or a benchmark."),
    "delete": ("keep.suites:delete", "Hide a record and keep its content (forget erases it)."),
    "forget": ("keep.forgetting:forget", "Erase content: a person's, a record's, or what is old."),
    "run": ("run.project_run:run_", "Run the project, or one benchmark or test case."),
    "run-test-case": ("run.running:run_test_case", "Judge one output of one test case."),
    "batch-run-tests": (
        "run.batches:batch_run_tests",
        "Run test cases of a prompt against one of its versions.",
    ),
    "run-benchmark": ("run.running:run_benchmark", "Run a benchmark, judge its cases and detect regressions."),
    "watch": ("run.watching:watch", "Run a benchmark again whenever its suite files change."),
    "compare": ("decide.comparing:compare", "Compare two prompt versions: which one is better?"),
    "try-version": ("decide.trying:try_version", "Try a candidate version, on sealed cases too."),
    "cases": ("look.cases:cases", "Show the test cases of a prompt with their figures."),
    "versions": ("look.versions:versions", "Show the versions of a prompt, or what changed between two."),
    "approve": ("decide.comparing:approve", "Approve a version that a comparison shows to be better."),
    "audit": ("decide.audits:audit", "Show which wrong answers a suite's checks let pass."),
    "trend": ("look.trends:trend", "Show where a benchmark is heading, and why."),
    "what-changed": (
        "look.trends:what_changed",
        "Show when a benchmark changed, and which cases are flaky.",
    ),
    "calibrate": ("decide.calibrating:calibrate", "Measure the noise of a benchmark, for gates to use."),
    "plan": ("decide.planning:plan", "Calculate how many cases detect a given difference."),
    "seal": ("keep.sealing:seal", "Hide a benchmark's cases: comparisons return a verdict only."),
    "rejudge": ("decide.comparing:rejudge", "Judge a run's stored outputs again. No target is called."),
    "ab-test": ("decide.ab_tests:ab_test", "Run branches of a test case side by side and pick a winner."),
    "lift": ("decide.lifting:lift", "Measure whether a skill, a file or a tool helps an agent."),
    "branches": ("decide.branches:branches", "Show a test case's branches and their results."),
    "classify": ("look.classifying:classify", "Explain why a run failed."),
    "promote": ("look.promoting:promote", "Turn a failure or an imported trace into a test case."),
    "submit": ("run.submitting:submit", "Submit judgments for outputs that wait."),
    "judge": ("people.queue:judge", "Judge what waits for a person, one output at a time."),
    "label": ("people.labels:label", "Draw outputs for people to label, or import their labels."),
    "label-user": ("people.user_labels:label_user", "Overrule the check of a simulated user."),
    "judge-check": (
        "people.judge_checks:check",
        "Probe a model judge for biases, without labels.",
    ),
    "agreement": (
        "people.agreements:agreement",
        "Show how far people and the model judge agree, and where.",
    ),
    "view": ("look.viewing:view", "Browse results and judge outputs in the browser."),
    "live": ("look.live:live", "Follow production traces as they are judged."),
    "stats": ("look.history:stats", "Show a test case's pass rate, mean score and trend by day."),
    "history": ("look.history:history", "Show a test case's runs beside the expected output."),
    "accept": ("look.history:accept", "Accept an output as expected, or a run as the baseline."),
    "runs": ("run.runs:runs", "List runs, their progress and what they wait for."),
    "conversations": ("look.conversing:conversations", "Show the conversations of a run, turn by turn."),
    "outbox": ("keep.outboxes:outbox", "Show messages to other agents and people."),
    "score": ("keep.scoring:score", "Check recorded outputs: one JSON row in, one verdict out."),
    "scorecard": ("keep.scorecards:scorecard", "Reduce a table or a run to one score, and compare two."),
    "eval": ("run.configs:eval_", "Run a promptfoo config as it is. Runs can be resumed."),
    "pick": ("keep.picking:pick", "Select the best of several recorded outputs by their scores."),
    "report": ("look.reports:report", "Write a run as HTML, Markdown, JUnit, JSON or CSV."),
    "diff": ("look.reports:diff", "Show case by case what changed between two benchmark-runs."),
    "doctor": ("start.doctor:doctor", "Show what is configured, what works and what to do next."),
}
DB_COMMANDS = {
    "check": ("keep.database:check", "Verify the store's integrity and every hard rule."),
    "backup": ("keep.database:backup", "Copy the store to a file while others write."),
    "salvage": ("keep.database:salvage", "Recover the intact part of a damaged store into a new one."),
    "path": ("keep.database:path", "Print the path of the store."),
}
WORLD_COMMANDS = {
    "attack": ("world.attack:attack", "Attack an agent through its tools and count hijackings."),
    "check": ("world.check:check", "Show a world's servers and consent to what it starts."),
    "show": ("world.show:show", "Show what agents did in the worlds of a run."),
    "serve": ("world.serve:serve", "Serve a world's tools over MCP, on stdio or HTTP."),
}
SUITE_COMMANDS = {
    "from-traces": ("make.from_traces:from_traces", "Draft test cases from an agent's production traces."),
    "from-prompt": ("make.from_prompt:from_prompt", "Draft test cases from a prompt or documents."),
}
SHOWN = {
    "Start": ("init", "demo", "doctor", "mcp"),
    "Run": ("run", "eval", "score", "world"),
    "Look": ("runs", "diff", "report", "view", "classify", "history", "trend"),
    "Decide": ("audit", "suite", "compare", "approve", "lift", "prompt"),
    "People": ("judge", "people"),
    "Keep": ("import", "data", "db"),
}
"""What `--help` shows, on one screen. The other commands work under their own names, too."""
ORDER = {name: place for place, name in enumerate(name for names in SHOWN.values() for name in names)}
GROUP_OF = {name: title for title, names in SHOWN.items() for name in names}


def _under(*names: str) -> dict[str, tuple[str, str]]:
    return {name: COMMANDS[name] for name in names}


NOUNS: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "prompt": (
        "Manage prompt versions, cases and A/B tests.",
        {
            **_under(
                "versions",
                "branches",
                "compare",
                "try-version",
                "approve",
                "ab-test",
                "lift",
                "calibrate",
                "plan",
                "rejudge",
                "seal",
            ),
            **_under("cases", "batch-run-tests"),
            "use": ("look.versions:use", "Set which version is in use, before any is approved."),
            "take": ("look.versions:take", "Turn the prompts of a config into versions of one prompt."),
        },
    ),
    "people": (
        "People's judgments, and how far to trust a model judge.",
        {
            **_under("judge", "submit", "label", "label-user", "agreement", "judge-check", "accept"),
            "add": ("people.persons:add", "Add a person to the store and print their token once."),
            "assign": ("people.assigning:assign", "Divide what waits of a run among people."),
            "role": ("people.persons:role_", "Change what a person may do."),
            "remove": ("people.persons:remove", "Revoke a person's token."),
            "list": ("people.persons:list_", "List the people in the store."),
        },
    ),
    "data": (
        "Import, export and inspect records.",
        _under(
            "import",
            "export",
            "list",
            "show",
            "add",
            "set",
            "delete",
            "forget",
            "conversations",
            "outbox",
            "live",
            "stats",
            "what-changed",
            "scorecard",
            "pick",
            "promote",
        ),
    ),
    "db": ("Maintain the store: check, back up, salvage, path.", DB_COMMANDS),
    "suite": ("Make a suite of what you have, or run one at each change.", {**SUITE_COMMANDS, **_under("watch")}),
    "world": ("Mock, record or replay the tools that an agent uses.", WORLD_COMMANDS),
    "mcp": (
        "Register the MCP server with your host, such as Claude Code.",
        {"install": ("start.host_install:install", "Write the server's entry into a host's settings.")},
    ),
}
"""Nouns with their verbs; every verb of the first three is a command of its own as well."""


COMMAND: ContextVar[str] = ContextVar("COMMAND")
"""The command that is carried out, as `command_named` says it."""


def command_named(arguments: Sequence[str]) -> str:
    """The command of a command line, by its own name or with its noun; empty where it begins with none."""
    first, verb = (*arguments[:2], "", "")[:2]
    if first not in NOUNS:
        return first if first in COMMANDS else ""
    target = NOUNS[first][1].get(verb)
    if target is None:
        return ""
    return verb if COMMANDS.get(verb, ("", ""))[0] == target[0] else f"{first} {verb}"
