"""The picture in the chat: offered as MCP Apps says, left out where a host shows no pages, and read in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextResourceContents

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.resources.picture import PAGE, PICTURE, PICTURED
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.browser.driver import CHROMIUM, started, tab
from tests.shared.server.hosts import ERAS, Host, hosted, suite
from tests.workshop import Json, config_in, opened

APPS = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
NASTY = '<img src=x onerror="document.title=1"><b>owned</b>'


@asynccontextmanager
async def showing(folder: Path) -> AsyncGenerator[Host]:
    """A host that shows pages."""
    server = build_server(ServerSession(lambda: opened(config_in(folder))), ServerOptions())
    async with Client(server, extensions=[_shows()]) as client:
        yield Host(client)


def _shows() -> Any:
    from mcp.client.extension import ClientExtension  # noqa: PLC0415  used here only

    class Shows(ClientExtension):
        identifier = "io.modelcontextprotocol/ui"

        def settings(self) -> dict[str, Any]:
            return APPS[self.identifier]

    return Shows()


def _worse() -> list[Any]:
    """Later outputs, of which two are bad and one is nasty."""
    found = [cast("Json", one) for one in suite(6, bad=2)]
    runs = [one for one in found if one["type"] == "agent-run"]
    for one in runs:
        one["id"] = f"later-{one['id']}"
    cast("Json", cast("Json", runs[0]["fields"])["outputs"])["output"] = NASTY
    return runs


async def _fallen(host: Host) -> CallToolResult:
    """The answer about a benchmark's second run, which is worse."""
    records = suite(6, bad=0)
    cast("Json", records[0])["title"] = NASTY
    await host.call("save_records", records=records)
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    await host.call("save_records", records=_worse())
    return await host.raw("run_benchmark", benchmarkId="b", waitSeconds=50)


async def page_of(host: Host) -> str:
    """The page's text."""
    (only,) = (await host.client.read_resource(PAGE)).contents
    assert isinstance(only, TextResourceContents)
    assert only.mime_type == "text/html;profile=mcp-app"
    return only.text


@pytest.mark.parametrize("era", ERAS)
async def test_the_tools_name_the_page_and_it_can_be_read(tmp_path: Path, era: str) -> None:
    async with hosted(config_in(tmp_path), era=era) as host:
        tools = (await host.client.list_tools()).tools
        named = {tool.name for tool in tools if (tool.meta or {}).get("ui") == {"resourceUri": PAGE}}
        assert named == PICTURED
        (listed,) = [one for one in (await host.client.list_resources()).resources if str(one.uri) == PAGE]
        assert listed.mime_type == "text/html;profile=mcp-app"
        assert "<script>" in await page_of(host)


async def test_the_page_loads_nothing_from_anywhere(host: Host) -> None:
    page = await page_of(host)
    assert not re.search(r"""(src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(""", page)
    assert "http://" not in page
    assert "https://" not in page


async def test_a_host_that_shows_no_pages_gets_the_same_answer_without_a_chart(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path / "bare")) as host:
        bare = await _fallen(host)
    async with showing(tmp_path / "shown") as host:
        shown = await _fallen(host)
    assert PICTURE not in (bare.meta or {})
    assert PICTURE in (shown.meta or {})
    assert set(cast("Json", bare.structured_content)) == set(cast("Json", shown.structured_content))
    assert "4 of 6 passed" in str(cast("Json", shown.structured_content)["summary"])


async def test_a_long_history_stays_within_what_a_host_takes(tmp_path: Path) -> None:
    async with showing(tmp_path) as host:
        await host.call("save_records", records=suite(1, bad=0))
        for _ in range(32):
            await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        found = await host.raw("detect_trend", benchmarkId="b")
        whole = found.model_dump_json(by_alias=True, exclude_none=True)
        assert "<svg" in whole
        assert len(whole) <= 40_000


def hosting(page: str, result: CallToolResult, theme: str) -> str:
    """A page that hosts the app as MCP Apps says, gives it the result and shows beneath what the app made of it."""
    given = json.dumps(result.model_dump(mode="json", by_alias=True, exclude_none=True))
    parts = (json.dumps(page), given, json.dumps(theme))
    safe = [part.replace("<", "\\u003c") for part in parts]
    return (
        """<!doctype html><meta charset="utf-8"><body style="margin:0"><iframe id="app" style="width:100%;height:900px;border:0"></iframe>
<pre id="seen" hidden></pre><pre id="log" hidden></pre><script>
const app = document.getElementById("app"), seen = document.getElementById("seen"), log = document.getElementById("log");
const [page, result, theme] = [PAGE, RESULT, THEME];
window.addEventListener("message", ({ data }) => {
  log.textContent += data.method + " ";
  const say = (message) => app.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  if (data.method === "ui/initialize") say({ id: data.id, result: { protocolVersion: data.params.protocolVersion,
    hostInfo: { name: "test", version: "0" }, hostCapabilities: {}, hostContext: { theme } } });
  if (data.method === "ui/notifications/initialized") say({ method: "ui/notifications/tool-result", params: result });
});
setInterval(() => {
  if (!app.contentDocument?.body) return;
  seen.textContent = app.contentDocument.documentElement.outerHTML.replace(/<script>.*<\\/script>/s, "");
  seen.dataset.background = app.contentWindow.getComputedStyle(app.contentDocument.body).backgroundColor;
}, 20);
app.srcdoc = page;
</script>""".replace("PAGE", safe[0])
        .replace("RESULT", safe[1])
        .replace("THEME", safe[2])
    )


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize(("theme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 22, 26)")])
async def test_a_browser_shows_the_run_the_chart_and_the_failures_in_either_theme(
    tmp_path: Path, theme: str, background: str
) -> None:
    async with showing(tmp_path) as host:
        result, page = await _fallen(host), await page_of(host)
    file = tmp_path / "host.html"
    file.write_text(hosting(page, result, theme), encoding="utf-8")
    with started(tmp_path) as browser, tab(browser) as at:
        at.go(file.as_uri())
        at.until("document.getElementById('seen').textContent.includes('Score over the last 2 runs')")
        at.until("document.getElementById('log').textContent.includes('size-changed')")
        shown = cast("str", at.ask_page("document.documentElement.outerHTML"))
        assert at.complaints() == []
    assert f'data-background="{background}"' in shown
    seen = shown[shown.index('id="seen"') : shown.index('id="log"')]
    for said in (
        "4 of 6 passed",
        "4 passed",
        "2 failed",
        "▼ Regression",
        "&lt;svg",
        "wrong-output",
        "Score over the last 2 runs",
    ):
        assert said in seen, said
    assert "&amp;lt;img" in seen, "the nasty title is shown as what it is"
    assert "&lt;img" not in seen.replace("&amp;lt;img", ""), "what was under test became an element"
    assert "size-changed" in shown[shown.index('id="log"') :]
