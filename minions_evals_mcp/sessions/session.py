"""One session of a coding agent with its sub-agents, however its program writes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from minions_evals_mcp.sessions.conversation import count


@dataclass(slots=True)
class SessionCall:
    """One tool call: `ok` is False where the program says that it failed, `parent` the call of the sub-agent that made it.

    `started_session` is the id of the session that a call of a sub-agent started, where the program says which.
    """

    tool: str
    id: str
    arguments: JsonValue
    result: JsonValue = None
    ok: bool = True
    error: str | None = None
    started: JsonValue = None
    duration_ms: float | None = None
    parent: str | None = None
    agent: str | None = None
    started_session: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the call has come back."""
        return self.result is not None or self.error is not None or not self.ok

    def step(self) -> dict[str, JsonValue]:
        """The call as a step of a log, without its moment and without what is not known."""
        failed = self.error or (_error_of(self.result) if not self.ok else None)
        step: dict[str, JsonValue] = {
            "tool": self.tool,
            "id": self.id,
            "arguments": self.arguments if isinstance(self.arguments, dict) else {"input": self.arguments},
            "result": self.result,
            "error": failed,
            "durationMs": self.duration_ms,
            "parentId": self.parent,
            "agent": self.agent,
        }
        return {key: value for key, value in step.items() if value is not None}


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of a file that a call made."""

    tool: str
    path: str
    step: int


@dataclass(slots=True)
class Tokens:
    """Tokens, `fresh` read for the first time, `cached` from the provider's cache, `stored` into it."""

    fresh: int = 0
    cached: int = 0
    stored: int = 0
    written: int = 0

    def add(self, fresh: JsonValue, cached: JsonValue, stored: JsonValue, written: JsonValue) -> None:
        """Add what one call of the model used; a figure that is not there is 0."""
        self.fresh += count(fresh) or 0
        self.cached += count(cached) or 0
        self.stored += count(stored) or 0
        self.written += count(written) or 0

    @property
    def read(self) -> int:
        """All tokens that the model read."""
        return self.fresh + self.cached + self.stored

    @property
    def total(self) -> int:
        """All tokens that the model read and wrote."""
        return self.read + self.written


