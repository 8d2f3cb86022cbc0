"""The work and cost of a run at most, told before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal, NamedTuple

from pydantic import Field
from pydantic_core import to_json

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.conversations import Conversation
from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.budget import uncapped
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.judge.yardstick import (
    ByAssertions,
    ByExpectation,
    ByNothing,
    BySimilarity,
    Measure,
    measures,
)
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.recorded_runs import WantedRun, recorded_runs
from minions_evals_mcp.engine.run.run_benchmark import chosen_cases, get_benchmark
from minions_evals_mcp.engine.run.versions import RunVersions
from minions_evals_mcp.engine.seals.guard import hushed, vet_whole
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.judges.heuristic import guide
from minions_evals_mcp.judges.llm import MAX_TOKENS
from minions_evals_mcp.models.prices import estimate_usd
from minions_evals_mcp.models.registry import ModelRef, parse_model
from minions_evals_mcp.scoring.assertions.kinds.graded import asks_grade
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.targets.live import MAX_TOKENS as TARGET_TOKENS
from minions_evals_mcp.targets.live import ModelTarget, Target
from minions_evals_mcp.targets.tool_loop import MAX_REPLIES

OUTPUT_CHARACTERS = 4_000
"""An output is taken to be so long: it is not there yet, or not looked at."""
PROMPT_CHARACTERS = 2_000
"""What the judge's prompt adds to case, criterion and output."""


class Estimate(Value):
    """Units (case × trial), the calls of judge and target, and a bound on their cost; null where a price is unknown.

    `missing` are units without an output that no target makes: they would be skipped. `userCalls` are those of the models that
    play and check the users of conversations.
    """

    units: int
    skipped: list[str]
    missing: int
    judge_model: str | None
    model_calls: int
    judge_cost_usd: float | None
    live_target: bool
    target_calls: int
    target_cost_usd: float | None
    user_calls: Annotated[int, Field(exclude_if=lambda calls: not calls)] = 0
    user_cost_usd: Annotated[float | None, Field(exclude_if=lambda usd: usd == 0)] = 0.0


@dataclass(frozen=True, slots=True)
class _Calls:
    """So many calls of a model, and the characters that they send."""

    number: int = 0
    characters: int = 0

    def __add__(self, other: _Calls) -> _Calls:
        return _Calls(self.number + other.number, self.characters + other.characters)


class UserModel(NamedTuple):
    """A model that plays or checks the users of conversations, and so many tokens it answers with at the most."""

    ref: ModelRef
    max_tokens: int


