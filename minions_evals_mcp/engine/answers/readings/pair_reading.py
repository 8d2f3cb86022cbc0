"""What two runs come to: the one verdict on a pair of runs that pages, commands, reports and tools show.

A comparison that somebody asked for keeps its own verdict. Else a change of level comes first, as it pools runs; the paired
test of the two runs decides where there was none, and wherever it shows the opposite.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.values import Count, Timestamp, Value
from minions_evals_mcp.engine.answers.readings.benchmark_levels import Levels, LevelStart, read_levels
from minions_evals_mcp.stats.comparison import ERROR, ComparisonVerdict
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db, file_of
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.queries.run_pairs import BothScores

Basis = Literal["comparison", "level", "test"]
OPPOSITE: dict[str, ComparisonVerdict] = {"regressed": "improved", "improved": "regressed"}
CACHED = 2_000
"""Readings kept in memory: concluded runs never change, and a test of ten thousand cases takes a quarter of a second."""
_BECAUSE = " because "
_cache: OrderedDict[tuple[str, str, str, str, int, bool, str], PairReading] = OrderedDict()


class PairReading(Value):
    """The verdict on `after` beside `before`; None, with the reason in `why`, where the two cannot be compared.

    `why` is also what leaves an inconclusive verdict open in spite of its figures: missing outputs, a comparison's level.

    `basis`: a recorded "comparison", whose own figures `delta`, `interval`, `level` and `pValue` are; a change of "level", or the
    paired "test" of the two runs, whose figures they are in either case. `deltaOf` names what differs where it is not the score.
    `better` and `worse` count the cases of the two runs that were measured alike, `edited` those that were not. Of a level,
    `levelRunId` is the run at which it began and `levelDelta` how far it moved.
    """

    before: str
    after: str
    verdict: ComparisonVerdict | None
    basis: Basis | None = None
    why: str = ""
    delta: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    level: Annotated[float, Field(exclude_if=lambda level: level == ERROR)] = ERROR
    delta_of: Annotated[str, Field(exclude_if=lambda of: of == "score")] = "score"
    cases: Count = 0
    better: Count = 0
    worse: Count = 0
    edited: Annotated[Count, Field(exclude_if=lambda edited: not edited)] = 0
    level_run_id: str | None = None
    level_at: Timestamp | None = None
    level_delta: float | None = None


def read_pair(
    db: Db, before: str, after: str, *, scores: BothScores | None = None, by_checks: bool = False
) -> PairReading:
    """The reading of two concluded runs, whichever is the newer; `by_checks`: the scores are those of the checks of both."""
    levels = _levels_of_both(db, before, after)
    newest = "" if levels is None else levels.starts[-1].run_id
    asked = run_pairs.comparison_of(db, before, after)
    key = (
        file_of(db),
        before,
        after,
        newest,
        0 if levels is None else len(levels.place),
        by_checks,
        asked.id if asked else "",
    )
    if key not in _cache:
        _cache[key] = _reading(db, before, after, levels, scores, _figures(db, asked))
        if len(_cache) > CACHED:
            _cache.popitem(last=False)
    return _cache[key]


def _figures(db: Db, asked: Record[PromptComparison] | None) -> PromptComparison | None:
    if asked is None:
        return None
    from minions_evals_mcp.engine.conclude.decided_figures import decided_figures  # noqa: PLC0415  most runs were not compared

    return decided_figures(db, asked)


def read_beside(db: Db, run_id: str) -> PairReading | None:
    """The reading of the run beside the one that it is compared with; None for the first, and for the sides of a comparison.

    A run that was concluded as not comparable has no verdict, unless somebody asked for a comparison of the two.
    """
    run = runs.benchmark_run(db, run_id)
    if run is None or run.fields.purpose == "comparison":
        return None
    previous = runs.run_before(db, run_id=run_id)
    if previous is None:
        return None
    why = run.fields.not_compared.partition(_BECAUSE)[2]
    if why and run_pairs.comparison_of(db, previous, run_id) is None:
        return PairReading(before=previous, after=run_id, verdict=None, why=why)
    return read_pair(db, previous, run_id)


def _reading(
    db: Db, before: str, after: str, levels: Levels | None, scores: BothScores | None, asked: PromptComparison | None
) -> PairReading:
    from minions_evals_mcp.engine.answers.readings.real_change import difference  # noqa: PLC0415  pairs are compared for benchmark-runs alone

    compared = difference(db, before, after, scores=scores)
    found, why = compared.found, compared.why
    if found is None:
        return PairReading(before=before, after=after, verdict=None, why=why)
    verdict: ComparisonVerdict = found.verdict
    tested = PairReading(
        before=before,
        after=after,
        verdict=verdict,
        basis="test",
        why=why,
        delta=found.delta,
        interval=found.interval,
        p_value=found.p_value,
        cases=found.cases,
        better=found.better,
        worse=found.worse,
        edited=compared.edited,
    )
    if asked is not None:
        return _as_compared(tested, asked)
    step = None if levels is None else _step(levels, before, after)
    if why or step is None or step[0] == OPPOSITE.get(found.verdict):
        return tested
    moved, start, delta = step
    return tested.model_copy(
        update={
            "verdict": moved, "basis": "level", "level_run_id": start.run_id, "level_at": start.at, "level_delta": delta
        }
    )  # fmt: skip


def _as_compared(tested: PairReading, asked: PromptComparison) -> PairReading:
    """The recorded verdict with the figures that it rests on; of a sequential one that has none, those of the test."""
    reading = tested.model_copy(
        update={"verdict": asked.verdict, "basis": "comparison", "why": _why(tested.p_value, asked)}
    )
    decided = asked.decided_on
    if decided.interval is None:
        return reading
    return reading.model_copy(
        update={
            "delta": decided.delta, "interval": decided.interval, "p_value": asked.p_value, "delta_of": decided.of,
            "level": asked.level or ERROR, "why": _why(asked.p_value, asked),
        }
    )  # fmt: skip


def _why(p_value: float | None, asked: PromptComparison) -> str:
    """What leaves a comparison open that a test at .05 might decide."""
    level = asked.level
    if asked.verdict != "inconclusive" or asked.missing_outputs or level is None or p_value is None:
        return asked.missing_outputs
    return f"the comparison was decided at p <= {level:.3g}" if level < p_value <= ERROR else ""


def _levels_of_both(db: Db, before: str, after: str) -> Levels | None:
    """The levels of the benchmark in whose history both runs are."""
    run = runs.benchmark_run(db, after)
    if run is None:
        return None
    levels = read_levels(db, run.fields.benchmark_id)
    return levels if before in levels.place and after in levels.place else None


def _step(levels: Levels, before: str, after: str) -> tuple[ComparisonVerdict, LevelStart, float] | None:
    """The change between the levels of the two, where every step between them goes the same way; the newest step with it."""
    then, now = levels.place[before], levels.place[after]
    steps = levels.starts[min(then, now) + 1 : max(then, now) + 1]
    deltas = [start.delta for start in steps if start.delta is not None]
    if not steps or len(deltas) < len(steps):
        return None
    falls = {delta < 0 for delta in deltas}
    if len(falls) > 1:
        return None
    fell = falls.pop() is (then < now)
    return "regressed" if fell else "improved", steps[-1], sum(deltas) * (1 if then < now else -1)
