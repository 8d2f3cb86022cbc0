"""The options of `eval` that promptfoo has, too: which tests are evaluated, with which variables, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from minions_evals_mcp.cli.session import Common, run, session
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.narrowing import Narrowed, failing_in
from minions_evals_mcp.operations.evaluations import failing_tests
from minions_evals_mcp.settings import first_set

BRANCH = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME")
"""The variables in which CI systems name the branch."""


def branch_here() -> str | None:
    """The branch of the repository that the command runs in: as the CI system names it, else as git's files do."""
    if (named := first_set(BRANCH)) is not None:
        return named
    here = Path.cwd()
    git = next((folder / ".git" for folder in (here, *here.parents) if (folder / ".git").exists()), None)
    try:
        if git is not None and git.is_file():  # a worktree's, which names its folder
            git = git.parent / git.read_text("utf-8").partition(":")[2].strip()
        head = "" if git is None else (git / "HEAD").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def variables_given(pairs: tuple[str, ...]) -> Mapping[str, str]:
    """The variables of `--var NAME=VALUE`; raises `BadInputError` for what is none."""
    variables: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.strip():
            raise BadInputError(
                f"--var: expected NAME=VALUE, got {pair!r}.", remedy="For example: --var language=German."
            )
        variables[name.strip()] = value
    return variables


def narrowed(pattern: str | None, first: int | None, failing: str | None, common: Common) -> Narrowed:
    """Which tests are evaluated; those that failed are read from a results file, or from a stored evaluation."""
    if failing is None:
        return Narrowed(pattern, first)
    file = Path(failing)
    variables = failing_in(file) if file.is_file() or file.suffix == ".json" else run(partial(_stored, failing, common))
    return Narrowed(pattern, first, variables)


async def _stored(ident: str, common: Common) -> tuple[Json, ...]:
    async with session(replace(common, read_only=True)) as engine:
        return await failing_tests(engine, ident)
