"""Checking recorded outputs in bulk."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import anyio
from cyclopts import Parameter
from pydantic_core import to_json

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.score_rows import Source, Tally, answers, batches
from minions_evals_mcp.sandbox.regex import RegexSandbox

FAILED = 1
BROKEN = 3


def score(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    fail: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Check recorded outputs: a JSON row in, a verdict out, streaming; nothing is kept.

    A row is {id, output, assert: […], threshold?, latencyMs?, cost?}; its answer {id, pass, score, results}
    or {id, error}.
    The summary goes to standard error. Exit 3 if a row could not be checked, 1 with --fail if one did not pass.
    Example: echo '{"id":"1","output":"Paris","assert":[{"type":"contains","value":"Paris"}]}' | minions-evals score -

    Parameters
    ----------
    file
        JSON lines; `-` is standard input.
    fail
        Exit 1 if any row does not pass.
    json
        The rows are JSON in any case; with this the summary is too.
    """
    tally = Tally()
    if file == "-":
        anyio.run(partial(_score, cast("Source", sys.stdin.buffer), tally))
    else:
        try:
            opened = Path(file).open("rb")  # noqa: SIM115  closed below
        except OSError as error:
            raise BadInputError(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from None
        with opened:
            anyio.run(partial(_score, opened, tally))
    _summarize(tally, as_json=json)
    if tally.errors:
        return BROKEN
    return FAILED if fail and tally.passed < tally.rows else 0


async def _score(source: Source, tally: Tally) -> None:
    async with RegexSandbox() as regexes:
        for batch in batches(source):
            said = await answers(batch, regexes, tally)
            sys.stdout.buffer.write(b"".join(to_json(one) + b"\n" for one in said))
            sys.stdout.buffer.flush()


def _summarize(tally: Tally, *, as_json: bool) -> None:
    if as_json:
        told = to_json({"rows": tally.rows, "passed": tally.passed, "errors": tally.errors}).decode()
    else:
        told = f"{tally.passed} of {tally.rows} passed" + (
            f", {tally.errors} could not be checked" if tally.errors else ""
        )
    sys.stderr.write(told + "\n")
