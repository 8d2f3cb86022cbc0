"""The palette: what is called so, as links."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from minions_evals_mcp.engine.answers.pages.finder import find_by_name
from minions_evals_mcp.view.entrance.visitors import may
from minions_evals_mcp.view.parameters import engine_of, named
from minions_evals_mcp.view.rendering import part

LONGEST = 200
JUDGING = "Judge outputs"
PAGES = {
    "Overview": "/", "Runs": "/runs", "Failures": "/failures", "Prompts": "/prompts", JUDGING: "/judge",
    "Outbox": "/outbox", "Costs": "/costs",
}  # fmt: skip


async def find(request: Request) -> Response:
    """The list that fits what was typed."""
    text = named(request, "q")[:LONGEST]
    pages = [
        (name, address)
        for name, address in PAGES.items()
        if text.strip().lower() in name.lower() and (name != JUDGING or may("judge"))
    ]
    return HTMLResponse(part("found", pages=pages, found=await find_by_name(engine_of(request), text), text=text))
