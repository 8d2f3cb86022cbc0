"""The id that somebody meant: written out, by the beginning of one, or `latest`."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import LATEST, find_job
from minions_evals_mcp.engine.version_chain import find_version, prompt_chain
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.newest import newest_subject
from minions_evals_mcp.store.queries.pages.listings import ids_beginning

SHORTEST = 6
"""So many characters of an id stand for it, at the least."""
SHOWN = 5
VERSION = "prompt-version"
ANY = ("benchmark-run", *(kind for kind in TYPES if kind != "benchmark-run"))
"""Where the type is not said: `latest` is the newest run."""


async def meant_id(engine: Engine, given: str, *kinds: str) -> str:
    """The id of the record of those types that was meant; what stands under no id stays as it was given.

    An id that is written out is itself, even where others begin with it. `latest` is the newest of the first type: of
    benchmarks and test cases the one that ran last. Raises `BadInputError` naming the ids where it begins several.
    """
    kinds_meant = kinds or ANY
    if await engine.store.read_whole(partial(_stands, given=given, kinds=kinds_meant)):
        return given
    return await engine.store.read(
        lambda db: _newest(db, kinds_meant) if given == LATEST else id_begun(db, given, *kinds_meant)
    )


async def meant_version(engine: Engine, name: str) -> str:
    """The prompt version that was meant, as `meant_id`; `latest` by itself is that of the prompt that the cases are of."""
    return name if name == LATEST else await meant_id(engine, name, VERSION)


def id_begun(db: Db, given: str, *kinds: str) -> str:
    """The one id of those types that begins so, else what was given; raises `BadInputError` naming the ids where it begins several."""
    begun = _begun(db, given, kinds) if len(given) >= SHORTEST else []
    if len(begun) > 1:
        more = ", …" if len(begun) > SHOWN else ""
        raise BadInputError(
            f"{given} begins several ids: {', '.join(begun[:SHOWN])}{more}.", remedy="Give more of the one you mean."
        )
    return begun[0] if begun else given


def _stands(db: Db, *, given: str, kinds: tuple[str, ...]) -> bool:
    """Returns whether it is the name of something as it is: an id, a run's key, a prompt or a version's name."""
    if records.find(db, given) is not None or (given != LATEST and find_job(db, given) is not None):
        return True
    return VERSION in kinds and _names_version(db, given)


def _names_version(db: Db, given: str) -> bool:
    for named in (find_version, prompt_chain):
        try:
            named(db, given)
        except NotFoundError:
            continue
        except BadInputError:  # a number or `latest` of no prompt: what it means is said elsewhere
            return given != LATEST
        return True
    return False


def _begun(db: Db, given: str, kinds: tuple[str, ...]) -> list[str]:
    idents = (ident for kind in kinds for ident in ids_beginning(db, kind, given, limit=SHOWN + 1))
    return list(dict.fromkeys(idents))


def _newest(db: Db, kinds: tuple[str, ...]) -> str:
    for kind in kinds:
        newest = newest_subject(db, kind) or next(iter(ids_beginning(db, kind, "", limit=1)), None)
        if newest is not None:
            return newest
    what = "record" if kinds == ANY else " or ".join(kinds)
    raise BadInputError(
        f"there is no {what} yet, so none is the latest.", remedy=f"{Next('init', reason='makes a first suite')}."
    )
