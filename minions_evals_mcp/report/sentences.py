"""The answer of a report in one sentence, and the words that all forms share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import UNSCORED, Interval, PromptComparison
from minions_evals_mcp.domain.values import first_named, minute
from minions_evals_mcp.presentation.typeset import p_words
from minions_evals_mcp.presentation.verdict_words import (
    LOOKS,
    SIGNS,
    beside_passes,
    compared_words,
    judged_instead,
    verdict_sign,
    verdict_word,
)
from minions_evals_mcp.stats.attempts import BUDGET, sure_words
from minions_evals_mcp.stats.series.trend import SMALLEST_WINDOW
from minions_evals_mcp.store.jobs import JobKind, JobState

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.report_values import Report, ReportedCase, Side, Status
    from minions_evals_mcp.engine.answers.run_before import RunBefore
    from minions_evals_mcp.engine.answers.run_diff import CaseChange, Kind, RunDiff
    from minions_evals_mcp.engine.answers.run_summary import RunSummary
    from minions_evals_mcp.store.queries.report_units import CriterionScore

KIND_WORDS: dict[Kind, str] = {
    "newly-failing": "newly failing",
    "worse": "worse",
    "newly-passing": "newly passing",
    "better": "better",
    "same": "the same",
    "not-alike": "not comparable",
    "only-before": "only in the run before",
    "only-after": "only in the run after",
}
STATUS_WORDS: dict[Status, str] = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "unscored": "◌ not scored",
    "absent": "– not run",
}
STATUS_NAMES: dict[Status, str] = {
    "passed": "Passed",
    "failed": "Failed",
    "unscored": "Not scored",
    "absent": "Not run",
}
STATE_WORDS: dict[JobState, str] = {
    "running": "is running",
    "awaiting-judgments": "waits",
    "stopped": "was stopped",
    "completed": "has ended",
    "failed": "failed",
    "cancelled": "was cancelled",
}
STATE_SIGNS: dict[JobState, str] = {
    "running": "▶ running",
    "awaiting-judgments": "◌ waits",
    "stopped": "‖ stopped",
    "completed": "ended",
    "failed": "! failed",
    "cancelled": "– cancelled",
}
OUTCOME_WORDS = {"awaiting-judgments": "waits for an answer", "timed-out": "timed out"}
"""What became of an output that has no verdict, where its name does not say it."""
KIND_OF_RUN: dict[JobKind, str] = {
    "test-case": "one test case",
    "benchmark": "benchmark",
    "comparison": "comparison of two versions",
    "ab-test": "A/B test",
    "trial": "trial of a candidate version",
}
VERDICT_SIGNS, VERDICT_LOOK = SIGNS, LOOKS
EVIDENCE = {
    "supported": "significant (exact McNemar test, p ≤ .05)",
    "within-noise": "not significant (exact McNemar test)",
    "undecidable": "too few cases changed for significance",
}


_SURE = re.compile(r" \((\d[\d.]* %(?: CI|:) [^()]*)\)")
DOUBTS = {"provisional": "provisional: few runs", "volatile": "its scores jump from run to run"}
"""What makes the direction of a trend doubtful."""


def since_words(since: RunBefore) -> str:
    """Returns what changed since the run before, and whether that is real."""
    from minions_evals_mcp.engine.conclude.setup import changes_sentence  # noqa: PLC0415  as below

    reading = since.reading
    moved = reading.verdict is None or bool(reading.better or reading.worse)
    return f"Compared with the run of {minute(since.at)} UTC, {compared_words(reading)}. {changes_sentence(since.changed, moved=moved)}"


MOST_CHECKS = 8


def checks_words(diff: RunDiff) -> str:
    """The checks by which cases with edited checks are compared, and those that only one run has; empty where none was edited."""
    checks = diff.checks
    if checks is None:
        return ""
    new, gone = first_named(checks.new, MOST_CHECKS), first_named(checks.gone, MOST_CHECKS)
    only = (f"; new: {new}" if new else "") + (f"; gone: {gone}" if gone else "")
    return f"compared by the checks of both runs: {first_named(checks.compared, MOST_CHECKS)}{only}"


def set_up_words(diff: RunDiff) -> str:
    """Returns how the two runs were made and judged differently, in a sentence."""
    from minions_evals_mcp.engine.conclude.setup import changes_sentence  # noqa: PLC0415  as below

    return changes_sentence(diff.what_changed, moved=diff.counts.keys() != {"same"})


def answer(report: Report) -> str:
    """Returns what the report comes to, in one sentence."""
    if report.comparison is not None:
        return _compared(report.comparison, report.names)
    if report.diff is not None:
        return _side_by_side(report.diff)
    return run_answer(report.run)


def run_answer(side: Side) -> str:
    """Returns what a run came to, in one sentence."""
    summary, fields = side.summary, side.summary.benchmark_run
    if fields is None and summary.state == "completed" and side.judged:
        return f"{side.title}: {side.passed} of {side.judged}{trials(summary)} passed{_unscored(side)}."
    if fields is None:
        return f"{side.title} {standing(summary)}."
    verdict = run_verdict(summary)
    needed = f", {side.threshold:g} is needed" if side.threshold else ""
    instead = f", {words}" if (words := instead_words(fields)) else ""
    return (
        f"{side.title} {verdict}: {_passes(summary, fields)}, score {number(fields['overallScore'])}{needed}"
        f"{_unscored(side)}{instead}."
    )


def instead_words(fields: Json) -> str:
    """Who judged a benchmark-run, where it was not the benchmark's own judge; else nothing."""
    judges = fields.get("judgedBy")
    return judged_instead([str(judge) for judge in judges]) if isinstance(judges, list | tuple) else ""


