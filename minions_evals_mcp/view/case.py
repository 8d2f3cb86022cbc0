"""The page of one case of a run, and two trajectories side by side."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.engine.answers.pages.case_page import read_case_page
from minions_evals_mcp.engine.answers.run_outline import read_run_outline
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.store.queries.pages import case_strip
from minions_evals_mcp.store.queries.report_units import Place
from minions_evals_mcp.view.case_index import AmongCases, among_cases, listed
from minions_evals_mcp.view.overview import IN_PROGRESS
from minions_evals_mcp.view.parameters import engine_of, named, place_of, required, signed_in, step_number
from minions_evals_mcp.view.rendering import rendered
from minions_evals_mcp.view.run import case_query

FILTERS = ("status", "cause", "tag", "q", "sort")
"""What an address keeps of the list of cases that it was reached from."""


async def case(request: Request) -> Response:
    """One case of a run, whole: its other runs, what it came to, its trajectory. A test case by id leads to its newest run."""
    if ident := named(request, "id"):
        return RedirectResponse(f"/case?{urlencode(await _newest(engine_of(request), ident))}", 303)
    place = place_of(required(request, "at"))
    beside = named(request, "beside")
    page = await read_case_page(engine_of(request), required(request, "run"), place, beside=beside)
    if named(request, "as") == "json":
        return Response(page.case.model_dump_json(indent=1), media_type="application/json")
    wanted = {name: value for name in FILTERS if (value := named(request, name))}
    found = None if not wanted else await _among(request, place)
    speaker = engine_of(request).speaker
    return rendered(
        "case", page=page, among=found, wanted=wanted, step=min(step_number(request), len(page.steps)),
        speaker=speaker.name if speaker.is_person else "", signed_in=bool(signed_in(request).token(request)),
    )  # fmt: skip


async def _among(request: Request, place: Place) -> AmongCases | None:
    """The position of the case in the list that the reader came from."""
    outline = await read_run_outline(engine_of(request), required(request, "run"), tags=0)
    filters, _ = case_query(request)
    return among_cases(await listed(request, outline, filters, live=outline.state in IN_PROGRESS), place)


async def trajectory(request: Request) -> Response:
    """The steps of a case, beside those of its run before."""
    place = place_of(required(request, "at"))
    return rendered("trajectory", page=await read_case_page(engine_of(request), required(request, "run"), place))


async def _newest(engine: Engine, ident: str) -> dict[str, str]:
    tried = await engine.store.read(partial(case_strip.tried, case_id=ident, trial=1, limit=1))
    if not tried:
        raise NotFoundError("run of that test case", ident, remedy="It has not run yet.")
    position, trial = tried[0].place
    return {"run": tried[0].run_id, "at": f"{position}.{trial}"}