_OfUsers = Mapping[UserModel, _Calls]


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of a case, or several."""

    missing: int = 0
    judge: _Calls = _Calls()
    target: _Calls = _Calls()
    users: _OfUsers = field(default_factory=dict["UserModel", _Calls])

    def __add__(self, other: _Work) -> _Work:
        users = {
            model: self.users.get(model, _Calls()) + other.users.get(model, _Calls())
            for model in {**self.users, **other.users}
        }
        return _Work(self.missing + other.missing, self.judge + other.judge, self.target + other.target, users)


async def estimate(engine: Engine, request: RunRequest, *, kind: Literal["test-case", "benchmark"]) -> Estimate:
    """The estimate for that run; raises what starting it would, and writes nothing."""
    case_ids = await _cases(engine, request, kind)
    seal = await engine.store.read_whole(lambda db: vet_whole(db, request, case_ids, kind=kind, dry=True))
    with hushed(seal):
        return await _estimate(engine, request, case_ids, sealed=seal is not None)


async def _estimate(engine: Engine, request: RunRequest, case_ids: Sequence[str], *, sealed: bool) -> Estimate:
    budget = uncapped()
    request = await planning.resolved(engine, request, case_ids)
    judging = planning.judge_for(engine, request, budget, model=engine.judge_model())
    plan = await planning.plan(engine, request, case_ids, judging)
    target = planning.target_for(engine, request, plan.versions, budget)
    await planning.vet_prompts(engine, request, plan, target, sealed=sealed)
    longest = max((len(to_json(version.wire())) for version in plan.versions.recorded()), default=0)
    works = _Works(
        engine, request, judging, plan.versions, target is not None, longest, sealed, isinstance(target, ModelTarget)
    )
    total = _Work()
    for at in range(0, len(plan.case_ids), planning.PAGE):
        page = plan.case_ids[at : at + planning.PAGE]
        for work in await engine.store.read_for(partial(_page_work, works=works, page=page, plan=plan), sealed=sealed):
            total += work
    panel = engine.judge_model()
    members = (None,) if panel is None else panel.members
    return Estimate(
        units=len(plan.case_ids) * request.trials,
        skipped=list(plan.skipped),
        missing=total.missing,
        judge_model=plan.judge_model,
        model_calls=total.judge.number * len(members),
        judge_cost_usd=_judge_cost(members, total.judge),
        live_target=target is not None,
        target_calls=total.target.number,
        target_cost_usd=_cost(_model_of(target), total.target, TARGET_TOKENS),
        user_calls=sum(calls.number for calls in total.users.values()),
        user_cost_usd=_sum([_cost(model.ref, calls, model.max_tokens) for model, calls in total.users.items()]),
    )


async def _cases(engine: Engine, request: RunRequest, kind: Literal["test-case", "benchmark"]) -> Sequence[str]:
    if kind == "benchmark":
        return chosen_cases(await get_benchmark(engine, request.subject_id), request)
    if await engine.store.read(lambda db: records.minion(db, request.subject_id)) is None:
        raise NotFoundError("test-case", request.subject_id)
    return (request.subject_id,)


def _page_work(db: Db, *, works: _Works, page: Sequence[str], plan: planning.RunPlan) -> list[_Work]:
    return works.of(db, measures(db, page, plan.rubrics, world=works.request.world))


@dataclass(frozen=True, slots=True)
class _Works:
    """Tells what cases come to under one request."""

    engine: Engine
    request: RunRequest
    judging: Judging
    versions: RunVersions
    has_target: bool
    version_characters: int
    sealed: bool
    asks_model: bool = False
    """Whether the target is a model: in a world it is asked again after each call of a tool, up to a limit."""

    def of(self, db: Db, cases: Sequence[Measure]) -> list[_Work]:
        """The work of each case."""
        return [self._work(db, case) for case in cases]

    def _work(self, db: Db, case: Measure) -> _Work:
        trials = self.request.trials
        absent = trials - self._made(db, case)
        characters = len(to_json([case.case.fields.inputs, case.case.fields.expected_outputs]))
        calls = self._calls(case) * (trials if self.has_target else trials - absent)
        judge = _Calls(calls, calls * (characters + OUTPUT_CHARACTERS + PROMPT_CHARACTERS))
        if not self.has_target:
            return _Work(absent, judge)
        talk = case.case.fields.conversation
        turns = 1 if talk is None else talk.most_turns * talk.most_attempts
        turns *= MAX_REPLIES if self.asks_model and case.world is not None else 1
        each = (
            characters + self.version_characters + ((talk.most_turns if talk else turns) - 1) * OUTPUT_CHARACTERS // 2
        )  # the mean of a growing conversation
        users: _OfUsers = {} if talk is None else self._users(talk, absent)
        return _Work(0, judge, _Calls(absent * turns, absent * turns * each), users)

    def _users(self, talk: Conversation, absent: int) -> _OfUsers:
        """The calls of the models that play and check the user of a conversation, every attempt with its last turn."""
        from minions_evals_mcp.engine.run.conversing import player_model  # noqa: PLC0415  few cases are conversations
        from minions_evals_mcp.judges.user_review import MAX_TOKENS as REVIEW_TOKENS  # noqa: PLC0415  as above
        from minions_evals_mcp.targets.talks.modelled import LONGEST_MESSAGE  # noqa: PLC0415  as above

        attempts, whole = absent * talk.most_attempts, talk.most_turns * OUTPUT_CHARACTERS + PROMPT_CHARACTERS
        users: dict[UserModel, _Calls] = {}
        if talk.player == "model":
            calls = attempts * talk.most_turns
            users[UserModel(player_model(self.engine, talk), LONGEST_MESSAGE)] = _Calls(calls, calls * whole // 2)
        if talk.checked_by is not None:
            users[UserModel(parse_model(talk.checked_by), REVIEW_TOKENS)] = _Calls(attempts, attempts * whole)
        return users

    def _made(self, db: Db, case: Measure) -> int:
        """So many outputs are there already."""
        trials = range(1, self.request.trials + 1)
        if self.request.rejudge_run_id is not None:
            return len(trials)
        default = self.versions.default_ref(case.case.fields)
        requests = [WantedRun(case.case, trial, default) for trial in trials]
        return sum(run is not None for run in recorded_runs(db, self.request, requests, sealed=self.sealed))

    def _calls(self, case: Measure) -> int:
        """The calls for one output."""
        match case.yardstick:
            case ByAssertions():
                return _grades(case.yardstick.assertions)
            case RubricInUse():
                return self._calls_by_rubric(case.yardstick)
            case ByExpectation() | BySimilarity() | ByNothing():
                return 0

    def _calls_by_rubric(self, rubric: RubricInUse) -> int:
        kinds = self.judging.panel.kinds(rubric)
        graded = sum(_guide_grades(criterion) for ident, criterion in rubric.criteria if kinds[ident] == "heuristic")
        calls = list(kinds.values()).count("llm")
        return graded + (min(calls, 1) if self.engine.config.judge_together else calls)


def _grades(assertions: Iterable[Assertion]) -> int:
    """Returns how many of the assertions a model decides, those inside sets too."""
    return sum(
        _grades(assertion.assertions) if assertion.assertions else asks_grade([assertion]) for assertion in assertions
    )


def _guide_grades(criterion: RubricCriterion) -> int:
    assertions = guide(criterion.scoring_guide)
    return 0 if isinstance(assertions, str) else _grades(assertions)


def _model_of(target: Target | None) -> ModelRef | None:
    """The model that is the target; None where it is something else, whose price nobody knows."""
    return parse_model(target.name) if isinstance(target, ModelTarget) else None


def _judge_cost(members: Sequence[ModelRef | None], calls: _Calls) -> float | None:
    """A bound for all members of a panel; None where a price is unknown."""
    return _sum([_cost(model, calls, MAX_TOKENS) for model in members])


def _sum(costs: Sequence[float | None]) -> float | None:
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _cost(model: ModelRef | None, calls: _Calls, max_tokens: int) -> float | None:
    if calls.number == 0:
        return 0.0
    if model is None:
        return None
    each = estimate_usd(model.provider, model.model, calls.characters // calls.number, max_tokens)
    return None if each is None else round(each * calls.number, 6)
