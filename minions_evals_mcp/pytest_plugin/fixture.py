"""The fixture `evals` of a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.engine.answers.gates import (
    open_regression_words,
    regression_gate,
    score_gate,
    score_words,
    skipped_words,
    stays_red,
)
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.engine.records.save_records import save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.evaluation.case import Cases
from minions_evals_mcp.evaluation.checks import PASSES_AT, Check, Checks
from minions_evals_mcp.evaluation.evaluate import evaluate
from minions_evals_mcp.evaluation.one_check import CheckAsked, kept_check
from minions_evals_mcp.evaluation.result import EvaluationResult
from minions_evals_mcp.evaluation.run_sync import run_sync
from minions_evals_mcp.evaluation.shown import next_command, short_line
from minions_evals_mcp.interop.score_rows import Answer
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.presentation.next_steps import PythonCalls, in_terms
from minions_evals_mcp.settings import settings_here
from minions_evals_mcp.stats.limits import Undecided, settled

NAMED = 10
LONGEST = 100


@dataclass(slots=True)
class Trials:
    """The number of runs of a marked test, and which share of its runs must pass."""

    trials: int = 1
    min_pass_rate: float = 1.0
    at: int = 1


class Evals:
    """Judges outputs within a test. What does not pass is an AssertionError with the reasons; what cannot be judged is not.

    What it judges is kept in the store that is set up, under the test's own name.
    """

    def __init__(
        self, folder: Path, node_id: str, trials: Trials | None = None, tell: Callable[[Json], None] | None = None
    ) -> None:
        self._folder = folder
        self._node_id = node_id
        self._tell = tell
        self.trials = trials or Trials()
        self.evaluated = False
        """Whether the test has evaluated something: trials are then those of its cases."""
        self._checked_so_far = 0

    def begin_trial(self, number: int) -> None:
        """Another run of the same test begins: its checks are those of the run before."""
        self.trials.at = number
        self._checked_so_far = 0

    def check(
        self,
        output: JsonValue,
        *,
        assertions: Sequence[Check] = (),
        checks: Sequence[Check] = (),
        expected: JsonValue = None,
        threshold: float | None = None,
    ) -> Answer:
        """The verdict on an output, which is kept: `{id, pass, score, results: [{type, pass, score, reason}]}`.

        The output is a text, a mapping, or `Output(text, tool_calls=[…])`, of which the calls can be checked, too. `checks` are
        those of `evaluate` (a name is an assertion whose value is `expected`, a function is called with output and case);
        `assertions` is an older name of theirs.
        Raises AssertionError where it does not pass, `InvalidRecordError` for an assertion that is none,
        `InstrumentError` where one could not be carried out.
        Example: `evals.check(reply, assertions=[{"type": "icontains", "value": "refund"}])`
        """
        __tracebackhide__ = True  # a failure shows the caller's line
        if not assertions and not checks:
            raise BadInputError(
                "there is nothing to check the output by.",
                remedy='evals.check(output, checks=["icontains"], expected="…")',
            )
        self._checked_so_far += 1
        number = self._checked_so_far
        check_request = CheckAsked(
            f"{case_id(self._node_id)}/{number}",
            self._node_id if number == 1 else f"{self._node_id} (check {number})",
            output,
            Checks((*assertions, *checks), PASSES_AT),
            expected,
            threshold,
            is_history=self.trials.at == 1,
        )
        answer: Answer = {"pass": None}
        broken: InstrumentError | None = None
        try:
            answer = run_sync(partial(self._kept_answer, check_request))
        except InstrumentError as error:
            broken = InstrumentError(error.message_text, remedy=error.remedy_text)
        self._say({"kind": "check", "name": check_request.case_id, "passed": answer["pass"]})
        if broken is not None:
            raise broken  # here, so that pytest shows the test's own line, and nothing of ours below it
        if not answer["pass"]:
            raise AssertionError(_reasons(answer))
        return answer

    async def _kept_answer(self, request: CheckAsked) -> Answer:
        async with open_engine(engine_config(settings_here())) as engine:
            return await kept_check(engine, request)

    def evaluate(self, task: Callable[..., object], cases: Cases, **options: Any) -> EvaluationResult:
        """As `evaluate(task, cases, …)`, named by the test; trials and min_pass_rate are the mark's where none are given.

        Example: `assert evals.evaluate(answer, "cases.csv", checks=["icontains"]).passed`
        """
        self.evaluated = True
        if self.trials.trials > 1:
            options.setdefault("trials", self.trials.trials)
        if self.trials.min_pass_rate < 1:
            options.setdefault("min_pass_rate", self.trials.min_pass_rate)
        options.setdefault("name", case_id(self._node_id))
        options.setdefault("progress", False)
        result = evaluate(task, cases, **options)
        self._say(
            {
                "kind": "evaluation", "name": result.name, "passed": result.passed, "line": short_line(result),
                "next": next_command(result),
            }
        )  # fmt: skip
        return result

    def _say(self, entry: Json) -> None:
        if self._tell is not None:
            self._tell(entry)

    def run_benchmark(  # noqa: PLR0913  a test names what it asks for
        self,
        benchmark_id: str,
        *,
        suite: Path | str | None = None,
        prompt_version: str | None = None,
        target: str | None = None,
        min_score: float | None = None,
        fail_on_regression: bool = False,
        allow_skipped: bool = False,
        undecided: Undecided | None = None,
        literal: bool = False,
    ) -> RunSummary:
        """The benchmark's run, on a suite file's records in a store of this test, else on the store that is set up.

        Raises AssertionError where a gate fails, `InstrumentError` where an output could not be judged, a gate cannot look at all
        outputs and `allow_skipped` does not say so, or too few cases decide it and `undecided` ("pass", "fail") does not.
        Example: `evals.run_benchmark("support", suite="support.yaml", min_score=0.9)`
        """
        __tracebackhide__ = True
        request = RunRequest(
            subject_id=benchmark_id, prompt_version_ref=prompt_version, target=target, triggered_by="pytest"
        )
        summary = run_sync(partial(self._ran, request, None if suite is None else Path(suite)))
        _vet(
            summary, min_score=min_score, fail_on_regression=fail_on_regression, undecided=undecided, literal=literal
        )  # fmt: skip
        is_gated = min_score is not None or fail_on_regression
        if is_gated and not allow_skipped and (missing := skipped_words(summary)):
            raise InstrumentError(missing)
        return summary

    async def _ran(self, request: RunRequest, suite: Path | None) -> RunSummary:
        chosen = Chosen() if suite is None else Chosen(db=self._folder / "evals.db")
        async with open_engine(engine_config(settings_here(), chosen)) as engine:
            if suite is not None:
                arrivals, relations = read_suite(suite, new_id=engine.new_id, now=engine.clock())
                await save_records(engine, arrivals, relations, edits=True)
            job = await run_benchmark(engine, request)
            return await summarize(engine, job.id)


def case_id(node_id: str) -> str:
    """The test's name as an id: what an id may not hold is a hyphen, and then a digest tells it from its like."""
    clean = re.sub(r"[^A-Za-z0-9._:/@-]+", "-", node_id).strip("-")
    return (
        clean if clean == node_id and len(clean) <= LONGEST else f"{clean[-LONGEST + 9 :]}-{text_digest(node_id)[:8]}"
    )


