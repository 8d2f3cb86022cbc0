"""`minions-evals`: one table of commands, each imported when it is called."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

from cyclopts import App

from minions_evals_mcp.errors import EvalsError

INTERRUPTED = 130
COMMANDS = {
    "demo": ("demo:demo", "See it work: a suite is judged twice, and a regression is caught. No key, no network."),
    "import": ("suites:import_", "Take records in from suite files (YAML, JSON, JSON lines)."),
    "export": ("suites:export", "Write records as JSON lines."),
    "list": ("suites:list_", "List the records of one type."),
    "show": ("suites:show", "Show one record and what it is linked to."),
    "delete": ("suites:delete", "Hide a record; what refers to it is kept."),
    "run-test-case": ("running:run_test_case", "Judge one output of one test case."),
    "run-benchmark": ("running:run_benchmark", "Judge a benchmark's cases, catch regressions, keep everything."),
    "classify": ("running:classify", "Say why a run failed."),
    "submit": ("running:submit", "Hand in judgments for packets that wait."),
    "runs": ("running:runs", "Show runs: how far they are, what they wait for."),
    "outbox": ("suites:outbox", "Show what is queued for other agents and people."),
    "score": ("scoring:score", "Check recorded outputs, a JSON row in and a verdict out, streaming."),
    "doctor": ("doctor:doctor", "Tell what is configured, what works and what to do next."),
}
DB_COMMANDS = {
    "check": ("database:check", "Verify the store's integrity and every hard rule."),
    "backup": ("database:backup", "Copy the store to a file while others write."),
    "path": ("database:path", "Print where the store is."),
}


def build() -> App:
    """The command line as cyclopts sees it."""
    app = App(
        name="minions-evals",
        help="A memory of quality for fleets of LLM agents. Start with: minions-evals demo",
        version=lambda: version("minions-evals-mcp"),
    )
    for name, (target, said) in COMMANDS.items():
        app.command(f"minions_evals_mcp.cli.{target}", name=name, help=said)
    db = App(name="db", help="Look after the store.")
    for name, (target, said) in DB_COMMANDS.items():
        db.command(f"minions_evals_mcp.cli.{target}", name=name, help=said)
    app.command(db)
    return app


def main() -> None:
    """Runs the command line: exit 0 ok, 1 a quality gate failed, 2 bad input, 3 the instrument failed."""
    arguments = sys.argv[1:]
    try:
        code = build()(arguments, result_action="return_value")
    except EvalsError as error:
        _tell(error, as_json="--json" in arguments)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: what was judged is kept; resume with the same --key.\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nobody is left to tell
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _tell(error: EvalsError, *, as_json: bool) -> None:
    if as_json:
        said = {"error": {"code": error.code, "message": error.message, "remedy": error.remedy}}
        sys.stdout.write(json.dumps(said, ensure_ascii=False) + "\n")
        return
    sys.stderr.write(f"Error: {error.message}\n")
    if error.remedy:
        sys.stderr.write(f"  {error.remedy}\n")
