"""How long a client waits, and how many calls it keeps in flight."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from minions_evals_mcp.models.client import ModelConnection, Retrying, RetrySettings
from minions_evals_mcp.models.faults import AttemptFault, fault_of_status, retry_after_s
from minions_evals_mcp.models.limit import AdaptiveLimit
from minions_evals_mcp.models.registry import Provider
from minions_evals_mcp.models.replies import Completion, FailedReply
from minions_evals_mcp.models.request import ModelRequest
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings
from tests.shared.models.asking import QUICK, ask, ask_all, client_and_server

DATES = {"date": "Tue, 03 Nov 2026 10:00:00 GMT", "retry-after": "Tue, 03 Nov 2026 10:00:07 GMT"}


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


async def test_a_wait_that_the_provider_asks_for_is_kept(provider: Provider) -> None:
    faults = FakeSettings(p429=1, retry_after_s=0.15)
    async with client_and_server(provider, faults, replace(QUICK, attempts=2)) as (client, server):
        started = anyio.current_time()
        with anyio.fail_after(HANG_S):
            reply = await client.complete(ask(), deadline_s=HANG_S)
        took = anyio.current_time() - started
    assert isinstance(reply, FailedReply)
    assert server.requests == 2
    assert took >= 0.15


async def test_a_wait_longer_than_a_call_may_take_ends_the_call_and_names_the_time(provider: Provider) -> None:
    days_49 = 49 * 86_400
    async with client_and_server(provider, FakeSettings(p429=1, retry_after_s=days_49)) as (client, server):
        with anyio.fail_after(HANG_S):
            reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.fatal, reply.retry_after_s) == ("rate-limited", False, days_49)
    assert "asks to wait 4.2336e+06 s, a call waits at most 30 s" in reply.reason
    assert server.requests == 1


async def test_a_provider_that_asks_for_a_long_wait_is_not_asked_again_before(provider: Provider) -> None:
    async with client_and_server(provider, FakeSettings(p429=1, retry_after_s=90)) as (client, server):
        with anyio.fail_after(HANG_S):
            await client.complete(ask(), deadline_s=HANG_S)
            again = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(again, FailedReply)
    assert (again.kind, again.fatal, again.attempts) == ("rate-limited", False, 0)
    assert "is not called again for" in again.reason
    assert server.requests == 1


async def test_a_short_rest_of_a_long_wait_is_waited_for(provider: Provider) -> None:
    settings = replace(QUICK, attempts=1, retry_after_cap_s=0.5)
    async with client_and_server(provider, FakeSettings(p429=1, retry_after_s=0.9), settings) as (client, server):
        with anyio.fail_after(HANG_S):
            started = anyio.current_time()
            await client.complete(ask(), deadline_s=HANG_S)
            await anyio.sleep(0.5)
            server.configure(FakeSettings())
            answered = await client.complete(ask(), deadline_s=HANG_S)
            assert anyio.current_time() - started >= 0.9
    assert not isinstance(answered, FailedReply)


async def test_a_hang_ends_at_the_deadline(provider: Provider) -> None:
    async with client_and_server(provider, FakeSettings(phang=1), replace(QUICK, attempts=1)) as (client, _):
        started = anyio.current_time()
        with anyio.fail_after(HANG_S):
            reply = await client.complete(ask(), deadline_s=0.1)
        took = anyio.current_time() - started
    assert reply == FailedReply("deadline", "no complete reply within 0.1 s", False, ("deadline",), 1)
    assert took >= 0.1


async def test_push_back_lowers_the_calls_in_flight_once_a_round_and_success_raises_them_again() -> None:
    settings = replace(QUICK, attempts=1, concurrency=8)
    async with client_and_server("anthropic", FakeSettings(p529=1), settings) as (client, server):
        server.hold(crowd=8)
        await ask_all(client, 8)
        assert server.max_in_flight == 8
        server.configure(FakeSettings())
        server.hold()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_all, client, 60)
            while server.in_flight < 5:  # noqa: ASYNC110  the fake counts, it tells nobody
                await anyio.sleep(0.001)
            await anyio.sleep(0.05)  # a sixth would have come
            assert server.max_in_flight == 5, "eight turned away at once are one cut: 8 · 0.7"
            server.release()
        server.hold(crowd=8)
        await ask_all(client, 8)
        assert server.max_in_flight == 8


async def test_a_call_that_waits_to_retry_lets_another_go_first() -> None:
    seen: list[str] = []

    async def attempt(request: ModelRequest) -> AttemptFault:
        seen.append(request.user)
        return AttemptFault("transient", "busy")

    waiting = RetrySettings(attempts=2, base_s=0.2, cap_s=0.2)
    retrying = Retrying(ModelConnection("anthropic", "key", "http://localhost", 1, waiting, 1000), attempt)
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for user in ("a", "b"):
                request = ModelRequest(model="m", user=user, max_tokens=1)
                tasks.start_soon(lambda request: retrying.complete(request, deadline_s=1), request)
    assert sorted(seen[:2]) == ["a", "b"]


@pytest.mark.parametrize("most", [1, 16])
def test_the_limit_stays_between_one_and_what_was_configured(most: int) -> None:
    limit = AdaptiveLimit(most)
    limit.succeeded()
    assert limit.current == most
    for second in range(20):
        limit.pushed_back(sent_at=second, now=second + 0.5)
    assert limit.current == 1
    for _ in range(most * most):
        limit.succeeded()
    assert limit.current == most


def test_a_call_sent_before_the_last_cut_does_not_cut_again() -> None:
    limit = AdaptiveLimit(10)
    limit.pushed_back(sent_at=1.0, now=2.0)
    limit.pushed_back(sent_at=1.5, now=2.1)
    assert limit.current == 7
    limit.pushed_back(sent_at=2.5, now=3.0)
    assert limit.current == 4


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        (DATES, 7.0),
        ({**DATES, "date": "Tue, 03 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": DATES["retry-after"]}, None),
        ({**DATES, "retry-after": "soon"}, None),
        ({**DATES, "date": "Tue, 03 Nov 2026 10:00:00"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_the_wait_asked_for_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (402, "", AttemptFault("permanent", "HTTP 402: no message", fatal=True)),
        (403, "no\n  way", AttemptFault("permanent", "HTTP 403: no way", fatal=True)),
        (408, "", AttemptFault("transient", "HTTP 408: no message")),
        (409, "", AttemptFault("transient", "HTTP 409: no message")),
        (413, '{"error": {"message": "too large"}}', AttemptFault("permanent", "HTTP 413: too large")),
        (503, '{"error": "down"}', AttemptFault("overloaded", 'HTTP 503: {"error": "down"}')),
        (504, "", AttemptFault("transient", "HTTP 504: no message")),
        (
            400,
            '{"error": {"message": "Your credit balance is too low to access the API."}}',
            AttemptFault("permanent", "HTTP 400: Your credit balance is too low to access the API.", fatal=True),
        ),
    ],
)
def test_a_status_says_whether_to_try_again(status: int, body: str, fault: AttemptFault) -> None:
    assert fault_of_status(status, {}, body) == fault


async def test_many_calls_through_mixed_faults_all_end_as_answers() -> None:
    mixed = FakeSettings(p429=0.1, p500=0.05, p529=0.02, pmalformed=0.02, preset=0.01, retry_after_s=0.01)
    async with client_and_server("anthropic", mixed, replace(QUICK, attempts=12)) as (client, server):
        replies = await ask_all(client, 300)
    assert all(isinstance(reply, Completion) for reply in replies)
    assert len(replies) == 300
    assert server.faults.total() == client.fault_counts.total() > 0
