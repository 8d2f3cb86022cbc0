"""Production as interfaces show it: the traces that were judged, by agent and rubric, over the last hours or days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.stats.intervals import grouped_pass_rate
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.pages import production as rows
from minions_evals_mcp.store.queries.pages.case_strip import unit_of
from minions_evals_mcp.store.queries.pages.production import JudgedTrace

NEWEST_FAILING = 20
MOST_HOURS = 24 * 366
USUAL_HOURS = 24 * 7
STEPS = (
    (timedelta(hours=2), timedelta(minutes=5)),
    (timedelta(hours=48), timedelta(hours=1)),
    (timedelta(days=14), timedelta(hours=6)),
)
"""The length of a point of the series, by the time span that is shown; a day for longer ones."""


class ProductionFilter(Value):
    """The traces that are shown: of the last `hours`, of that agent, rubric, tag, prompt version and model. Empty takes any."""

    hours: int = USUAL_HOURS
    agent: str = ""
    rubric: str = ""
    tag: str = ""
    version: str = ""
    model: str = ""


class TracePoint(Value):
    """The traces judged in one step of time."""

    at: Timestamp
    judged: int
    passed: int
    cost_usd: float

    @property
    def rate(self) -> float:
        """The share that passed; 0 where nothing was judged."""
        return self.passed / self.judged if self.judged else 0.0


class FailingTrace(Value):
    """A trace that failed, with the reason of its judge."""

    run_id: str
    test_run_id: str
    place: str
    """The unit of the run: its position and trial."""
    at: Timestamp
    agent_id: str
    title: str
    cause: str
    reason: str
    version: str | None
    models: tuple[str, ...]


class TraceCounts(Value):
    """The verdicts of some traces; `interval` is the 95 % confidence interval of the pass rate, each conversation counted as one unit."""

    judged: int
    passed: int
    unscored: int
    interval: tuple[float, float] | None
    cost_usd: float

    @property
    def failed(self) -> int:
        """The traces that failed."""
        return self.judged - self.passed


class TraceSeries(Value):
    """The traces of one agent judged by one rubric; without a rubric they are judged by test cases with the same inputs."""

    agent_id: str
    rubric_id: str | None
    rubric: str
    counts: TraceCounts
    causes: dict[str, int]
    points: tuple[TracePoint, ...]
    newest_failing: FailingTrace | None
    last_at: Timestamp


class ProductionChoices(Value):
    """The values that a filter can take in this time span."""

    agents: tuple[str, ...]
    rubrics: dict[str, str]
    tags: tuple[str, ...]
    versions: tuple[str, ...]
    models: tuple[str, ...]


class Production(Value):
    """The judged traces of a time span. `waiting`: traces that are not judged yet; `ever`: whether any was judged before."""

    since: Timestamp
    until: Timestamp
    counts: TraceCounts
    waiting: int
    ever: bool
    series: tuple[TraceSeries, ...]
    points: tuple[TracePoint, ...]
    causes: dict[str, int]
    failing: tuple[FailingTrace, ...]
    choices: ProductionChoices


@dataclass(frozen=True, slots=True)
class _Span:
    """The time span of a reading and the steps that it is divided into."""

    since: datetime
    until: datetime
    step: timedelta

    def points(self, traces: Iterable[JudgedTrace]) -> tuple[TracePoint, ...]:
        """A point for each step, those without a trace too."""
        judged: Counter[int] = Counter()
        passed: Counter[int] = Counter()
        costs: dict[int, float] = {}
        for trace in traces:
            place = (trace.at - self.since) // self.step
            judged[place] += trace.passed is not None
            passed[place] += trace.passed is True
            costs[place] = costs.get(place, 0.0) + trace.cost_usd
        steps = range((self.until - self.since) // self.step + 1)
        return tuple(
            TracePoint(
                at=self.since + self.step * at, judged=judged[at], passed=passed[at], cost_usd=costs.get(at, 0.0)
            )
            for at in steps
        )


async def read_production(engine: Engine, only: ProductionFilter | None = None) -> Production:
    """The traces that fit, as of now."""
    return await engine.store.read(partial(_production, only=only or ProductionFilter(), now=engine.clock()))


async def count_production(engine: Engine) -> int:
    """The number of runs that judged a production trace."""
    return await engine.store.read(rows.count_judged_traces)


def _production(db: Db, *, only: ProductionFilter, now: datetime) -> Production:
    span = _span(only.hours, now)
    found = rows.judged_traces(db, span.since)
    wanted = [trace for trace in found if _fits(trace, only)]
    titles = report_units.titles(db, list({trace.rubric_id for trace in found if trace.rubric_id}))
    failed = [trace for trace in reversed(wanted) if trace.passed is False]
    by_series: dict[tuple[str, str | None], list[JudgedTrace]] = {}
    for trace in wanted:
        by_series.setdefault((trace.agent_id, trace.rubric_id), []).append(trace)
    firsts = [next(trace for trace in reversed(traces) if trace.passed is False) for traces in by_series.values()
              if any(trace.passed is False for trace in traces)]  # fmt: skip
    shown = list(dict.fromkeys([*failed[:NEWEST_FAILING], *firsts]))
    reasons = rows.failure_reasons(db, [trace.test_run_id for trace in shown if trace.test_run_id])
    tell = partial(_failing, reasons=reasons)
    series = [_series(key, traces, span, titles, tell) for key, traces in by_series.items()]
    return Production(
        since=span.since,
        until=now,
        counts=_counts(wanted),
        waiting=rows.count_waiting_traces(db),
        ever=bool(found) or rows.has_judged_traces(db),
        series=tuple(
            sorted(series, key=lambda one: (-one.counts.failed, -one.counts.judged, one.agent_id, one.rubric))
        ),
        points=span.points(wanted),
        causes=_causes(failed),
        failing=tuple(map(tell, failed[:NEWEST_FAILING])),
        choices=_choices(found, titles),
    )


def _span(hours: int, now: datetime) -> _Span:
    length = timedelta(hours=max(1, min(hours, MOST_HOURS)))
    step = next((step for most, step in STEPS if length <= most), timedelta(days=1))
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return _Span(midnight + step * ((now - length - midnight) // step), now, step)


def _fits(trace: JudgedTrace, only: ProductionFilter) -> bool:
    return (
        only.agent in {"", trace.agent_id}
        and only.rubric in {"", trace.rubric_id}
        and only.version in {"", trace.version}
        and (not only.tag or only.tag in trace.tags)
        and (not only.model or only.model in trace.models)
    )


def _counts(traces: Sequence[JudgedTrace]) -> TraceCounts:
    judged = [trace for trace in traces if trace.passed is not None]
    interval = grouped_pass_rate((trace.group or trace.run_id, trace.passed is True) for trace in judged)
    return TraceCounts(
        judged=len(judged),
        passed=sum(trace.passed is True for trace in judged),
        unscored=sum(trace.passed is None and not trace.is_open for trace in traces),
        interval=None if interval is None else interval.bounds,
        cost_usd=sum(trace.cost_usd for trace in traces),
    )


def _causes(failed: Iterable[JudgedTrace]) -> dict[str, int]:
    """The causes with their numbers, the most frequent first."""
    counted = Counter(trace.cause or "unknown" for trace in failed)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _failing(trace: JudgedTrace, *, reasons: dict[str, str]) -> FailingTrace:
    ident = trace.test_run_id or ""
    _, (position, trial) = unit_of(ident)
    return FailingTrace(
        run_id=trace.run_id, test_run_id=ident, place=f"{position}.{trial}", at=trace.at, agent_id=trace.agent_id, title=trace.title,
        cause=trace.cause or "unknown", reason=reasons.get(ident, ""), version=trace.version, models=trace.models,
    )  # fmt: skip


def _series(
    key: tuple[str, str | None], traces: Sequence[JudgedTrace], span: _Span, titles: dict[str, str],
    tell: Callable[[JudgedTrace], FailingTrace],
) -> TraceSeries:  # fmt: skip
    agent, rubric = key
    failed = [trace for trace in reversed(traces) if trace.passed is False]
    return TraceSeries(
        agent_id=agent,
        rubric_id=rubric,
        rubric="" if rubric is None else titles.get(rubric, rubric),
        counts=_counts(traces),
        causes=_causes(failed),
        points=span.points(traces),
        newest_failing=tell(failed[0]) if failed else None,
        last_at=traces[-1].at,
    )


def _choices(traces: Sequence[JudgedTrace], titles: dict[str, str]) -> ProductionChoices:
    return ProductionChoices(
        agents=tuple(sorted({trace.agent_id for trace in traces})),
        rubrics={
            ident: titles.get(ident, ident)
            for ident in sorted({trace.rubric_id for trace in traces if trace.rubric_id})
        },
        tags=tuple(sorted({tag for trace in traces for tag in trace.tags})),
        versions=tuple(sorted({trace.version for trace in traces if trace.version})),
        models=tuple(sorted({model for trace in traces for model in trace.models})),
    )
