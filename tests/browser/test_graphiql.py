"""GraphiQL in a browser: from the package, under its policy, with the whole schema."""

from __future__ import annotations

from pathlib import Path

import anyio

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.browser.driver import Tab
from tests.shared.server.web import on_the_web
from tests.workshop import config_in, opened


async def test_the_query_page_loads_from_this_machine_alone_and_knows_the_schema(at: Tab, tmp_path: Path) -> None:
    session = ServerSession(lambda: opened(config_in(tmp_path)))
    async with on_the_web(build_server(session, ServerOptions()), session, with_graphql=True) as door:
        await anyio.to_thread.run_sync(_looked, at, door.url.replace("/mcp", "/graphql"))


def _looked(at: Tab, url: str) -> None:
    at.ask("Network.enable")
    at.ask("Network.setExtraHTTPHeaders", headers={"accept": "text/html,*/*"})
    at.go(url)
    at.until("document.querySelector('.graphiql-container')")
    at.until("document.querySelector('[aria-label*=\"Documentation\"]')")
    at.ask_page("document.querySelector('[aria-label*=\"Documentation\"]').click()")
    at.until("document.body.innerText.includes('Root Types')")
    loaded = "performance.getEntriesByType('resource').every((one) => one.name.startsWith(location.origin))"
    assert at.ask_page(loaded) is True
    assert at.complaints() == []
