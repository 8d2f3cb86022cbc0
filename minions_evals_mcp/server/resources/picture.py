"""A picture in the chat (MCP Apps, SEP-1865): one page that shows a run or a trend; answers carry the chart beside their text."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from typing import Any

import anyio.to_thread
from mcp.server.apps import APP_MIME_TYPE, Apps, ResourceCsp, client_supports_apps
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resources import Resource
from mcp_types import CallToolResult

from minions_evals_mcp.server.session.calls import Call

PAGE = "ui://minions-evals/picture.html"
PICTURED = frozenset({"run_benchmark", "get_run", "detect_trend"})
PICTURE = "minions-evals/picture"
"""The key of an answer's `_meta` under which the page looks for the chart; no model reads it."""


class _Page(Resource):
    """The page, read when a host asks for it."""

    async def read(self) -> str:
        """The page with the charts' own styles in it."""
        page = files("minions_evals_mcp.server.resources").joinpath("picture.html").read_text("utf-8")
        chart = files("minions_evals_mcp.report").joinpath("templates/chart.css").read_text("utf-8")
        return page.replace("/*chart*/", chart)


def picture_extension() -> Apps:
    """The extension that offers the page; it loads nothing from anywhere."""
    apps = Apps()
    csp = ResourceCsp(connect_domains=[], resource_domains=[]).model_dump(by_alias=True, exclude_none=True)
    apps.add_resource(
        _Page(
            uri=PAGE, name="picture", title="Run and trend", description="Shows a benchmark run and its trend.",
            mime_type=APP_MIME_TYPE, meta={"ui": {"csp": csp, "prefersBorder": True}},
        )
    )  # fmt: skip
    return apps


def picture_meta(tool: str) -> dict[str, Any] | None:
    """Returns what a tool's listing says of its page."""
    return {"ui": {"resourceUri": PAGE}} if tool in PICTURED else None


async def pictured(call: Call, tool: str, result: CallToolResult, context: Context[Any, Any]) -> CallToolResult:
    """The same answer, with the chart for a host that shows pages; the text says everything without it."""
    if tool not in PICTURED or not client_supports_apps(context):
        return result
    # The charting library is imported where a host shows pages, beside the event loop.
    module = await anyio.to_thread.run_sync(import_module, "minions_evals_mcp.server.answers.chart")
    drawn = await module.drawing(call.engine, result.structured_content or {})
    return result if drawn is None else result.model_copy(update={"meta": {**(result.meta or {}), PICTURE: drawn}})
