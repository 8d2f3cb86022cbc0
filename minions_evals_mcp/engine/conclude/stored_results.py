"""The choices that were open where stored results are compared, and how it comes that nothing is chosen.

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
from minions_evals_mcp.stats.stored_results import ComparedOutput, looks_at, matched
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
class OpenChoice:
    """The choice that was open: how many attempts that is beside the comparison's own, and what decides instead of a choice.

    `elsewhere`: so many attempts it is beside one on other cases, whose own results none of the stored ones are.
    """

    attempts: int
    stored: StoredResults | None
    elsewhere: int = 0


NO_CHOICE = OpenChoice(0, None)


def choice_among(
    db: Db, runs: tuple[str, str], versions: tuple[str, str], *, until: int, pooled: bool | None = None
) -> OpenChoice:
    """Returns what there was to choose from when two stored runs were compared.

    `pooled`: whether all results were found to decide then; None where that is still to be found.
    """
    there = stored_runs(db, [versions[0], *_rivals(db, *versions)], until=until)
    sides = [next((stored for stored in there if stored.run == run), None) for run in runs]
    versions_named = {side.said for side in sides if side is not None}
    elsewhere = len(
        {run.said for run in there if not run.is_side and run.run not in runs}
    )  # these are sides from now on
    alone = list({run.said: run for run in there if not run.is_side and run.said not in versions_named}.values())
    like = [_like(there, side) for side in sides]
    moments = 1 + min(sum(run in own for run in alone) for own in like)
    if not all(like) or (pooled is None and moments == 1) or pooled is False:
        return OpenChoice(len(alone), None, elsewhere)
    groups = Counter((run.version, run.alike) for run in alone if not any(run in own for own in like))
    runs_a, runs_b = (tuple(run.run for run in own) for own in like)
    stored = StoredResults(runs_a, runs_b, min(len({run.said for run in own}) for own in like))
    return OpenChoice(sum(map(looks_at, groups.values())) + looks_at(moments) - 1, stored, elsewhere)


def _rivals(db: Db, version: str, candidate: str) -> list[str]:
    """The versions that could beat it: those that came after it, or, where an earlier one is tried again, all that came before."""
    members = versions_ever(db, version)
    if version not in members or candidate not in members:
        return [other for other in members if other != version] + [candidate] * (candidate not in members)
    place = members.index(version)
    return [*members[place + 1 :]] if members.index(candidate) > place else [*members[:place]]


def _like(there: Sequence[StoredRun], side: StoredRun | None) -> list[StoredRun]:
    """The runs that may be pooled with that one, itself among them; none where it may not."""
    if side is None or not side.may_pool:
        return []
    return [run for run in there if run.may_pool and (run.version, run.alike) == (side.version, side.alike)]


def _pair(own: CasePair, a: Sequence[ComparedOutput], b: Sequence[ComparedOutput]) -> CasePair:
    before, after = zip(*matched(a, b), strict=True)
    return CasePair(
        own.case_id,
        tuple(pair.fraction for pair in before),
        tuple(pair.fraction for pair in after),
        tuple(pair.passed for pair in before),
        tuple(pair.passed for pair in after),
        own.weight,
        own.group,
    )