@dataclass(slots=True)
class Session:
    """A session as it is read: what the user asked, what the agent did and answered, and what it used.

    `models` are the models that answered, each with its tokens. `cost` is what the program says, in US dollars; without it our
    price table is asked. `ended` is why the agent stopped, `failure` what went wrong. `talk` is the conversation that it is a turn of.
    """

    host: str
    id: str = ""
    version: str = ""
    provider: str = ""
    folder: str = ""
    talk: str = ""
    started: JsonValue = None
    completed: JsonValue = None
    prompts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    answer: str = ""
    calls: dict[str, SessionCall] = field(default_factory=dict[str, SessionCall])
    edits: list[FileEdit] = field(default_factory=list[FileEdit])
    models: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
    cost: float | None = None
    ended: str | None = None
    failure: str | None = None
    interruptions: list[int] = field(default_factory=list[int])
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    is_summed: bool = False
    """Whether tokens and cost are the program's own sum, its sub-agents' among them."""
    is_turn_open: bool = False
    """Whether the agent still owes an answer: something was asked, called or stopped after what it said last."""
    ends_in_answer: bool = False
    """Whether the last thing is what the agent said, be the turn over or not."""
    _says_ends: bool = False
    _mentioned: str = ""
    _message: str = ""
    _newest: dict[str, str] = field(default_factory=dict[str, str])

    def seen_at(self, at: JsonValue) -> None:
        """Take the moment as the session's first, or its newest."""
        if at is None:
            return
        if self.started is None:
            self.started = at
        self.completed = at

    @property
    def is_unfinished(self) -> bool:
        """Whether the file ends before the agent answered: its program still runs, or was ended."""
        return self.is_turn_open and not self.failure

    def begin(self) -> None:
        """Take that the program says a turn begins: only its word ends one, for a text may be followed by a call."""
        self.is_turn_open = self._says_ends = True
        self.ends_in_answer = False

    def end(self) -> None:
        """Take that the program says the turn is over, be there an answer or not."""
        self.is_turn_open = False

    def ask(self, text: str, *, opens_turn: bool = True) -> None:
        """Take what the user wrote; it stands after the calls so far."""
        if text.strip():
            self._mentioned = ""
            self.prompts.append((len(self.calls), text))
            self.is_turn_open = self.is_turn_open or opens_turn
            self.ends_in_answer = False

    def mention(self, command: str) -> None:
        """Take a command that the program may carry out itself: it is asked only if the agent acts on it."""
        self._mentioned = command

    def _act(self) -> None:
        if self._mentioned:
            self.ask(self._mentioned)

    def interrupt(self) -> None:
        """Take that the user stopped the agent here."""
        self.interruptions.append(len(self.calls))
        self.is_turn_open = True

    def say(self, text: str, *, message: str = "") -> None:
        """Take what the agent answered: the last one is the session's output. Texts of one `message` are one answer."""
        if not text.strip():
            return
        self._act()
        self.answer = f"{self.answer}\n{text}" if message and message == self._message else text
        self._message = message
        self.is_turn_open = self.is_turn_open and self._says_ends
        self.ends_in_answer = True

    def call(self, call: SessionCall) -> SessionCall:
        """Take a call that begins. A call of the same id is the same one, but for one that is over: some models count from 1 again."""
        if not (call.parent or call.agent):
            self._act()
            self.is_turn_open, self.ends_in_answer = True, False
        ident = call.id or f"call-{len(self.calls) + 1}"
        before = self.called(ident)
        if before is not None and not before.is_over:
            return before
        call.id = ident if before is None else f"{ident}.{len(self.calls) + 1}"
        self._newest[ident] = call.id
        self.calls[call.id] = call
        return call

    def called(self, ident: str) -> SessionCall | None:
        """The newest call of that id."""
        return self.calls.get(self._newest.get(ident, ident))

    def include(self, other: Session, of: SessionCall | None, agent: str) -> None:
        """Take what a sub-agent did: its calls stand behind the call `of` that started it, its tokens and edits count here.

        Its answer is that call's result, and what it was asked the call's argument. Without the call it stands at the end.
        """
        calls = [*self.calls.values()]
        place = len(calls) if of is None else calls.index(of) + 1
        names = {ident: f"{other.id}/{ident}" if ident in self.calls else ident for ident in other.calls}
        started_by = of.id if of else None
        nested = [
            replace(
                call,
                id=names[call.id],
                parent=names.get(call.parent, call.parent) if call.parent else started_by,
                agent=call.agent or agent,
            )
            for call in other.calls.values()
        ]
        self.calls = {call.id: call for call in (*calls[:place], *nested, *calls[place:])}
        later = len(nested)
        self.prompts = [(step + later * (step >= place), text) for step, text in self.prompts]
        self.interruptions = [step + later * (step >= place) for step in self.interruptions]
        self.edits = [replace(edit, step=edit.step + later * (edit.step > place)) for edit in self.edits]
        self.edits += [replace(edit, step=edit.step + place) for edit in other.edits]
        self.edits.sort(key=lambda edit: edit.step)
        for what, number in other.skipped.items():
            self.skipped[what] = self.skipped.get(what, 0) + number
        self._use_too(other)

    def _use_too(self, other: Session) -> None:
        if self.is_summed:
            return
        for model, used in other.models.items():
            tokens = self.use(model)
            tokens.add(used.fresh, used.cached, used.stored, used.written)
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def edit(self, call: SessionCall, *paths: JsonValue) -> None:
        """Take that the call changed those files."""
        step = len(self.calls)
        self.edits += [FileEdit(call.tool, path, step) for path in paths if isinstance(path, str) and path]

    def use(self, model: JsonValue) -> Tokens:
        """The tokens of that model, to be added to."""
        return self.models.setdefault(model if isinstance(model, str) and model else "", Tokens())

    def skip(self, what: str) -> None:
        """Count something of the file that is no part of an agent-run."""
        self.skipped[what] = self.skipped.get(what, 0) + 1

    @property
    def model(self) -> str:
        """The model that wrote most."""
        named = {name: tokens for name, tokens in self.models.items() if name}
        return max(named, key=lambda name: named[name].written, default="")


def _error_of(result: JsonValue) -> str:
    """The error's text: of a text its first 300 characters."""
    return result[:300] if isinstance(result, str) and result.strip() else "the tool call failed"
