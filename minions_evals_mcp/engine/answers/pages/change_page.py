"""Two runs beside each other for a decision: how far apart and how sure, which cases, and what is other in the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary, summarize_comparison
from minions_evals_mcp.engine.answers.readings.real_change import difference
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.answers.run_diff import CaseChange, RunDiff, first_changes, run_diff
from minions_evals_mcp.engine.answers.run_head import RunHead, read_run_head
from minions_evals_mcp.engine.conclude.comparison import MARGIN
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.engine.licences.corrected import CorrectedFigure, corrected_pass_difference
from minions_evals_mcp.stats.comparison import Difference
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units, run_pairs
from minions_evals_mcp.store.queries.pages import change_figures
from minions_evals_mcp.store.queries.pages.change_figures import AverageUsage, TagChange

SHOWN = 40
DRAWN = 8


@dataclass(frozen=True, slots=True)
class Moved:
    """A changed case by title, and where it stands in the newer run."""

    change: CaseChange
    title: str
    at: str


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Two runs, A the earlier or current one. `difference` is None where they were not comparable (`unlike` says why)."""

    before: RunHead
    after: RunHead
    diff: RunDiff
    changed: tuple[Moved, ...]
    more: int
    deltas: tuple[float, ...]
    difference: Difference | None
    unlike: str
    summary: ComparisonSummary | None
    comparison: PromptComparison | None
    prompt: tuple[str, str] | None
    causes: tuple[tuple[str, int], ...]
    tags: tuple[TagChange, ...]
    usage: tuple[AverageUsage, AverageUsage]
    margin: float
    corrected: CorrectedFigure | None = None
    """The difference of passes as people would have found it."""

    @property
    def name_before(self) -> str:
        """The earlier side by its version, else by what it is."""
        return self._name(self.before, "the run before")

    @property
    def name_after(self) -> str:
        """The newer side by its version, else by what it is."""
        return self._name(self.after, "this run")

    @property
    def sentence(self) -> str:
        """Returns what the comparison came to, its versions by name; empty where nobody compared the two on purpose."""
        if self.summary is None:
            return ""
        named = {self.summary.version_a: self.name_before, self.summary.version_b: self.name_after}
        ids = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
        return re.sub(rf"(?<![\w/@.-])({ids})(?![\w/@-])", lambda match: named[match[1]], self.summary.in_words)

    def _name(self, head: RunHead, otherwise: str) -> str:
        return head.version if head.version and self.before.version != self.after.version else otherwise

    @property
    def dumbbells(self) -> list[tuple[str, float, float]]:
        """The cases that moved most, with both scores, worse ones first."""
        moved = [move for move in self.changed if move.change.before and move.change.after and move.change.loss]
        worse = [move for move in moved if move.change.loss > 0][:DRAWN]
        better = [move for move in moved if move.change.loss < 0][-DRAWN:]
        both = [(move.title, move.change.before, move.change.after) for move in (*worse, *better)]
        return [(title, before.score, after.score) for title, before, after in both if before and after]


async def read_change_page(engine: Engine, ident: str = "", *, before: str = "", after: str = "") -> ChangePage:
    """The comparison under that id, or two runs; raises as `find_subject` and `run_diff` do."""
    subject = await find_subject(engine, ident or after, compare=None if ident else before)
    first, other = subject.before or before, subject.run_id
    summary = await summarize_comparison(engine, ident) if subject.comparison is not None else None
    first, other = await find_benchmark_run(engine, first), await find_benchmark_run(engine, other)
    heads = await read_run_head(engine, first, causes=False), await read_run_head(engine, other, causes=False)
    return await engine.store.read(partial(_page, heads=heads, summary=summary, comparison=subject.comparison))


def _page(
    db: Db, *, heads: tuple[RunHead, RunHead], summary: ComparisonSummary | None, comparison: PromptComparison | None
) -> ChangePage:  # fmt: skip
    before, after = heads
    first, other = before.side.summary.run_id, after.side.summary.run_id
    scores = run_pairs.both_scores(db, first, other)
    whole = run_diff(db, first, other, scores=scores)
    compared = difference(db, first, other, scores=scores)
    shown = first_changes(db, whole, limit=SHOWN)
    failing = [change.test_case_id for change in whole.changes if change.kind == "newly-failing"]
    return ChangePage(
        before=before,
        after=after,
        diff=whole,
        changed=_moved(db, other, shown.changes),
        more=shown.more,
        deltas=tuple(-change.loss for change in whole.changes if change.before and change.after),
        difference=compared.found,
        unlike=compared.why,
        summary=summary,
        comparison=comparison,
        prompt=_prompts(db, before.version_id, after.version_id),
        causes=tuple(change_figures.causes(db, other, failing)),
        tags=tuple(change_figures.tags(db, failing)),
        usage=(change_figures.usage(db, first), change_figures.usage(db, other)),
        margin=MARGIN,
        corrected=corrected_pass_difference(db, first, other),
    )


def _moved(db: Db, run_id: str, changes: Sequence[CaseChange]) -> tuple[Moved, ...]:
    places = change_figures.places(db, run_id, [change.test_case_id for change in changes])
    titles = report_units.titles(db, [change.test_case_id for change in changes])
    return tuple(
        Moved(change, titles.get(change.test_case_id, change.test_case_id), places.get(change.test_case_id, ""))
        for change in changes
    )


def _prompts(db: Db, before: str | None, after: str | None) -> tuple[str, str] | None:
    """Both prompts, where both versions are recorded and other than each other."""
    if before is None or after is None or before == after:
        return None
    versions = records.get_all(db, [before, after], PromptVersion)
    texts = [versions[ident].fields.content for ident in (before, after) if ident in versions]
    return (texts[0], texts[1]) if len(texts) == 2 else None
