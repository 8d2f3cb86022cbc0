"""Two benchmark-runs case by case: what flipped, got better or worse, and what was not comparable."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.results import DiffPart, Evidence
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.names import renamed, version_names
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading, read_pair
from minions_evals_mcp.engine.conclude.comparison import unlike
from minions_evals_mcp.engine.conclude.setup import changes_between
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.rubric import TOLERANCE
from minions_evals_mcp.scoring.word_diff import word_diff
from minions_evals_mcp.stats.paired import evidence
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units, run_pairs
from minions_evals_mcp.store.queries.judging import shared_checks
from minions_evals_mcp.store.queries.run_pairs import BothScores, CaseScores

Kind = Literal["newly-failing", "worse", "newly-passing", "better", "same", "not-alike", "only-before", "only-after"]
KINDS: tuple[Kind, ...] = (
    "newly-failing", "worse", "newly-passing", "better", "same", "not-alike", "only-before", "only-after",
)  # fmt: skip
APART: tuple[Kind, ...] = ("not-alike", "only-before", "only-after")
"""Cases that count in neither run's figures: they cannot be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMeasure:
    """A case in one run: its mean share of the points, and how many of its trials passed."""

    __pydantic_config__: ClassVar[ConfigDict] = (
        Value.model_config
    )  # on the wire like all others; made by the ten thousand
    score: float
    passed: int
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """A case in two runs. `loss` is the fall of its score (0–1); `unlike` names what it was measured with differently."""

    __pydantic_config__: ClassVar[ConfigDict] = Value.model_config
    test_case_id: str
    title: str = ""
    kind: Kind
    before: CaseMeasure | None
    after: CaseMeasure | None
    loss: float = 0.0
    unlike: tuple[str, ...] = ()
    output_diff: tuple[DiffPart, ...] | None = None


class RunTotals(Value):
    """A run over the cases that both runs measured alike; in its score each case counts once, by its weight."""

    run_id: str
    version: str | None
    score: float | None
    passed: int
    trials: int


class SharedChecks(Value):
    """The checks by which cases with edited checks are compared: those of both runs, and those that only one of them has."""

    compared: tuple[str, ...]
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class RunDiff(Value):
    """Two runs side by side: figures over the `alike` cases, `counts` of cases by kind, the changes sorted by loss.

    `checks`: the checks by which those cases are compared whose checks were edited in between.
    `reading` is the verdict on the two; `evidence` that on the passes alone.
    """

    benchmark_id: str
    title: str
    before: RunTotals
    after: RunTotals
    shared: int
    alike: int
    counts: dict[Kind, int]
    evidence: Evidence
    reading: PairReading
    changes: tuple[CaseChange, ...]
    what_changed: tuple[str, ...] = ()
    more: int = 0
    checks: Annotated[SharedChecks | None, Field(exclude_if=lambda checks: checks is None)] = None


async def diff_runs(engine: Engine, before: str, after: str, *, limit: int) -> RunDiff:
    """Returns what changed from one benchmark-run to another: at most `limit` changes, with their outputs word by word.

    Raises `NotFoundError` for a run that is not there, `BadInputError` where the two have no case in common.
    """
    first, other = await find_benchmark_run(engine, before), await find_benchmark_run(engine, after)
    return await engine.store.read(partial(_diff, before=first, after=other, limit=limit))


def _diff(db: Db, *, before: str, after: str, limit: int) -> RunDiff:
    return first_changes(db, run_diff(db, before, after), limit=limit)


def first_changes(db: Db, whole: RunDiff, *, limit: int) -> RunDiff:
    """The same with at most `limit` of the changes, and with their outputs word by word."""
    changed = [change for change in whole.changes if change.kind != "same"]
    shown = _with_outputs(db, changed[:limit], whole.before.run_id, whole.after.run_id)
    return whole.model_copy(update={"changes": tuple(shown), "more": len(changed) - len(shown)})


def run_diff(db: Db, before: str, after: str, *, scores: BothScores | None = None) -> RunDiff:
    """The two runs with every case, the largest loss first, those that cannot be compared last; without outputs."""
    first, other = scores or run_pairs.both_scores(db, before, after)
    shared = [case_id for case_id in first if case_id in other]
    if not shared:
        raise BadInputError(
            f"{before} and {after} have no case in common.", remedy="Name two runs of the same benchmark."
        )
    first, other, checks = _by_shared_checks(db, before, after, first, other)
    changes = [_change(case_id, first.get(case_id), other.get(case_id)) for case_id in {**first, **other}]
    alike = [change.test_case_id for change in changes if change.kind not in APART]
    counts = Counter(change.kind for change in changes)
    subject = _of(db, after)[0]
    return RunDiff(
        benchmark_id=subject,
        title=report_units.titles(db, [subject]).get(subject, subject),
        before=_totals(db, before, first, alike),
        after=_totals(db, after, other, alike),
        shared=len(shared),
        alike=len(alike),
        counts={kind: counts[kind] for kind in KINDS if counts[kind]},
        evidence=evidence(counts["newly-failing"], counts["newly-passing"]),
        reading=read_pair(db, before, after, scores=(first, other), by_checks=checks is not None),
        changes=tuple(sorted(changes, key=lambda change: (change.kind in APART, -change.loss, change.kind))),
        what_changed=_what_changed(db, before, after),
        checks=checks,
    )


