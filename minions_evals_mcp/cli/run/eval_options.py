"""The options of `eval` that promptfoo has, too: which tests are evaluated, with which variables, and where it runs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minions_evals_mcp.cli.session import Common, run, session
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.narrowing import Narrowed, failing_in
from minions_evals_mcp.settings import first_set

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

BRANCH = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME")
"""The variables in which CI systems name the branch."""


def branch_here() -> str | None:
    """The branch of the repository that the command runs in: as the CI system names it, else as git does."""
    if (named := first_set(BRANCH)) is not None:
        return named
    try:
        found = subprocess.run(["git", "rev-parse", "--abbrev-ref", "HEAD"], capture_output=True, text=True, check=True)  # noqa: S607  the git of whoever runs it
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() or None


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
        return await _failing(engine, ident)


async def _failing(engine: Engine, ident: str) -> tuple[Json, ...]:
    """The variables of the tests that did not hold in the newest evaluation of that benchmark."""
    from minions_evals_mcp.engine.config_eval.stored_matrix import stored_matrix  # noqa: PLC0415  only this option needs it
    from minions_evals_mcp.engine.meant_ids import meant_id  # noqa: PLC0415  as above
    from minions_evals_mcp.scoring.reserved_inputs import HIDDEN  # noqa: PLC0415  as above

    benchmark_id = await meant_id(engine, ident, "benchmark")
    matrix = await engine.store.read(partial(stored_matrix, benchmark_id=benchmark_id))
    return tuple(
        {name: value for name, value in row.variables.items() if name not in HIDDEN}
        for row in matrix.rows
        if not row.holds
    )
