"""What a recorded agent-run counts as: an output, the agent's own failure, an outage, or nothing yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from minions_evals_mcp.domain.neighbours import AgentRun, ToolCall
from minions_evals_mcp.domain.outcomes import Observed, Skipped, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.targets.recorded import observed_run

AT = datetime(2026, 3, 1, tzinfo=UTC)


def run(**fields: object) -> Record[AgentRun]:
    named = {"agent_id": "agent:a", "outputs": {"output": "yes"}, **fields}
    return Record("run1", AgentRun.model_validate(named), "a run", AT, AT)


def took(ms: float) -> dict[str, Any]:
    return {"triggered_at": AT, "completed_at": AT + timedelta(milliseconds=ms)}


def seen(*, timeout_ms: int | None = None, **fields: object) -> Observed:
    found = observed_run(run(**fields), timeout_ms=timeout_ms)
    assert isinstance(found, Observed), found
    return found


def test_a_successful_run_is_observed_with_all_that_was_recorded() -> None:
    call = ToolCall(tool="search", result="x")
    found = seen(prompt_version_ref="v2", cost=0.5, tool_calls_log=(call,), **took(1500))
    assert found == Observed(
        output={"output": "yes"}, agent_run_id="run1", prompt_version_ref="v2", produced_by="agent:a", latency_ms=1500,
        cost_usd=0.5, tool_calls=(call,),
    )  # fmt: skip


def test_a_run_without_times_log_or_cost_leaves_them_unknown() -> None:
    found = seen()
    assert (found.latency_ms, found.cost_usd, found.tool_calls) == (None, None, None)
    assert seen(triggered_at=AT).latency_ms is None
    assert seen(completed_at=AT).latency_ms is None


def test_how_long_a_run_took_that_ended_before_it_began_is_unknown() -> None:
    assert seen(**took(-50)).latency_ms is None


@pytest.mark.parametrize("status", ["running", "pending-approval"])
def test_a_run_that_is_not_complete_is_skipped_until_it_is(status: str) -> None:
    found = observed_run(run(status=status, error_message="HTTP 503", **took(9999)), timeout_ms=1)
    assert found == Skipped(f"agent-run run1 is {status}; run again when it is complete")


def test_every_status_is_accounted_for() -> None:
    statuses = get_args(AgentRun.model_fields["status"].annotation)
    kinds = {status: type(observed_run(run(status=status), timeout_ms=None)) for status in statuses}
    assert kinds == {"running": Skipped, "pending-approval": Skipped, "success": Observed, "failed": Observed}


@pytest.mark.parametrize(
    "message",
    [
        "HTTP 429", "HTTP 429: slow down", "http 503 from upstream", "HTTP/1.1 502 Bad Gateway", "status 500",
        "status code 500", "status=503", "Error code: 529 - {'type': 'overloaded_error'}", "error 504.",
        "server responded with 502", "returned 500 for POST /v1/messages", "got 503 after 3 tries", "500",
        "429 Too Many Requests", "503: try later", "408 request timeout", "RateLimitError: wait", "rate limit exceeded",
        "rate-limited", "Overloaded", "Too many requests", "insufficient_quota", "quota exceeded", "Internal Server Error",
        "Service Unavailable", "bad gateway", "Gateway Timeout", "connection reset by peer", "Connection refused",
        "connection was closed", "connection timed out", "APIConnectionError: Connection error.", "ConnectionError",
        "socket hang up", "network error", "Network is unreachable", "host unreachable", "NetworkError when attempting",
        "network timeout", "DNS lookup failed", "Temporary failure in name resolution", "getaddrinfo ENOTFOUND api",
        "connect ECONNREFUSED 127.0.0.1", "read ECONNRESET", "ETIMEDOUT",
    ],
)  # fmt: skip
def test_a_failed_run_with_an_outage_is_the_instruments_error(message: str) -> None:
    found = observed_run(run(status="failed", error_message=message), timeout_ms=None)
    assert found == TargetErrored(f"agent-run run1: {message}")


@pytest.mark.parametrize(
    "message",
    [
        "the refund of 500 EUR exceeds the limit", "order 512 was not found", "expected 503 rows, got 3",
        "room 429 is taken", "got 500 items instead of 5", "500 rows were deleted", "ValueError: 5000", "error in step 5",
        "the network diagram could not be drawn", "the answer names no source", "tool budget exhausted", "4290", "1503",
        "the agent gave up after 60 s", "run timed out after 60 s while archive_search was silent", "KeyError: 'status'",
        "invalid JSON in the reply", "refused: policy", "connection between the two claims is missing",
        "the adnsx library is missing", "HTTP 404", "HTTP 400: bad request", "status 401", "",
    ],
)  # fmt: skip
def test_any_other_failed_run_is_the_agents_own_failure(message: str) -> None:
    found = seen(status="failed", error_message=message, outputs={})
    assert found.agent_error == (message or "the agent-run failed")
    assert (found.output, found.timed_out) == ({}, False)


def test_a_failed_run_that_does_not_say_why_is_the_agents_failure() -> None:
    assert seen(status="failed").agent_error == "the agent-run failed"


def test_a_successful_run_with_a_message_is_no_failure() -> None:
    assert seen(status="success", error_message="HTTP 503, retried").agent_error is None


@pytest.mark.parametrize(("ms", "timed_out"), [(999, False), (1000, False), (1001, True)])
def test_only_a_run_over_the_cases_limit_is_timed_out(ms: int, timed_out: bool) -> None:
    assert seen(timeout_ms=1000, **took(ms)).timed_out is timed_out
    assert not seen(timeout_ms=None, **took(ms)).timed_out


def test_a_run_of_unknown_length_is_not_timed_out() -> None:
    assert not seen(timeout_ms=1).timed_out


def test_a_failed_run_over_the_limit_is_both_and_an_outage_stays_an_outage() -> None:
    slow = seen(status="failed", error_message="gave up", timeout_ms=1000, **took(2000))
    assert (slow.timed_out, slow.agent_error) == (True, "gave up")
    outage = observed_run(run(status="failed", error_message="HTTP 503", **took(2000)), timeout_ms=1000)
    assert isinstance(outage, TargetErrored)
