"""What a page offers to whom: on every page, whoever looked at it before, a person sees their own name and what their role lets them do."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest

from minions_evals_mcp.domain.speaker import ROLES, Role, person
from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.view.app import Page, routes
from tests.browser import gallery
from tests.view.test_team import browser
from tests.workshop import config_in, opened

LINK = re.compile(r'(?:href|hx-get)="(/[^"]*)"')
FORM = re.compile(r'<form\b[^>]*?method="(\w+)"[^>]*?action="(/[^"]*)"')
NEEDS: dict[tuple[str, str], Role] = {
    (method, page.path): page.needs for page in routes() if isinstance(page, Page) for method in page.methods or ()
}


def offered(text: str) -> set[tuple[str, str]]:
    """The method and address of everything that a page leads to."""
    links = [("GET", address) for address in LINK.findall(text)]
    forms = [(method.upper(), address) for method, address in FORM.findall(text)]
    return {(method, urlsplit(unescape(address)).path) for method, address in (*links, *forms)}


async def signed_in(client: httpx2.AsyncClient, token: str) -> str:
    """The cookie of a session."""
    client.cookies.clear()
    answer = await client.post("/sign-in", data={"personToken": token, "next": "/"})
    return str(answer.headers["set-cookie"]).partition(";")[0]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[Role, str], str]:
    """Every page of the gallery as people of each role see it, one after the other."""
    return anyio.run(looked_at, tmp_path_factory.mktemp("roles"))


async def looked_at(folder: Path) -> dict[tuple[Role, str], str]:
    """The pages by role and name."""
    await gallery.filled(folder)
    seen: dict[tuple[Role, str], str] = {}
    async with opened(config_in(folder)) as engine:
        tokens = {role: await add_person(engine, f"the-{role}", role) for role in ROLES}
        async with browser(engine) as client:
            sessions = {role: await signed_in(client, token) for role, token in tokens.items()}
            client.cookies.clear()
            for name, address in {**gallery.PAGES, "palette": "/find?q="}.items():
                for role in reversed(ROLES):  # whoever may do most looks first
                    answer = await client.get(address, headers={"cookie": sessions[role]})
                    if answer.status_code == 200:
                        seen[role, name] = answer.text
    return seen


@pytest.mark.parametrize("role", ROLES)
def test_a_page_offers_a_person_only_what_their_role_lets_them_do(
    pages: dict[tuple[Role, str], str], role: Role
) -> None:
    looked = {name: offered(text) for (whose, name), text in pages.items() if whose == role}
    assert len(looked) >= 18, "most pages are for everybody"
    forbidden = {
        name: [one for one in sorted(leads) if not person("x", role).may(NEEDS.get(one, "viewer"))]
        for name, leads in looked.items()
    }
    assert {name: leads for name, leads in forbidden.items() if leads} == {}


def test_a_page_that_others_saw_before_names_who_looks_at_it_now(pages: dict[tuple[Role, str], str]) -> None:
    named = {(role, name): {one for one in ROLES if f"the-{one}" in text} for (role, name), text in pages.items()}
    assert {at: others for at, found in named.items() if (others := found - {at[0]})} == {}
    assert sum(bool(found) for found in named.values()) >= len(ROLES) * 15, "all but parts and reports say who looks"
