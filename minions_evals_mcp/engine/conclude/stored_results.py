"""What could be chosen from where stored results are compared, and how it comes that nothing is chosen.

Where results of both versions are stored, all of them decide, laid side by side in the order in which they came. Then only the
moment is anybody's choice, and that is an attempt for each time that the results doubled. Else each result that was passed over
is an attempt. So is each group of results that could be compared instead: of another candidate, other cases, another judge or target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minions_evals_mcp.engine.version_chain import versions_ever
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.comparison import CasePair
from minions_evals_mcp.stats.stored_results import StoredOutput, looks_at, matched
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.stored_results import StoredRun, stored_outputs, stored_runs


@frozen_type
class StoredResults:
    """The runs of either version that decide together, and the number of their results in the version that has fewer."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    results: int

    def pairs(self, db: Db, own: Sequence[CasePair]) -> list[CasePair]:
        """The cases of two runs with all stored outputs that have a counterpart."""
        a, b = stored_outputs(db, self.a), stored_outputs(db, self.b)
        return [_pair(pair, a[pair.case_id], b[pair.case_id]) for pair in own]


@frozen_type
class Choice:
    """What one could choose from: how many attempts that is beside the comparison's own, and what decides instead of a choice."""

    attempts: int
    stored: StoredResults | None


def choice_among(
    db: Db, runs: tuple[str, str], versions: tuple[str, str], *, until: int, pooled: bool | None = None
) -> Choice:
    """What there was to choose from when two stored runs were compared.

    `pooled`: whether all results were found to decide then; None where that is still to be found.
    """
    there = stored_runs(db, [versions[0], *_rivals(db, *versions)], until=until)
    sides = [next((one for one in there if one.run == run), None) for run in runs]
    said = {one.said for one in sides if one is not None}
    alone = list({one.said: one for one in there if not one.is_side and one.said not in said}.values())
    like = [_like(there, side) for side in sides]
    moments = 1 + min(sum(one in own for one in alone) for own in like)
    if not all(like) or (pooled is None and moments == 1) or pooled is False:
        return Choice(len(alone), None)
    groups = Counter((one.version, one.alike) for one in alone if not any(one in own for own in like))
    runs_a, runs_b = (tuple(one.run for one in own) for own in like)
    stored = StoredResults(runs_a, runs_b, min(len({one.said for one in own}) for own in like))
    return Choice(sum(map(looks_at, groups.values())) + looks_at(moments) - 1, stored)


def _rivals(db: Db, version: str, candidate: str) -> list[str]:
    """The versions that could beat it: those that came after it, or, where an earlier one is tried again, all that came before."""
    members = versions_ever(db, version)
    if version not in members or candidate not in members:
        return [one for one in members if one != version] + [candidate] * (candidate not in members)
    place = members.index(version)
    return [*members[place + 1 :]] if members.index(candidate) > place else [*members[:place]]


def _like(there: Sequence[StoredRun], side: StoredRun | None) -> list[StoredRun]:
    """The runs that may be pooled with that one, itself among them; none where it may not."""
    if side is None or not side.may_pool:
        return []
    return [one for one in there if one.may_pool and (one.version, one.alike) == (side.version, side.alike)]


def _pair(own: CasePair, a: Sequence[StoredOutput], b: Sequence[StoredOutput]) -> CasePair:
    before, after = zip(*matched(a, b), strict=True)
    return CasePair(
        own.case_id,
        tuple(one.fraction for one in before),
        tuple(one.fraction for one in after),
        tuple(one.passed for one in before),
        tuple(one.passed for one in after),
        own.weight,
    )
