"""The replies of a model: a closed union. Only a `Completion` is an answer to be judged or believed."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.frozen_types import frozen_type

FaultKind = Literal["rate-limited", "overloaded", "transient", "permanent", "malformed", "deadline", "empty"]


@frozen_type
class TokenUsage:
    """Tokens as the provider counted them; `input_tokens` is the whole prompt, what a cache served or kept included."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@frozen_type
class _Spoken:
    """`latency_ms`, `first_token_ms` and `cost_usd` are those of the attempt that answered; `faults` is what the ones
    before it met. The first token's time is known where the reply was streamed and says something. `value` is what it says
    where that is no text alone (calls of tools), and `message` then the whole message, as its provider takes it back.
    `log_probs` are the logarithms of each token's probability, where they were asked for. `dropped`: the optional parameters
    that the endpoint refuses by name, and that were left out.
    """

    text: str
    model: str
    stop_reason: str
    usage: TokenUsage | None = None
    latency_ms: float = 0.0
    cost_usd: float | None = None
    attempts: int = 1
    faults: tuple[FaultKind, ...] = ()
    first_token_ms: float | None = None
    value: JsonValue = None
    message: Json | None = None
    log_probs: tuple[float, ...] = ()
    dropped: tuple[str, ...] = ()


@frozen_type
class Completion(_Spoken):
    """The model said all that it had to say."""


@frozen_type
class Truncated(_Spoken):
    """The model was cut off by `max_tokens` or by the end of its context window."""


@frozen_type
class RefusedReply(_Spoken):
    """The model, or its provider's filter, declined; `explanation` is in the provider's words, often empty."""

    explanation: str = ""


@frozen_type
class FailedReply:
    """No usable reply came. `fatal`: no other call can succeed either (key, permission, model name, credit).

    `retry_after_s` is what the provider asked for where that was longer than a call may wait.
    """

    kind: FaultKind
    reason: str
    fatal: bool
    faults: tuple[FaultKind, ...]
    attempts: int
    retry_after_s: float | None = None


Answered = Completion | Truncated | RefusedReply
"""Something came back; the attempt that brought it knows neither its cost nor how many there were."""
Reply = Answered | FailedReply
