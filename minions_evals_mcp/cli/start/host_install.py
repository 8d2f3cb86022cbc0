"""The MCP server registered with a host, in the host's own settings file."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, say
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.hosts.settings_file import SettingsChange, change_of, write_change
from minions_evals_mcp.interop.hosts.table import HOSTS, HostName, StartCommand
from minions_evals_mcp.mcp_version import vet_mcp

PROGRAM = "minions-evals-mcp"
AFTERWARDS: Mapping[str, str] = {
    "claude-code": "In headless sessions, allow its tools: claude -p … --allowedTools mcp__minions-evals",
    "codex": "Codex asks before a tool that writes. default_tools_approval_mode changes that.",
    "gemini-cli": 'With "trust" it runs these tools without asking. A headless session gets no tools without it.',
    "vscode": "It applies to this folder.",
}
"""What is to be known or done in the host, once it is written."""


def install(
    host: HostName,
    /,
    *,
    file: Path | None = None,
    yes: Annotated[bool, Parameter(negative="")] = False,
    print_: Annotated[bool, Parameter(name="--print", negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Register the MCP server with a host: show the entry and the file, ask, and write it. The file keeps everything else.

    With `--db` the server uses that store.
    Example: minions-evals mcp install codex

    Parameters
    ----------
    host
        The host that gets the server.
    file
        The settings file (default: the host's usual one).
    yes
        Write it without asking.
    print_
        Show the entry and write nothing.
    """
    row = HOSTS[host]
    where = file or row.file(Path.home(), Path.cwd())
    environment = {"MINIONS_EVALS_DB": str(common.db.absolute())} if common.db is not None else {}
    change = change_of(row, where, row.entry(StartCommand(_program(), environment)))
    if print_:
        return _told(common, host, change, written=False)
    if change.before != change.after:
        vet_mcp()
        _agree(row.title, change, yes=yes)
        write_change(change)
    return _told(common, host, change, written=change.before != change.after)


def _program() -> str:
    """The server beside this command, by its whole path: a host may search other folders than this terminal."""
    beside = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    return PROGRAM if beside is None else str(Path(beside).absolute())


def _agree(title: str, change: SettingsChange, *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInputError(
            f"{change.file} is a settings file of {title}: nothing is written without your consent.",
            remedy="Add --yes to write it, or --print to see the entry.",
        )
    verb = "Make" if change.before is None else "Add to"
    sys.stderr.write(f"{verb} {change.file}:\n{change.snippet}Write it? The rest of the file does not change. [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise BadInputError("nothing was written.", remedy="--print shows the entry, so that you can add it by hand.")


def _told(common: Common, host: HostName, change: SettingsChange, *, written: bool) -> int:
    row = HOSTS[host]
    if common.json:
        say({"host": host, "file": str(change.file), "written": written, "entry": change.snippet})
        return 0
    if written:
        tell(f"Written: {change.file}. Restart {row.title}.\n")
    elif change.before == change.after:
        tell(f"{change.file} already has this entry.\n")
    else:
        tell(f"{change.file}:\n{change.snippet}")
    if host in AFTERWARDS:
        tell(f"{AFTERWARDS[host]}\n")
    return 0
