"""Production traces in the terminal, as they are judged."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import anyio
from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, run, say, session
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.operations.views.production import (
    MOST_HOURS,
    Production,
    ProductionFilter,
    TraceCounts,
    TraceSeries,
    read_production,
)
from minions_evals_mcp.report.plain import printable

LOOKED_EVERY_S = 1.0
CLEARED = "\x1b[H\x1b[2J"
Hours = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=MOST_HOURS))]
NEWEST = 5


def live(
    *,
    hours: Hours = 24,
    agent: str = "",
    rubric: str = "",
    tag: str = "",
    version: str = "",
    model: str = "",
    once: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Follow production traces as they are judged: pass rate, causes, cost and the newest failing, by agent and rubric.

    The view is updated when something changes, until Ctrl-C. With --json each change is one line.
    Example: minions-evals live --tag checkout

    Parameters
    ----------
    hours
        Traces of the last hours.
    agent
        Only traces of this agent.
    rubric
        Only traces judged by this rubric.
    tag
        Only traces with this tag.
    version
        Only traces of this prompt version.
    model
        Only traces of this model.
    once
        Show it once and exit.
    """
    only = ProductionFilter(hours=hours, agent=agent, rubric=rubric, tag=tag, version=version, model=model)
    try:
        return run(partial(_live, only, common, once=once))
    except KeyboardInterrupt:
        return 0  # the way in which looking ends


async def _live(only: ProductionFilter, common: Common, *, once: bool) -> int:
    async with session(common) as engine:
        seen: int | None = None
        while True:
            version = await engine.store.version()
            if version != seen:
                _show(await read_production(engine, only), only, common, once=once)
                seen = version
            if once:
                return 0
            await anyio.sleep(LOOKED_EVERY_S)


def _show(page: Production, only: ProductionFilter, common: Common, *, once: bool) -> None:
    if common.json:
        say(page.model_dump(mode="json"))
    else:
        clears = not once and sys.stdout.isatty()
        tell((CLEARED if clears else "") + "\n".join(_lines(page, only, once=once)) + "\n")
    sys.stdout.flush()


def _lines(page: Production, only: ProductionFilter, *, once: bool) -> list[str]:
    if not page.ever:
        return [
            "No production trace has been judged yet. Next: minions-eval-agent run --otlp 127.0.0.1:4318 --otlp-rubric RUBRIC"
        ]
    lines = [f"Last {only.hours} {'hour' if only.hours == 1 else 'hours'}: {_counts_words(page.counts)}"]
    lines += [f"  {_series_words(series)}" for series in page.series]
    if page.failing:
        lines.append("Newest failing:")
    for trace in page.failing[:NEWEST]:
        lines.append(f"  {trace.at:%H:%M:%S}  {printable(trace.title, 60)}  {trace.cause}  {trace.run_id}")
        if trace.reason:
            lines.append(f"            {printable(trace.reason, 200)}")
    if page.waiting:
        lines.append(f"{page.waiting} {'trace waits' if page.waiting == 1 else 'traces wait'} to be judged.")
    return lines if once else [*lines, "Ctrl-C ends."]


def _counts_words(counts: TraceCounts) -> str:
    if counts.interval is None:
        return "no trace was judged"
    low, high = (100 * end for end in counts.interval)
    share = f"{100 * counts.passed / counts.judged:.0f} % (95 % CI {low:.0f}–{high:.0f} %)"
    rate = f"{counts.passed} of {counts.judged} judged traces passed, {share}"
    cost = f", ${counts.cost_usd:.4f}" if counts.cost_usd else ""
    unscored = f", {counts.unscored} not scored" if counts.unscored else ""
    return f"{rate}{cost}{unscored}"


def _series_words(series: TraceSeries) -> str:
    by = printable(series.rubric, 40) if series.rubric_id else "its test cases"
    causes = ", ".join(f"{cause} {count}" for cause, count in series.causes.items())
    return f"{printable(series.agent_id, 40)} by {by}: {_counts_words(series.counts)}{f' ({causes})' if causes else ''}"
