"""Looking after the store."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.cli.session import DEFAULTS, Common, db_path, say
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.settings import settings_here
from minions_evals_mcp.store.backup import back_up
from minions_evals_mcp.store.check import Found, Looking, Problem, StoreReport, check_store, is_deep_by_default
from minions_evals_mcp.store.salvage import salvage as write_salvaged

FAILED = 3


async def check(*, deep: bool | None = None, common: Common = DEFAULTS) -> int:
    """Verify the store: pages, references, the sequence of events, every hard rule, and each row. Exit 3 if
    anything is wrong.

    Example: minions-evals db check

    Parameters
    ----------
    deep
        Compare each row with its indexes and with the digest written beside it.
        The default for a store of up to 256 MB. `--no-deep` leaves it out.
    """
    path = db_path(common, settings_here())
    thorough = is_deep_by_default(path) if deep is None else deep
    report = await check_store(path, deep=thorough, tell=None if common.json else _tell)
    if common.json:
        problems: list[JsonValue] = list(report.problems)
        checked: dict[str, JsonValue] = dict(report.checked)
        not_checked: list[JsonValue] = list(report.not_checked)
        say(
            {
                "path": str(path),
                "ok": not problems,
                "deep": thorough,
                "problems": problems,
                "checked": checked,
                "notChecked": not_checked,
            }
        )
    else:
        _clear()
        tell(f"{path}: {_verdict(report)}\n")
        if report.not_checked:
            tell(f"Not checked: {', '.join(report.not_checked)}.\n")
        if report.not_checked and not report.problems:
            tell("Check all of it: minions-evals db check --deep\n")
    return FAILED if report.problems else 0


def _verdict(report: StoreReport) -> str:
    counted = ", ".join(f"{number} {name}" for name, number in report.checked.items())
    if not report.problems:
        return f"ok ({counted or 'empty'})"
    known = f" ({counted})" if counted else ""
    return f"{len(report.problems)} problem{'s' if len(report.problems) > 1 else ''}{known}"


def _tell(finding: Found) -> None:
    """A problem at once; what is looked at only where a person waits for it."""
    waiting = _clear()
    match finding:
        case Problem(problem):
            tell(f"problem: {problem}\n")
            sys.stdout.flush()
        case Looking(at):
            if waiting:
                sys.stderr.write(f"checking {at} …")
                sys.stderr.flush()


def _clear() -> bool:
    """Takes back what was said to be looked at, where a person waits; returns whether one does."""
    waiting = sys.stderr.isatty()
    if waiting:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
    return waiting


async def backup(file: Path, /, *, common: Common = DEFAULTS) -> int:
    """Copy the store to a file, complete and consistent, while other programs write to it.

    Example: minions-evals db backup evals-backup.db

    Parameters
    ----------
    file
        Target file. An existing file is not overwritten.
    """
    path = db_path(common, settings_here())
    copied = await back_up(path, file)
    if common.json:
        sealed: dict[str, JsonValue] = {"cases": copied.sealed, "encrypted": copied.encrypted}
        say({"path": str(path), "backup": str(file), "bytes": copied.size, "sealed": sealed})
    else:
        tell(f"{path} → {file}: {copied.size} bytes\n")
        if copied.warning:
            tell(f"{copied.warning}\n")
    return 0


async def salvage(file: Path, /, *, common: Common = DEFAULTS) -> int:
    """Recover the intact parts of a damaged store into a new file. The damaged file is not changed.

    Example: minions-evals db salvage evals-salvaged.db --db evals.db

    Parameters
    ----------
    file
        Target file. An existing file is not overwritten.
    """
    path = db_path(common, settings_here())
    salvaged = await write_salvaged(path, file)
    if common.json:
        kept_counts: dict[str, JsonValue] = dict(salvaged.kept)
        lost: dict[str, JsonValue] = dict(salvaged.lost)
        say(
            {
                "path": str(path),
                "salvaged": str(file),
                "kept": kept_counts,
                "lost": lost,
                "problems": [*salvaged.problems],
            }
        )
    else:
        for table, number in salvaged.kept.items():
            if number or salvaged.lost[table]:
                tell(f"{table}: {number} whole, {salvaged.lost[table]} lost\n")
        for problem in salvaged.problems:
            tell(f"problem: {problem}\n")
        tell(f"{path} → {file}: {'nothing' if not sum(salvaged.lost.values()) else sum(salvaged.lost.values())} lost\n")
    return FAILED if salvaged.problems else 0


def path(*, common: Common = DEFAULTS) -> int:
    """Print the path of the store.

    Example: minions-evals db path
    """
    file = db_path(common, settings_here())
    if common.json:
        say({"path": str(file), "exists": file.exists()})
    else:
        sys.stdout.write(f"{file}\n")
    return 0
