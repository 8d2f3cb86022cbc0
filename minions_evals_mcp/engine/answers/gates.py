"""Gates on a fall of the pass rate: they fail on evidence, or by the literal rule where that is asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import UNSCORED, Evidence
from minions_evals_mcp.domain.values import first_named, one_line, with_short_ids
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.stats.limits import Limit, limit_gate
from minions_evals_mcp.stats.paired import FEWEST_CHANGED, SIGNIFICANT
from minions_evals_mcp.stats.regression import Gate, fall_gate, pass_rate_dropped

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary

NAMED_SKIPPED = 3


def regression_gate(summary: RunSummary, *, literal: bool = False) -> Gate:
    """The gate on a benchmark-run's fall; `literal` fails it on the documents' rule alone, whatever chance could do.

    A fall of passes or scores that is more than chance fails it, of whatever size.

    A run is measured against the newest earlier one that held itself or was accepted: the same run again stays red. Where there
    is an earlier run and no case can be compared with it, the gate is undecided. A first run passes.
    """
    if _not_compared(summary):
        return "undecided"
    regression = summary.regression
    if literal:
        return "failed" if regression is not None and regression.get("byRule", True) else "held"
    if summary.fall is not None and not (regression or {}).get("withinNoiseFloor"):
        return "failed"
    if regression is None:
        return "held"
    better = regression["better"]
    assert isinstance(better, int)
    is_noise = regression.get("withinNoiseFloor") is True
    return fall_gate(cast("Evidence", regression["evidence"]), better=better, is_within_noise=is_noise)


def _not_compared(summary: RunSummary) -> str:
    """Returns why the run is compared with no earlier one, where there is one."""
    return str((summary.benchmark_run or {}).get("notCompared") or "")


def open_regression_words(summary: RunSummary) -> str:
    """Returns why the gate on a run's fall is undecided, and what decides it."""
    if why := _not_compared(summary):
        return (
            f"gate undecided: {with_short_ids(why)}. The next run is compared with this one."
            f" {argument('undecided', 'pass')} takes this run as the new baseline."
        )
    assert summary.regression is not None, "a gate is undecided over a fall"
    sentence = undecided_words(summary.regression["worse"], summary.regression["cases"])
    return f"{sentence} {stays_red(summary.run_id)}"


def compared_words(summary: RunSummary) -> str:
    """Returns which part of a run the gate on its fall has looked at; empty where that is all."""
    fields = summary.benchmark_run or {}
    part = fields.get("comparedPart")
    if isinstance(part, dict):
        compared, cases, gone, since = (part[name] for name in ("compared", "cases", "gone", "since"))
        others = "" if compared == cases else ": the others are new or were edited since"
        not_again = f". {gone} of its cases {'was' if gone == 1 else 'were'} not run again" if gone else ""
        return f"{argument('fail_on_regression')} compared {compared} of {cases} cases with {since}{others}{not_again}."
    if not _not_compared(summary) and fields.get("evidence") is None:
        return f"There is no earlier run: {argument('fail_on_regression')} has nothing to compare with yet."
    return ""


def score_gate(summary: RunSummary, limit: float, *, literal: bool = False) -> Limit:
    """The gate on the overall score of a finished benchmark-run; `literal` compares the figure alone.

    Where another judged it than the benchmark's own judge, which has judged a run before, the figure is none of that judge's:
    the gate stays open.
    """
    fields = summary.benchmark_run
    assert fields is not None, "a gate looks at a finished run"
    score = fields["overallScore"]
    assert isinstance(score, int | float)
    found = limit_gate(float(score), interval_of(fields["scoreCi"]), limit, cases=cases_of(fields), literal=literal)
    return found if literal or summary.own_run is None else replace(found, gate="undecided", cases_needed=None)


def cases_of(fields: Json) -> int:
    """The number of cases of a finished benchmark-run, whose count is of trials."""
    total, trials = fields["totalCount"], fields.get("trials", 1)
    assert isinstance(total, int)
    return max(1, round(total / trials)) if isinstance(trials, int) else total


def interval_of(value: JsonValue) -> tuple[float, float] | None:
    """The two ends of an interval on the wire; None where there is none."""
    if not isinstance(value, list | tuple):
        return None
    low, high = value
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    return float(low), float(high)


def score_words(summary: RunSummary, limit: Limit) -> str:
    """Why the score of a run does not reach its limit, and who judged it where that was not the benchmark's own judge."""
    judges = (summary.benchmark_run or {}).get("judgedBy")
    by = first_named([str(judge) for judge in judges], NAMED_SKIPPED) if isinstance(judges, list | tuple) else ""
    if summary.own_run is not None and limit.gate == "undecided":
        own = Next("rejudge", {"run_id": summary.run_id}, "has it judge the same outputs")
        return (
            f"gate undecided: {by} judged the score {limit.figure:.3f}, and the benchmark's own judge, whose newest run is"
            f" {summary.own_run}, decides the gate. {own}. {argument('literal')} compares the figure alone."
        )
    words = limit_words(limit, summary.subject_id)
    return f"{words} (judged by {by})" if by else words


