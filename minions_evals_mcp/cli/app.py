"""`minions-evals`: a command carried out, its exit code, and what is told where it went wrong."""

from __future__ import annotations

import errno
import json
import sys
from importlib import import_module

from minions_evals_mcp.cli.commands import COMMANDS
from minions_evals_mcp.cli.helping import told_whole
from minions_evals_mcp.cli.telling import command_of, error_rendered, going_on, tell
from minions_evals_mcp.crashes import EXIT_CODE, run_out
from minions_evals_mcp.errors import BadInputError, EvalsError, ungrouped
from minions_evals_mcp.report.plain import printable

INTERRUPTED = 130
SHOWN = 60
OF_A_FILE = frozenset({"score", "pick"})
"""Commands that take a file: with that alone and no option there is nothing for cyclopts to read, a fourth of their start."""


def main() -> None:
    """Runs the command line: exit 0 ok, 1 a quality gate failed, 2 bad input, 3 the evaluation could not be completed."""
    arguments = sys.argv[1:]
    told_whole()
    try:
        with ungrouped():
            code = _carried_out(arguments)
        sys.stdout.flush()
    except EvalsError as error:
        sys.exit(tell_error(error, as_json="--json" in arguments))
    except KeyboardInterrupt:
        tell(f"Interrupted. Progress is saved.  {going_on(arguments)}\n", aside=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nobody is left to tell
        sys.exit(0)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        named = f"{str(error.filename)[:SHOWN]}…"
        refused = BadInputError(f"{named} is too long for a file name.", remedy="Name an existing file.")
        sys.exit(tell_error(refused, as_json="--json" in arguments))
    sys.exit(code if isinstance(code, int) else 0)


def _carried_out(arguments: list[str]) -> object:
    match arguments:
        case [command, file] if command in OF_A_FILE and (file == "-" or not file.startswith("-")):
            module, _, name = COMMANDS[command][0].partition(":")
            return vars(import_module(f"minions_evals_mcp.cli.{module}"))[name](file)
        case _:
            from minions_evals_mcp.cli.command_lines import carried_out  # noqa: PLC0415  as said above

            return carried_out(arguments)


def tell_error(error: EvalsError, *, as_json: bool) -> int:
    """The error's exit code, once it is told."""
    message, remedy = error_rendered(error)
    if as_json:
        wire = {"error": {"code": error.code, "message": message, "remedy": remedy, "next": _next_wire(error)}}
        sys.stdout.write(json.dumps(wire, ensure_ascii=False) + "\n")
    else:
        lines = [printable(line, 2000) for line in message.split("\n")]
        tell("Error: " + "\n  ".join(lines) + "\n", aside=True)
        if remedy:
            tell(f"  {printable(remedy, 2000)}\n", aside=True)
    return EXIT_CODE if run_out(error) else error.exit_code


def _next_wire(error: EvalsError) -> list[dict[str, object]]:
    """The next steps that the error names, for programs: as data, and as the command."""
    return [
        {"operation": step.operation, "arguments": step.arguments, "command": command_of(step)} for step in error.next
    ]
