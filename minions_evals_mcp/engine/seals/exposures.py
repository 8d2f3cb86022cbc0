"""The exposures of sealed cases by comparisons: its verdict, once, out of a budget that all versions share."""

from __future__ import annotations

from datetime import datetime

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.seals import BudgetLeft, SealedVerdict
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError, SealedError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.stats.attempts import BUDGET, attempt_level
from minions_evals_mcp.stats.paired import fewest_changed
from minions_evals_mcp.store import seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries.judging.compared import given_back
from minions_evals_mcp.store.seals import Exposure, Seal
from minions_evals_mcp.store.speakers import made_by_agents

SAID = {
    "improved": "Ship {b}: it is significantly better on the sealed cases",
    "regressed": "Hold {b}: it is significantly worse on the sealed cases",
    "equivalent": "Either will do: on the sealed cases {b} differs too little to matter",
    "inconclusive": "Not decided: the difference on the sealed cases is not significant",
}
RECOMMENDED = {"improved": "ship", "regressed": "hold", "equivalent": "either", "inconclusive": "hold"}


def sealed_number(db: Db, benchmark_id: str, *, comparison_id: str) -> int:
    """Returns which answer about the benchmark's sealed contents the comparison is, over all versions; 1 where nothing is sealed."""
    seal = seals.seal_of(db, benchmark_id)
    if seal is None or seal.benchmark_id != benchmark_id:
        return 1
    return 1 + _told(db, seal, but=comparison_id)


def _told(db: Db, seal: Seal, *, but: str = "") -> int:
    """Number of verdicts that count against the seal: of the same contents, wherever they stood.

    Against one whose cases came in sealed, or that an agent made, all count: such cases may be guesses at another seal's contents,
    and a number of their own would tell that one is right.
    """
    if made_by_agents(db, [seal.benchmark_id]) or seals.came_sealed(db, seal):
        return seals.told_in_all(db, but=but)
    return seals.told_before(db, [case.content_digest for case in seals.sealed_cases(db, seal)], but=but)


def note_exposure(db: Db, comparison_id: str, fields: PromptComparison, *, at: datetime) -> bool:
    """Keeps that the verdict of that comparison is told, where its benchmark is sealed; says whether it is."""
    seal = seals.seal_of(db, fields.benchmark_id)
    if seal is None or seal.benchmark_id != fields.benchmark_id:
        return False
    assert fields.attempt is not None
    exposure = Exposure(
        comparison_id, fields.benchmark_id, fields.prompt_version_a, fields.prompt_version_b, fields.verdict,
        fields.attempt, at,
    )  # fmt: skip
    seals.expose(db, exposure, seals.sealed_cases(db, seal))
    detail = {"benchmarkId": fields.benchmark_id, "verdict": fields.verdict, "attempt": fields.attempt}
    append(db, Event("sealed-verdict-given", "prompt-comparison", comparison_id, {**detail}), at=at)
    return True


async def sealed_verdict(engine: Engine, comparison_id: str) -> SealedVerdict | None:
    """Returns what is told of that comparison; None where it is not on sealed cases."""
    return await engine.store.read(lambda db: verdict_within(db, comparison_id))


def verdict_within(db: Db, comparison_id: str) -> SealedVerdict | None:
    """As `sealed_verdict`, within a read."""
    exposure = seals.exposure(db, given_back(db, comparison_id))
    seal = None if exposure is None else seals.seal_of(db, exposure.benchmark_id)
    if exposure is None or seal is None:
        return None
    budget, level = budget_of(db, seal), attempt_level(exposure.attempt)
    level = BUDGET if exposure.verdict == "regressed" else level
    return SealedVerdict(
        comparison_id=exposure.comparison_id,
        benchmark_id=exposure.benchmark_id,
        version_a=exposure.version_a,
        version_b=exposure.version_b,
        verdict=exposure.verdict,
        recommendation=RECOMMENDED[exposure.verdict],
        attempt=exposure.attempt,
        level=level,
        in_words=f"{SAID[exposure.verdict].format(b=exposure.version_b)} (attempt {exposure.attempt},"
        f" significance level {level:.3g}). {_left_words(budget)}",
        budget=budget,
    )


async def budget_left(engine: Engine, benchmark_id: str) -> BudgetLeft:
    """Returns what is left of the budget of that sealed benchmark, or of the sealed part of that one."""

    def read(db: Db) -> BudgetLeft:
        seal = seals.seal_of(db, benchmark_id)
        if seal is None:
            raise NotFoundError("sealed benchmark", benchmark_id, remedy=f"{Next('seals', reason='lists every seal')}.")
        return budget_of(db, seal)

    return await engine.store.read(read)


def budget_of(db: Db, seal: Seal) -> BudgetLeft:
    """The number and error of the next answer, what all later ones have together, and whether any outcome could decide it.

    The highest attempt told so far counts, too: attempts to beat a version elsewhere spend the same budget.
    """
    cases = seals.sealed_cases(db, seal)
    number = _told(db, seal)
    highest = max((exposure.attempt for exposure in seals.exposures(db, seal.benchmark_id)), default=0)
    following = 1 + max(number, highest)
    spent = sum(attempt_level(number) for number in range(1, following))
    level = attempt_level(following)
    can_decide = len(cases) >= fewest_changed(1 - level)
    return BudgetLeft(attempt=following, level=level, left=BUDGET - spent, can_decide=can_decide)


def vet_can_decide(db: Db, seal: Seal) -> BudgetLeft:
    """Returns what is left of the budget; raises `SealedError` where so few sealed cases could not decide the next attempt."""
    budget = budget_of(db, seal)
    if budget.can_decide:
        return budget
    cases, fewest = len(seals.sealed_cases(db, seal)), fewest_changed(1 - budget.level)
    if budget.attempt == 1:
        raise SealedError(
            f"{seal.benchmark_id} has {cases} sealed cases; at least {fewest} are needed for attempt 1 to decide anything.",
            remedy="Seal more cases in a separate benchmark.",
        )
    raise SealedError(
        f"the budget of {seal.benchmark_id} is spent: attempt {budget.attempt} would need {fewest} sealed cases to decide"
        f" anything, and it has {cases}.",
        remedy="Seal new cases: these have been used too often to decide anything.",
    )


def _left_words(budget: BudgetLeft) -> str:
    if not budget.can_decide:
        return "The budget is spent: with this number of sealed cases, no result could decide another attempt."
    return f"The next is attempt {budget.attempt}, at p <= {budget.level:.3g}; {budget.left:.3g} of the error budget is left."
