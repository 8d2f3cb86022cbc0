"""Drift in production: other requests than before, and a judge that people contradict more often than before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from anyio import to_thread

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.licences.licence import labels_in
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.discovery.strangeness import LEARNT, LONGER, SHORTER, figures_of
from minions_evals_mcp.stats.series.exchangeability import Rise, rise
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import LabelledJudgment, judged_outputs
from minions_evals_mcp.store.queries.traces_judged import last_told, requests_after, traced_criteria

ERROR = 0.02
"""The chance of a false alarm on requests within a horizon, and on all criteria's judges."""
MOST_WATCHED = 6_000
TOLD = "otlp-drift:"
"""How the ids begin of what is told about a drift."""


@frozen_type
class Drift:
    """A drift: what of, the figure that rose, and how. `subject` is the newest test case or the criterion, `key` is told under."""

    of: Literal["requests", "judge"]
    figure: str
    seen: Rise
    subject: str
    key: str

    @property
    def words(self) -> str:
        """The drift in two sentences."""
        since = self.seen.seen_at - self.seen.began_at
        before, after = self.seen.before, self.seen.after
        if self.of == "judge":
            return (
                f"The judge of {self.subject} and people differ by {after:.2f} of the score's range, before by {before:.2f}. Most"
                f" likely it began {since} labels ago."
            )
        began = f"Most likely it began {since} traces ago."
        if self.figure in {LONGER, SHORTER}:
            return f"Requests in production became {'longer' if self.figure == LONGER else 'shorter'}. {began}"
        return f"Requests in production changed: {after:.0%} of their words are unknown, before {before:.0%}. {began}"


async def drifts(engine: Engine) -> list[Drift]:
    """The drifts that are shown since each was last told."""
    return [*await _of_requests(engine), *await _of_judges(engine)]


async def _of_requests(engine: Engine) -> list[Drift]:
    prefix = f"{TOLD}requests:"
    requests = await engine.store.read(lambda db: requests_after(db, last_told(db, prefix), MOST_WATCHED))
    found = await to_thread.run_sync(rise_of_requests, [text for _, _, text in requests])
    if found is None:
        return []
    name, seen = found
    number, case_id, _ = requests[LEARNT + seen.seen_at - 1]
    return [Drift("requests", name, seen, case_id, f"{prefix}{number}")]


def rise_of_requests(texts: Sequence[str]) -> tuple[str, Rise] | None:
    """The figure that rose, and how; None where none did."""
    figures = figures_of(texts)
    rises = ((name, rise(values, error=ERROR / len(figures))) for name, values in figures.items())
    return next(((name, seen) for name, seen in rises if seen is not None), None)


async def _of_judges(engine: Engine) -> list[Drift]:
    criteria = await engine.store.read(traced_criteria)
    found: list[Drift] = []
    for criterion in criteria:
        prefix = f"{TOLD}judge:{criterion}:"

        def read(db: Db, criterion: str = criterion, prefix: str = prefix) -> list[tuple[int, float]]:
            told = last_told(db, prefix)
            return [(seq, apart) for seq, apart in differences(judged_outputs(db, criterion)) if seq > told]

        apart = await engine.store.read(read)
        if (seen := rise([value for _, value in apart], error=ERROR / len(criteria))) is not None:
            found.append(Drift("judge", "difference", seen, criterion, f"{prefix}{apart[seen.seen_at - 1][0]}"))
    return found


def differences(judgments: Sequence[LabelledJudgment]) -> list[tuple[int, float]]:
    """How far the judge and people are apart on each output that both judged, in the order in which the judge did.

    An output that was judged again counts once: its repeats resemble each other.
    """
    labels = labels_in(judgments).of
    first: dict[tuple[str, str], LabelledJudgment] = {}
    for judgment in judgments:
        if not judgment.by_person and judgment.output in labels:
            first.setdefault(judgment.output, judgment)
    return [(judgment.seq, abs(judgment.score - labels[output])) for output, judgment in first.items()]