def limit_words(limit: Limit, benchmark_id: str, name: str = "score") -> str:
    """Why a figure does not reach its limit and, where that can be chance, what would decide it."""
    text = f"{limit.figure:.3f}"
    shown = text if float(text) < limit.limit else f"{limit.figure:g}"
    interval = "" if limit.interval is None else f" (95 % CI {limit.interval[0]:.3f} to {limit.interval[1]:.3f})"
    below = f"{name} {shown} < {limit.limit:g}{interval}"
    if limit.gate != "undecided":
        return below
    needed = limit.cases_needed
    decide = (
        "Run more cases to decide it."
        if needed is None
        else f"About {needed} cases in all would decide it at this {name}."
    )
    return (
        f"gate undecided: {below}, which is not significant. {decide} {argument('literal')} compares the figure alone."
        f" {argument('undecided')} (pass or fail) decides for you."
        f" {Next('plan', {'benchmark_id': benchmark_id}, 'computes how many cases detect a difference')}."
    )


def comparison_gate(summary: ComparisonSummary, *, literal: bool = False) -> Gate:
    """The gate on the new version's fall: its verdict, or what its passes say without the budget of the attempts.

    That budget keeps a version from being approved by luck; a fall approves nothing, so that it is tested at .05.
    """
    passes = summary.passes
    dropped = pass_rate_dropped(passes.a, passes.units_a, passes.b, passes.units_b)
    if summary.verdict == "regressed":
        return "failed"
    if literal:
        return "failed" if dropped else "held"
    if passes.lost > passes.gained and passes.p_value <= SIGNIFICANT:  # by groups where cases share one
        return "failed"
    return "undecided" if dropped and passes.lost and not passes.gained else "held"


def undecided_words(worse: JsonValue, cases: JsonValue) -> str:
    """Returns why a gate ends undecided, and what decides it."""
    assert isinstance(worse, int)
    needed = (
        f"at least {FEWEST_CHANGED} changed cases are needed"
        if worse < FEWEST_CHANGED
        else "cases of more groups are needed"
    )
    return (
        f"gate undecided: {worse} of {cases} cases got worse and none better, and {needed} to decide."
        f" Run more cases or more {argument('trials')}. {argument('literal')} fails the gate on the rule alone."
    )


def skipped_words(summary: RunSummary) -> str:
    """Returns which outputs of a run a gate could not look at, and what helps; empty where it saw all."""
    if not summary.outcomes.get("skipped", 0):
        return ""
    return (
        f"gate undecided: {_not_judged(summary, ('skipped',))}."
        f" Record them, or name a target with {argument('target', 'TARGET')}."
        f" {argument('allow_skipped')} evaluates the gates without them."
    )


def unscored_words(summary: RunSummary) -> str:
    """Returns which outputs of a run have no verdict because the instrument failed, so that nothing is decided."""
    return f"undecided: {_not_judged(summary, UNSCORED)}. These failures say nothing about the outputs."


def _not_judged(summary: RunSummary, outcomes: Collection[str]) -> str:
    number = sum(summary.outcomes.get(outcome, 0) for outcome in outcomes)
    lines = [line for line in summary.unscored if line.outcome in outcomes][:NAMED_SKIPPED]
    named = "; ".join(
        dict.fromkeys(f"{line.title or line.test_case_id}: {one_line(line.reason)}" for line in lines)
    )  # once for all its trials
    more = f"; and {number - len(lines)} more" if number > len(lines) else ""
    return f"{number} of {summary.units} outputs {'was' if number == 1 else 'were'} not judged ({named}{more})"


def stays_red(run_id: str) -> str:
    """Returns what becomes of a fall: the next run is not measured against the one that fell, unless somebody accepts that."""
    accepted = Next("accept-run", {"run_id": run_id}, "makes this run the new baseline")
    return f"The gate keeps failing until a run recovers. Or: {accepted}."


def fallen_words(summary: RunSummary) -> str:
    """Returns what fell, for a gate that failed for it."""
    fall, regression = summary.fall, summary.regression
    is_of_passes = fall is None or (regression or {}).get("evidence") == "supported"
    if regression is not None and regression.get("byRule", True) and is_of_passes:
        return f"the pass rate fell since {regression['previousRunId']}"
    assert fall is not None, "a gate fails on a regression or a supported fall"
    return str(fall["summary"]).removesuffix(".")
