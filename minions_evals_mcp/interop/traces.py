"""Traces of agents (OpenTelemetry GenAI, OpenInference) as agent-runs: spans are gathered until their agent's span has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.interop.trace_run import agent_run

SETTLED_S = 1.0
"""An agent's span ends last; so long after it stragglers of its steps are still taken in."""
ORPHANED_S = 60.0
"""A span may name a parent that never comes, for another service has it; so long it is waited for."""
MOST_OPEN = 10_000

KINDS = {
    "invoke_agent": "agent",
    "execute_tool": "tool",
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
}
"""By `gen_ai.operation.name`; OpenInference says AGENT, TOOL and LLM in `openinference.span.kind`."""
INFERENCE = {"AGENT": "agent", "TOOL": "tool", "LLM": "model"}

MODEL_REQUESTS = frozenset(("chat", "completion"))
"""What `llm.request.type`, which OpenLLMetry writes, says of a model's call."""


def kind_of(span: Span) -> str | None:
    """agent, tool or model; nothing for a step of something else."""
    named = KINDS.get(span.text("gen_ai.operation.name") or "")
    kinds = ((span.text(key) or "").upper() for key in ("openinference.span.kind", "traceloop.span.kind"))
    known = named or next((INFERENCE[kind] for kind in kinds if kind in INFERENCE), None)
    return known or ("model" if span.text("llm.request.type") in MODEL_REQUESTS else None)


@dataclass(slots=True)
class _Open:
    """A trace that is not told yet. `seen_at`: when its last span came; `hopeless`: none of its spans so far is an agent's."""

    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    seen_at: float = 0.0
    hopeless: bool = False


class Traces:
    """Spans in whatever order and documents they come; time is in seconds of the caller's clock."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    @property
    def waiting(self) -> int:
        """Returns how many traces may still become agent-runs."""
        return sum(not trace.hopeless for trace in self._open.values())

    def add(self, spans: Iterable[Span], *, now: float) -> list[str]:
        """Takes the spans in; the ids of traces that had to be given up because too many wait for their agent's span."""
        for span in spans:
            trace = self._open.setdefault(span.trace_id, _Open())
            trace.spans[span.id] = span
            trace.seen_at, trace.hopeless = now, False
        given_up = list(self._open)[: max(0, len(self._open) - MOST_OPEN)]
        for trace_id in given_up:
            del self._open[trace_id]
        return given_up

    def completed(self, *, now: float, at_once: bool = False) -> list[Json]:
        """The agent-runs, as records on the wire, of the traces that are whole; each once. `at_once`: nothing more will come."""
        traces: list[Json] = []
        settled = now if at_once else now - SETTLED_S
        for trace_id, trace in [
            trace_entry
            for trace_entry in self._open.items()
            if trace_entry[1].seen_at <= settled and not trace_entry[1].hopeless
        ]:
            roots, steps = _runs(trace.spans, whole=at_once)
            trace.hopeless = not roots
            if roots and (at_once or now - trace.seen_at >= _patience(trace.spans, roots)):
                del self._open[trace_id]
                traces += [agent_run(root, steps[root.id], kind_of) for root in roots]
        return traces


def _runs(spans: dict[str, Span], *, whole: bool) -> tuple[list[Span], dict[str, list[Span]]]:
    """The spans that an agent-run is made of each, and by the id of each the steps below it, in the order in which they began.

    Those are the agents' spans that stand under no other agent's; without any, the trace's first spans if a model or tool was
    at work: those without a parent, or, where the trace is `whole`, without one that has come.
    """
    kinds = {ident: kind_of(span) for ident, span in spans.items()}
    chosen = {ident for ident, kind in kinds.items() if kind == "agent"}
    if not chosen and any(kinds.values()):
        chosen = {
            span.id for span in spans.values() if span.parent_id is None or (whole and span.parent_id not in spans)
        }
    outermost = _outermost(spans, chosen)
    steps: dict[str, list[Span]] = {ident: [] for ident in chosen if outermost[ident] == ident}
    for span in sorted(spans.values(), key=lambda span: (span.start, span.end)):
        above = outermost[span.id]
        if above is not None and above != span.id:
            steps[above].append(span)
    return [spans[ident] for ident in spans if ident in steps], steps


def _outermost(spans: dict[str, Span], chosen: set[str]) -> dict[str, str | None]:
    """Of each span the outermost of the chosen ones on its way up, itself included. A way that leads back ends there."""
    outermost: dict[str, str | None] = {}
    for span in spans.values():
        way: dict[str, None] = {}
        ident: str | None = span.id
        while ident in spans and ident not in outermost and ident not in way:
            way[ident] = None
            ident = spans[ident].parent_id
        above = outermost.get(ident or "")
        for passed in reversed(way):
            above = above if above is not None else passed if passed in chosen else None
            outermost[passed] = above
    return outermost


def _patience(spans: dict[str, Span], roots: list[Span]) -> float:
    """Returns how long stragglers are waited for: longer where the way up from a root ends at a parent that has not come."""
    tops = _outermost(spans, {span.id for span in spans.values() if span.parent_id is None})
    return SETTLED_S if all(tops[root.id] is not None for root in roots) else ORPHANED_S
