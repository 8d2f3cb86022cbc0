"""A suite to start from."""

from __future__ import annotations

import shlex
from importlib import resources
from pathlib import Path

from minions_evals_mcp.cli.session import DEFAULTS, Common, say
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.project import NAME

SUITE = "evals.yaml"
BENCHMARK = "starter/quality"
VERSION = "starter/prompt@2"
PROJECT = f'''# Settings of `minions-evals run` in this folder. The command line and MINIONS_EVALS_* override them.
suites = ["{SUITE}"]
prompt-version = "{VERSION}"
# store = "evals.db"  # without it, results are saved in .minions-evals/evals.db

[thresholds]
fail-on-regression = true
'''


def init(folder: Path = Path(), /, *, common: Common = DEFAULTS) -> int:
    """Write evals.yaml, a small commented suite, and minions-evals.toml, which tells `minions-evals run` to run
    it.

    It runs at once, without a key. Nothing is overwritten.
    Example: minions-evals init my-evals

    Parameters
    ----------
    folder
        Target folder. It is created if necessary.
    """
    file = folder / SUITE
    text = (resources.files("minions_evals_mcp.cli") / "starter.yaml").read_text("utf-8")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as suite:
            suite.write(text)
    except OSError as error:
        raise BadInputError(
            f"{error.filename} cannot be written: {error.strerror}.",
            remedy="Name another folder: minions-evals init DIR.",
        ) from None
    project = folder / NAME
    files = [file]
    following = [f"minions-evals import {SUITE}", f"minions-evals run-benchmark {BENCHMARK} --prompt-version {VERSION}"]
    if not project.exists():
        project.write_text(PROJECT, "utf-8")
        files, following = [file, project], ["minions-evals run"]
    if folder.resolve() != Path.cwd():
        following.insert(0, f"cd {shlex.quote(str(folder))}")
    if common.json:
        say({"files": [*map(str, files)], "next": [*following]})
        return 0
    tell(f"Written: {', '.join(map(str, files))}. Next:\n")
    for command in following:
        tell(f"  {command}\n")
    return 0