def run_verdict(summary: RunSummary) -> str:
    """The verdict on a concluded run: better or worse than the run before, still below an earlier one, below its threshold."""
    fields, change = summary.benchmark_run or {}, summary.change
    passed = fields.get("passed")
    moved = "" if change is None or change.verdict not in {"improved", "regressed"} else change.verdict
    fallen = "has not recovered" if summary.regression is not None and "fallenSince" in summary.regression else ""
    reached = "is below its threshold" if passed is False else "passed" if passed is True else "has run"
    if not moved and not fallen:
        return reached
    return f"{moved or fallen} and {reached}" if passed is False else moved or fallen


def run_look(summary: RunSummary) -> str:
    """The colour of a run's verdict: "bad" for what is worse, "good" for what is better or enough, empty for what is open."""
    if summary.benchmark_run is None:
        return ""
    verdict = None if summary.change is None else summary.change.verdict
    if verdict == "regressed" or summary.fall is not None or summary.benchmark_run.get("passed") is False:
        return "bad"
    if summary.regression is not None:
        return "bad" if summary.regression.get("evidence") == "supported" else "warn"
    if verdict != "improved" and summary.benchmark_run.get("passed") is not True:
        return ""
    return "warn" if left_open(summary) else "good"


def evidence_words(regression: Json, fall: Json | None) -> str:
    """Whether a regression is more than chance: its passes, and what else fell."""
    return EVIDENCE[str(regression["evidence"])] + beside_passes(regression, fall)


def left_open(summary: RunSummary) -> bool:
    """True where outputs of the run have no verdict."""
    return any(outcome not in {"scored", "timed-out"} for outcome in summary.outcomes)


def run_sign(summary: RunSummary) -> str:
    """The sign beside a run's verdict; a state is no verdict and has the neutral one."""
    look = run_look(summary)
    if look in {"bad", "warn"}:
        return "▼" if run_fell(summary) or summary.regression is not None else "✗" if look == "bad" else "◌"
    if look == "good":
        return "▲" if summary.change is not None and summary.change.verdict == "improved" else "✓"
    return "•" if summary.benchmark_run is not None else "◌"


def run_fell(summary: RunSummary) -> bool:
    """True where the run is worse than an earlier one by more than chance."""
    return (
        summary.fall is not None
        or (summary.change is not None and summary.change.verdict == "regressed")
        or (summary.regression is not None and summary.regression.get("evidence") == "supported")
    )


_WEAK = re.compile(r"\(possible, 0\.\d+\)")


def is_weak(cause: str) -> bool:
    """True where a root cause states of itself that it is no more than possible."""
    return _WEAK.search(cause) is not None


def regression_heading(regression: Json) -> str:
    """What a regression is called: the documents' rule by its limit, else the earlier run that it has not come back to."""
    return (
        "Pass rate dropped by more than the limit: task created"
        if regression.get("byRule") and "fallenSince" not in regression
        else ("Not recovered from an earlier drop" if "fallenSince" in regression else "Regression")
    )


