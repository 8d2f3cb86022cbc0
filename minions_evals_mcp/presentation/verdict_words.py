"""The verdict on two runs and a change of level, in the words that every interface shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.domain.results import EVIDENCE_WORDS
from minions_evals_mcp.domain.values import first_named, iso
from minions_evals_mcp.presentation.typeset import p_words
from minions_evals_mcp.stats.attempts import sure_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minions_evals_mcp.domain.definitions import Json
    from minions_evals_mcp.engine.answers.readings.benchmark_levels import LevelStart
    from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading
    from minions_evals_mcp.engine.answers.trend_summary import TrendSummary
    from minions_evals_mcp.store.queries.pages.benchmark_uses import BenchmarkUses

SIGNS = {
    "improved": "▲ improved",
    "regressed": "▼ regressed",
    "equivalent": "= equivalent",
    "inconclusive": "? inconclusive",
}
"""A verdict in a word, with its sign."""
LOOKS = {"improved": "good", "regressed": "bad", "equivalent": "info", "inconclusive": ""}
"""The colour of a verdict: red and green are for what is statistically significant."""
UNKNOWN = "not comparable"
UNCHANGED = "unchanged"
"""The word for two runs in which every compared case scored the same, where the verdict alone would be inconclusive."""


def verdict_word(reading: PairReading | None) -> str:
    """The verdict in a word; "not comparable" where there is none, empty where there is no run before."""
    if reading is None:
        return ""
    return UNCHANGED if is_unchanged(reading) else reading.verdict or UNKNOWN


def verdict_sign(reading: PairReading | None) -> str:
    """The verdict with its sign."""
    if reading is None:
        return ""
    return f"= {UNCHANGED}" if is_unchanged(reading) else SIGNS.get(reading.verdict or "", f"≠ {UNKNOWN}")


def is_unchanged(reading: PairReading) -> bool:
    """Whether every compared case scored the same in both runs, so that there is no difference to be sure of."""
    return reading.verdict == "inconclusive" and reading.basis == "test" and not (reading.better or reading.worse)


def pair_words(reading: PairReading) -> str:
    """The verdict first, then its figures and what it rests on; without a full stop."""
    if reading.verdict is None:
        return f"{UNKNOWN}: {reading.why.removesuffix('.')}"
    if reading.basis == "level" and reading.level_delta is not None and reading.level_at is not None:
        return (
            f"{reading.verdict}: the level {_moved(reading.level_delta)} on {iso(reading.level_at)[:10]};"
            f" between these two runs the score moved by {_figures(reading)}"
        )
    if not reading.better and not reading.worse and not reading.delta:
        return f"{verdict_word(reading)}: no score changed on {_cases(reading)}"
    open_because = f", but {reading.why}" if reading.why else ", not statistically significant"
    doubt = open_because if reading.verdict == "inconclusive" else ""
    within = ", too little to matter" if reading.verdict == "equivalent" else ""
    return f"{reading.verdict}: {reading.delta_of} {_figures(reading)}{doubt}{within}"


def compared_words(reading: PairReading) -> str:
    """The same as the end of a sentence that has named the run before: "it regressed: …"."""
    verdict, _, figures = pair_words(reading).partition(":")
    return f"it {'' if verdict in {'improved', 'regressed'} else 'is '}{verdict}:{figures}"


def run_before_words(reading: PairReading, *, said: str = "") -> str:
    """The sentence that compares with the run before, without a full stop; a verdict that was `said` just before is not repeated."""
    verdict, _, figures = pair_words(reading).partition(":")
    is_said = verdict == said.partition(" ")[0]
    return (
        f"Compared with the run before:{figures}"
        if is_said
        else f"Compared with the run before, {compared_words(reading)}"
    )


def _figures(reading: PairReading) -> str:
    low, high = reading.interval or (0.0, 0.0)
    return (
        f"{reading.delta or 0.0:+.3f} ({sure_words(reading.level)} CI {low:+.3f} to {high:+.3f}, {p_words(reading.p_value or 0.0)},"
        f" {_cases(reading)}: {reading.better} better, {reading.worse} worse)"
    )


def _cases(reading: PairReading) -> str:
    """How many cases of both runs were compared, and of how many where some were not measured alike."""
    if reading.edited:
        return f"{reading.cases:,} comparable of {reading.cases + reading.edited:,} cases"
    return counted(reading.cases, "case")


def judged_instead(judges: Sequence[str]) -> str:
    """Who judged where it was not the benchmark's own judge; empty where it was."""
    return f"judged by {first_named(judges, 3)}, not by the benchmark's own judge" if judges else ""


def beside_passes(regression: Json, fall: Json | None) -> str:
    """What fell by more than chance where a regression's passes did not; the end of a sentence on the passes, else empty."""
    if fall is None or regression.get("evidence") == "supported":
        return ""
    return f", but {str(fall['summary']).removesuffix('.')}"


def level_words(start: LevelStart) -> str:
    """The last change of level: how far, when, and at which run; without a full stop."""
    assert start.delta is not None
    assert start.score_before is not None
    over = "1 run" if start.runs == 1 else f"{start.runs} runs"
    return f"the level {_moved(start.delta)} on {iso(start.at)[:10]} ({start.score_before:.3f} → {start.score:.3f}, {over} on this level)"


def _moved(delta: float) -> str:
    return f"{'fell' if delta < 0 else 'rose'} by {abs(delta):.3f}"


def drop_words(evidence: str | None) -> str:
    """A run that fell by more than the documents' limit: a regression where that is more than chance."""
    return "regression" if evidence == "supported" else f"dropped, {EVIDENCE_WORDS[evidence or 'undecidable']}"


def trend_heading(trend: TrendSummary) -> str:
    """Where a benchmark is heading: the newest change of level first, then the direction of its last runs."""
    if trend.level_change is None:
        return trend.heading
    return f"{level_words(trend.level_change)}; its last runs: {trend.heading}"


def uses_words(uses: BenchmarkUses, *, sealed: bool) -> str:
    """What has been done with a benchmark that has no run of its own to show; empty where nothing has."""
    ended = [
        counted(number, word)
        for number, word in ((uses.runs, "run"), (uses.comparisons, "comparison"), (uses.ab_tests, "A/B test"))
        if number
    ]
    done = f"{' and '.join(ended)} ended" if ended else ""
    if sealed:
        return f"Sealed: its cases and the results of its runs are hidden. {done or 'Nothing has finished'} so far."
    if done:
        return f"No benchmark run yet: {done}."
    if uses.open:
        return f"No run has finished yet: {counted(uses.open, 'job')} in progress."
    if uses.unfinished:
        return f"No run has finished: {counted(uses.unfinished, 'job')} stopped or failed."
    return ""


def counted(number: int, word: str) -> str:
    """The number with the word, in the plural unless it is one."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
