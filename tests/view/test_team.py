"""The page for a team: who is let in, as whom, and what each role may do."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest

from minions_evals_mcp.domain.speaker import ROLES, Role, person
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.persons import add_person, change_role, remove_person
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.network_address import read_address
from minions_evals_mcp.store.queries.judging import assignments
from minions_evals_mcp.view.app import Page, routes, team_app
from minions_evals_mcp.view.entrance.door import METRICS, POLICY
from minions_evals_mcp.view.entrance.team import page_address
from tests.shared.view.visitor import judgment, token_of, visitor, waiting
from tests.workshop import counts

NAME = "evals.example.org"
HTML = {"accept": "text/html"}
ASKED: list[tuple[str, str, Role]] = [
    (page.path, method, page.needs)
    for page in routes()
    if isinstance(page, Page)
    for method in (page.methods or set()) - {"HEAD"}
]


@asynccontextmanager
async def browser(engine: Engine, *, token: str = "", tls: bool = True) -> AsyncGenerator[httpx2.AsyncClient]:
    """A browser that asks through a proxy under its name, signed in with that token where one is given."""
    address = read_address("0.0.0.0:8427" if tls else "127.0.0.1:8427", allowed_hosts=(NAME,) if tls else ())
    home = f"https://{NAME}" if tls else "http://127.0.0.1:8427"
    transport = httpx2.ASGITransport(team_app(engine, address, behind_tls=tls))
    async with httpx2.AsyncClient(transport=transport, base_url=home, headers={"origin": home}) as client:
        if token:
            signed = await client.post("/sign-in", data={"personToken": token, "next": "/runs"})
            assert (signed.status_code, signed.headers["location"]) == (303, "/runs")
        yield client


async def test_nobody_sees_a_page_before_they_sign_in(engine: Engine) -> None:
    await add_person(engine, "anna")
    async with browser(engine) as client:
        for path, method, _ in ASKED:
            refused = await client.request(method, path)
            assert refused.status_code == 401, path
            assert refused.headers["content-security-policy"] == POLICY
        led = await client.get("/runs?of=b", headers=HTML)
        assert (led.status_code, led.headers["location"]) == (303, "/sign-in?next=%2Fruns%3Fof%3Db")
        form = await client.get(led.headers["location"], headers=HTML)
        assert form.status_code == 200
        assert 'value="/runs?of=b"' in form.text
        assert "Overview" not in form.text


@pytest.mark.parametrize("token", ["", "wrong", "person-wrong", "ä", "x" * 300])
async def test_a_token_of_nobody_opens_nothing(engine: Engine, token: str) -> None:
    await add_person(engine, "anna")
    async with browser(engine) as client:
        refused = await client.post("/sign-in", data={"personToken": token})
        assert refused.status_code == 403
        assert "nobody" in refused.text
        assert "set-cookie" not in refused.headers


@pytest.mark.parametrize(
    "elsewhere", ["//example.org", "https://example.org", "/\\example.org", "javascript:alert(1)", "/sign-in", "/a\nb"]
)
async def test_signing_in_never_leads_to_another_site(engine: Engine, elsewhere: str) -> None:
    token = await add_person(engine, "anna")
    async with browser(engine) as client:
        signed = await client.post("/sign-in", data={"personToken": token, "next": elsewhere})
        assert signed.headers["location"] == "/"


@pytest.mark.parametrize("tls", [True, False])
async def test_the_session_is_a_cookie_that_no_script_and_no_other_site_can_use(engine: Engine, tls: bool) -> None:
    token = await add_person(engine, "anna")
    async with browser(engine, tls=tls) as client:
        signed = await client.post("/sign-in", data={"personToken": token})
        cookie = signed.headers["set-cookie"]
        parts = {part.strip() for part in cookie.split(";")}
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= parts
        assert ("Secure" in parts, cookie.startswith("__Host-")) == (tls, tls)
        assert token not in cookie
        assert "anna" in (await client.get("/")).text
        await client.post("/sign-out")
        assert (await client.get("/")).status_code == 401
        kept = {"cookie": cookie.partition(";")[0]}
        assert (await client.get("/", headers=kept)).status_code == 401, "the session itself has ended"


async def test_who_is_removed_is_out_at_once_and_a_new_role_holds_at_once(engine: Engine) -> None:
    token = await add_person(engine, "anna", "viewer")
    async with browser(engine, token=token) as client:
        assert (await client.get("/judge")).status_code == 403
        assert await change_role(engine, "anna", "judge") == "viewer"
        assert (await client.get("/judge")).status_code == 200
        await remove_person(engine, "anna")
        assert (await client.get("/judge")).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "example.org"}, 421),
        ({"host": "0.0.0.0:8427"}, 421),
        ({"host": "127.0.0.1:8427"}, 421),
        ({"origin": "https://example.org"}, 403),
        ({"origin": f"http://{NAME}"}, 403),
        ({"origin": "null"}, 403),
        ({"host": f"{NAME}:8427"}, 200),
    ],
)
async def test_behind_a_proxy_its_name_alone_is_answered(engine: Engine, headers: dict[str, str], status: int) -> None:
    token = await add_person(engine, "anna")
    async with browser(engine, token=token) as client:
        assert (await client.get("/", headers=headers)).status_code == status


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_reaches_the_pages_that_it_needs_and_no_other(engine: Engine, role: Role) -> None:
    token, speaker = await add_person(engine, "anna", role), person("anna", role)
    before = await counts(engine)
    async with browser(engine, token=token) as client:
        for path, method, needs in ASKED:
            answered = await client.request(method, path)
            assert (answered.status_code == 403) == (not speaker.may(needs)), (path, method)
            if answered.status_code == 403:
                assert f"anna is a {role}" in answered.text
                assert f"minions-evals people role anna {needs}" in answered.text
    assert await counts(engine) == before


def test_whatever_changes_something_needs_more_than_a_viewer() -> None:
    assert [path for path, method, needs in ASKED if method not in {"GET", "HEAD"} and needs == "viewer"] == []
    assert {needs for _, _, needs in ASKED} == set(ROLES)


async def test_a_judge_judges_in_their_own_name_and_is_offered_nothing_else(engine: Engine) -> None:
    job = await waiting(engine)
    token = await add_person(engine, "dora", "judge")
    async with browser(engine, token=token) as client:
        form = await client.get("/judge")
        assert "You judge as dora" in form.text
        digest = form.text.partition('name="digest" value="')[2].partition('"')[0]
        done = await client.post("/judge", data={**judgment(job.id, digest), "personToken": ""})
        assert done.status_code == 303
        page = await client.get(f"/run?id={job.id}")
        assert "run again" not in page.text
    judged = await engine.store.read(lambda db: db.execute("SELECT DISTINCT judged_by FROM eval_judgment").fetchall())
    assert judged == [("dora",)]


async def test_a_viewer_who_gives_a_token_on_the_local_page_judges_nothing(engine: Engine) -> None:
    job = await waiting(engine)
    await change_role(engine, "anna", "viewer")
    async with visitor(engine) as client:
        form = await client.get("/judge")
        digest = form.text.partition('name="digest" value="')[2].partition('"')[0]
        refused = await client.post("/judge", data=judgment(job.id, digest))
    assert refused.status_code == 400
    assert "anna is a viewer" in refused.text
    assert token_of("anna") not in refused.text


async def test_a_scraper_reads_the_figures_with_a_persons_token(engine: Engine) -> None:
    token = await add_person(engine, "prometheus", "viewer")
    async with browser(engine) as client:
        bearer = {"authorization": f"Bearer {token}"}
        assert (await client.get(METRICS, headers=bearer)).status_code == 200
        assert (await client.get("/", headers=bearer)).status_code == 401, "a token in a header opens the figures alone"


@pytest.mark.parametrize(
    ("text", "hosts", "tls", "named"),
    [
        ("0.0.0.0:8427", (), False, "--allowed-host .* and --behind-tls"),
        ("0.0.0.0:8427", (NAME,), False, "--behind-tls"),
        ("192.168.1.7:8427", (), True, "--allowed-host"),
        ("127.0.0.1:8427", (NAME,), False, "--behind-tls"),
        ("8427", (), True, "HOST:PORT"),
        ("localhost:99999", (), True, "HOST:PORT"),
    ],
)
def test_an_address_at_which_tokens_could_be_read_is_refused(
    text: str, hosts: tuple[str, ...], tls: bool, named: str
) -> None:
    with pytest.raises(BadInputError, match=named):
        page_address(text, allowed_hosts=hosts, behind_tls=tls)


@pytest.mark.parametrize("text", ["127.0.0.1:8427", "[::1]:8427", "localhost:0"])
def test_this_machine_alone_needs_no_tls(text: str) -> None:
    assert page_address(text, allowed_hosts=(), behind_tls=False).is_loopback


DIGEST = re.compile(r'name="digest" value="([^"]+)"')


async def test_an_editor_divides_what_waits_and_each_queue_begins_with_its_own(engine: Engine) -> None:
    await waiting(engine, 3, key="shared")
    job = await waiting(engine, 4, key="mine")
    async with browser(engine, token=token_of("anna")) as anna, browser(engine, token=token_of("bob")) as bob:
        assert f"/assign?run={job.id}" in (await anna.get("/run", params={"id": job.id})).text
        begun = (await anna.get("/assign", params={"run": "mine"})).text
        assert '<td>anybody</td><td></td><td class="right num">4</td>' in begun
        form = {"run": job.id, "person-1": "anna", "person-2": "bob"}
        divided = await anna.post("/assign", data=form)
        assert (divided.status_code, divided.headers["location"]) == (303, f"/assign?run={job.id}&kept=1")
        shown = (await anna.get(divided.headers["location"])).text
        assert shown.count("checked> ") == 2
        assert shown.count('<td class="right num">2</td>') == 2
        own: list[tuple[str, str]] = await engine.store.read(partial(assignments.own, person="bob"))
        after = ""
        asked: list[str] = []
        for _ in range(5):
            after = DIGEST.findall((await bob.get("/judge", params={"after": after})).text)[0]
            asked.append(after)
        assert asked[:2] == [digest for _, digest in own], "two are assigned to bob, they come first"
        assert len(set(asked)) == 5, "then the three that are anybody's"
        await anna.post("/assign", data={"run": job.id})
        assert await engine.store.read(partial(assignments.own, person="bob")) == []


async def test_who_has_judged_all_but_what_others_hold_is_not_told_that_nothing_waits(engine: Engine) -> None:
    await waiting(engine, key="mine")
    async with browser(engine, token=token_of("anna")) as anna, browser(engine, token=token_of("bob")) as bob:
        await anna.post("/assign", data={"run": "mine", "person-1": "bob"})
        told = (await anna.get("/judge", params={"kept": "1"})).text
        for said in ("Nothing waits for you", "That was the last one for you.", "<li>1 assigned to other people"):
            assert said in told
        assert DIGEST.findall((await bob.get("/judge")).text)


async def test_whoever_signs_in_often_ends_nobody_elses_session(engine: Engine) -> None:
    anna, ben = await add_person(engine, "anna"), await add_person(engine, "ben", "viewer")
    async with browser(engine, token=anna) as hers:
        transport, home = hers._transport, hers.base_url  # pyright: ignore[reportPrivateUsage]  one page, two browsers
        async with httpx2.AsyncClient(transport=transport, base_url=home, headers=hers.headers) as his:
            sessions: list[str] = []
            for _ in range(105):
                his.cookies.clear()
                signed = await his.post("/sign-in", data={"personToken": ben, "next": "/runs"})
                sessions.append(signed.headers["set-cookie"].partition(";")[0])
            his.cookies.clear()
            seen = [
                (await his.get("/runs", headers={"cookie": one})).status_code for one in (sessions[0], sessions[-1])
            ]
            assert seen == [401, 200], "his own oldest one ended"
        assert (await hers.get("/runs")).status_code == 200