_EDITED = frozenset({"testCase", "judge"})
"""The digests that differ where a check was added or edited; a check's own digest names the model that grades for it."""


def _by_shared_checks(
    db: Db, before: str, after: str, first: dict[str, CaseScores], other: dict[str, CaseScores]
) -> tuple[dict[str, CaseScores], dict[str, CaseScores], SharedChecks | None]:
    """The scores of both runs; cases of which only checks were edited have those of the checks that both runs have."""
    edited = [
        case_id
        for case_id, scores in other.items()
        if case_id in first
        and "testCase" in (differing := unlike(first[case_id], scores))
        and _EDITED.issuperset(differing)
    ]
    restated = shared_checks.by_shared_checks(db, before, after, edited) if edited else {}
    if not restated:
        return first, other, None
    first, other = {**first}, {**other}
    for case_id, by in restated.items():
        digests, possible = other[case_id].digests, other[case_id].possible
        for scores, trials in ((first, by.before), (other, by.after)):
            scores[case_id] = CaseScores(
                possible, [score for score, _ in trials], [passed for _, passed in trials], digests,
                self_judged=scores[case_id].self_judged, group=scores[case_id].group,
            )  # fmt: skip
    names = [
        _distinct(part for by in restated.values() for part in getattr(by, kind)) for kind in ("names", "new", "gone")
    ]
    return first, other, SharedChecks(compared=names[0], new=names[1], gone=names[2])


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _what_changed(db: Db, before: str, after: str) -> tuple[str, ...]:
    """Returns what differs in how the two were made and judged, by name; nothing is known of one that was not concluded."""
    run, other = runs.benchmark_run(db, before), runs.benchmark_run(db, after)
    if run is None or other is None:
        return ()
    names = version_names(db, (run.fields.prompt_version_ref, other.fields.prompt_version_ref))
    return tuple(renamed(words, names) for words in changes_between(db, run, other))


def _change(case_id: str, before: CaseScores | None, after: CaseScores | None) -> CaseChange:
    first, other = _measured(before), _measured(after)
    if before is None or after is None or first is None or other is None:
        return CaseChange(
            test_case_id=case_id, kind="only-after" if before is None else "only-before", before=first, after=other
        )
    differing = unlike(before, after)
    return CaseChange(
        test_case_id=case_id,
        kind="not-alike" if differing else _kind(first, other),
        before=first,
        after=other,
        loss=first.score - other.score,
        unlike=differing,
    )


def _measured(scores: CaseScores | None) -> CaseMeasure | None:
    if scores is None:
        return None
    trials = len(scores.passed)
    score = scores.fractions[0] if trials == 1 else fmean(scores.fractions)
    return CaseMeasure(score=score, passed=sum(scores.passed), trials=trials)


def _kind(before: CaseMeasure, after: CaseMeasure) -> Kind:
    """By the share of trials that passed (in whole numbers), else by the score."""
    passes = after.passed * before.trials - before.passed * after.trials
    if passes:
        return "newly-passing" if passes > 0 else "newly-failing"
    gain = after.score - before.score
    if abs(gain) <= TOLERANCE:
        return "same"
    return "better" if gain > 0 else "worse"


def _totals(db: Db, run_id: str, scores: Mapping[str, CaseScores], alike: Sequence[str]) -> RunTotals:
    counted = [scores[case_id] for case_id in alike]
    possible = math.fsum(scores.possible for scores in counted)
    return RunTotals(
        run_id=run_id,
        version=_of(db, run_id)[1],
        score=math.fsum(scores.possible * fmean(scores.fractions) for scores in counted) / possible
        if possible
        else None,
        passed=sum(sum(scores.passed) for scores in counted),
        trials=sum(len(scores.passed) for scores in counted),
    )


def _of(db: Db, run_id: str) -> tuple[str, str | None]:
    """The benchmark and the prompt version of a run."""
    run = runs.benchmark_run(db, run_id)
    assert run is not None
    return run.fields.benchmark_id, run.fields.prompt_version_ref


def _with_outputs(db: Db, changes: Sequence[CaseChange], before: str, after: str) -> list[CaseChange]:
    """The same with titles and what changed in the first trial's output."""
    ids = [change.test_case_id for change in changes]
    titles = report_units.titles(db, ids)
    first, other = report_units.outputs(db, before, ids), report_units.outputs(db, after, ids)
    return [
        replace(
            change,
            title=titles.get(change.test_case_id, change.test_case_id),
            output_diff=_output_diff(first.get(change.test_case_id), other.get(change.test_case_id)),
        )
        for change in changes
    ]


def _output_diff(before: Json | None, after: Json | None) -> tuple[DiffPart, ...] | None:
    return None if before is None or after is None else word_diff(output_text(before), output_text(after))
