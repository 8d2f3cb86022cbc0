"""A log of another tool in plain values: what was tried, and each sample with what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json


@dataclass(frozen=True, slots=True)
class EvaluationLog:
    """One evaluation that another tool made: `subject` is what was tried (a model, an agent), `task` what it was given.

    `id` tells it from other logs of the same task: its own, or, without `own_id`, the name of its file, and then `content`
    is the digest of that. With `known_samples` an id of a sample is one everywhere (a trace's). `extra` is what the log says
    of itself beside all that.
    """

    format: str
    id: str
    task: str
    subject: str = ""
    created: JsonValue = None
    extra: Json = field(default_factory=dict[str, JsonValue])
    own_id: bool = True
    known_samples: bool = False
    content: str = ""


@dataclass(frozen=True, slots=True)
class ForeignScore:
    """The score of another tool's scorer: its value as it was written. It decides nothing here."""

    name: str
    value: JsonValue
    about: Json = field(default_factory=dict[str, JsonValue])

    def wire(self) -> Json:
        """The score as it is kept."""
        return {"name": self.name, "value": self.value, "foreign": True, **self.about}


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several that a log tried: what tells it from the others, what it is, and the prompt that it was given."""

    id: str
    subject: str
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Produced:
    """The output of a sample, as it was recorded. Times are ISO texts or seconds since 1970, `cost` is in US dollars.

    `messages` is the whole conversation, `tools` its calls where they stand elsewhere than in the messages.
    """

    output: JsonValue = None
    messages: tuple[JsonValue, ...] = ()
    tools: tuple[JsonValue, ...] | None = None
    scores: tuple[ForeignScore, ...] = ()
    agent: str = ""
    variant: Variant | None = None
    started: JsonValue = None
    completed: JsonValue = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency_ms: float | None = None
    error: str | None = None
    stop_reason: str | None = None
    extra: Json = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class LogSample:
    """One sample: what was asked, what was expected (any of `targets`), and what came of it, where that was recorded.

    `id` is as the log writes it; where it names the output alone (a trace's), `case` is what the log calls what was
    asked, "" where it has no name for that. `epoch` counts how often the same sample was tried, from 1. `assertions` are checks
    that mean here what the log's scorer meant there; `unread` names its checks that have no such meaning here.
    """

    id: JsonValue
    inputs: Json
    case: str | None = None
    epoch: int = 1
    name: str = ""
    targets: tuple[str, ...] = ()
    expected: Json | None = None
    assertions: tuple[Json, ...] = ()
    threshold: float | None = None
    unread: tuple[str, ...] = ()
    extra: Json = field(default_factory=dict[str, JsonValue])
    produced: Produced | None = None
    where: str = ""
    group: str = ""
    """What the sample belongs to with others, as the log names it: a conversation, a session, a document."""
    tags: tuple[str, ...] = ()
    conversation: Json | None = None
    """How the user is played, where the sample is a conversation: the field of a test case."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An agent-run as a record on the wire: what a trace or a trajectory is, which asks for no case."""

    wire: Json
    where: str = ""


@dataclass(frozen=True, slots=True)
class SkippedSample:
    """Something of the log that is nothing to judge, and why."""

    why: str


Item = EvaluationLog | LogSample | Recorded | SkippedSample
"""What a reader gives: the log itself first, then what it holds."""
