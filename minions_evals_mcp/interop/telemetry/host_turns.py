"""The turns of coding agents, of their log events and their spans alike: one for each turn, whatever comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.interop.logs.session_run import session_run
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.interop.telemetry.host_spans import CLAUDE, INTERACTION, MILLI, fill, host_of, prompt_of, root_of
from minions_evals_mcp.interop.telemetry.settled import Settled
from minions_evals_mcp.sessions.conversation import number
from minions_evals_mcp.sessions.session import Session
from minions_evals_mcp.sessions.telemetry import FORM, PROVIDERS, TAKEN, LogEvent, take_event

QUIET_S = 30.0
"""No event says that a session is over: its last turn is once nothing came for so long."""
UNANSWERED_S = 1800.0
"""A turn whose last word is a question or a call waits so long for an answer: a tool or a person may take that time."""
JOINED_S = 10.0
"""Spans and log events come by exporters of their own: so long a turn that is over waits for what the other one brings."""
LOOKED_S = 1.0
"""The parts of a session are sorted into turns no more often than that."""
MOST_OPEN = 5_000
MOST_TOLD = 50_000
Talk = tuple[str, str]
"""A coding agent, and the id of its session."""


@dataclass(frozen=True, slots=True)
class _Part:
    """An event or a span, when it came, and the row under which it outlives the process."""

    what: LogEvent | Span
    seen_at: float
    row: int


@dataclass(slots=True)
class _Turn:
    """The parts of a turn; `prompt` and `root` are the ids by which others know it."""

    host: str
    talk: str
    begun: bool = False
    prompt: str = ""
    root: str = ""
    first: JsonValue = None
    version: str = ""
    events: list[LogEvent] = field(default_factory=list[LogEvent])
    spans: list[Span] = field(default_factory=list[Span])
    parts: list[_Part] = field(default_factory=list[_Part])

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the turn within its session."""
        return tuple(filter(None, (self.prompt, self.root)))

    @property
    def ended(self) -> bool:
        """Whether a span says that the turn is over."""
        return any(span.name == INTERACTION for span in self.spans)

    def patience_s(self, *, is_last: bool) -> float:
        """How long more of it may come."""
        if self.ended or not is_last:
            return JOINED_S
        return UNANSWERED_S if self.session().is_unfinished else QUIET_S

    def take(self, part: _Part) -> None:
        """Add a part."""
        self.parts.append(part)
        if isinstance(part.what, Span):
            self.spans.append(part.what)
        else:
            self.events.append(part.what)
            self.version = self.version or part.what.version

    def session(self) -> Session:
        """The turn as a session: what its events say, and what only its spans do."""
        named = (self.root, self.prompt) if self.host == CLAUDE else (self.prompt, self.root)
        label = next(filter(None, (*named, str(self.first or ""))), "1")
        session = Session(
            self.host, id=f"{self.talk}/{label}", version=self.version, provider=PROVIDERS[self.host], talk=self.talk
        )
        for event in self.events:
            take_event(session, event)
        fill(session, self.spans)
        return session


@dataclass(slots=True)
class HostTurns:
    """Events and spans in the order in which they come; time is in seconds of the caller's clock."""

    _open: dict[Talk, list[_Part]] = field(default_factory=dict[Talk, list[_Part]])
    _told: dict[tuple[str, ...], None] = field(default_factory=dict[tuple[str, ...], None])
    _looked: dict[Talk, float] = field(default_factory=dict[Talk, float])
    _done: list[int] = field(default_factory=list[int])

    @property
    def waiting(self) -> int:
        """How many sessions have turns that may still go on."""
        return len(self._open)

    def add_events(self, events: Iterable[LogEvent], *, now: float, row: int = 0) -> list[str]:
        """Take the events in; the ids of sessions that were given up because too many are open."""
        for event in events:
            self._add((event.host, event.session), _Part(event, now, row))
        return self._given_up()

    def add_spans(self, spans: Iterable[Span], *, now: float, row: int = 0) -> list[str]:
        """Take spans of coding agents in, as `add_events`."""
        for span in spans:
            talk = host_of(span)
            assert talk is not None
            self._add(talk, _Part(span, now, row))
        return self._given_up()

    def settled(self, *, now: float, at_once: bool = False) -> list[Settled]:
        """The turns that are over, each once. `at_once`: nothing more will come."""
        over: list[Settled] = []
        for talk, parts in list(self._open.items()):
            if not at_once and now - self._looked.get(talk, -LOOKED_S) < LOOKED_S:
                continue
            self._looked[talk] = now
            left: list[_Part] = []
            turns = self._turns(talk, parts)
            for place, turn in enumerate(turns):
                is_last = place == len(turns) - 1
                if at_once or now - max(part.seen_at for part in turn.parts) >= turn.patience_s(is_last=is_last):
                    over += self._close(talk, turn)
                else:
                    left += turn.parts
            if left:
                self._open[talk] = left
            else:
                del self._open[talk], self._looked[talk]
        over.append(Settled(None, tuple(self._done)))
        self._done.clear()
        return over

    def _add(self, talk: Talk, part: _Part) -> None:
        names = (
            (part.what.prompt, part.what.span_id)
            if isinstance(part.what, LogEvent)
            else (prompt_of(part.what), part.what.id, part.what.parent_id)
        )
        if any((*talk, name) in self._told for name in names if name):
            self._done.append(part.row)
        else:
            self._open.setdefault(talk, []).append(part)

    def _given_up(self) -> list[str]:
        given_up = list(self._open)[: max(0, len(self._open) - MOST_OPEN)]
        for talk in given_up:
            self._done += [part.row for part in self._open.pop(talk)]
            self._looked.pop(talk, None)
        return [ident for _, ident in given_up]

    def _close(self, talk: Talk, turn: _Turn) -> Iterator[Settled]:
        rows = tuple(part.row for part in turn.parts)
        session = turn.session()
        for name in turn.names:
            self._told[(*talk, name)] = None
        while len(self._told) > MOST_TOLD:
            del self._told[next(iter(self._told))]
        if not (session.prompts or session.answer or session.calls or (turn.begun and session.models)):
            yield Settled(None, rows)
            return
        known = "" if turn.begun else f"log:{FORM}/{turn.talk}/"
        yield Settled(session_run(session, FORM, holds_texts=False), rows, known)

    def _turns(self, talk: Talk, parts: list[_Part]) -> list[_Turn]:
        """The turns that these parts of a session are, in the order in which they began."""
        split = _Split(talk)
        for part in sorted((part for part in parts if isinstance(part.what, LogEvent)), key=_place):
            self._done += split.take_event(part)
        split.take_spans([part for part in parts if isinstance(part.what, Span)])
        return sorted(split.turns, key=lambda turn: min(_moment(part) for part in turn.parts))


