"""Who is let in: the token that was printed, our own name, our own pages; and what every answer forbids."""

from __future__ import annotations

import httpx2
import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.view.entrance.door import POLICY, Keys
from tests.shared.view.visitor import HOME, KEYS, judgment, stranger, visitor, waiting
from tests.workshop import counts

PAGES = (
    "/",
    "/running",
    "/runs",
    "/failures",
    "/outbox",
    "/judge",
    "/run?id=b",
    "/page.css",
    "/page.js",
    "/htmx.js",
    "/theme.js",
    "/trend.js",
    "/uplot.js",
    "/inter.woff2",
    "/jetbrains-mono.woff2",
    "/compare?run=a&run=b",
    "/nothing",
)


@pytest.mark.parametrize("page", PAGES)
async def test_nothing_is_shown_without_the_token_or_with_a_wrong_one(engine: Engine, page: str) -> None:
    async with stranger(engine) as client:
        mark = "&" if "?" in page else "?"
        for asked in (page, f"{page}{mark}token=", f"{page}{mark}token=wrong", f"{page}{mark}token={KEYS.session}"):
            refused = await client.get(asked)
            assert refused.status_code == 401
            assert "printed" in refused.text
            assert "set-cookie" not in refused.headers


@pytest.mark.parametrize("value", ["", "wrong", "the-token", '"the-session', "ä"])
async def test_a_wrong_cookie_opens_nothing(engine: Engine, value: str) -> None:
    async with stranger(engine) as client:
        cookie = {b"cookie": f"{KEYS.cookie}={value}".encode()}
        assert (await client.get("/", headers=cookie)).status_code == 401


async def test_the_token_is_exchanged_for_a_cookie_that_no_script_and_no_other_site_can_use(engine: Engine) -> None:
    async with stranger(engine) as client:
        opened = await client.get("/runs?of=b&token=the-token")
        assert (opened.status_code, opened.headers["location"]) == (303, "/runs?of=b")
        cookie = opened.headers["set-cookie"]
        assert "the-token" not in cookie
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert (await client.get("/runs?of=b")).status_code == 200


async def test_the_exchange_never_leads_to_another_host(engine: Engine) -> None:
    async with stranger(engine) as client:
        opened = await client.get(f"{HOME}//example.org/x?token=the-token")
        assert opened.headers["location"] == "/example.org/x"


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:8765", "127.0.0.1", "127.0.0.1:80", "localhost.example:8765", ""]
)
async def test_a_foreign_host_is_refused_even_with_the_cookie(engine: Engine, host: str) -> None:
    async with visitor(engine) as client:
        refused = await client.get("/", headers={"host": host})
        assert refused.status_code == 421
        assert (await client.get("/", headers={"host": "localhost:8765"})).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "http://127.0.0.1:8766", "https://127.0.0.1:8765", ""]
)
async def test_a_foreign_origin_is_refused_and_changes_nothing(engine: Engine, origin: str) -> None:
    job = await waiting(engine)
    before = await counts(engine)
    async with visitor(engine) as client:
        for refused in (
            await client.get("/", headers={"origin": origin}),
            await client.post("/judge", data=judgment(job.id, "x"), headers={"origin": origin}),
        ):
            assert refused.status_code == 403
    assert await counts(engine) == before


async def test_a_form_that_does_not_say_where_it_comes_from_is_refused(engine: Engine) -> None:
    async with visitor(engine) as client:
        del client.headers["origin"]
        assert (await client.post("/judge", data=judgment("r", "x"))).status_code == 403
        assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize("page", PAGES)
async def test_every_answer_forbids_what_is_not_ours(engine: Engine, page: str) -> None:
    async with visitor(engine) as client, stranger(engine) as other:
        for one in (await client.get(page), await other.get(page), await other.get(page, headers={"host": "x"})):
            _assert_guarded(one)


def _assert_guarded(answer: httpx2.Response) -> None:
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    lasting = answer.headers["content-type"] == "font/woff2" and answer.status_code == 200
    assert answer.headers["cache-control"] == ("private, max-age=604800" if lasting else "no-store")
    assert "unsafe" not in POLICY


def test_keys_differ_at_every_start_and_never_show() -> None:
    one, other = Keys(1), Keys(1)
    assert len({one.token, one.session, other.token, other.session}) == 4
    assert one.token not in repr(one)
    assert one.session not in repr(one)
    assert one.session not in one.url
