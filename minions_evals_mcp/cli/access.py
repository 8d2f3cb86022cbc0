"""What each command runs, reads, writes and connects to: before anybody has agreed to more, and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.domain.speaker import EDITOR, Role
from minions_evals_mcp.operations.table import TABLE, Offer, Operation

Store = Literal["", "reads", "writes"]
TARGET = "target"
JUDGE = "judge"
CONFIG = "config"
MEANINGS: Mapping[str, str] = {
    TARGET: "what you name as the target: a program, Python code, an address, or a model at its provider",
    JUDGE: "the model that judges, at its provider",
    CONFIG: "the programs, code and addresses of the file that you agreed to",
}
"""What the words of the table stand for."""
AGREED: Mapping[str, str] = {"target": TARGET, "judge": JUDGE}
"""What a field of an operation's request lets a command reach, once it is given or set up."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a command does by itself: to the store, to files, to programs and the network; `agreed` is what is added by consent."""

    store: Store = "reads"
    files: str = ""
    runs: str = ""
    connects: str = ""
    agreed: tuple[str, ...] = ()


_NAMED = "the named file"
_LOCAL = "its own address, on loopback unless `--http` names another"
OWN: Mapping[str, Access] = {
    "demo": Access("writes"),
    "init": Access("", "`evals.yaml` and `minions-evals.toml`, if they are missing"),
    "import": Access("writes"),
    "export": Access("reads", _NAMED),
    "add": Access("writes"),
    "set": Access("writes"),
    "delete": Access("writes"),
    "forget": Access("writes"),
    "watch": Access("writes", agreed=(TARGET, JUDGE)),
    "calibrate": Access("writes", agreed=(TARGET, JUDGE)),
    "audit": Access("writes", "a folder of its own, and with `--fix` the suite", agreed=(JUDGE,)),
    "approve": Access("writes"),
    "ab-test": Access("writes", agreed=("the models of the branches, at their providers", JUDGE)),
    "rejudge": Access("writes", agreed=(JUDGE,)),
    "seal": Access("writes"),
    "lift": Access("writes", "a workspace of its own that it removes", agreed=(TARGET, JUDGE, CONFIG)),
    "classify": Access("writes", agreed=(JUDGE,)),
    "promote": Access("writes"),
    "suite from-traces": Access("writes", _NAMED, agreed=(JUDGE,)),
    "suite from-prompt": Access("writes", agreed=(JUDGE,)),
    "submit": Access("writes"),
    "judge": Access("writes"),
    "label": Access("writes"),
    "judge-check": Access("writes", agreed=(JUDGE,)),
    "label-user": Access("writes", agreed=(TARGET, JUDGE)),
    "agreement": Access("writes"),
    "accept": Access("writes"),
    "prompt use": Access("writes"),
    "prompt take": Access("writes"),
    "people add": Access("writes"),
    "people assign": Access("writes"),
    "people role": Access("writes"),
    "people remove": Access("writes"),
    "run": Access("writes", agreed=(TARGET, JUDGE, CONFIG)),
    "eval": Access("writes", "the files named by `-o`", agreed=(CONFIG, TARGET, JUDGE)),
    "score": Access("", runs="a process of its own for snippets and for patterns that may take long", agreed=(CONFIG,)),
    "pick": Access("", _NAMED),
    "scorecard": Access("reads"),
    "report": Access("reads", _NAMED),
    "doctor": Access("reads", runs="Python, to see whether its own processes start", agreed=("with `--try`, one call to each endpoint",)),
    "view": Access("writes", connects=_LOCAL, agreed=(TARGET, JUDGE)),
    "mcp install": Access("", "the settings file of the host, after it was shown"),
    "db path": Access(""),
    "db backup": Access("reads", _NAMED),
    "db salvage": Access("reads", _NAMED),
    "world serve": Access("writes", "the call log that is named", connects=_LOCAL, agreed=("the servers of the world",)),
    "world attack": Access("writes", agreed=(TARGET, JUDGE)),
    "world check": Access("reads", "the worlds that were agreed to, in the user's own folder"),
}  # fmt: skip
"""Commands that do more than read the store, or other than their operation's request says."""


def access_of(command: str) -> Access:
    """What the command does: its own row, else what follows from its operation, else it reads the store and nothing more."""
    if command in OWN:
        return OWN[command]
    operation = _operation(command)
    return Access() if operation is None else _of_operation(operation)


OWN_NEEDS: Mapping[str, Role] = {
    **dict.fromkeys(("judge", "submit", "label"), "judge"),
    **dict.fromkeys(("agreement", "view"), "viewer"),
}
"""Roles of commands that write, and of which no row of the operations table says what they need."""


def needs_of(command: str) -> Role:
    """The role that a person needs for the command: its operation's, else an editor's where it writes, else a viewer's."""
    operation = _operation(command)
    if operation is not None:
        return operation.needs
    return OWN_NEEDS.get(command, EDITOR if access_of(command).store == "writes" else "viewer")


def _operation(command: str) -> Operation | None:
    return next((row for row in TABLE.values() if isinstance(row.cli, Offer) and row.cli.name == command), None)


def _of_operation(operation: Operation) -> Access:
    agreed = tuple(AGREED[name] for name in AGREED if name in operation.request.model_fields)
    return Access("writes" if operation.long_running or agreed else "reads", agreed=agreed)


def access_rows(commands: Iterable[str]) -> Iterator[tuple[str, str, str, str, str]]:
    """The table's rows: the command, the store, files, programs with addresses, and what consent adds."""
    for command in commands:
        row = access_of(command)
        beside = ", ".join(part for part in (row.runs, row.connects) if part)
        yield command, row.store or "–", row.files or "–", beside or "–", ", ".join(row.agreed) or "–"
