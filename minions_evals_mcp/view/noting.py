"""A thumb up or down with its reason, from the page of a case or from a cell of the matrix."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.engine.labels.output_notes import note_output
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.view.parameters import engine_of, form_of, person_required, place_of, signed_in


async def noted(request: Request) -> Response:
    """Keeps the note and leads back to where it was written."""
    engine, form = engine_of(request), await form_of(request)
    speaker, token = await person_required(request, form, to="note an output")
    thumb, at = form.get("thumb", ""), form.get("at", "")
    if thumb not in {"good", "bad"}:
        raise BadInputError("thumb: the note has none.", remedy="Send good or bad.")
    run_id = form.get("run", "")
    await note_output(
        engine.speaking(speaker), run_id, place_of(at), good=thumb == "good", reason=form.get("reason", "")
    )
    back = form.get("back", "")
    here = f"/matrix{back}" if back.startswith("?") else f"/case?{urlencode({'run': run_id, 'at': at})}#notes"
    following = RedirectResponse(here, 303)
    if token:
        signed_in(request).keep(request, following, token)
    return following
