"""`minions-eval-agent`: run, drain, send, status, show, retry, dismiss."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import App, CycloptsError, Parameter

from agent import letters
from agent.retry import Revived
from agent.retry import retry as revived
from agent.service import work
from agent.settings import Working, engine_on, store_path
from agent.sources.standard_input import read_letter
from agent.status import Status, in_words, refused_skills
from agent.status import status as status_of
from minions_evals_mcp import bounded_files
from minions_evals_mcp.cli.app import INTERRUPTED, tell_error
from minions_evals_mcp.cli.session import missing_store, say, short_path
from minions_evals_mcp.cli.session import run as run_async
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.configured import default_db
from minions_evals_mcp.crashes import reported
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.context import wall_clock
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.messages.foreseen import foreseen
from minions_evals_mcp.messages.send_message import Receipt, send_message
from minions_evals_mcp.operations.agent_work import Dismissed
from minions_evals_mcp.operations.agent_work import dismiss as dismissed
from minions_evals_mcp.settings import read_settings
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store.database import open_store

app = App(
    name="minions-eval-agent",
    help="The EvalAgent: runs its skills on every message and event.",
    help_format="plaintext",
)
Db = Annotated[Path | None, Parameter(help="The store file (MINIONS_EVALS_DB, otherwise in your data folder).")]
AsJson = Annotated[bool, Parameter(name="--json", help="Print the answer as JSON.", negative="")]
DEFAULTS = Working()


@app.command
def run(*, working: Working = DEFAULTS) -> None:
    """Work until stopped: take messages, react to what is recorded, keep schedules, deliver.

    Example: minions-eval-agent run --deliver-to outgoing
    """
    run_async(partial(work, working, until_quiet=False))


@app.command
def drain(*, working: Working = DEFAULTS) -> None:
    """Process what is there, with all that follows from it, and end.

    Example: echo '{"type": "run-benchmark", "payload": {"benchmarkId": "geography"}}' | minions-eval-agent drain --stdin
    """
    run_async(partial(work, working, until_quiet=True))


@app.command
def send(
    type_: str, /, *, payload: str = "{}", id_: Annotated[str | None, Parameter(name="--id")] = None,
    sender: Annotated[str | None, Parameter(name="--from")] = None, db: Db = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Put a message into the agent's inbox.

    Example: minions-eval-agent send run-benchmark --payload '{"benchmarkId": "geography"}'

    Parameters
    ----------
    type_
        run-test-case, run-benchmark, compare-prompts, classify-failure, detect-trend, agent-run-completed,
        approve-prompt-version, approval-decided, instruction, or a verb of the testing API (docs/reference/testing-api.md).
    payload
        A JSON object, or @FILE that holds one.
    id_
        Id of the message. A message with the same id is handled once.
    sender
        Who is told how it ended.
    """
    envelope = {"type": type_, "payload": _payload(payload), "id": id_, "fromAgentId": sender}
    receipt, warnings = run_async(partial(_send, db, json.dumps(envelope)))
    if as_json:
        say({**receipt.model_dump(mode="json"), "warnings": [*warnings]})
        return
    before = "" if receipt.is_new else " (it was sent before)"
    hint = "" if receipt.agent_running else "; no agent is running: minions-eval-agent run"
    tell(f"{receipt.id}: {receipt.state}{before}{hint}\n")
    for warning in warnings:
        tell(f"Warning: {warning}\n", aside=True)


def _payload(text: str) -> object:
    try:
        return json.loads(bounded_files.read_text(Path(text[1:])) if text.startswith("@") else text)
    except OSError as error:
        raise BadInputError(f"--payload {text}: {error.strerror}.") from None
    except ValueError as error:
        raise BadInputError(f"--payload: not JSON: {error}.") from None


async def _send(db: Path | None, text: str) -> tuple[Receipt, list[str]]:
    letter = read_letter(text)
    async with engine_on(db, made=_say_made) as engine:
        receipt = await send_message(engine, letter)
        return receipt, await foreseen(engine, letter) if receipt.state == "pending" else []