def _reasons(answer: Answer) -> str:
    results = answer["results"]
    assert isinstance(results, list)
    failed = [result for result in results if isinstance(result, dict) and not result["pass"]]
    return f"score {answer['score']}: " + "; ".join(f"{reason['type']}: {reason['reason']}" for reason in failed)


def _vet(
    summary: RunSummary,
    *,
    min_score: float | None,
    fail_on_regression: bool,
    undecided: Undecided | None,
    literal: bool,
) -> None:
    __tracebackhide__ = True
    if summary.state == "awaiting-judgments":
        raise BadInputError(
            f"{summary.reason}.",
            remedy="In tests, judge by rules or by a model: set ANTHROPIC_API_KEY, or write guides.",
        )
    unjudged = [unscored_case for unscored_case in summary.unscored if unscored_case.outcome != "skipped"]
    if unjudged:
        raise InstrumentError(f"{len(unjudged)} outputs could not be judged, the first: {unjudged[0].reason}")
    assert summary.benchmark_run is not None
    if min_score is not None:
        limit = score_gate(summary, min_score, literal=literal)
        gate = settled(limit.gate, undecided)
        words = in_terms(score_words(summary, limit), PythonCalls())
        if gate == "failed":
            raise AssertionError(f"{summary.subject_id}: {words}: {_failed(summary)}")
        if gate == "undecided":
            raise InstrumentError(f"{summary.subject_id}: {words}")
    if fail_on_regression:
        fallen = settled(regression_gate(summary, literal=literal), undecided)
        if fallen == "undecided":
            raise InstrumentError(in_terms(open_regression_words(summary), PythonCalls()))
        if fallen == "failed":
            fell = summary.regression or summary.fall
            assert fell is not None
            raise AssertionError(f"{fell['summary']} {_stays_red(summary)}")


def _stays_red(summary: RunSummary) -> str:
    return in_terms(stays_red(summary.run_id), PythonCalls())


def _failed(summary: RunSummary) -> str:
    shown = "; ".join(f"{failure.title}: {failure.description}" for failure in summary.failures[:NAMED])
    more = f"; and {len(summary.failures) - NAMED} more" if len(summary.failures) > NAMED else ""
    return shown + more
