"""The page of prompts and their versions, from which a new version can be saved."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.engine.answers.pages.prompts_page import read_prompts
from minions_evals_mcp.engine.records.new_version import new_version
from minions_evals_mcp.view.parameters import engine_of, form_of, named
from minions_evals_mcp.view.rendering import rendered

NEWEST = 100


async def prompts(request: Request) -> Response:
    """Every prompt with its versions; `version` opens the one that is meant."""
    cards = await read_prompts(engine_of(request), limit=NEWEST)
    return rendered(
        "prompts", prompts=cards, version=named(request, "version"), store=engine_of(request).config.named_db
    )


async def saved(request: Request) -> Response:
    """Saves what was edited as a new version."""
    form = await form_of(request)
    record = await new_version(
        engine_of(request), form.get("after", ""), form.get("content", ""), changelog=form.get("changelog", "")
    )
    return RedirectResponse(f"/prompts?{urlencode({'version': record.id})}", 303)
