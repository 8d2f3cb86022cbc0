"""A suite as a file of tests: each active case is one, with the judge's rationale as its message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from minions_evals_mcp.engine.context import open_engine, uuid4, wall_clock
from minions_evals_mcp.engine.records.save_records import save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_test_case import run_test_case
from minions_evals_mcp.errors import BadInputError, EvalsError, InstrumentError
from minions_evals_mcp.evaluation.run_sync import run_sync
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.settings import settings_here
from minions_evals_mcp.store import jobs
from minions_evals_mcp.temporary_folders import temporary_folder

JUDGES = ("auto", "heuristic", "llm")


class CaseFailedError(AssertionError):
    """The output did not pass; the message says why."""


class SuiteOfCases(pytest.File):
    """One suite. Its records lie in a store of this process, made at the first of its tests: workers share nothing."""

    _folder: Path | None = None
    _opened: ExitStack

    def collect(self) -> Iterator[CaseOfSuite]:
        """The active cases in the order of the file."""
        try:
            arrivals, _ = read_suite(self.path, new_id=uuid4, now=wall_clock())
        except EvalsError as error:
            raise self.CollectError(str(error)) from None
        for arrival in arrivals:
            record = arrival.record
            if isinstance(record.fields, TestCase) and record.fields.status == "active":
                yield CaseOfSuite.from_parent(self, name=record.id, title=record.title, line=_line(arrival.where()))  # pyright: ignore[reportUnknownMemberType]  pytest leaves the arguments open

    def setup(self) -> None:
        """Takes the suite's records in."""
        self._opened = ExitStack()
        self._folder = self._opened.enter_context(temporary_folder("suite"))
        run_sync(self._imported)

    def teardown(self) -> None:
        """Lets go of the store."""
        if self._folder is not None:
            self._opened.close()

    @property
    def store(self) -> Path:
        """The store of this file's tests."""
        assert self._folder is not None
        return self._folder / "evals.db"

    async def _imported(self) -> None:
        async with open_engine(engine_config(settings_here(), Chosen(db=self.store))) as engine:
            arrivals, relations = read_suite(self.path, new_id=engine.new_id, now=engine.clock())
            await save_records(engine, arrivals, relations)


class CaseOfSuite(pytest.Item):
    """One case of a suite."""

    def __init__(self, *, title: str, line: int, **named: Any) -> None:
        super().__init__(**named)
        self._title = title
        self._line = line

    def runtest(self) -> None:
        """Judges the case's output; raises where it did not pass, skips where there is none."""
        _tell(run_sync(self._judged))

    async def _judged(self) -> RunSummary:
        suite = self.parent
        assert isinstance(suite, SuiteOfCases)
        judge = self.config.getini("evals_judge")
        if judge not in JUDGES:
            raise BadInputError(f"evals_judge is {judge!r} in pytest's settings.", remedy=f"Use {', '.join(JUDGES)}.")
        request = RunRequest(
            subject_id=self.name,
            judge=judge,
            target=self.config.getini("evals_target") or None,
            triggered_by="pytest",
            key=f"pytest:{uuid4()}",
        )
        async with open_engine(engine_config(settings_here(), Chosen(db=suite.store))) as engine:
            try:
                await run_test_case(engine, request)
            except (BadInputError, InstrumentError):
                known = await engine.store.read(lambda db: jobs.job_by_key(db, str(request.key)))
                if known is None:  # refused before anything ran
                    raise
            return await summarize(engine, str(request.key))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Returns what was wrong, without a traceback through our own code."""
        if isinstance(excinfo.value, CaseFailedError | EvalsError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Returns where the case stands, and its title."""
        return self.path, self._line, f"{self.path.name}::{self._title}"


def _tell(summary: RunSummary) -> None:
    if summary.state == "awaiting-judgments":
        pytest.skip("the output waits for a person or the caller to judge it")
    for unscored_case in summary.unscored:
        if unscored_case.outcome == "skipped":
            pytest.skip(unscored_case.reason)
        raise InstrumentError(f"the output could not be judged ({unscored_case.outcome}): {unscored_case.reason}")
    for failure in summary.failures:
        raise CaseFailedError("\n".join([f"{failure.failure_type}: {failure.description}", *_rationales(summary)]))


def _rationales(summary: RunSummary) -> list[str]:
    judged = [judgment for run in summary.test_runs for judgment in cast("list[dict[str, Any]]", run["judgments"])]
    return [
        f"  {judgment['criterionId']}: {judgment['score']:g} of {judgment['maxScore']:g} by {judgment['judgedBy']}: {judgment['rationale']}"
        for judgment in judged
    ]


def _line(where: str) -> int:
    """The line (from 0) that `file:line` names."""
    number = where.rpartition(":")[2]
    return int(number) - 1 if number.isdecimal() else 0
