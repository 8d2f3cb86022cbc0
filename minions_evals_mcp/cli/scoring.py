"""Checking recorded outputs in bulk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, cast

import anyio
from cyclopts import Parameter
from pydantic_core import to_json

from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.engine.evidence import fetched
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.score_rows import Asked, Source, Tally, answers, batches, read_row
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.settings import read_settings

FAILED = 1
BROKEN = 3


def score(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    fail: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    trust_code: Annotated[bool, Parameter(negative="")] = False,
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
    trust_code
        Run the code of python and javascript assertions with the real interpreters, which can do whatever you can.
    """
    return answer_rows(file, Answering(read_row, "passed", trust_code), fail=fail, json=json)


@dataclass(frozen=True, slots=True)
class Answering:
    """How rows are read, the word for one that came out well, and whether their code runs unconfined."""

    read: Callable[[str | bytes], Asked]
    good: str
    trusted: bool


def answer_rows(file: str, how: Answering, *, fail: bool, json: bool) -> int:
    """Answers every row of the file and sums up; the exit code."""
    tally = Tally()
    if file == "-":
        anyio.run(partial(_stream, cast("Source", sys.stdin.buffer), how, tally))
    else:
        try:
            opened = Path(file).open("rb")  # noqa: SIM115  closed below
        except OSError as error:
            raise BadInputError(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from None
        with opened:
            anyio.run(partial(_stream, opened, how, tally))
    _summarize(tally, how.good, as_json=json)
    if tally.errors:
        return BROKEN
    return FAILED if fail and tally.passed < tally.rows else 0


async def _stream(source: Source, how: Answering, tally: Tally) -> None:
    async with RegexSandbox() as regexes, Snippets(trusted=how.trusted) as snippets, AsyncExitStack() as opened:
        fetch = partial(fetched, regexes=regexes, snippets=snippets, embedder=cache(partial(_embedder, opened)))
        for batch in batches(source):
            said = await answers(batch, fetch, tally, how.read)
            sys.stdout.buffer.write(b"".join(to_json(one) + b"\n" for one in said))
            sys.stdout.buffer.flush()


def _embedder(opened: AsyncExitStack) -> Embedder:
    """The embedder that the environment names, closed with the command."""
    from minions_evals_mcp.cli.session import DEFAULTS, engine_config  # noqa: PLC0415  0.1 s that most rows do not need
    from minions_evals_mcp.engine.embedders import open_embedder  # noqa: PLC0415  as above
    from minions_evals_mcp.models.registry import Models  # noqa: PLC0415  as above

    config = engine_config(DEFAULTS, read_settings())
    models = Models(config.providers)
    opened.push_async_exit(models)
    return open_embedder(config.embedder, models)


def _summarize(tally: Tally, good: str, *, as_json: bool) -> None:
    if as_json:
        told = to_json({"rows": tally.rows, good: tally.passed, "errors": tally.errors}).decode()
    else:
        told = f"{tally.passed} of {tally.rows} {good}" + (
            f", {tally.errors} could not be checked" if tally.errors else ""
        )
    sys.stderr.write(told + "\n")
