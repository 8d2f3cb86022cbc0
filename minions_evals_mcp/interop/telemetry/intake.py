"""Telemetry of any dialect as agent-runs: spans and log events that belong together, whatever comes first, one run for each turn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.interop.telemetry.host_spans import host_of
from minions_evals_mcp.interop.telemetry.host_turns import HostTurns
from minions_evals_mcp.interop.telemetry.settled import Settled
from minions_evals_mcp.interop.telemetry.traces import Traces
from minions_evals_mcp.sessions.telemetry import ContentEvent, LogEvent


@dataclass(frozen=True, slots=True)
class Parts:
    """Spans, events of coding agents and contents of spans that came together."""

    spans: tuple[Span, ...] = ()
    events: tuple[LogEvent, ...] = ()
    contents: tuple[ContentEvent, ...] = ()

    def __len__(self) -> int:
        return len(self.spans) + len(self.events) + len(self.contents)

    def wire(self) -> Json:
        """The parts as JSON."""
        return {name: [asdict(part) for part in parts] for name, parts in self._lists() if parts}

    def by_subject(self) -> list[Parts]:
        """The parts of each trace and each session by themselves: of each what is over is over together."""
        subjects: dict[str, tuple[list[Span], list[LogEvent], list[ContentEvent]]] = defaultdict(lambda: ([], [], []))
        for span in self.spans:
            subjects["/".join(host_of(span) or (span.trace_id,))][0].append(span)
        for event in self.events:
            subjects[f"{event.host}/{event.session}"][1].append(event)
        for content in self.contents:
            subjects[content.trace_id][2].append(content)
        return [Parts(tuple(spans), tuple(events), tuple(contents)) for spans, events, contents in subjects.values()]

    def _lists(self) -> Iterable[tuple[str, Sequence[Span | LogEvent | ContentEvent]]]:
        return ("spans", self.spans), ("events", self.events), ("contents", self.contents)


def parts_of(wire: Json) -> Parts:
    """The parts that `Parts.wire` wrote."""
    return Parts(
        tuple(Span(**_fields(span)) for span in listed_values(wire.get("spans"))),
        tuple(LogEvent(**_fields(event)) for event in listed_values(wire.get("events"))),
        tuple(ContentEvent(**_fields(content)) for content in listed_values(wire.get("contents"))),
    )


def _fields(value: JsonValue) -> dict[str, Any]:
    assert isinstance(value, dict)
    return {**value}


@dataclass(slots=True)
class Telemetry:
    """Parts in the order in which they come; time is in seconds of the caller's clock."""

    _traces: Traces = field(default_factory=Traces)
    _turns: HostTurns = field(default_factory=HostTurns)
    _rows: Counter[int] = field(default_factory=Counter[int])

    @property
    def waiting(self) -> int:
        """How many traces and sessions may still become agent-runs."""
        return self._traces.waiting + self._turns.waiting

    def add(self, parts: Parts, *, now: float, row: int = 0) -> list[str]:
        """Take the parts in; the ids of traces and sessions that were given up because too many wait.

        `row`: the one under which the parts outlive the process.
        """
        self._rows[row] += len(parts)
        of_hosts = [span for span in parts.spans if host_of(span) is not None]
        others = [span for span in parts.spans if host_of(span) is None]
        return [
            *self._traces.add(others, now=now, row=row),
            *self._traces.add_contents(parts.contents, now=now, row=row),
            *self._turns.add_spans(of_hosts, now=now, row=row),
            *self._turns.add_events(parts.events, now=now, row=row),
        ]

    def settled(self, *, now: float, at_once: bool = False) -> list[Settled]:
        """What is whole, each once, with the rows of which nothing is left. `at_once`: nothing more will come."""
        over = (*self._traces.settled(now=now, at_once=at_once), *self._turns.settled(now=now, at_once=at_once))
        ended = (Settled(settled.run, self._ended(settled.rows), settled.unless) for settled in over)
        return [settled for settled in ended if settled.run is not None or settled.rows]

    def _ended(self, rows: tuple[int, ...]) -> tuple[int, ...]:
        """The rows whose last part this was."""
        self._rows.subtract(rows)
        ended = tuple(dict.fromkeys(row for row in rows if self._rows[row] <= 0))
        for row in ended:
            del self._rows[row]
        return ended
