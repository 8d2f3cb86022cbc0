"""`trajectory:match`: how near a log of calls comes to what was asked for, and the edits that would make it right.

`value` is a list of steps, or {steps, forbidden, extra}. A step is the pattern of a tool's name (`get_*`), or
{name, args, mode, ignore, type, optional}, or {anyOf: [...]}, one of several, or {unordered: [...]}, all of them in any
order. `args` are compared as mode "partial" (default: a call may hold more) or "exact" says; in place of a value may
stand {$exact: ...}, {$partial: ...}, {$regex: "..."}, {$number: 5, $tolerance: 0.1} or {$ignore: true}. `forbidden`
lists calls that must not be made, and `extra: refused` lets none be made but those that were asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.text import TEXT_LIMIT
from minions_evals_mcp.scoring.assertions.trajectories.arguments import FoundIn
from minions_evals_mcp.scoring.assertions.trajectories.steps import CalledStep, steps_of
from minions_evals_mcp.scoring.assertions.trajectories.trajectory import on_log
from minions_evals_mcp.scoring.assertions.trajectories.trajectory_plan import (
    Misfit,
    TrajectoryPlan,
    WantedStep,
    plan_of,
    vet_plan,
)
from minions_evals_mcp.scoring.checks import Evidence, RegexNeed, Subject, Unmet
from minions_evals_mcp.scoring.patterns import Elsewhere, compiled
from minions_evals_mcp.scoring.values import UnweightedResult

MOST_WORK = 2_000_000
"""So many pairs of a call and a way to have done a part of what was asked are looked at."""
MOST_TOLD = 20
SLACK = 1e-9


class LogEdit(NamedTuple):
    """One change that brings a log nearer to what was asked; for "add", `at` calls come before the new one."""

    kind: Literal["add", "remove", "change"]
    at: int
    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The edit in words."""
        match self.kind:
            case "add":
                return f"add {self.name} {f'after call {self.at}' if self.at else 'at the start'}"
            case "remove":
                return f"remove call {self.at} ({self.name})"
            case "change":
                return f"change {', '.join(self.arguments)} in call {self.at} ({self.name})"


class LogMatch(NamedTuple):
    """The nearness of a log (1: it is what was asked for), and the cheapest edits that would make it so, in order."""

    score: float
    edits: tuple[LogEdit, ...]


class _Trail(NamedTuple):
    """A way through the log: what its edits cost, the last of them, and the way before that."""

    cost: float = 0.0
    added: int = 0
    edit: LogEdit | None = None
    before: _Trail | None = None

    def extended(self, cost: float, edit: LogEdit) -> _Trail:
        return _Trail(self.cost + cost, self.added + (edit.kind == "add"), edit, self)

    def is_better(self, known: _Trail) -> bool:
        # Of two that cost the same, rather the one that changes a call than the one that adds another.
        return self.cost < known.cost - SLACK or (self.cost < known.cost + SLACK and self.added < known.added)

    def backwards(self) -> Iterator[LogEdit]:
        trail: _Trail | None = self
        while trail is not None and trail.edit is not None:
            yield trail.edit
            trail = trail.before


_Trails = list[dict[int, _Trail]]
"""The cheapest way to each place: by the group that is being done, and the bits of its members that are done."""


