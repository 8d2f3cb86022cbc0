"""The id that somebody meant: written out, by the beginning of one, or `latest`."""

from __future__ import annotations

import re
from functools import partial
from typing import TypeVar, cast

from pydantic import BaseModel

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.domain.request_fields import PROMPT, Names, names_in
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import LATEST
from minions_evals_mcp.engine.jobs import SHORTEST as SHORTEST_OF_RUN
from minions_evals_mcp.engine.version_chain import find_version, prompt_chain
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import version_rows
from minions_evals_mcp.store.queries.newest import newest_subject
from minions_evals_mcp.store.queries.pages.listings import ids_beginning

M = TypeVar("M", bound=BaseModel)
SHORTEST = 6
"""So many characters of an id stand for it, at the least; fewer of a run's."""
SHOWN = 5
VERSION = "prompt-version"
_SHORT_RUN = r"[0-9a-f]{8}"
_SHORT_UNIT = re.compile(rf"{_SHORT_RUN}:\d+\.\d+(:failure)?")
_SHORT = re.compile(rf"{_SHORT_RUN}|{_SHORT_UNIT.pattern}")
RECORD = "record"
RUNS = frozenset({"run", "benchmark-run"})
ANY = ("benchmark-run", *(kind for kind in TYPES if kind != "benchmark-run"))
"""Where the type is not said: `latest` is the newest run."""


async def with_meant_ids(engine: Engine, request: M, *, only_units: bool = False) -> M:
    """The request with every id that it names written out, as `meant_id` does; the fields say which those are (`Names`).

    With `only_units` those of units alone, as answers name them: `b49ba595:3.1`.
    """
    meant: dict[str, object] = {}
    for name, info in type(request).model_fields.items():
        mark, given = names_in(info.annotation, info.metadata), cast("object", getattr(request, name))
        if mark is None or not given or (only_units and not (isinstance(given, str) and is_short_unit(given))):
            continue
        if isinstance(given, tuple):
            meant[name] = tuple([await _meant(engine, ident, mark) for ident in cast("tuple[str, ...]", given)])
        else:
            meant[name] = await _meant(engine, str(given), mark)
    changed = {name: value for name, value in meant.items() if value != getattr(request, name)}
    return request.model_copy(update=changed) if changed else request


def is_short_unit(ident: str) -> bool:
    """Whether it is the id of a run's unit as answers write it: by the beginning of the run's id, which is a UUID."""
    return _SHORT_UNIT.fullmatch(ident) is not None


def is_short(ident: str) -> bool:
    """Whether it is the id of a run or of its unit as answers write it in the calls that they name."""
    return _SHORT.fullmatch(ident) is not None


async def _meant(engine: Engine, given: str, mark: Names) -> str:
    return given if mark.of_cases and given == LATEST else await meant_id(engine, given, *mark.kinds)


async def meant_id(engine: Engine, given: str, *kinds: str) -> str:
    """The id of the record of those types that was meant; what stands under no id stays as it was given.

    An id that is written out is itself, even where others begin with it. `latest` is the newest of the first type: of
    benchmarks and test cases the one that ran last. Raises `BadInputError` naming the ids where it begins several.
    """
    kinds_meant = ANY if kinds in {(), (RECORD,)} else kinds
    if await engine.store.read_whole(partial(_stands, given=given, kinds=kinds_meant)):
        return given
    return await engine.store.read(
        lambda db: _newest(db, kinds_meant) if given == LATEST else id_begun(db, given, *kinds_meant)
    )


def id_begun(db: Db, given: str, *kinds: str) -> str:
    """The one id of those types that begins so, else what was given; raises `BadInputError` naming the ids where it begins several."""
    begun = _begun(db, given, kinds) or _part_begun(db, given)
    if len(begun) > 1:
        more = ", …" if len(begun) > SHOWN else ""
        raise BadInputError(
            f"{given} is the beginning of several ids: {', '.join(begun[:SHOWN])}{more}.",
            remedy="Give more characters.",
        )
    return begun[0] if begun else given


def _stands(db: Db, *, given: str, kinds: tuple[str, ...]) -> bool:
    """Reports whether it is the name of something as it is: an id, a run's key, a prompt or a version's name."""
    if records.find(db, given) is not None or (given != LATEST and _names_run(db, given)):
        return True
    if PROMPT in kinds and version_rows.is_prompt(db, given):
        return True
    return VERSION in kinds and (version_rows.is_named_by_runs(db, given) or _names_version(db, given))


def _names_run(db: Db, given: str) -> bool:
    job = jobs.job(db, given) or jobs.job_by_key(db, given)
    return job is not None and given in {job.id, job.key}


def _names_version(db: Db, given: str) -> bool:
    for named in (find_version, prompt_chain):
        try:
            named(db, given)
        except NotFoundError:
            continue
        except BadInputError:  # a number or `latest` of no prompt: what it means is said elsewhere
            return given != LATEST and len(given) < SHORTEST  # a longer number is the beginning of an id
        return True
    return False


def _begun(db: Db, given: str, kinds: tuple[str, ...]) -> list[str]:
    """The ids that begin so, without those of a run's parts where the run itself is among them."""
    wanted = [kind for kind in kinds if len(given) >= (SHORTEST_OF_RUN if kind in RUNS else SHORTEST)]
    idents = dict.fromkeys(ident for kind in wanted for ident in ids_beginning(db, kind, given, limit=SHOWN + 1))
    return [ident for ident in idents if ident.partition(":")[0] == ident or ident.partition(":")[0] not in idents]


def _part_begun(db: Db, given: str) -> list[str]:
    """The units that are named by the beginning of their run's id: `b49ba595:3.1`."""
    head, colon, place = given.partition(":")
    if not colon or len(head) < SHORTEST_OF_RUN:
        return []
    runs = ids_beginning(db, "run", head, limit=SHOWN + 1)
    return [unit for run in runs if ":" not in run and records.find(db, unit := f"{run}:{place}") is not None]


def _newest(db: Db, kinds: tuple[str, ...]) -> str:
    for kind in kinds:
        newest = newest_subject(db, kind) or next(iter(ids_beginning(db, kind, "", limit=1)), None)
        if newest is not None:
            return newest
    what = "record" if kinds == ANY else " or ".join(kinds)
    raise BadInputError(f"there is no {what} yet.", remedy=f"{Next('init', reason='makes a first suite')}.")
