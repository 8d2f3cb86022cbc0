"""The files that pages load: our stylesheet and scripts, and those of others as `assets/origins.json` lists them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from minions_evals_mcp.report.charts.trend import chart_css

LASTING = {"Cache-Control": "private, max-age=604800"}
"""Fonts are the same on every page: a browser keeps them for a week."""
SCRIPT = "text/javascript"


def file_routes() -> list[Route]:
    """The address of each file."""
    return [
        Route("/page.css", _serving(lambda: stylesheet().encode(), "text/css")),
        Route("/page.js", _serving(lambda: _file("templates/page.js"), SCRIPT)),
        Route("/theme.js", _serving(lambda: _file("templates/theme.js"), SCRIPT)),
        Route("/trend.js", _serving(lambda: _file("templates/trend.js"), SCRIPT)),
        Route("/htmx.js", _serving(lambda: _file("assets/htmx.min.js"), SCRIPT)),
        Route("/uplot.js", _serving(lambda: _file("assets/uplot.min.js"), SCRIPT)),
        Route("/inter.woff2", _serving(lambda: _file("assets/inter.woff2"), "font/woff2", LASTING)),
        Route("/jetbrains-mono.woff2", _serving(lambda: _file("assets/jetbrains-mono.woff2"), "font/woff2", LASTING)),
    ]


def _serving(
    content: Callable[[], bytes], media_type: str, headers: dict[str, str] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    async def served(request: Request) -> Response:
        del request
        return Response(content(), media_type=media_type, headers=headers)

    return served


@cache
def stylesheet() -> str:
    """The looks of all pages, in light and dark: what reports have, what only pages have, and the chart's."""
    shared = files("minions_evals_mcp.report").joinpath("templates/design.css").read_text("utf-8")
    own = (_file("templates/page.css"), _file("assets/uplot.min.css"), _file("templates/trend.css"))
    return chosen_theme("\n".join((shared, chart_css(), *(text.decode() for text in own))))


_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n(.*?)\n\}\n", re.DOTALL)
"""A block for the dark theme: whole lines, its closing brace alone on the last."""


def chosen_theme(css: str) -> str:
    """The stylesheet with its dark theme where the system asks for it, or the reader chose it on the page."""
    blocks = [match[1] for match in _DARK.finditer(css)]
    dark = "\n".join(block.replace(":root", ':root[data-theme="dark"]') for block in blocks)
    asked = _DARK.sub(lambda match: match[0].replace(":root", ':root:not([data-theme="light"])'), css)
    scheme = ':root[data-theme="dark"] { color-scheme: dark; }\n:root[data-theme="light"] { color-scheme: light; }'
    return f"{asked}\n{dark}\n{scheme}\n"


@cache
def _file(name: str) -> bytes:
    return files("minions_evals_mcp.view").joinpath(name).read_bytes()