class _Split:
    """The turns of one session while its parts are sorted into them."""

    def __init__(self, talk: Talk) -> None:
        self.turns: list[_Turn] = []
        self._talk = talk
        self._prompts: dict[str, _Turn] = {}
        self._roots: dict[str, _Turn] = {}
        self._traces: dict[str, _Turn] = {}

    def take_event(self, part: _Part) -> list[int]:
        """Sort an event in; the row of one that is no part of a turn."""
        event = part.what
        assert isinstance(event, LogEvent)
        turn = self._known(event)
        if event.begins and (turn is None or turn.first != event.at):
            turn = turn if turn is not None and event.prompt and not turn.begun else self._new(event.prompt, "")
            self._begin(turn, event)
        elif turn is None and event.name not in TAKEN:
            return [part.row]  # how the program starts is no part of a turn
        elif turn is None:
            turn = self._new(event.prompt, "")
            turn.first = event.at
        elif any(event == other for other in turn.events):
            return [part.row]  # an exporter that got no answer sends again
        if event.trace_id:
            self._traces[event.trace_id] = turn
        turn.take(part)
        return []

    def take_spans(self, parts: list[_Part]) -> None:
        """Sort the spans in: by the id of their turn, the interaction above them, their trace, else by their time."""
        by_id = {part.what.id: part.what for part in parts if isinstance(part.what, Span)}
        newest: _Turn | None = None
        for part in sorted(parts, key=_moment):
            span = part.what
            assert isinstance(span, Span)
            root, prompt = root_of(span, by_id), prompt_of(span)
            turn = self._roots.get(root) or self._prompts.get(prompt) or self._traces.get(span.trace_id)
            if turn is None or (root and turn.root and turn.root != root):
                is_loose = not root and not prompt and newest is not None
                turn = newest if is_loose and newest is not None else self._new(prompt, root)
            if root and not turn.root:
                turn.root = root
                self._roots[root] = turn
            turn.begun = turn.begun or bool(root or prompt)
            self._traces.setdefault(span.trace_id, turn)
            newest = turn
            if by_id[span.id] is span:
                turn.take(part)
            else:
                turn.parts.append(part)  # the same span, sent again

    def _begin(self, turn: _Turn, event: LogEvent) -> None:
        turn.begun, turn.first = True, event.at
        if event.host == CLAUDE and event.span_id:
            turn.root = event.span_id
            self._roots[turn.root] = turn

    def _known(self, event: LogEvent) -> _Turn | None:
        """The turn that the event names, else the last one that began."""
        known = self._prompts.get(event.prompt) or (self._roots.get(event.span_id) if event.host == CLAUDE else None)
        if known is None and event.host == CLAUDE and event.trace_id and not event.prompt:
            known = self._traces.get(event.trace_id)
        return known if known is not None or event.prompt else (self.turns[-1] if self.turns else None)

    def _new(self, prompt: str, root: str) -> _Turn:
        turn = _Turn(*self._talk, prompt=prompt, root=root)
        self.turns.append(turn)
        if prompt:
            self._prompts[prompt] = turn
        if root:
            self._roots[root] = turn
        return turn


def _place(part: _Part) -> tuple[float, float]:
    """Where an event stands among those of its session, whatever came first."""
    assert isinstance(part.what, LogEvent)
    sequence = part.what.fields.get("event.sequence")
    try:
        return _moment(part), float(str(sequence)) if sequence is not None else 0.0
    except ValueError:
        return _moment(part), 0.0


def _moment(part: _Part) -> float:
    """When the part happened, in milliseconds since 1970."""
    if isinstance(part.what, Span):
        return part.what.start / MILLI
    at = part.what.at
    if isinstance(at, str):
        try:
            return datetime.fromisoformat(at).timestamp() * 1000
        except ValueError:
            return 0.0
    return number(at) or 0.0
