"""One run against the runs before it: how far from what was expected, and whether it got worse."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.results import DecidedBy, DiffPart, Digests, RegressionType
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.likeness.similarity import disagreements
from minions_evals_mcp.scoring.text_diff import text_diff
from minions_evals_mcp.scoring.verdicts.expected import is_pattern, plain_text

SIMILAR_ENOUGH = 0.8
SLACK = 1e-9
HISTORY = 5
"""How many earlier runs a run is compared with."""


@frozen_type
class Compared:
    """The expectation and what came, as text; several keys one below the other."""

    pairs: tuple[tuple[str, str], ...]

    @property
    def expected(self) -> str:
        """All that was expected."""
        return "\n".join(expected for expected, _ in self.pairs)

    @property
    def actual(self) -> str:
        """All that came in its place."""
        return "\n".join(actual for _, actual in self.pairs)

    @property
    def unequal(self) -> tuple[tuple[str, str], ...]:
        """The pairs that differ by more than white space around them."""
        return tuple(pair for pair in self.pairs if pair[0].strip() != pair[1].strip())


def compared(expected: Json, output: Json, *, patterns: bool) -> Compared | None:
    """The texts to be compared, key by key; an output that lacks a key has "" there.

    None where no text is expected: with `patterns`, `/…/` is looked for in the output instead.
    """
    wanted = {key: plain_text(value) for key, value in expected.items() if not (patterns and is_pattern(value))}
    if len(expected) == 1 and not expected.keys() & output.keys():
        pairs = tuple((text, output_text(output) if output else "") for text in wanted.values())
    else:
        pairs = tuple((text, plain_text(output[key]) if key in output else "") for key, text in wanted.items())
    return Compared(pairs) if pairs else None


@frozen_type
class Likeness:
    """The likeness of an output to what was expected. Differences are actual − expected.

    `semantic_score` is None where `unmeasured` says why it could not be had. `warnings` name what differs although it
    says that the texts are alike.
    """

    exact_match: bool
    semantic_score: float | None
    length_diff: int
    token_diff: int
    output_diff: tuple[DiffPart, ...] | None
    warnings: tuple[str, ...] = ()
    unmeasured: str = ""

    @property
    def passed(self) -> bool:
        """The testing API's rule: equal, or a similarity of at least 0.8."""
        return self.exact_match or (self.semantic_score or 0.0) >= SIMILAR_ENOUGH - SLACK


def likeness(texts: Compared, similarities: Sequence[float] | str, *, tokens: tuple[int, int]) -> Likeness:
    """The metrics; `similarities` are those of the unequal pairs (or why there are none), `tokens` expected and actual.

    All keys must be alike: the score is that of the least similar.
    """
    expected, actual, unequal = texts.expected, texts.actual, texts.unequal
    likeness_seen = similarities if isinstance(similarities, str) else min(similarities, default=1.0)
    alike = not isinstance(likeness_seen, str) and likeness_seen >= SIMILAR_ENOUGH - SLACK
    return Likeness(
        exact_match=not unequal,
        semantic_score=None if isinstance(likeness_seen, str) else likeness_seen,
        length_diff=len(actual) - len(expected),
        token_diff=tokens[1] - tokens[0],
        output_diff=text_diff(expected, actual),
        warnings=tuple(disagreement for pair in unequal for disagreement in disagreements(*pair)) if alike else (),
        unmeasured=likeness_seen if isinstance(likeness_seen, str) else "",
    )


@frozen_type
class RunSample:
    """A run as its successors are compared with it.

    `score` is its similarity, under a rubric the rubric's fraction; `measured` names what it was scored with.
    """

    passed: bool
    score: float | None
    length: int
    measured: str


def sample(
    *,
    passed: bool,
    fraction: float,
    semantic_score: float | None,
    decided_by: DecidedBy,
    digests: Digests,
    output: Json,
) -> RunSample:
    """Returns what successors see of a run: its similarity where it has one and no rubric decided, else its score's fraction."""
    by_fraction = decided_by == "rubric_threshold" or (semantic_score is None and digests.embedder is None)
    return RunSample(
        passed=passed,
        score=fraction if by_fraction else semantic_score,
        length=text_length(output),
        measured=f"{digests.test_case} {digests.rubric} {digests.judge} {digests.embedder}",
    )


@frozen_type
class HistoryStanding:
    """The relation of a run to its history; the gravest type first. `flipped`: passed last time, fails now."""

    regression_types: tuple[RegressionType, ...] = ()
    flipped: bool = False


def standing(now: RunSample, earlier: Sequence[RunSample]) -> HistoryStanding:
    """The run against the earlier ones, newest first; without any nothing is a regression."""
    if not earlier:
        return HistoryStanding()
    rules: tuple[tuple[RegressionType, bool], ...] = (
        ("FAILED", _failed(now, earlier)),
        ("SCORE_DROP", _score_dropped(now, earlier)),
        ("LENGTH_CHANGE", _length_changed(now, earlier)),
    )
    return HistoryStanding(tuple(name for name, holds in rules if holds), earlier[0].passed and not now.passed)


def _failed(now: RunSample, earlier: Sequence[RunSample]) -> bool:
    """Fails, though more than 80 % of the earlier runs passed."""
    return not now.passed and 10 * sum(earlier_sample.passed for earlier_sample in earlier) > 8 * len(earlier)


def _score_dropped(now: RunSample, earlier: Sequence[RunSample]) -> bool:
    """The score lies more than 10 % below the mean of the earlier ones that were measured alike."""
    scores = [
        earlier_sample.score
        for earlier_sample in earlier
        if earlier_sample.score is not None and earlier_sample.measured == now.measured
    ]
    return bool(scores) and now.score is not None and now.score < 0.9 * fsum(scores) / len(scores) - SLACK


def _length_changed(now: RunSample, earlier: Sequence[RunSample]) -> bool:
    """The length differs by more than 30 % from the mean; from a mean of 0 by anything."""
    total, count = sum(earlier_sample.length for earlier_sample in earlier), len(earlier)
    return 10 * abs(now.length * count - total) > 3 * total


def score_fraction(score: float, possible: float) -> float:
    """A run's score as a share of what was possible, 0 to 1; 0 where nothing was."""
    return min(1.0, max(0.0, score / possible)) if possible > 0 else 0.0


def text_length(output: Json) -> int:
    """Returns how long an output is; 0 where there is none."""
    return len(output_text(output)) if output else 0
