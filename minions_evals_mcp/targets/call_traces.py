"""The traces of a config's calls: the ids that a provider is told, and the spans that arrive under them.

A trace is told to code as promptfoo 0.123.1 tells it: the spans of the application in the order in which they came, and
behind them one of the call itself. Of a model's call at OpenAI's chat interface promptfoo's own span is known by name and time only:
checks of spans count it, and code is not told it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.reserved_inputs import COUNTED_SPANS

MOST_SPANS = 10_000
"""So many spans are held of one trace; more are passed over."""
LOOKED_EVERY_S, MOST_LOOKS = 0.25, 6
"""How often it is looked, after an answer, whether spans still arrive: until as many are there as the last time."""
WHOLE = frozenset({"echo", "python", "module", "exec", "http"})
"""The kinds of providers of whose calls all spans are known; of others promptfoo makes spans of its own that we do not."""


class HeldSpans:
    """The spans of calls under way, by trace and span id; those of any other trace are passed over.

    They come in from another thread than the one that asks for them.
    """

    def __init__(self) -> None:
        self._traces: dict[str, dict[str, Json]] = {}

    def begin(self, trace_id: str) -> None:
        """From now on spans of that trace are held."""
        self._traces[trace_id] = {}

    def add(self, trace_id: str, span: Json) -> None:
        """Holds the span, unless its trace is unknown or full; the first of an id stays."""
        held = self._traces.get(trace_id)
        if held is not None and len(held) < MOST_SPANS:
            held.setdefault(str(span["spanId"]), span)

    async def settled(self, trace_id: str) -> list[Json]:
        """The spans in the order in which they came, once no more of them arrive."""
        before = -1
        for _ in range(MOST_LOOKS):
            held = [*self._traces[trace_id].values()]
            if len(held) == before:
                return held
            before = len(held)
            await anyio.sleep(LOOKED_EVERY_S)
        return [*self._traces[trace_id].values()]

    def end(self, trace_id: str) -> None:
        """Its spans are held no longer."""
        del self._traces[trace_id]


@frozen_type
class TestPlace:
    """The place of a test in its config: its row, and whether it is asked once."""

    row: int
    once: bool


def test_key(inputs: Json) -> str:
    """Under what the place of the test with those inputs is found."""
    return digest(inputs)


@frozen_type
class CallTrace:
    """The trace of one call as its provider is told it; `span_id` is the span of the call itself."""

    trace_id: str
    span_id: str
    evaluation_id: str
    test_case_id: str

    @property
    def traceparent(self) -> str:
        """The header of W3C's Trace Context."""
        return f"00-{self.trace_id}-{self.span_id}-01"

    def context(self) -> Json:
        """Returns what code is told of it beside the prompt."""
        return {
            "traceparent": self.traceparent, "evaluationId": self.evaluation_id, "testCaseId": self.test_case_id,
        }  # fmt: skip


@frozen_type
class Tracing:
    """The tracing of one column's calls; `listens`: spans may arrive. `kind` is its provider's."""

    held: HeldSpans
    listens: bool
    evaluation_id: str
    column: int
    prompt_label: str
    provider_id: str
    """Empty where it holds a secret."""
    provider_label: str
    """Empty where the provider has none of its own."""
    kind: str
    places: Mapping[str, TestPlace]
    chat_model: str = ""
    """The model, where its provider is asked by OpenAI's chat interface."""

    @contextmanager
    def call(self, inputs: Json) -> Generator[TracedCall]:
        """A call for the test with those inputs, whose spans are held as long as it lasts."""
        place = self.places[test_key(inputs)]
        trace = CallTrace(secrets.token_hex(16), secrets.token_hex(8), self.evaluation_id, f"{place.row}-{self.column}")
        self.held.begin(trace.trace_id)
        try:
            yield TracedCall(self, trace, place, time.time() * 1000)
        finally:
            self.held.end(trace.trace_id)


@frozen_type
class TracedCall:
    """One call under way, and when it began, in milliseconds since 1970."""

    tracing: Tracing
    trace: CallTrace
    place: TestPlace
    began: float

    async def trace_facts(self, variables: Json, response: Json) -> Json:
        """Returns what code is told of the trace, once the spans of that answer are there.

        What is not known of it is left out: a repeated test's number, the spans of a model's provider.
        """
        own = self._own_span(response, time.time() * 1000)
        spans = await self.tracing.held.settled(self.trace.trace_id) if self.tracing.listens else []
        once: Json = {"testIdx": self.place.row, "repeatIndex": 0} if self.place.once else {}
        named: Json = {"providerId": self.tracing.provider_id} if self.tracing.provider_id else {}
        metadata: Json = {**once, "promptIdx": self.tracing.column, **named, "vars": variables}
        ids: Json = {
            "traceId": self.trace.trace_id, "evaluationId": self.trace.evaluation_id, "testCaseId": self.trace.test_case_id,
        }  # fmt: skip
        return {**ids, "metadata": metadata, **self._known([*spans], own)}

    def _known(self, spans: list[JsonValue], own: Json) -> Json:
        """The spans, as far as all are known: whole, or by name and time."""
        model = self.tracing.chat_model
        if not own["name"]:
            return {}
        if self.tracing.kind in WHOLE:
            return {"spans": [*spans, own]}
        called: Json = {"name": f"chat {model}", "startTime": self.began, "endTime": own["endTime"], "statusCode": 1}
        return {COUNTED_SPANS: [*spans, called, own]} if model else {}

    def _own_span(self, response: Json, ended: float) -> Json:
        tracing = self.tracing
        label: Json = {"promptfoo.target.label": tracing.provider_label} if tracing.provider_label else {}
        ident: Json = {"promptfoo.provider.id": tracing.provider_id} if tracing.provider_id else {}
        of_cache = response.get("cached", False if tracing.kind in {"python", "http"} else None)
        cached: Json = {} if of_cache is None else {"promptfoo.cache_hit": bool(of_cache)}
        attributes: Json = {
            "service.name": "promptfoo", "service.version": "0.123.1", **ident,
            "promptfoo.span.role": "target", "promptfoo.target.type": _target_type(tracing), **label,
            "promptfoo.prompt.label": tracing.prompt_label, "promptfoo.eval.id": tracing.evaluation_id,
            **({"promptfoo.test.index": self.place.row} if self.place.once else {}), **cached,
        }  # fmt: skip
        return {
            "spanId": self.trace.span_id, "parentSpanId": secrets.token_hex(8),
            "name": tracing.provider_label or tracing.provider_id, "startTime": int(self.began), "endTime": ended,
            "attributes": attributes, "statusCode": 1,
        }  # fmt: skip


def _target_type(tracing: Tracing) -> str:
    """The type of a provider, as promptfoo's span of a call says it."""
    return "http" if tracing.kind == "http" or tracing.provider_id.startswith("http") else "provider"
