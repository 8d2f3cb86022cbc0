"""A target that a project file names and that runs a program or calls an address: shown, and agreed to once per file's content."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from platformdirs import user_state_path

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.project import Project
from minions_evals_mcp.report.plain import printable


def agreed_file() -> Path:
    """Returns where it is written down what was agreed to."""
    return user_state_path("minions-evals") / "agreed-projects.json"


def vet_agreed(project: Project, *, yes: bool) -> None:
    """Asks a person on a terminal; raises `BadInputError` where nobody agrees. `yes` is the command line's word."""
    code = project.code()
    if code is None or yes or _agreed().get(str(project.file)) == project.digest:
        return
    sentence = f"{project.file} has outputs made by {printable(code, 300)}, which runs or is called with your rights."
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInputError(sentence, remedy="Read the file, then say --yes (in CI, too), or name a --target.")
    sys.stderr.write(f"{sentence}\nAgree, for as long as the file stays as it is? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise BadInputError("the project's target was not agreed to.", remedy="Name a --target, or edit the file.")
    _write(_agreed() | {str(project.file): project.digest})


def _agreed() -> dict[str, str]:
    try:
        agreed: object = json.loads(agreed_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in agreed.items()} if isinstance(agreed, dict) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  JSON


def _write(agreed: dict[str, str]) -> None:
    file = agreed_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    part.write_text(json.dumps(agreed, indent=1), "utf-8")
    part.replace(file)
