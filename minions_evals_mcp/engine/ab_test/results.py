"""The result of an A/B test, read from its kept executions: ranks, the winner, and how sure that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from anyio import to_thread

from minions_evals_mcp.domain.definitions import Json, TestBranch, TestCase
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import Count, Value
from minions_evals_mcp.engine.ab_test.figures import AgainstControl, against_control, ends, lead_over_cases, spreads
from minions_evals_mcp.engine.ab_test.pick import AbPick, pick_by_max_score
from minions_evals_mcp.engine.ab_test.plan import configuration, request_of
from minions_evals_mcp.engine.ab_test.request import AbTestRequest
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.records.branch_parameters import not_sent
from minions_evals_mcp.scoring.ab import (
    PASSING_QUALITY,
    BranchRank,
    Contender,
    Criterion,
    Ranking,
    mean_known,
    ranked,
    reaches_quality,
)
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.skewed.quantiles import OpenBounds, QuantileInterval
from minions_evals_mcp.stats.wins import WinEvidence, WinTest, win_test
from minions_evals_mcp.store import branches, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, JobState

Execution = Record[TestBranchExecution]
Cell = tuple[int, int]
"""A case by its place, and an iteration from 1."""


class AbBranch(Value):
    """One branch of an A/B test. `execution` is its newest; the figures are means over its executions that succeeded.

    `figure` is what the criterion ranks by; `pass_rate` (0–100) is over the executions that succeeded, `failures` stand
    beside it. `checks_passed` of `checked` outputs pass the case's own checks. Intervals are at 95 %, over the cases or groups
    (over the iterations of a single one). Times and costs are skewed: read their medians and 95th percentiles, whose interval
    has a null end where so few cases bound nothing; that of a mean covers less than it says.
    `against_control` is None for the control. Milliseconds, US dollars; None is unknown.
    """

    branch_id: str
    branch_name: str
    provider: str
    model: str
    is_control: bool
    rank: int
    figure: float | None
    execution: Json | None
    quality_score: float | None
    latency_ms: float | None
    estimated_cost: float | None
    tokens_per_second: float | None
    time_to_first_token: float | None
    runs: Count
    failures: Count
    wins: Count
    win_share: float
    total_cost: float | None
    not_sent: list[str]
    configuration: Json
    pass_rate: float | None
    pass_rate_interval: Bounds | None
    quality_interval: Bounds | None
    latency_interval: Bounds | None
    cost_interval: Bounds | None
    against_control: AgainstControl | None = None
    checks_passed: Count | None = None
    checked: Count = 0
    median_latency_ms: float | None = None
    p95_latency_ms: float | None = None
    median_cost: float | None = None
    p95_cost: float | None = None
    median_latency_interval: OpenBounds | None = None
    p95_latency_interval: OpenBounds | None = None
    median_cost_interval: OpenBounds | None = None
    p95_cost_interval: OpenBounds | None = None

    @property
    def checks_share(self) -> float | None:
        """The share of its outputs that pass the case's own checks; None where none was checked."""
        return None if self.checks_passed is None else self.checks_passed / self.checked


class AbWinner(Value):
    """The branch that won."""

    branch_id: str
    branch_name: str
    model: str
    quality_score: float | None
    latency_ms: float | None
    estimated_cost: float | None


class AbTestResult(Value):
    """An A/B test, its branches by rank. `evidence` says whether the winner's lead is more than chance (`p_value`).

    Over several cases the winner follows the means of the criterion, and is `supported` where it leads every other branch
    over the same cases; over one case its wins are counted by iteration, and one iteration says nothing. `note` says what a
    reader must know beside the figures.
    """

    run_id: str
    key: str
    state: JobState
    test_case_id: str | None
    benchmark_id: str | None
    test_cases: Count
    prompt_version: int | None
    criteria: Criterion
    iterations: Count
    completed_iterations: Count
    branches: list[AbBranch]
    winner: AbWinner | None
    ties: Count
    evidence: WinEvidence | None
    p_value: float | None
    supported: bool | None
    max_score: AbPick | None
    note: str
    spent: dict[str, float]


