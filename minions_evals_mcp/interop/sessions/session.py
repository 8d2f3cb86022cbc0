"""One session of a coding agent, however its program writes it, and the agent-run that it becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.logs.conversation import count, finite, number
from minions_evals_mcp.interop.logs.records import moment, slug
from minions_evals_mcp.interop.logs.sample import Log
from minions_evals_mcp.models.prices import cost_usd
from minions_evals_mcp.models.replies import Usage

_CORRECTION = re.compile(
    r"^\W*(?:no|nope|not (?:that|this|what|like)|wrong|stop|wait|undo|revert|instead|that(?:'s| is| was)(?: not|n't| wrong)"
    r"|you (?:missed|forgot|broke)|(?:it|this|that) (?:still )?(?:doesn't|does not|didn't|did not) |still (?:fails|broken|wrong)"
    r"|don't|do not|i (?:said|asked|meant))\b",
    re.IGNORECASE,
)
"""How a message of the user begins that takes back or corrects what the agent did."""


@dataclass(slots=True)
class Call:
    """One tool call: `ok` is False where the program says that it failed, `parent` the call of the sub-agent that made it."""

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

    def wire(self) -> Json:
        """The call as a step of a log."""
        failed = self.error or (_error_of(self.result) if not self.ok else None)
        step: Json = {
            "tool": self.tool,
            "id": self.id,
            "arguments": self.arguments if isinstance(self.arguments, dict) else {"input": self.arguments},
            "result": self.result,
            "error": failed,
            "startedAt": moment(self.started),
            "durationMs": self.duration_ms,
            "parentId": self.parent,
            "agent": self.agent,
        }
        return {key: value for key, value in step.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Edit:
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
    def total(self) -> int:
        """All tokens that the models read and wrote."""
        return self.fresh + self.cached + self.stored + self.written


@dataclass(slots=True)
class Session:
    """A session as it is read: what the user asked, what the agent did and answered, and what it used.

    `models` are the models that answered, each with its tokens. `cost` is what the program says, in US dollars; without it our
    price table is asked. `ended` is why the agent stopped, `failure` what went wrong.
    """

    host: str
    id: str = ""
    version: str = ""
    provider: str = ""
    folder: str = ""
    started: JsonValue = None
    completed: JsonValue = None
    prompts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    answer: str = ""
    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    edits: list[Edit] = field(default_factory=list[Edit])
    models: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
    cost: float | None = None
    ended: str | None = None
    failure: str | None = None
    interruptions: list[int] = field(default_factory=list[int])
    skipped: dict[str, int] = field(default_factory=dict[str, int])

    def seen_at(self, at: JsonValue) -> None:
        """Take the moment as the session's first, or its newest."""
        if at is None:
            return
        if self.started is None:
            self.started = at
        self.completed = at

    def ask(self, text: str) -> None:
        """Take what the user wrote; it stands after the calls so far."""
        if text.strip():
            self.prompts.append((len(self.calls), text))

    def interrupt(self) -> None:
        """Take that the user stopped the agent here."""
        self.interruptions.append(len(self.calls))

    def say(self, text: str) -> None:
        """Take what the agent answered: the last one is the session's output."""
        if text.strip():
            self.answer = text

    def call(self, call: Call) -> None:
        """Take a call that begins; a call of the same id is the same one."""
        self.calls.setdefault(call.id or f"call-{len(self.calls) + 1}", call)

    def edit(self, call: Call, *paths: JsonValue) -> None:
        """Take that the call changed those files."""
        step = len(self.calls)
        self.edits += [Edit(call.tool, path, step) for path in paths if isinstance(path, str) and path]

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

    def log(self, form: str) -> Log:
        """The log of all sessions of this program's version and model: together they are one version to compare."""
        subject = " ".join(filter(None, (self.host, self.version, self.model)))
        tried = slug("/".join(filter(None, (self.version, self.model))) or "unknown", 40)
        return Log(form, tried, self.host, subject, known_samples=True)

    def agent_run(self, form: str) -> Json:
        """The agent-run on the wire: the first thing asked, the last thing answered, every call, tokens and cost."""
        first = self.prompts[0][1] if self.prompts else None
        fields: Json = {
            "agentId": self.host,
            "triggeredAt": moment(self.started),
            "completedAt": moment(self.completed),
            "inputs": {} if first is None else {"input": first},
            "outputs": {"output": self.answer} if self.answer else {},
            "toolCallsLog": [call.wire() for call in self.calls.values()],
            "tokensUsed": sum(tokens.total for tokens in self.models.values()) or None,
            "cost": self._cost(),
            "status": "failed" if self.failure else "success",
            "errorMessage": self.failure,
            "stopReason": self.ended or (None if self.answer or self.failure else "no answer"),
            "extra": finite(self._beside(form)),
        }
        return {
            "id": f"log:{form}/{slug(self.id, 80)}",
            "type": "agent-run",
            "fields": {key: value for key, value in fields.items() if value is not None},
        }

    def _cost(self) -> float | None:
        if self.cost is not None:
            return number(self.cost)
        costs = [self._cost_of(model, tokens) for model, tokens in self.models.items()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None

    def _cost_of(self, model: str, tokens: Tokens) -> float | None:
        read = tokens.fresh + tokens.cached + tokens.stored
        usage = Usage(read, tokens.written, cache_read_tokens=tokens.cached, cache_write_tokens=tokens.stored)
        return cost_usd(self.provider, model, usage) if model and self.provider else None

    def _beside(self, form: str) -> Json:
        """What the session says beside the fields: its later turns and signals, edits, tokens by model."""
        later: list[JsonValue] = [
            {"afterStep": step, "text": text, "correction": _CORRECTION.match(text) is not None}
            for step, text in self.prompts[1:]
        ]
        beside: Json = {
            "log": {"format": form, "session": self.id, "version": self.version or None, "folder": self.folder or None},
            "userTurns": later,
            "interruptedAfterSteps": [*self.interruptions],
            "edits": [{"tool": edit.tool, "path": edit.path, "step": edit.step} for edit in self.edits],
            "usage": {
                model or "unknown": {
                    "inputTokens": tokens.fresh, "cacheReadTokens": tokens.cached,
                    "cacheWriteTokens": tokens.stored, "outputTokens": tokens.written,
                }
                for model, tokens in self.models.items()
            },
        }  # fmt: skip
        return {key: value for key, value in beside.items() if value not in ([], {})}


def _error_of(result: JsonValue) -> str:
    """The error's text: of a text its first 300 characters."""
    return result[:300] if isinstance(result, str) and result.strip() else "the tool call failed"
