"""A person at a terminal: the real command line in a folder of its own, with a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.next_steps import is_rendered
from tests.hang import HANG_S
from tests.shared.cli.clerk import CLERKS
from tests.shared.cli.standby import STANDBYS, THEIRS, Asked, Forked

ROOT = Path(__file__).parents[3]
CLI = (sys.executable, "-m", "minions_evals_mcp.cli")
OURS = ("ANTHROPIC_", "OPENAI_", "GEMINI_", "MINIONS_EVALS_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "XDG_")
Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def __post_init__(self) -> None:
        """Refuses a next step that no interface put into its own terms."""
        assert is_rendered(self.out + self.err), f"a next step was not rendered: {self.out}{self.err}"

    def one(self) -> Json:
        """The one JSON value on the one line of stdout."""
        (value,) = self.rows()
        return value

    def rows(self) -> list[Json]:
        """Each line of stdout as a JSON value."""
        return [cast("Json", json.loads(line)) for line in self.out.split("\n") if line]

    def error(self) -> Json:
        """The error of a `--json` command."""
        return cast("Json", self.one()["error"])


def inherited() -> dict[str, str]:
    """The environment without whatever would change what our commands do."""
    around = os.environ  # noqa: TID251  a child needs PATH and coverage's own variables
    return {name: value for name, value in around.items() if not name.startswith(OURS)}


def shown_on_terminal(asked: Asked, *lines: str) -> str:
    """What the command shows on a terminal to somebody who types those lines."""
    ours, theirs = os.openpty()
    with Forked(asked, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, "".join(f"{line}\n" for line in lines).encode())
        shown = b""
        with suppress(OSError):  # the terminal is gone with its last user
            while piece := os.read(ours, 4096):
                shown += piece
        process.wait(HANG_S)
    os.close(ours)
    return shown.decode()


@dataclass(frozen=True)
class Terminal:
    """Commands run in `folder`, on the store `evals.db` there."""

    folder: Path
    extra: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def db(self) -> Path:
        """The store that the commands use."""
        return self.folder / "evals.db"

    @property
    def environment(self) -> dict[str, str]:
        """What the commands see."""
        home = {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data"), "PYTHONPATH": str(ROOT)}
        return {**inherited(), **home, "MINIONS_EVALS_DB": str(self.db), **self.extra}

    def with_env(self, **extra: str) -> Terminal:
        """The same terminal with these variables set."""
        return Terminal(self.folder, {**self.extra, **extra})

    def person(self, name: str) -> Terminal:
        """The same terminal with the token of that person, who is known from now on."""
        return self.with_env(MINIONS_EVALS_PERSON_TOKEN=str(self.run("people", "add", name, "--json").one()["token"]))

    def run(self, *arguments: str, stdin: str | bytes = "") -> Ended:
        """Runs one command to its end, in a process that is as one of its own."""
        if any(name.startswith(THEIRS) for name in self.extra):
            return self.carried_out([*CLI, *arguments], stdin)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        asked = Asked([*arguments], str(self.folder), self.environment)
        code, out, err = CLERKS.carried_out(asked, given, HANG_S)
        return Ended(code, out.decode(), err.decode())

    def started(
        self,
        *arguments: str,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> Forked:
        """A command under way, in a process of its own that one on standby forks."""
        asked = Asked([*arguments], str(self.folder), self.environment)
        return Forked(asked, stdin=stdin, stdout=stdout, stderr=stderr)

    def carried_out(self, command: Sequence[str], stdin: str | bytes = "") -> Ended:
        """Runs any program to its end."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        found = subprocess.run(
            command,
            input=given,
            capture_output=True,
            cwd=self.folder,
            env=self.environment,
            timeout=HANG_S,
            check=False,
        )
        return Ended(found.returncode, found.stdout.decode(), found.stderr.decode())

    def asked(self, *commands: Sequence[str]) -> list[Ended]:
        """Carries out commands that only read, one after another in one process: a fork for all of them."""
        asked = Asked([], str(self.folder), self.environment, "several")
        code, out, err = STANDBYS.carried_out(asked, json.dumps(commands).encode(), HANG_S)
        assert code == 0, err.decode()
        return [Ended(*ended) for ended in json.loads(out)]

    def many(self, *commands: Sequence[str]) -> list[Ended]:
        """Runs each command line in turn to its end."""
        return [self.run(*one) for one in commands]

    def file(self, name: str, content: str | bytes | JsonValue) -> str:
        """Writes a file and returns its name; what is no text is written as JSON."""
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return name
