"""`minions-evals`: one table of commands, each imported when it is called."""

from __future__ import annotations

import gc
import io
import json
import sys

from cyclopts import App, CycloptsError

from minions_evals_mcp.cli.helping import Help
from minions_evals_mcp.crashes import EXIT_CODE, run_out
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.report.plain import printable

INTERRUPTED = 130
COMMANDS = {
    "demo": ("demo:demo", "See it work: a suite is judged twice, and a regression is caught. No key, no network."),
    "init": ("starting:init", "Write a small suite to start from; it runs at once, without a key."),
    "import": ("suites:import_", "Take records in from suite files (YAML, JSON, JSON lines)."),
    "export": ("suites:export", "Write records as JSON lines."),
    "list": ("suites:list_", "List the records of one type."),
    "show": ("suites:show", "Show one record and what it is linked to."),
    "delete": ("suites:delete", "Hide a record; what refers to it is kept."),
    "run-test-case": ("running:run_test_case", "Judge one output of one test case."),
    "run-benchmark": ("running:run_benchmark", "Judge a benchmark's cases, catch regressions, keep everything."),
    "watch": ("watching:watch", "Run a benchmark again whenever its suite files change."),
    "compare": ("comparing:compare", "Say which of two prompt versions is better, and how sure that is."),
    "versions": ("versions:versions", "Show the versions of a prompt, or what changed between two."),
    "approve": ("comparing:approve", "Approve a prompt version that a comparison shows to be better."),
    "trend": ("trends:trend", "Tell where a benchmark is heading, and why."),
    "what-changed": (
        "trends:what_changed",
        "Tell when a benchmark moved, what changed then, and which cases are flaky.",
    ),
    "calibrate": ("calibrating:calibrate", "Find the noise floor of a benchmark, for gates to use."),
    "rejudge": ("comparing:rejudge", "Judge a run's stored outputs anew; no target is called."),
    "ab-test": ("ab_tests:ab_test", "Run branches of a test case side by side, and say which wins."),
    "branches": ("ab_tests:branches", "Show a test case's branches and what their executions add up to."),
    "classify": ("classifying:classify", "Say why a run failed."),
    "submit": ("running:submit", "Hand in judgments for packets that wait."),
    "judge": ("people:judge", "Judge what waits for a person, one output at a time."),
    "label": ("labels:label", "Draw outputs that a model judged at random, for people to judge."),
    "judge-check": (
        "judge_checks:check",
        "Probe a model judge without labels: does padding or an instruction sway it?",
    ),
    "agreement": ("agreements:agreement", "Show how far people and the model judge agree, and where they do not."),
    "view": ("viewing:view", "Look at everything in the browser, and judge there."),
    "stats": ("history:stats", "Show a test case's pass rate, mean score, regressions and trend by day."),
    "history": ("history:history", "Show a test case's runs, newest first, beside what was expected."),
    "accept": ("history:accept", "Accept an output as what its test case expects from now on."),
    "runs": ("running:runs", "Show runs: how far they are, what they wait for."),
    "outbox": ("suites:outbox", "Show what is queued for other agents and people."),
    "score": ("scoring:score", "Check recorded outputs, a JSON row in and a verdict out, streaming."),
    "scorecard": ("scorecards:scorecard", "Give a table or a benchmark-run one score, and compare two."),
    "eval": ("configs:eval_", "Run a promptfoo config: prompts × providers × tests, kept and resumable, as a matrix."),
    "pick": ("picking:pick", "Select the best of several recorded outputs by their scores, streaming."),
    "report": ("reports:report", "Write a run, benchmark or comparison as HTML, Markdown, JUnit, JSON or CSV."),
    "diff": ("reports:diff", "Show case by case what changed between two benchmark-runs."),
    "doctor": ("doctor:doctor", "Tell what is configured, what works and what to do next."),
}
DB_COMMANDS = {
    "check": ("database:check", "Verify the store's integrity and every hard rule."),
    "backup": ("database:backup", "Copy the store to a file while others write."),
    "salvage": ("database:salvage", "Write what is whole of a damaged store into a new one."),
    "path": ("database:path", "Print where the store is."),
}


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415  20 ms that only --version needs

    return version("minions-evals-mcp")


def build(arguments: list[str]) -> App:
    """The command line as cyclopts sees it. Only the command that is asked for is imported, and helps with its own words."""
    app = App(
        name="minions-evals",
        help="A memory of quality for fleets of LLM agents. Start with: minions-evals demo",
        help_format="plaintext",
        help_formatter=Help(),
        version=_version,
        suppress_keyboard_interrupt=False,  # `main` tells what is kept
    )
    db = App(name="db", help="Look after the store.")
    for group, commands in ((app, COMMANDS), (db, DB_COMMANDS)):
        for place, (name, (target, said)) in enumerate(commands.items()):  # help lists them in the order of their use
            said_there = None if name in arguments else said
            group.command(f"minions_evals_mcp.cli.{target}", name=name, help=said_there, sort_key=place)
    app.command(db)
    return app


def main() -> None:
    """Runs the command line: exit 0 ok, 1 a quality gate failed, 2 bad input, 3 the instrument failed."""
    # A command lives briefly: the collector's passes over freshly imported modules would cost it a third of a second.
    gc.set_threshold(100_000, 50, 1000)
    arguments = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # whatever the locale, a text is told whole
    try:
        code = build(arguments)(arguments, result_action="return_value", exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        sys.exit(tell_error(_usage(error, arguments), as_json="--json" in arguments))
    except EvalsError as error:
        sys.exit(tell_error(error, as_json="--json" in arguments))
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: what was judged is kept; resume with the same --key.\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nobody is left to tell
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: CycloptsError, arguments: list[str]) -> BadInputError:
    """A command line that does not fit, and where its form is shown."""
    words = [word for word in arguments[:2] if word in {"db", *COMMANDS, *DB_COMMANDS}]
    return BadInputError(str(error), remedy=f"{' '.join(('minions-evals', *words))} --help shows the form.")


def tell_error(error: EvalsError, *, as_json: bool) -> int:
    """The error's exit code, once it is told."""
    if as_json:
        said = {"error": {"code": error.code, "message": error.message, "remedy": error.remedy}}
        sys.stdout.write(json.dumps(said, ensure_ascii=False) + "\n")
    else:
        lines = [printable(line, 2000) for line in error.message.split("\n")]
        sys.stderr.write("Error: " + "\n  ".join(lines) + "\n")
        if error.remedy:
            sys.stderr.write(f"  {printable(error.remedy, 2000)}\n")
    return EXIT_CODE if run_out(error) else error.exit_code
