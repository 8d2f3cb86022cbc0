"""An id that is not there is refused with those that may have been meant."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store.queries.pages.near_ids import ids_of, ids_titled, kind_under

SHOWN = 3
SHORTEST = 4
"""The fewest letters that an id is looked for by its beginning."""
KINDS = {"prompt or prompt-version": "prompt-version", "failed run": "record"}


async def with_near_ids(engine: Engine, refused: NotFoundError) -> NotFoundError:
    """The same refusal, naming ids of that type that are spelled much alike; as it is where there are none."""
    kind = KINDS.get(refused.kind, refused.kind)
    other = await engine.store.read(lambda db: kind_under(db, refused.ident))
    if other and other != kind:
        remedy = (
            f"{Next('show-run', {'run_id': refused.ident}, 'shows it')}." if other == "run" else refused.remedy_text
        )
        return NotFoundError(refused.kind, refused.ident, remedy=remedy, other_kind=other)
    called = await engine.store.read(lambda db: ids_titled(db, kind, refused.ident))
    if called:
        return refused.meaning(called)
    near = near_ids(refused.ident, await engine.store.read(lambda db: ids_of(db, kind)))
    return refused.meaning(near) if near else refused


def near_ids(given: str, known: Sequence[str]) -> list[str]:
    """Up to three of the known ids: those that begin or end so, then those a slip or two away, the nearest first.

    A slip is allowed for every four letters, at least two, never in all of them; what is farther off than the nearest
    and one more is left out.
    """
    from rapidfuzz import process  # noqa: PLC0415  15 ms that only a refusal needs
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415  as above

    begun = [ident for ident in known if ident.startswith(given)] if len(given) >= SHORTEST else []
    ends = [*begun, *(ident for ident in known if ident.endswith(f"/{given}"))]
    folded, most = [ident.casefold() for ident in known], max(0, min(max(2, len(given) // 4), len(given) - 1))
    alike = process.extract(given.casefold(), folded, scorer=Levenshtein.distance, limit=SHOWN, score_cutoff=most)
    nearest = alike[0][1] if alike else 0
    near = dict.fromkeys([*ends, *(known[place] for _, slips, place in alike if slips <= nearest + 1)])
    return [ident for ident in near if ident != given][:SHOWN]
