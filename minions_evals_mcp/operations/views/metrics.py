"""Figures for Prometheus: judged production traces, and what waits, in the text format 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.waiting_outputs import count_waiting
from minions_evals_mcp.store.queries.pages.production import (
    TraceTotal,
    count_waiting_traces,
    trace_causes,
    trace_totals,
)

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its samples: labels and value. A counter's name ends in `_total`."""

    name: str
    kind: Literal["counter", "gauge"]
    about: str
    samples: Sequence[tuple[dict[str, str], float]]

    def lines(self) -> Iterable[str]:
        """The metric in the text format."""
        yield f"# HELP {self.name} {self.about}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.samples:
            named = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in labels.items())
            yield f"{self.name}{f'{{{named}}}' if named else ''} {value!r}"


async def metrics_text(engine: Engine) -> str:
    """All metrics of the store."""
    metrics = await engine.store.read(_metrics)
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines())


def _metrics(db: Db) -> list[Metric]:
    totals = trace_totals(db)
    causes = [
        ({**_series(agent, rubric), "cause": cause}, float(count)) for agent, rubric, cause, count in trace_causes(db)
    ]
    verdicts = [
        ({**_series(total.agent_id, total.rubric_id), "verdict": verdict}, float(count))
        for total in totals
        for verdict, count in (("passed", total.passed), ("failed", total.judged - total.passed))
    ]
    return [
        Metric("minions_evals_traces_judged_total", "counter", "Judged production traces.", verdicts),
        Metric(
            "minions_evals_traces_unscored_total", "counter", "Production traces that could not be scored.",
            [(_of(total), float(total.unscored)) for total in totals],
        ),
        Metric("minions_evals_trace_failures_total", "counter", "Production traces that failed, by cause.", causes),
        Metric(
            "minions_evals_trace_cost_usd_total", "counter", "Known cost of production traces and of judging them, in US"
            " dollars.",
            [(_of(total), total.cost_usd) for total in totals],
        ),
        Metric(
            "minions_evals_traces_waiting", "gauge", "Production traces that wait to be judged.",
            [({}, float(count_waiting_traces(db)))],
        ),
        Metric(
            "minions_evals_outputs_waiting", "gauge", "Outputs that wait for the judgment of a person or a caller.",
            [({}, float(count_waiting(db)))],
        ),
    ]  # fmt: skip


def _series(agent: str, rubric: str | None) -> dict[str, str]:
    return {"agent": agent, "rubric": rubric or ""}


def _of(total: TraceTotal) -> dict[str, str]:
    return _series(total.agent_id, total.rubric_id)
