"""Making a test case of what failed, from the page of the case."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.cases.promote import promote_failure
from minions_evals_mcp.view.parameters import engine_of, form_of
from minions_evals_mcp.view.rendering import rendered


async def promoted(request: Request) -> Response:
    """The case that was made: with the corrected output it runs from now on, without it is a draft."""
    form = await form_of(request)
    corrected, why = form.get("corrected", "").strip(), form.get("why", "").strip()
    promotion = await promote_failure(
        engine_of(request),
        form.get("id", ""),
        corrected=corrected or None,
        why=why or None,
        into=form.get("into") or None,
    )
    return rendered("promoted", found=promotion, run=form.get("run", ""), at=form.get("at", ""))