def _say_made(path: Path) -> None:
    tell(f"Created a new store at {short_path(path)}.\n", aside=True)


@app.command
def status(*, db: Db = None, as_json: AsJson = False) -> None:
    """Show the queue, dead letters, schedules, own and refused skills, integrations, the last events and the lag.

    Example: minions-eval-agent status
    """
    state = run_async(partial(_status, db))
    if as_json:
        say(state.model_dump(mode="json"))
    else:
        tell(in_words(state))


async def _status(db: Path | None) -> Status:
    async with open_store(store_path(db), read_only=True) as store:
        refused = refused_skills(read_settings().skills or shipped_folder("skills"))
        return await store.read(partial(status_of, now=wall_clock(), store=store.path, skills_refused=refused))


@app.command
def show(ident: str, /, *, db: Db = None, as_json: AsJson = False) -> None:
    """Show a message or a delivery whole: what was asked, how far it is and why, what came of it, what was told.

    Example: minions-eval-agent show latest

    Parameters
    ----------
    ident
        Its id, the beginning of it (six characters or more), or latest: the newest message that was sent.
    """
    shown = run_async(partial(_show, db, ident))
    if as_json:
        say(shown)
    else:
        tell(letters.in_words(shown))


async def _show(db: Path | None, ident: str) -> Json:
    async with open_store(store_path(db), read_only=True) as store:
        return await store.read(partial(letters.show, reference=ident))


@app.command
def retry(ident: str, /, *, db: Db = None, as_json: AsJson = False) -> None:
    """Give a dead letter, or a delivery that was refused, another chance.

    Example: minions-eval-agent retry latest

    Parameters
    ----------
    ident
        Its id, the beginning of it (six characters or more), or latest: the newest dead letter, else refused delivery.
    """
    done = run_async(partial(_retry, db, ident))
    if as_json:
        say({"id": done.id, "kind": done.what, "state": "pending"})
    else:
        tell(f"{done.id}: the {done.what} is pending again\n")


async def _retry(db: Path | None, ident: str) -> Revived:
    path = store_path(db)
    if not await anyio.Path(path).exists():
        raise missing_store(path, is_default=path == default_db())
    async with open_store(path) as store:
        return await store.write(partial(revived, reference=ident, at=wall_clock()))


@app.command
def dismiss(ident: str, /, *, reason: str, by: str = "operator", db: Db = None, as_json: AsJson = False) -> None:
    """Dismiss a dead letter, or a delivery that was refused: it is kept with the reason, and listed as failed no more.

    Example: minions-eval-agent dismiss 3f2a91 --reason "the case was deleted"

    Parameters
    ----------
    ident
        Its id, or the beginning of it (six characters or more).
    reason
        Why the message needs no more work.
    by
        Who says so.
    """
    done = run_async(partial(_dismiss, db, ident, reason, by))
    if as_json:
        say({"id": done.id, "kind": done.what, "state": "dismissed", "reason": reason})
    else:
        tell(f"{done.id}: the {done.what} is dismissed\n")


async def _dismiss(db: Path | None, ident: str, reason: str, by: str) -> Dismissed:
    path = store_path(db)
    if not await anyio.Path(path).exists():
        raise missing_store(path, is_default=path == default_db())
    async with open_store(path) as store:
        return await store.write(
            lambda db: dismissed(db, letters.meant_letter(db, ident), reason=reason, by=by, at=wall_clock())
        )


def main() -> None:
    """Runs the command line: exit 0 ok, 2 bad input, 3 the evaluation could not be completed."""
    arguments = sys.argv[1:]
    try:
        app(arguments, result_action="return_value", exit_on_error=False, print_error=False)
    except CycloptsError as error:
        refused = BadInputError(str(error), remedy="minions-eval-agent --help shows the form.")
        sys.exit(tell_error(refused, as_json="--json" in arguments))
    except EvalsError as error:
        sys.exit(tell_error(error, as_json="--json" in arguments))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nobody is left to tell
        sys.exit(0)


if __name__ == "__main__":
    with reported("minions-eval-agent"):
        main()