def trajectory_match(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The log is what `value` asks for, or comes as near as `threshold` (default 1) says; the reason lists the edits.

    A missing step costs 1, a call that must go 1, a call with wrong arguments the share of those that do not fit; the
    score is 1 minus the cheapest total in relation to the most that a log with those calls could cost.
    """
    plan, steps = _plan(canonical(assertion.value)), steps_of(subject.tool_calls or ())
    if plan.places * len(steps) > MOST_WORK:
        return Unmet(f"{len(steps):,} calls against {plan.places:,} ways to do what was asked are too many to compare")
    reading = _Reading(evidence)
    score, edits = matched(plan, steps, reading)
    if reading.unmet is not None:
        return reading.unmet
    threshold = 1.0 if assertion.threshold is None else assertion.threshold
    return UnweightedResult(
        score >= threshold - SLACK, f"score {score:.3f}, threshold {threshold:g}: {_edits_text(edits)}", score
    )


def trajectory_match_needs(assertion: Assertion, subject: Subject) -> tuple[RegexNeed, ...]:
    """The searches of arguments that cannot be made here, if there are any."""
    plan, steps = _plan(canonical(assertion.value)), steps_of(subject.tool_calls or ())
    if plan.places * len(steps) > MOST_WORK:
        return ()
    collecting = _Reading(Evidence())
    for step in steps:
        _misfits(plan, step, collecting)
    return tuple(collecting.asked)


def vet_trajectory(assertion: Assertion) -> None:
    """Refuses a `value` that asks for nothing, or for a step that could not be looked for."""
    vet_plan(assertion.value)


@lru_cache(maxsize=256)
def _plan(value: str) -> TrajectoryPlan:
    return plan_of(json.loads(value))


def matched(plan: TrajectoryPlan, steps: Sequence[CalledStep], found_in: FoundIn) -> LogMatch:
    """The log against the plan, by the cheapest edits; of several that cost the same, those that come first."""
    trails: _Trails = [{0: _Trail()}, *({} for _ in plan.groups)]
    _finish(plan, trails, 0)
    removable = 0
    for number, step in enumerate(steps, 1):
        forbidden = any(matcher.fits(step) for matcher in plan.forbidden)
        removable += forbidden or plan.extra_refused
        edit = LogEdit("remove", number, step.names[0]) if forbidden or plan.extra_refused else None
        after = [{done: trail.extended(1, edit) if edit else trail for done, trail in at.items()} for at in trails]
        misfits = [] if forbidden else _misfits(plan, step, found_in)
        for group, misfit_of_group in enumerate(misfits):
            for done, trail in trails[group].items():
                for member, misfit in enumerate(misfit_of_group):
                    if misfit is not None and not done >> member & 1:
                        _keep(after[group], done | 1 << member, _aligned(trail, number, step, misfit))
        trails = after
        _finish(plan, trails, number)
    best, most = trails[-1][0], plan.required + removable
    return LogMatch(max(0.0, 1 - best.cost / most) if most else 1.0, tuple(best.backwards())[::-1])


def _edits_text(edits: Sequence[LogEdit]) -> str:
    return first_named([*map(str, edits)], MOST_TOLD, between="; ") or "as asked for"


class _Reading:
    """Looks for patterns in arguments: here, or in what was searched elsewhere; what was not is asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.asked: dict[RegexNeed, None] = {}
        self.unmet: Unmet | None = None

    def __call__(self, pattern: str, text: str) -> bool:
        if len(text) > TEXT_LIMIT:
            self.unmet = Unmet(
                f"an argument has {len(text):,} characters; a pattern is searched in at most {TEXT_LIMIT:,}"
            )
            return False
        search = compiled(pattern)
        if not isinstance(search, Elsewhere):
            return search(text)
        need = RegexNeed(search.pattern, text)
        self.asked[need] = None
        hit = self._evidence.regexes.get(need, Unmet("an argument's pattern was not searched for"))
        if isinstance(hit, Unmet):
            self.unmet = hit
            return False
        return hit


def _misfits(plan: TrajectoryPlan, step: CalledStep, found_in: FoundIn) -> list[list[Misfit | None]]:
    """Returns how the step fits every member of every group."""
    return [[wanted.misfit(step, found_in) for wanted in group] for group in plan.groups]


def _aligned(trail: _Trail, number: int, step: CalledStep, misfit: Misfit) -> _Trail:
    if not misfit.arguments:
        return trail
    return trail.extended(misfit.share, LogEdit("change", number, step.names[0], misfit.arguments))


def _finish(plan: TrajectoryPlan, trails: _Trails, number: int) -> None:
    """Goes on from every group to the next, at the cost of what is missing of it."""
    for at, group in enumerate(plan.groups):
        for done, trail in trails[at].items():
            _keep(trails[at + 1], 0, _without_the_rest(group, done, trail, number))


def _without_the_rest(group: Sequence[WantedStep], done: int, trail: _Trail, number: int) -> _Trail:
    for member, wanted in enumerate(group):
        if not wanted.optional and not done >> member & 1:
            trail = trail.extended(1, LogEdit("add", number, wanted.name))
    return trail


def _keep(trails: dict[int, _Trail], done: int, trail: _Trail) -> None:
    known = trails.get(done)
    if known is None or trail.is_better(known):
        trails[done] = trail


TYPES: dict[str, AssertionKind] = {
    "trajectory:match": AssertionKind(on_log(trajectory_match), vet_trajectory, trajectory_match_needs),
}