def run_chips(summary: RunSummary, threshold: float | None) -> list[tuple[str, str]]:
    """What was found of a concluded run, each in a few words with its colour: the verdict where `run_verdict` is another, the fall,
    the threshold.
    """
    if summary.benchmark_run is None:
        return []
    chips: list[tuple[str, str]] = []
    if summary.change is not None and summary.change.verdict != run_verdict(summary).partition(" ")[0]:
        chips.append((verdict_sign(summary.change), LOOKS.get(summary.change.verdict or "", "")))
    if summary.fall is not None:
        chips.append(("▼ fall", "bad"))
    if summary.regression is not None and summary.regression.get("byRule"):
        chips.append(
            ("▼ dropped by more than the limit", "bad" if summary.regression.get("evidence") == "supported" else "warn")
        )
    if summary.benchmark_run.get("passed") is False:
        chips.append((f"✗ below threshold {threshold:g}" if threshold else "✗ below threshold", "bad"))
    elif summary.benchmark_run.get("passed") is True:
        chips.append((f"✓ threshold {threshold:g} reached" if threshold else "✓ threshold reached", "good"))
    return chips


def trust(summary: RunSummary, compared: PromptComparison | None = None) -> list[str]:
    """Returns whether judge and checks can be trusted, and what people's labels make of the pass rate or of a comparison's difference."""
    sentences = [] if summary.judge is None else [str(summary.judge.brief()["inWords"])]
    if addressed := addressed_words(summary):
        sentences.append(f"{addressed}.")
    if summary.audit is not None and summary.audit.state != "audited":
        sentences.append(summary.audit.sentence)
    if summary.user_errors is not None:
        sentences.append(summary.user_errors.sentence)
    if summary.reliability is not None:
        sentences.append(summary.reliability.sentence)
    if summary.variance is not None:
        sentences.append(summary.variance.sentence)
    if summary.corrected is not None:
        sentences.append(summary.corrected.in_words("the pass rate"))
    if compared is None:
        return sentences
    from minions_evals_mcp.engine.answers.comparison_summary import labels_words  # noqa: PLC0415  as below

    label_text = labels_words(compared)
    return [*sentences, label_text] if label_text else sentences


def addressed_words(summary: RunSummary) -> str:
    """The outputs that address their judge, which a person has to read; empty where none do."""
    cases = summary.addressed_judge
    if not cases:
        return ""
    whose = (
        "The output of 1 case is addressed" if len(cases) == 1 else f"The outputs of {len(cases)} cases are addressed"
    )
    return f"{whose} to the judge ({first_named(cases, 3)}). Read them: their verdicts alone are not enough for an approval"


def standing(summary: RunSummary) -> str:
    """Returns how far a run is that has no result yet, or never will."""
    waiting = summary.outcomes.get("awaiting-judgments", 0)
    judged = sum(summary.outcomes.get(outcome, 0) for outcome in ("scored", "timed-out"))
    missing = sum(summary.outcomes.values()) - waiting - judged
    waits = summary.state == "awaiting-judgments"
    parts = [
        f"waits for {waiting} output{'' if waiting == 1 else 's'} to be judged" if waits else STATE_WORDS[summary.state]
    ]
    if judged or not waits:
        parts.append(f"{judged} of {summary.units} {'is' if judged == 1 else 'are'} judged")
    if waiting and not waits:
        parts.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} for a judgment")
    if missing:
        parts.append(f"{missing} not scored")
    return "; ".join(parts)


def trials(summary: RunSummary) -> str:
    """Returns what a run's figures count, where it is no cases: " trials" of a run that tried each several times."""
    fields = summary.benchmark_run
    often = fields.get("trials") if fields is not None else summary.units if summary.kind == "test-case" else 1
    return " trials" if isinstance(often, int) and often > 1 else ""


def passed_words(summary: RunSummary, fields: Json) -> str:
    """How many passed, of what: "6 of 12 trials passed"."""
    return f"{fields['passedCount']} of {fields['totalCount']}{trials(summary)} passed"


def _passes(summary: RunSummary, fields: Json) -> str:
    interval = fields.get("passRateCi")
    low_high = f", 95 %: {number(interval[0], 0)}–{number(interval[1], 0)} %" if isinstance(interval, list) else ""
    return f"{passed_words(summary, fields)} ({number(fields['passRate'], 0)} %{low_high})"


def _unscored(side: Side) -> str:
    missing = sum(side.summary.outcomes.get(outcome, 0) for outcome in (*UNSCORED, "skipped", "awaiting-judgments"))
    return f"; {missing} not scored" if missing else ""


