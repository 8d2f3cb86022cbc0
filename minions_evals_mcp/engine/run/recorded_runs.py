"""The recorded agent-run that each unit of a run judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.agent_run_matches import WantedAgentRun, matching_agent_runs, wanted

RecordedRun = tuple[str, str | None]
"""The id of an agent-run and the version that it was made with."""


class WantedRun(NamedTuple):
    """A case and a trial for which a recorded agent-run is looked for, and the version that the case is run with by default."""

    case: Record[TestCase]
    trial: int
    default: str | None


def recorded_runs(
    db: Db, request: RunRequest, several: Sequence[WantedRun], *, sealed: bool
) -> list[RecordedRun | None]:
    """The agent-run that was named, else the newest that fits each case (the nth newest for the nth trial).

    Of an imported log's outputs those that the log has of the case come first, for others may have been asked the same.
    A version that was asked for must fit; the default comes first and hides no output: without one of it, any fits. `sealed`: of
    those that a seal hides only, so that nobody learns by an output of their own whether it fits a sealed case.
    """
    if request.agent_run_id is not None:
        named = request.agent_run_id, records.made_with(db, request.agent_run_id)
        return [named] * len(several)
    if request.makes_outputs():
        return [None] * len(several)
    runs_found = _of_version(db, request, several, sealed=sealed)
    if request.prompt_version_ref is not None:
        return runs_found
    open_places = [
        place
        for place, request_made in enumerate(several)
        if runs_found[place] is None
        and not (
            request_made.default is not None and request_made.trial > 1 and _has_any(db, request_made, sealed=sealed)
        )
    ]
    of_any = [_fit(several[place], agent_id=several[place].case.fields.agent_id) for place in open_places]
    for place, run in zip(open_places, matching_agent_runs(db, of_any, sealed=sealed), strict=True):
        runs_found[place] = run
    return runs_found


def _of_version(db: Db, request: RunRequest, several: Sequence[WantedRun], *, sealed: bool) -> list[RecordedRun | None]:
    """Those of the version that was asked for, else of each case's default."""
    runs_found: list[RecordedRun | None] = [None] * len(several)
    versions = [request.prompt_version_ref or request_made.default for request_made in several]
    places = [place for place, version in enumerate(versions) if version is not None]
    sought = [_fit(several[place], version=versions[place]) for place in places]
    fitting = matching_agent_runs(db, sought, sealed=sealed)
    for place, run in zip(places, fitting, strict=True):
        runs_found[place] = run
    return runs_found


def _fit(case_wanted: WantedRun, *, version: str | None = None, agent_id: str | None = None) -> WantedAgentRun:
    case = case_wanted.case
    return wanted(
        case.fields.inputs, prompt_version_ref=version, agent_id=agent_id, case=case.id, nth=case_wanted.trial - 1
    )


def _has_any(db: Db, case_wanted: WantedRun, *, sealed: bool) -> bool:
    """Returns whether there is an agent-run of the default version: then a further trial takes none of another."""
    sought = wanted(case_wanted.case.fields.inputs, prompt_version_ref=case_wanted.default)
    return matching_agent_runs(db, [sought], sealed=sealed)[0] is not None
