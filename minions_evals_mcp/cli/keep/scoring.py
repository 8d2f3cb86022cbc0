"""Checking recorded outputs in bulk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import anyio
import orjson
from cyclopts import Parameter
from pydantic_core import to_json

from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.engine.judge.door import Judges
from minions_evals_mcp.errors import legible
from minions_evals_mcp.interop.score_rows import Answer, Asked, Source, Tally, answers, batches, read_row
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import Evidence, GradeNeed, ServiceNeed
from minions_evals_mcp.scoring.verdicts.examination import Examination

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import EngineConfig
    from minions_evals_mcp.engine.judge.row_grades import RowGrades
    from minions_evals_mcp.models.registry import Models

FAILED = 1
BROKEN = 3


def score(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    fail: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    trust_code: Annotated[bool, Parameter(negative="")] = False,
    judge_model: str | None = None,
    max_cost_usd: float | None = None,
) -> int:
    """Check recorded outputs: a JSON row in, a verdict out, streaming; nothing is kept.

    A row is {id, output, assert: […], threshold?, latencyMs?, cost?}; its answer {id, pass, score, results}
    or {id, error}. What a model decides (llm-rubric, factuality) is paid for again each time.
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
    judge_model
        Who grades llm-rubric and factuality, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    max_cost_usd
        Ask the judge no more before it might cost more than this; the rows that need it then say so.
    """
    how = Answering(read_row, "passed", trust_code, judge_model, max_cost_usd)
    return answer_rows(file, how, fail=fail, json=json)


@dataclass(frozen=True, slots=True)
class Answering:
    """The reading of rows, the word for one that came out well, whether their code runs unconfined, and who judges."""

    read: Callable[[str | bytes], Asked]
    good: str
    trusted: bool
    judge_model: str | None = None
    max_cost_usd: float | None = None


def answer_rows(file: str, how: Answering, *, fail: bool, json: bool) -> int:
    """Answers every row of the file and sums up; the exit code."""
    tally = Tally()
    if file == "-":
        spent = anyio.run(partial(_stream, cast("Source", sys.stdin.buffer), how, tally))
    else:
        with legible(Path(file)):
            opened = Path(file).open("rb")  # noqa: SIM115  closed below
        with opened:
            spent = anyio.run(partial(_stream, opened, how, tally))
    _summarize(tally, how.good, spent, as_json=json)
    if tally.errors:
        return BROKEN
    return FAILED if fail and tally.passed < tally.rows else 0


async def _stream(source: Source, how: Answering, tally: Tally) -> dict[str, float]:
    """Returns what the judge was paid, once every row is answered."""
    async with RegexSandbox() as regexes, Snippets(trusted=how.trusted) as snippets, AsyncExitStack() as opened:
        models = _Opened(how, opened)
        judges = Judges(regexes, snippets, models.embedder, graders=models)
        if how.judge_model is not None:
            models.grades()  # a name that is none is refused before anything is checked
        for batch in batches(source):
            answered = await answers(batch, judges, tally, how.read)
            sys.stdout.buffer.write(b"".join(map(_line, answered)))
            sys.stdout.buffer.flush()
        return models.spent()


def _line(answer: Answer) -> bytes:
    try:
        return orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair, a whole number over 64 bits
        return to_json(answer) + b"\n"


class _Opened:
    """The models that the options or the environment name: opened once, where a row needs them, closed with the command."""

    def __init__(self, how: Answering, opened: AsyncExitStack) -> None:
        self.how = how
        self.opened = opened
        self.asked = False

    @cached_property
    def _models(self) -> tuple[EngineConfig, Models]:
        from minions_evals_mcp.cli.session import DEFAULTS, engine_config  # noqa: PLC0415  0.1 s that most rows do not need
        from minions_evals_mcp.models.registry import Models  # noqa: PLC0415  as above
        from minions_evals_mcp.settings import settings_here  # noqa: PLC0415  as above

        config = engine_config(DEFAULTS, settings_here(), judge_model=self.how.judge_model)
        models = Models(config.providers)
        self.opened.push_async_exit(models)
        return config, models

    @cached_property
    def _embedder(self) -> Embedder:
        from minions_evals_mcp.engine.embedders import open_embedder  # noqa: PLC0415  as above

        config, models = self._models
        return open_embedder(config.embedder, models)

    @cached_property
    def _grades(self) -> RowGrades:
        from minions_evals_mcp.engine.judge.row_grades import row_grades  # noqa: PLC0415  as above

        return row_grades(*self._models, max_cost_usd=self.how.max_cost_usd)

    def embedder(self) -> Embedder:
        """Returns what measures likeness in meaning."""
        return self._embedder

    async def graded(
        self, page: Sequence[tuple[Examination[Any], Sequence[GradeNeed | ServiceNeed]]], evidence: Evidence
    ) -> list[Evidence]:
        """The rows' evidence with what the judge says; services are not asked of rows."""
        if not any(isinstance(need, GradeNeed) for _, needs in page for need in needs):
            return [evidence] * len(page)
        return await self.grades().graded(page, evidence)

    def grades(self) -> RowGrades:
        """Returns what a model decides, or why there is none."""
        self.asked = True
        return self._grades

    def spent(self) -> dict[str, float]:
        """Calls, tokens and dollars."""
        return self._grades.budget.news() if self.asked else {}


def _summarize(tally: Tally, good: str, spent: dict[str, float], *, as_json: bool) -> None:
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