def _compared(result: PromptComparison, names: Mapping[str, str]) -> str:
    a, b = (names.get(version, version) for version in (result.prompt_version_a, result.prompt_version_b))
    score_a, score_b = result.decided_scores
    match result.verdict:
        case "improved":
            verdict = f"{b} is better than {a}"
        case "regressed":
            verdict = f"{b} is worse than {a}"
        case "equivalent":
            verdict = f"{b} is as good as {a}"
        case "inconclusive":
            verdict = f"no clear difference between {b} and {a}"
        case _:
            assert_never(result.verdict)
    return f"{verdict}: score {score_a:.3f} → {score_b:.3f} ({delta_words(result)}) on {result.sample_size} cases."


def shipping(verdict: str, a: str, b: str) -> str:
    """Returns which of two versions to ship, in a few words: B is the candidate."""
    match verdict:
        case "improved":
            return f"Ship {b} instead of {a}"
        case "regressed":
            return f"Keep {a}: {b} is worse"
        case "equivalent":
            return f"Either will do: {b} is as good as {a}"
        case _:
            return f"Undecided between {a} and {b}: run more cases"


def delta_words(comparison: PromptComparison) -> str:
    """The difference that decided, with its interval and p-value."""
    decided = comparison.decided_on
    parts = [("" if decided.of == "score" else f"{decided.of}: ") + f"{decided.delta:+.3f}"]
    if decided.interval is not None:
        sure = sure_words(comparison.level or BUDGET)
        parts.append(f"{sure}: {interval_words(decided.interval, signed=True)}")
    if comparison.p_value is not None:
        parts.append(p_words(comparison.p_value))
    return ", ".join(parts)


def parted(sentence: str) -> tuple[str, str]:
    """A sentence without what it says in brackets of how sure it is, and that."""
    match = _SURE.search(sentence)
    return (sentence, "") if match is None else (sentence[: match.start()] + sentence[match.end() :], match[1])


def trend_words(trend: Json) -> str:
    """Returns where a benchmark is heading; fewer runs than a direction needs have no trend."""
    points = trend["points"]
    if isinstance(points, int) and points < SMALLEST_WINDOW:
        return f"no trend yet (needs {SMALLEST_WINDOW} runs, has {points})"
    fell = f"; {trend['slowFall']}" if "slowFall" in trend else ""
    doubts = [words for name, words in DOUBTS.items() if trend[name] is True]
    return f"trend {trend['direction']}" + (f" ({', '.join(doubts)})" if doubts else "") + fell


def interval_words(interval: Interval, *, signed: bool = False) -> str:
    """An interval from low to high."""
    low, high = interval
    return f"{low:+.3f} to {high:+.3f}" if signed else f"{low:.3f}–{high:.3f}"


def _side_by_side(diff: RunDiff) -> str:
    counts = diff.counts
    changed = [
        f"{counts[kind]} {KIND_WORDS[kind]}"
        for kind in ("newly-failing", "worse", "newly-passing", "better")
        if kind in counts
    ]
    changes_text = ", ".join(changed) or "nothing changed"
    tried = " trials" if diff.after.trials > diff.alike else ""
    passed = f"passed {diff.before.passed} → {diff.after.passed} of {diff.after.trials}{tried}"
    verdict = verdict_word(diff.reading)
    return f"{diff.title}: {verdict}; {changes_text}, of {diff.alike} comparable {_cases(diff.alike)}; {passed}."


def _cases(number: int) -> str:
    return "case" if number == 1 else "cases"


def change_words(change: CaseChange) -> str:
    """Returns what happened to a case from one run to the other."""
    words = KIND_WORDS[change.kind]
    if change.kind == "not-alike":
        return f"{words} ({', '.join(change.unlike)} differ)"
    if change.before is None or change.after is None or change.kind == "same":
        return words
    return f"{words}: {_share(change, before=True)} → {_share(change, before=False)}"


def _share(change: CaseChange, *, before: bool) -> str:
    measured = change.before if before else change.after
    assert measured is not None
    trials = f" ({measured.passed} of {measured.trials} trials)" if measured.trials > 1 else ""
    return f"{measured.score:.2f}{trials}"


def case_title(case: ReportedCase) -> str:
    """A case's title, with the number of its trial where that is not the first."""
    return case.title if case.trial == 1 else f"{case.title} (trial {case.trial})"


def score_words(judged: CriterionScore) -> str:
    """A criterion's score, with what it is out of where that is not 1."""
    return f"{judged.score:.3g}" if judged.max_score == 1 else f"{judged.score:.3g} of {judged.max_score:g}"


def fraction(judged: CriterionScore) -> float:
    """The share of its range that a judgment reached."""
    return (judged.score - judged.min_score) / (judged.max_score - judged.min_score)


def number(value: JsonValue, digits: int = 3) -> str:
    """A figure of an answer, to so many digits after the point."""
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "–"