@dataclass(frozen=True, slots=True)
class _StoredArms:
    """The stored parts of an A/B test: of each branch, in the order given, the executions by case and iteration."""

    job: Job
    request: AbTestRequest
    case_ids: tuple[str, ...]
    case: Record[TestCase]
    branches: tuple[Record[TestBranch], ...]
    executions: Mapping[str, Mapping[Cell, Execution]]
    groups: tuple[str, ...] = ()
    """The group of each case; "" where it is its own."""

    def rounds(self) -> list[list[Execution]]:
        """The cases and iterations in which every branch was run, each with an execution for each branch."""
        cells = [
            (case, number) for number in range(1, self.request.iterations + 1) for case in range(len(self.case_ids))
        ]
        return [
            [self.executions[branch.id][cell] for branch in self.branches]
            for cell in cells
            if all(cell in self.executions[branch.id] for branch in self.branches)
        ]

    def by_unit(self, branch_id: str) -> dict[int, list[TestBranchExecution]]:
        """The executions that succeeded, by case or, where cases share one, by group; by iteration where there is one case."""
        units: dict[int, list[TestBranchExecution]] = {}
        for cell, made in sorted(self.executions[branch_id].items()):
            if made.fields.status == "success":
                units.setdefault(cell[1] if self.request.is_single else self._unit(cell[0]), []).append(made.fields)
        return units

    def _unit(self, case: int) -> int:
        """The place of the first case of the group."""
        group = self.groups[case] if self.groups else ""
        return self.groups.index(group) if group else case


async def ab_test_result(engine: Engine, run_id: str) -> AbTestResult:
    """The A/B test under that id or key, as far as it is; raises `NotFoundError`."""
    job = await get_job(engine, run_id)
    request = request_of(job)
    arms = await engine.store.read(partial(_read, job=job, request=request))
    newest = {ident: made[max(made)].fields for ident, made in arms.executions.items() if made}
    pick = await pick_by_max_score(engine, arms.case.fields, newest) if request.is_single else None
    return await to_thread.run_sync(_result, arms, pick)


def _read(db: Db, *, job: Job, request: AbTestRequest) -> _StoredArms:
    kept_ids = job.spec.get("caseIds")
    case_ids = tuple(str(ident) for ident in kept_ids) if isinstance(kept_ids, list) else (request.subject_id,)
    idents = request.all_branch_ids
    ids = {
        (branch_id, (case, number)): UnitKey(job.id, case * len(idents) + position, number).run_id
        for case in range(len(case_ids))
        for position, branch_id in enumerate(idents)
        for number in range(1, request.iterations + 1)
    }
    made = branches.executions(db, ids.values())
    by_branch: dict[str, dict[Cell, Execution]] = {branch_id: {} for branch_id in idents}
    for (branch_id, cell), ident in ids.items():
        if ident in made:
            by_branch[branch_id][cell] = made[ident]
    cases = records.get_all(db, [*case_ids], TestCase)
    groups = tuple((cases[ident].fields.group or "") if ident in cases else "" for ident in case_ids)
    case = cast("Record[TestCase]", records.minions(db, case_ids[:1])[case_ids[0]])
    return _StoredArms(job, request, case_ids, case, _branches(db, job, request), by_branch, groups)


def _branches(db: Db, job: Job, request: AbTestRequest) -> tuple[Record[TestBranch], ...]:
    """The branches as they were when the test began, by the names that they bear now."""
    frozen_fields, records_found = job.spec.get("branches"), records.minions(db, request.branch_ids)
    if not isinstance(frozen_fields, dict):
        return tuple(cast("Record[TestBranch]", records_found[ident]) for ident in request.branch_ids)
    branches: list[Record[TestBranch]] = []
    for ident in request.all_branch_ids:
        fields = TestBranch.model_validate(frozen_fields[ident], strict=False)
        now = records_found[ident].fields if ident in records_found else fields
        named = fields.model_copy(update={"name": now.name}) if isinstance(now, TestBranch) else fields
        branches.append(Record(ident, named, named.name, job.created_at, job.created_at))
    return tuple(branches)


