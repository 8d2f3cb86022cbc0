"""Checking recorded outputs in bulk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import anyio
from cyclopts import Parameter
from pydantic_core import to_json

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.score_rows import Asked, Source, Tally, answers, batches, read_row
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
    return answer_rows(file, read_row, good="passed", fail=fail, json=json)


def answer_rows(file: str, read: Callable[[str | bytes], Asked], *, good: str, fail: bool, json: bool) -> int:
    """Answers every row of the file and sums up, `good` being the word for a row that came out well; the exit code."""
    tally = Tally()
    if file == "-":
        anyio.run(partial(_stream, cast("Source", sys.stdin.buffer), read, tally))
    else:
        try:
            opened = Path(file).open("rb")  # noqa: SIM115  closed below
        except OSError as error:
            raise BadInputError(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from None
        with opened:
            anyio.run(partial(_stream, opened, read, tally))
    _summarize(tally, good, as_json=json)
    if tally.errors:
        return BROKEN
    return FAILED if fail and tally.passed < tally.rows else 0


async def _stream(source: Source, read: Callable[[str | bytes], Asked], tally: Tally) -> None:
    async with RegexSandbox() as regexes:
        for batch in batches(source):
            said = await answers(batch, regexes, tally, read)
            sys.stdout.buffer.write(b"".join(to_json(one) + b"\n" for one in said))
            sys.stdout.buffer.flush()


def _summarize(tally: Tally, good: str, *, as_json: bool) -> None:
    if as_json:
        told = to_json({"rows": tally.rows, good: tally.passed, "errors": tally.errors}).decode()
    else:
        told = f"{tally.passed} of {tally.rows} {good}" + (
            f", {tally.errors} could not be checked" if tally.errors else ""
        )
    sys.stderr.write(told + "\n")
