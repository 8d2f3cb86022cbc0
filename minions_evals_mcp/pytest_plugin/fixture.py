"""What the fixture `evals` gives a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
from pydantic import JsonValue

from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.engine.records.save_records import save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.interop.row_answers import answered, row_of
from minions_evals_mcp.interop.score_rows import Answer, Row
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.settings import read_settings

T = TypeVar("T")
NAMED = 10


def waited(work: Callable[[], Awaitable[T]]) -> T:
    """What the work returns, run in a thread of its own: the test itself may be async."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, work).result()


class Evals:
    """Judges outputs within a test. What does not pass is an AssertionError with the reasons; what cannot be judged is not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(
        self, output: JsonValue, *, assertions: Sequence[dict[str, JsonValue]], threshold: float | None = None
    ) -> Answer:
        """The verdict on an output: `{pass, score, results: [{type, pass, score, reason}]}`.

        Raises AssertionError where it does not pass, `InvalidRecordError` for an assertion that is none,
        `InstrumentError` where one could not be carried out.
        Example: `evals.check(reply, assertions=[{"type": "icontains", "value": "refund"}])`
        """
        __tracebackhide__ = True  # a failure shows the caller's line
        found = waited(partial(self._checked, row_of(output, assertions, threshold)))
        if not found["pass"]:
            raise AssertionError(_reasons(found))
        return found

    async def _checked(self, row: Row) -> Answer:
        if not row.needs():
            return row.answer()
        config = engine_config(read_settings(), Chosen(db=self._folder / "evals.db"))
        async with open_engine(config) as engine:
            return await answered(engine, row)

    def run_benchmark(  # a test names what it asks for
        self,
        benchmark_id: str,
        *,
        suite: Path | str | None = None,
        prompt_version: str | None = None,
        target: str | None = None,
        min_score: float | None = None,
        fail_on_regression: bool = False,
    ) -> RunSummary:
        """The benchmark's run, on a suite file's records in a store of this test, else on the store that is set up.

        Raises AssertionError where a gate fails, `InstrumentError` where an output could not be judged.
        Example: `evals.run_benchmark("support", suite="support.yaml", min_score=0.9)`
        """
        __tracebackhide__ = True
        request = RunRequest(
            subject_id=benchmark_id, prompt_version_ref=prompt_version, target=target, triggered_by="pytest"
        )
        summary = waited(partial(self._ran, request, None if suite is None else Path(suite)))
        _vet(summary, min_score=min_score, fail_on_regression=fail_on_regression)
        return summary

    async def _ran(self, request: RunRequest, suite: Path | None) -> RunSummary:
        chosen = Chosen() if suite is None else Chosen(db=self._folder / "evals.db")
        async with open_engine(engine_config(read_settings(), chosen)) as engine:
            if suite is not None:
                arrivals, relations = read_suite(suite, new_id=engine.new_id, now=engine.clock())
                await save_records(engine, arrivals, relations)
            job = await run_benchmark(engine, request)
            return await summarize(engine, job.id)


def _reasons(found: Answer) -> str:
    results = found["results"]
    assert isinstance(results, list)
    failed = [one for one in results if isinstance(one, dict) and not one["pass"]]
    return f"score {found['score']}: " + "; ".join(f"{one['type']}: {one['reason']}" for one in failed)


def _vet(summary: RunSummary, *, min_score: float | None, fail_on_regression: bool) -> None:
    __tracebackhide__ = True
    if summary.state == "awaiting-judgments":
        raise BadInputError(
            f"{summary.reason}.",
            remedy="In tests, judge by rules or by a model: set ANTHROPIC_API_KEY, or write guides.",
        )
    if summary.unscored and any(one.outcome != "skipped" for one in summary.unscored):
        first = summary.unscored[0]
        raise InstrumentError(f"{len(summary.unscored)} outputs could not be judged, the first: {first.reason}")
    assert summary.benchmark_run is not None
    score = summary.benchmark_run["overallScore"]
    assert isinstance(score, float)
    if min_score is not None and score < min_score:
        raise AssertionError(f"{summary.subject_id} scores {score:.3f}, below {min_score:g}: {_failed(summary)}")
    if fail_on_regression and summary.regression is not None:
        raise AssertionError(str(summary.regression["summary"]))


def _failed(summary: RunSummary) -> str:
    shown = "; ".join(f"{one.title}: {one.description}" for one in summary.failures[:NAMED])
    more = f"; and {len(summary.failures) - NAMED} more" if len(summary.failures) > NAMED else ""
    return shown + more