def _result(arms: _StoredArms, pick: AbPick | None) -> AbTestResult:
    job, request = arms.job, arms.request
    rounds = arms.rounds()
    rankings = [_ranking(arms, made) for made in rounds]
    won = Counter(ranking.winner for ranking in rankings if ranking.winner is not None and ranking.is_clear)
    counted = won if request.is_single else Counter[str]()
    overall = ranked([_mean(arms, branch, counted[branch.id]) for branch in arms.branches], request.winner_criteria)
    against = against_control(arms.branches, {branch.id: arms.by_unit(branch.id) for branch in arms.branches})
    shown = [_branch(arms, standing, won, len(rounds), against) for standing in overall.standings]
    leads = overall.winner is not None and (not request.is_single or any(ranking.winner for ranking in rankings))
    first = shown[0] if leads else None
    test = None if first is None else _how_sure(arms, rankings, first.branch_id)
    ties = sum(1 for ranking in rankings if ranking.winner is not None and not ranking.is_clear)
    number = job.spec["versionNumber"]
    return AbTestResult(
        run_id=job.id,
        key=job.key,
        state=job.state,
        test_case_id=request.test_case_id,
        benchmark_id=request.benchmark_id,
        test_cases=len(arms.case_ids),
        prompt_version=number if isinstance(number, int) else None,
        criteria=request.winner_criteria,
        iterations=request.iterations,
        completed_iterations=len(rounds) // len(arms.case_ids),
        branches=shown,
        winner=None if first is None else _winner(first),
        ties=ties,
        evidence=None if test is None else test.evidence,
        p_value=None if test is None else test.p_value,
        supported=None if test is None else test.evidence == "supported",
        max_score=pick,
        note=_note(arms, first, _tied(arms, ties, overall), shown),
        spent=job.spent,
    )


def _ranking(arms: _StoredArms, made: Sequence[Execution]) -> Ranking:
    """One iteration's ranking."""
    contenders = [
        Contender(
            branch.id,
            branch.fields.is_control,
            execution.fields.quality_score,
            execution.fields.latency_ms,
            execution.fields.estimated_cost,
            failed=execution.fields.status == "error",
            checked=_share([execution.fields]),
        )
        for branch, execution in zip(arms.branches, made, strict=True)
    ]
    return ranked(contenders, arms.request.winner_criteria)


def _how_sure(arms: _StoredArms, rankings: Sequence[Ranking], winner: str) -> WinTest | None:
    """Returns whether the winner's lead is more than chance: by its wins over iterations of one case, else over the cases."""
    if arms.request.is_single:
        return None if arms.request.iterations == 1 else _tested(rankings, winner, len(arms.branches))
    return lead_over_cases(
        {branch.id: arms.by_unit(branch.id) for branch in arms.branches}, winner, arms.request.winner_criteria
    )


def _tested(rankings: Sequence[Ranking], winner: str, contenders: int) -> WinTest:
    """Returns whether the winner's wins are more than chance; a tie, which the order decides, says nothing."""
    clear = [ranking.winner for ranking in rankings if ranking.is_clear]
    return win_test(clear.count(winner), len(clear), contenders)


def _succeeded(arms: _StoredArms, branch_id: str) -> list[TestBranchExecution]:
    return [
        execution.fields for execution in arms.executions[branch_id].values() if execution.fields.status == "success"
    ]


def _mean(arms: _StoredArms, branch: Record[TestBranch], wins: int) -> Contender:
    """A branch by the means of its executions that succeeded."""
    made = _succeeded(arms, branch.id)
    return Contender(
        branch.id,
        branch.fields.is_control,
        mean_known(execution.quality_score for execution in made),
        mean_known(execution.latency_ms for execution in made) or 0.0,
        mean_known(execution.estimated_cost for execution in made),
        failed=not made,
        wins=wins,
        checked=_share(made),
    )


def _share(made: Sequence[TestBranchExecution]) -> float | None:
    """The share that passes the case's own checks."""
    return mean_known(None if execution.checks_passed is None else float(execution.checks_passed) for execution in made)


