"""An id that is not there is refused with those that may have been meant."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_job
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.pages.near_ids import ids_of, ids_titled, kind_under

RUNS = {"run", "benchmark-run", "test-run", "failed run", "test case or run"}
SHOWN = 3
SHORTEST = 4
"""The fewest letters that an id is looked for by its beginning."""
KINDS = {"prompt or prompt-version": "prompt-version", "failed run": "record"}


async def with_near_ids(engine: Engine, refused: NotFoundError) -> NotFoundError:
    """The same refusal, naming ids of that type that are spelled much alike; as it is where there are none."""
    kind = KINDS.get(refused.kind, refused.kind)
    other, remedy = await engine.store.read(lambda db: _other_kind(db, refused))
    if other and other != kind and not refused.kind.endswith(f" {other}"):
        return NotFoundError(refused.kind, refused.ident, remedy=remedy, other_kind=other)
    called = await engine.store.read(lambda db: ids_titled(db, kind, refused.ident))
    if called:
        return refused.meaning(called)
    near = near_ids(refused.ident, await engine.store.read(lambda db: ids_of(db, kind)))
    return refused.meaning(near) if near else refused


def _other_kind(db: Db, refused: NotFoundError) -> tuple[str, str]:
    """Which kind of thing is under the id, and what to name instead; empty where there is none."""
    other = kind_under(db, refused.ident)
    if other == "benchmark" and refused.kind in RUNS:
        newest = jobs.newest_of(db, kind="benchmark", subject_id=refused.ident)
        if newest is None:
            return other, f"It has no run yet. {Next('run-benchmark', {'benchmark_id': refused.ident}, 'makes one')}."
        return other, f"Its newest run is {short_id(newest.id)}. {Next('runs', reason='lists all')}."
    if other and other != "run":
        return other, refused.remedy_text
    job = _run_named(db, refused.ident)
    if job is None or refused.kind in RUNS:
        return "", ""
    own = f"Name what it ran: {job.subject_id}. " if job.kind == refused.kind else ""
    return "run", f"{own}{Next('show-run', {'run_id': refused.ident}, 'shows it')}."


def _run_named(db: Db, ident: str) -> Job | None:
    try:
        return find_job(db, ident)
    except BadInputError:
        return None


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
