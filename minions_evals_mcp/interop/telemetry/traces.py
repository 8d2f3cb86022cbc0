"""Traces of agents (OpenTelemetry GenAI, OpenInference) as agent-runs: spans are gathered until their agent's span has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.interop.span_messages import ADK_RESPONSE, asks_for_call
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.interop.telemetry.contents import lone_span, with_contents
from minions_evals_mcp.interop.telemetry.settled import Settled
from minions_evals_mcp.interop.trace_run import agent_run, trace_prefix
from minions_evals_mcp.sessions.telemetry import ContentEvent

SETTLED_S = 1.0
"""An agent's span ends last; so long after it stragglers of its steps are still taken in."""
ORPHANED_S = 60.0
"""A span may name a parent that never comes, for another service has it; so long it is waited for."""
JOINED_S = 10.0
"""Log events come by an exporter of their own: so long a trace whose spans leave its content out waits for them."""
HOPELESS_S = 600.0
"""So long a trace is waited for of which no first span has come. Then its models and tools are a run; without any it is dropped."""
MOST_OPEN = 10_000
MISSING = "trace"
"""The name of a span that has not come."""

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
    is_model = span.text("llm.request.type") in MODEL_REQUESTS or bool(obj(span.value(ADK_RESPONSE)))
    return known or ("model" if is_model else None)


@dataclass(slots=True)
class _Open:
    """A trace that is not told yet. `seen_at`: when its last part came; `hopeless`: none of its spans so far is an agent's."""

    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    contents: dict[str, list[ContentEvent]] = field(default_factory=dict[str, list[ContentEvent]])
    rows: list[int] = field(default_factory=list[int])
    seen_at: float = 0.0
    hopeless: bool = False

    def whole(self) -> dict[str, Span]:
        """The spans with what events say of them."""
        return {ident: with_contents(span, self.contents.get(ident, ())) for ident, span in self.spans.items()}


class Traces:
    """Spans in whatever order and documents they come; time is in seconds of the caller's clock."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._dropped: list[int] = []

    @property
    def waiting(self) -> int:
        """Returns how many traces may still become agent-runs."""
        return sum(not trace.hopeless for trace in self._open.values())

    def add(self, spans: Iterable[Span], *, now: float, row: int = 0) -> list[str]:
        """Takes the spans in; the ids of traces that had to be given up because too many wait for their agent's span.

        `row`: the one under which the spans outlive the process.
        """
        for span in spans:
            self._touch(span.trace_id, now, row).spans[span.id] = span
        return self._given_up()

    def add_contents(self, contents: Iterable[ContentEvent], *, now: float, row: int = 0) -> list[str]:
        """Takes in what log events say of spans, be these there or not; as `add`."""
        for event in contents:
            events = self._touch(event.trace_id, now, row).contents.setdefault(event.span_id, [])
            if event not in events:  # an exporter that got no answer sends again
                events.append(event)
        return self._given_up()

    def completed(self, *, now: float, at_once: bool = False) -> list[Json]:
        """The agent-runs, as records on the wire, of the traces that are whole; each once. `at_once`: nothing more will come."""
        return [settled.run for settled in self.settled(now=now, at_once=at_once) if settled.run is not None]

    def settled(self, *, now: float, at_once: bool = False) -> list[Settled]:
        """As `completed`, with the rows that nothing more is made of."""
        over = [Settled(None, tuple(self._dropped))]
        self._dropped.clear()
        before = now if at_once else now - SETTLED_S
        for trace_id, trace in list(self._open.items()):
            if trace.hopeless and not at_once and not trace.contents:
                if now - trace.seen_at >= HOPELESS_S:
                    over += self._settle(trace_id, trace, HOPELESS_S, at_once=True) or [self._close(trace_id)]
            elif trace.seen_at <= before:
                over += self._settle(trace_id, trace, now - trace.seen_at, at_once=at_once)
        return over

    def _settle(self, trace_id: str, trace: _Open, waited_s: float, *, at_once: bool) -> list[Settled]:
        spans = trace.whole()
        missing = _missing_parents(spans) if at_once else {}
        roots, steps = _runs(spans | missing, whole=at_once)
        roots = [root for root in roots if root.id not in missing or any(map(kind_of, steps[root.id]))]
        trace.hopeless = not roots
        if not roots:
            run = _alone(trace_id, trace) if at_once or waited_s >= ORPHANED_S else None
            return [] if run is None else [self._close(trace_id, run, unless=trace_prefix(trace_id))]
        runs = [
            agent_run(
                root, steps[root.id], kind_of, is_over=_is_over(root, steps[root.id], has_come=root.id not in missing)
            )
            for root in roots
        ]
        told_s = SETTLED_S if all(map(_is_told, runs)) else JOINED_S
        if not at_once and waited_s < max(_patience(spans, roots), told_s):
            return []
        first, *others = runs
        return [self._close(trace_id, first), *map(Settled, others)]

    def _touch(self, trace_id: str, now: float, row: int) -> _Open:
        trace = self._open.setdefault(trace_id, _Open())
        trace.seen_at, trace.hopeless = now, False
        trace.rows.append(row)
        return trace

    def _close(self, trace_id: str, run: Json | None = None, *, unless: str = "") -> Settled:
        return Settled(run, tuple(self._open.pop(trace_id).rows), unless)

    def _given_up(self) -> list[str]:
        given_up = list(self._open)[: max(0, len(self._open) - MOST_OPEN)]
        for trace_id in given_up:
            self._dropped += self._open.pop(trace_id).rows
        return given_up


def _is_told(run: Json) -> bool:
    """Whether the run holds both what was asked and what came of it."""
    fields = obj(run.get("fields"))
    return bool(fields.get("inputs")) and bool(fields.get("outputs"))


def _alone(trace_id: str, trace: _Open) -> Json | None:
    """The agent-run of a trace of which only events came, and no span that could be read."""
    lone = [lone_span(trace_id, ident, events) for ident, events in trace.contents.items() if ident not in trace.spans]
    models = sorted((span for span in lone if span is not None), key=lambda span: (span.start, span.id))
    if not models:
        return None
    root = Span(trace_id, models[-1].id, None, MISSING, models[0].start, models[-1].end, None, None, {})
    return agent_run(root, models, kind_of)


def _is_over(root: Span, steps: Sequence[Span], *, has_come: bool) -> bool:
    """Whether the agent's work has ended. Where its span has not come, because it was killed or its span went elsewhere, the
    last of its steps tells: a model's answer that asks for no call ends it."""
    if has_come:
        return root.end > 0 or root.start <= 0
    known = [span for span in steps if kind_of(span) is not None]
    last = max(known, key=lambda span: (span.end, span.start), default=None)
    return last is not None and kind_of(last) == "model" and not asks_for_call(last)


def _missing_parents(spans: dict[str, Span]) -> dict[str, Span]:
    """A span without an end for each parent that has not come, where no agent's has; none of a model's lone answer, which is whole."""
    kinds = {ident: kind_of(span) for ident, span in spans.items()}
    if "agent" in kinds.values():
        return {}
    children: dict[str, list[Span]] = {}
    for span in spans.values():
        if span.parent_id is not None and span.parent_id not in spans:
            children.setdefault(span.parent_id, []).append(span)
    return {
        parent: Span(
            below[0].trace_id, parent, None, MISSING, min(span.start for span in below), 0, below[0].service, None, {}
        )
        for parent, below in children.items()
        if len(below) > 1 or kinds[below[0].id] != "model" or asks_for_call(below[0])
    }


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