def _branch(
    arms: _StoredArms, standing: BranchRank, won: Mapping[str, int], rounds: int, against: Mapping[str, AgainstControl]
) -> AbBranch:
    branch = next(branch for branch in arms.branches if branch.id == standing.branch_id)
    made = arms.executions[branch.id]
    newest = made[max(made)] if made else None
    good = _succeeded(arms, branch.id)
    costs = [
        execution.fields.estimated_cost for execution in made.values() if execution.fields.estimated_cost is not None
    ]
    wins = won.get(branch.id, 0)
    units = arms.by_unit(branch.id)
    spread = spreads(units)
    asked = None if newest is None else newest.fields.configuration
    checked = [execution.checks_passed for execution in good if execution.checks_passed is not None]
    return AbBranch(
        branch_id=branch.id,
        branch_name=branch.fields.name,
        provider=branch.fields.provider,
        model=branch.fields.model,
        is_control=branch.fields.is_control,
        rank=standing.rank,
        figure=None if standing.figure is None or math.isinf(standing.figure) else standing.figure,
        execution=None if newest is None else {"id": newest.id, **wire_fields(newest.fields)},
        quality_score=mean_known(execution.quality_score for execution in good),
        latency_ms=mean_known(execution.latency_ms for execution in good),
        estimated_cost=mean_known(execution.estimated_cost for execution in good),
        tokens_per_second=mean_known(execution.tokens_per_second for execution in good),
        time_to_first_token=mean_known(execution.time_to_first_token for execution in good),
        runs=len(made),
        failures=len(made) - len(good),
        wins=wins,
        win_share=wins / rounds if rounds else 0.0,
        total_cost=math.fsum(costs) if costs else None,
        not_sent=[] if asked is None else list(not_sent(branch.fields, asked)),
        configuration=asked or configuration(branch.fields),
        pass_rate=spread.pass_rate,
        pass_rate_interval=spread.pass_rate_interval,
        quality_interval=spread.quality,
        latency_interval=spread.latency_ms,
        cost_interval=spread.cost_usd,
        against_control=against.get(branch.id),
        checks_passed=sum(checked) if checked else None,
        checked=len(checked),
        median_latency_ms=_value(spread.latency_median),
        p95_latency_ms=_value(spread.latency_p95),
        median_cost=_value(spread.cost_median),
        p95_cost=_value(spread.cost_p95),
        median_latency_interval=ends(spread.latency_median),
        p95_latency_interval=ends(spread.latency_p95),
        median_cost_interval=ends(spread.cost_median),
        p95_cost_interval=ends(spread.cost_p95),
    )


def _value(found: QuantileInterval | None) -> float | None:
    return None if found is None else found.value


def _winner(branch: AbBranch) -> AbWinner:
    return AbWinner(
        branch_id=branch.branch_id,
        branch_name=branch.branch_name,
        model=branch.model,
        quality_score=branch.quality_score,
        latency_ms=branch.latency_ms,
        estimated_cost=branch.estimated_cost,
    )


def _note(arms: _StoredArms, winner: AbBranch | None, tied: str, shown: Sequence[AbBranch]) -> str:
    """Returns what a reader must know beside the figures."""
    made = [execution.fields for of_branch in arms.executions.values() for execution in of_branch.values()]
    good = [execution for execution in made if execution.status == "success"]
    parts: list[str] = []
    if made and not good:
        parts.append("every execution failed, so there is no winner")
    elif good and winner is None and arms.request.winner_criteria != "fastest":
        unknown = "quality" if all(execution.quality_score is None for execution in good) else "cost"
        unknown = "verdict of the cases' own checks" if arms.request.winner_criteria == "best_checked" else unknown
        parts.append(f"{unknown} is unknown, so {arms.request.winner_criteria} has no winner")
    if good and all(branch.pass_rate == 0 for branch in shown if branch.pass_rate is not None) and any(
        branch.pass_rate is not None for branch in shown
    ):  # fmt: skip
        parts.append(f"no branch passes: no output reaches a quality of {PASSING_QUALITY:g}")
    elif winner is not None and (poor := _poor(winner, shown)):
        parts.append(poor)
    unpriced = sum(1 for execution in good if execution.estimated_cost is None)
    if unpriced:
        parts.append(f"the cost of {unpriced} of {len(good)} executions is unknown: their models have no listed price")
    if tied and winner is not None:
        parts.append(tied)
    if arms.request.is_single and arms.request.iterations == 1 and winner is not None:
        parts.append("one iteration shows no uncertainty: use more iterations")
    return "; ".join(parts)


def _tied(arms: _StoredArms, ties: int, overall: Ranking) -> str:
    """How many iterations or cases tied, and what of that: they are nobody's win. Empty where none did."""
    if not ties:
        return ""
    rounds = "iterations" if arms.request.is_single else "cases"
    decided = "count for no branch" if overall.is_clear else "decided by order with the control first"
    return f"{ties} of {len(arms.rounds())} {rounds} tied{' and' if overall.is_clear else ','} {decided}"


def _poor(winner: AbBranch, shown: Sequence[AbBranch]) -> str:
    """Says that the winner's quality passes nowhere near, and which branch is the best of quality; empty where it passes."""
    quality = winner.quality_score
    if quality is None or reaches_quality(quality):
        return ""
    best = max(shown, key=lambda branch: branch.quality_score or 0.0)
    known = best.quality_score or 0.0
    rival = f"; {best.branch_name} reaches {known:.2f}" if known > quality else ""
    return f"the winner's quality is {quality:.2f}, below {PASSING_QUALITY:g}, at which an output passes{rival}"
