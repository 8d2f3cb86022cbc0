"""Reasons why an attempt gave no usable reply, told from the HTTP status, the headers and the body."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from email.utils import parsedate_to_datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.models.replies import FaultKind
from minions_evals_mcp.outgoing import UnacceptableReplyError

FATAL_STATUSES = frozenset({401, 402, 403, 404})
RETRIED_STATUSES = frozenset({408, 409, 425})
REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})
"""Statuses under which servers refuse a parameter by name."""
FATAL_SIGNS = ("insufficient_quota", "credit balance is too low", "api key not valid")
"""Signs in an error's body that no later call can succeed, under statuses that say otherwise (400, 429)."""
STATUS_OF_ERROR = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "insufficient_quota": 429,
    "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""The status that an error's type has where it does not come in the midst of a stream."""


@frozen_type
class AttemptFault:
    """One failed attempt. Only a `permanent` one is not worth another attempt.

    `refusal` is the body of a reply that may refuse a parameter of the request.
    """

    kind: FaultKind
    reason: str
    fatal: bool = False
    retry_after_s: float | None = None
    refusal: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """A provider that tells what it was sent may tell the key."""
        object.__setattr__(self, "reason", masked(self.reason))


class _Error(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)
    message: str
    type: str | None = None


class _ErrorBody(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)
    error: _Error


def fault_of_status(status: int, headers: Mapping[str, str], body: str) -> AttemptFault:
    """The fault that an HTTP reply other than a 2xx stands for."""
    fault = _fault(status, headers, body)
    unpaid = any(sign in body.lower() for sign in FATAL_SIGNS)
    return fault if unpaid or status not in REFUSING_STATUSES else replace(fault, refusal=body)


def _fault(status: int, headers: Mapping[str, str], body: str) -> AttemptFault:
    reason = f"HTTP {status}: {_message(body)}"
    if status in FATAL_STATUSES or any(sign in body.lower() for sign in FATAL_SIGNS):
        return AttemptFault("permanent", reason, fatal=True)
    if status == 429:
        return AttemptFault("rate-limited", reason, retry_after_s=retry_after_s(headers))
    if status in (503, 529):
        return AttemptFault("overloaded", reason, retry_after_s=retry_after_s(headers))
    if status in RETRIED_STATUSES or status >= 500:
        return AttemptFault("transient", reason, retry_after_s=retry_after_s(headers))
    return AttemptFault("permanent", reason)


def fault_of_event(body: bytes) -> AttemptFault:
    """The fault that an error in the midst of a stream stands for; the status was sent before it was known."""
    text = body.decode("utf-8", "replace")
    try:
        status = STATUS_OF_ERROR.get(_ErrorBody.model_validate_json(body).error.type or "", 500)
    except ValidationError:
        status = 500
    fault = fault_of_status(status, {}, text)
    return replace(fault, reason=f"an error in the stream: {_message(text)}")


def fault_of_connection(error: Exception) -> AttemptFault:
    """The fault of a connection that broke or never stood; SDKs keep the telling part in the cause."""
    cause = error.__cause__
    return fault_of_transport(cause if isinstance(cause, Exception) else error)


def fault_of_transport(error: Exception) -> AttemptFault:
    """The same of what the transport itself raised."""
    if isinstance(error, UnacceptableReplyError):
        return AttemptFault("permanent", str(error))
    return AttemptFault("transient", f"no connection: {type(error).__name__}: {error}")


def malformed(error: ValidationError) -> AttemptFault:
    """The fault of a 200 whose body is not what the API promises."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return AttemptFault("malformed", f"malformed reply: {place + ': ' if place else ''}{first['msg']}")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks to wait (`retry-after-ms`, `retry-after` as seconds or a date), else None."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    header = headers.get("retry-after")
    seconds = _number(header)
    return seconds if seconds is not None else _until(header, headers.get("date"))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(moment: str | None, now: str | None) -> float | None:
    """Seconds from the reply's own date, so that no clock of ours can disagree with the provider's."""
    if moment is None or now is None:
        return None
    try:
        return max(0.0, (parsedate_to_datetime(moment) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError):
        return None


def _message(body: str) -> str:
    try:
        return _ErrorBody.model_validate_json(body).error.message
    except ValidationError:
        return " ".join(masked(body)[:200].split()) or "no message"  # a secret that is cut in two is not recognised
