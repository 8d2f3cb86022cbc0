"""Checking recorded outputs in bulk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import orjson
from pydantic_core import to_json

from minions_evals_mcp.cli.options import file_name, flag
from minions_evals_mcp.cli.telling import tell, wire_rendered
from minions_evals_mcp.errors import legible
from minions_evals_mcp.interop.score_rows import (
    Answer,
    Asked,
    Batch,
    RowSource,
    RowTally,
    answers_alone,
    batches,
    read_row,
    rows_of,
)
from minions_evals_mcp.next_steps import is_rendered

if TYPE_CHECKING:
    from pydantic import JsonValue

FAILED = 1
BROKEN = 3


def score(
    file: Annotated[str, file_name()],
    /,
    *,
    fail: Annotated[bool, flag()] = False,
    json: Annotated[bool, flag()] = False,
    trust_code: Annotated[bool, flag()] = False,
    judge_model: str | None = None,
    max_cost_usd: float | None = None,
) -> int:
    """Check recorded outputs: one JSON row in, one verdict out, streaming. Nothing is saved.

    A row is {id, output, assert: […], threshold?, latencyMs?, cost?}. The answer is {id, pass, score, results} or
    {id, error}. Checks that a model grades (llm-rubric, factuality) are not cached, so you pay for them each time.
    The summary goes to standard error. Exit 3 if a row could not be checked. With --fail, exit 1 if a row did not
    pass.
    Example: echo '{"id":"1","output":"Paris","assert":[{"type":"contains","value":"Paris"}]}' | minions-evals score -

    Parameters
    ----------
    file
        JSON lines. `-` is standard input.
    fail
        Exit 1 if any row does not pass.
    json
        The rows are JSON in any case; with this the summary is too.
    trust_code
        Run the code of python and javascript assertions outside the sandbox, with all your permissions.
    judge_model
        Model that grades llm-rubric and factuality, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    max_cost_usd
        Stop calling the judge before it might cost more than this. Rows that still need it report that.
    """
    how = RowScoring(read_row, "passed", trust_code, judge_model, max_cost_usd)
    return answer_rows(file, how, fail=fail, json=json)


@dataclass(frozen=True, slots=True)
class RowScoring:
    """The reading of rows, the word for one that came out well, whether their code runs unconfined, and who judges."""

    read: Callable[[str | bytes], Asked]
    good: str
    trusted: bool
    judge_model: str | None = None
    max_cost_usd: float | None = None


def answer_rows(file: str, how: RowScoring, *, fail: bool, json: bool) -> int:
    """Answers every row of the file and sums up; the exit code."""
    tally = RowTally()
    if file == "-":
        spent = _answered(cast("RowSource", sys.stdin.buffer), how, tally)
    else:
        with legible(Path(file)):
            opened = Path(file).open("rb")  # noqa: SIM115  closed below
        with opened:
            spent = _answered(opened, how, tally)
    _summarize(tally, how.good, spent, as_json=json)
    if tally.errors:
        return BROKEN
    return FAILED if fail and tally.passed < tally.rows else 0


def _answered(source: RowSource, how: RowScoring, tally: RowTally) -> dict[str, float]:
    """Returns what the judge was paid, once every row is answered: without an event loop, until a row needs what is outside."""
    lines = batches(source)
    if how.judge_model is not None:  # a name that is none is refused before anything is checked
        return _answer_with_evidence(lines, how, tally)
    for batch in lines:
        verdicts = answers_alone(rows_of(batch, how.read), tally)
        if verdicts is None:
            return _answer_with_evidence(chain([batch], lines), how, tally)
        _write(verdicts)
    return {}


def _answer_with_evidence(lines: Iterable[Batch], how: RowScoring, tally: RowTally) -> dict[str, float]:
    import anyio  # noqa: PLC0415  most rows need no evidence, nor the tenth of a second that what fetches it takes

    from minions_evals_mcp.cli.keep.row_evidence import answer_rows  # noqa: PLC0415  as above

    pages = (rows_of(batch, how.read) for batch in lines)
    models = {"judge_model": how.judge_model, "max_cost_usd": how.max_cost_usd}
    return anyio.run(partial(answer_rows, pages, tally, _write, trusted=how.trusted, **models))


MARK = b"\xee\x80"
"""How the signs begin in UTF-8 between which a next step stands: few lines have them."""


def _write(verdicts: Sequence[Answer]) -> None:
    sys.stdout.buffer.write(b"".join(map(_line, verdicts)))
    sys.stdout.buffer.flush()


def _line(answer: Answer) -> bytes:
    line = _json(answer)
    return _json(wire_rendered(cast("JsonValue", answer))) if MARK in line and not is_rendered(line.decode()) else line


def _json(answer: object) -> bytes:
    try:
        return orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair, a whole number over 64 bits
        return to_json(answer) + b"\n"


def _summarize(tally: RowTally, good: str, spent: dict[str, float], *, as_json: bool) -> None:
    if as_json:
        paid = {"spent": spent} if spent else {}
        line = to_json({"rows": tally.rows, good: tally.passed, "errors": tally.errors, **paid}).decode()
    else:
        unchecked = f", {tally.errors} could not be checked" if tally.errors else ""
        line = f"{tally.passed} of {tally.rows} {good}{unchecked}{_paid(spent)}"
    tell(line + "\n", aside=True)


def _paid(spent: dict[str, float]) -> str:
    if not spent.get("calls"):
        return ""
    cost = "price unknown" if spent.get("unpricedCalls") else f"${spent.get('costUsd', 0):.4f}"
    return f"; {spent['calls']:g} model calls, {cost}"
