"""A team's page in a real browser: people sign in, see who they are and what they may do, and sign out."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import anyio
import pytest

from minions_evals_mcp.domain.speaker import Role
from minions_evals_mcp.engine.people.persons import add_person
from tests.browser.axe import require_axe, violations
from tests.browser.pictures import WIDTHS
from tests.shared.browser.driver import Tab
from tests.shared.view.process import viewing
from tests.shared.view.visitor import waiting
from tests.workshop import config_in, opened

TEXT = "document.body.innerText"


async def filled(folder: Path, role: Role) -> str:
    """The token of dora, who has that role, in a store where an output waits."""
    async with opened(config_in(folder)) as engine:
        await waiting(engine)
        return await add_person(engine, "dora", role)


@pytest.mark.parametrize("role", ["viewer", "judge"])
def test_a_person_signs_in_sees_their_role_and_signs_out(at: Tab, tmp_path: Path, role: Role) -> None:
    require_axe()
    token = anyio.run(filled, tmp_path, role)
    with viewing(tmp_path, "--http", "127.0.0.1:0") as started:
        home = started.home.rstrip("/")
        at.go(f"{home}/runs")
        assert "Your token" in cast("str", at.ask_page(TEXT))
        for width in WIDTHS:
            for dark in (False, True):
                at.seen(width=width, dark=dark)
                assert violations(at) == [], (width, dark)
        at.type("person-of-nobody")
        at.press("Enter")
        at.loads()
        assert "belongs to nobody" in cast("str", at.ask_page(TEXT))
        assert violations(at) == []
        at.complaints()  # a browser reports the answer 403
        at.type(token)
        at.press("Enter")
        at.loads()
        assert at.ask_page("location.pathname") == "/runs"
        for width in WIDTHS:
            at.seen(width=width)
            assert violations(at) == [], width
            assert cast("float", at.ask_page("document.documentElement.scrollWidth - innerWidth")) <= 0
        shown = cast("str", at.ask_page("document.querySelector('header.top').innerText"))
        assert f"dora {role}" in shown
        assert ("Judge" in shown) == (role == "judge")
        at.ask_page("document.querySelector('.visitor button').click()")
        at.loads()
        assert at.ask_page("location.pathname") == "/sign-in"
        assert "dora" not in cast("str", at.ask_page(TEXT))
        assert at.complaints() == []
    assert started.code == 0
