"""The decisions before anything runs: the cases, who judges them, and what the run is measured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import combined, digest
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.results import Digests
from minions_evals_mcp.engine.asking_again import ask_again
from minions_evals_mcp.engine.budget import Budget, Metered, vet_cap
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.default_judge import DEFAULT_MODEL
from minions_evals_mcp.engine.judge.compose import RunDefaults
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.own_judges import OwnJudges
from minions_evals_mcp.engine.judge.panel import Panel, stands_in
from minions_evals_mcp.engine.judge.vetting import vet
from minions_evals_mcp.engine.judge.yardstick import Measure, measures
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.recorded_runs import WantedRun, recorded_runs
from minions_evals_mcp.engine.run.versions import RunVersions, named_alike, with_version
from minions_evals_mcp.engine.run.world_names import WorldNames
from minions_evals_mcp.engine.version_chain import default_name
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.registry import ModelRef, parse_judges, parse_model
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.targets.live import ModelTarget, Target
from minions_evals_mcp.targets.own import OWN_KINDS, own_target

if TYPE_CHECKING:
    from minions_evals_mcp.judges.llm import LlmJudge

PAGE = 200
"""How many cases are read at once."""
HELD = 10_000
"""So many cases at most are held from the plan until they run; the others are read once more."""
CONFIG = "config"
"""Begins the name of a target that stands in a config: only `eval` with that config can open it."""
SETTLED = frozenset({"scored", "timed-out", "not-judgeable", "user-error", "awaiting-judgments"})


@frozen_type
class RunPlan:
    """The cases that run, those that do not and why, and what the run is measured with."""

    case_ids: tuple[str, ...]
    skipped: tuple[str, ...]
    digests: Digests
    rubrics: dict[str, RubricInUse]
    judge_model: str | None
    versions: RunVersions
    without_version: tuple[str, ...] = ()
    canaries: tuple[str, ...] = ()
    stood_in: bool = False
    """Whether another than its own judge judges a criterion."""
    held: dict[str, Measure] = field(default_factory=dict[str, Measure])
    """The cases that are held until they run; each is taken out when it does."""

    def aimed(self, target: Target | None) -> RunPlan:
        """The same plan, measured with that target."""
        aim = None if target is None else target.digest()
        return replace(self, digests=self.digests.model_copy(update={"target": aim}))

    def spec(self, request: RunRequest, *, version_name: str | None) -> Json:
        """Returns what is frozen with the run's key: request, model, digests (`testCase` is that of the whole set), skipped cases.

        `versions` are the ids that names of prompt versions stood for; `version_name` is the name in the request.
        """
        names = self.versions.frozen()
        if version_name is not None and request.prompt_version_ref is not None:
            names[version_name] = request.prompt_version_ref
        return {
            "request": request.frozen(),
            "judgeModel": self.judge_model,
            "measured": self.digests.model_dump(mode="json"),
            "skipped": list(self.skipped),
            "versions": {**names},
            **({"stoodIn": True} if self.stood_in else {}),
        }


def digests_of(job: Job) -> Digests:
    """Returns what a job is measured with."""
    return Digests.model_validate(job.spec["measured"])


def model_of(job: Job) -> ModelRef | None:
    """The model that judges a job, if one does."""
    name = job.spec.get("judgeModel")  # an A/B test names none: each of its branches has its own
    return parse_judges(name) if isinstance(name, str) else None


def judged_alike(seen: Digests) -> str:
    """Equal for runs that were judged under the same rubrics by the same judges."""
    return digest([seen.rubric, seen.judge])


def series(seen: Digests) -> str:
    """Equal for runs that may stand in one trend."""
    return digest([seen.test_case, seen.rubric, seen.judge, seen.scorer, seen.embedder])


def judge_for(
    engine: Engine, request: RunRequest, budget: Budget, *, model: ModelRef | None, sealed: bool = False
) -> Judging:
    """The judges of a run; the model's client is opened when it is first asked."""
    verdicts = KeptVerdicts(engine, request.fresh, sealed=sealed)
    if model is None or request.judge in {"heuristic", "human", "caller"}:
        by_models = request.judge not in {"heuristic", "human", "caller"}
        own = OwnJudges(engine, budget) if by_models else None
        return Judging(Panel(engine, request.judge, None, own), verdicts)
    for member in model.members:
        vet_cap(request.max_cost_usd, member.provider, member.model)
    first, *others = (_judge(engine, member, budget) for member in model.members)
    judge = replace(first, others=tuple(others))
    return Judging(Panel(engine, request.judge, judge, OwnJudges(engine, budget)), verdicts)


def _judge(engine: Engine, model: ModelRef, budget: Budget) -> LlmJudge:
    from minions_evals_mcp.judges.llm import LlmJudge  # noqa: PLC0415  only where a model judges

    client = Metered(model.provider, partial(engine.models.client, model), budget)
    config = engine.config
    return LlmJudge(
        client,
        model.model,
        engine.new_mark,
        config.call_timeout_s,
        config.judge_together,
        asks_empty=config.judge_empty,
    )


def target_for(engine: Engine, request: RunRequest, versions: RunVersions, budget: Budget) -> Target | None:
    """The live target: the one that was named, else the default model where there is a key and a version to send it."""
    name = request.target
    if name is None and request.rejudge_run_id is not None:
        return None
    if name is None:
        if not versions.recorded() or not engine.config.providers.has_key(DEFAULT_MODEL):
            return None
        name = DEFAULT_MODEL
    kind, _, rest = name.partition(":")
    if kind == CONFIG:
        raise BadInputError(
            f"the target {rest} is defined in a config.",
            remedy=f"{Next('eval', {'config': 'CONFIG'}, 'resumes it')}.",
        )
    if kind == "python":
        from minions_evals_mcp.targets.function.task import python_target  # noqa: PLC0415  what watches a function is rarely needed

        return python_target(rest, deadline_s=engine.config.call_timeout_s, width=engine.config.concurrency)
    if kind in OWN_KINDS:
        config = engine.config
        version = versions.known.get(versions.asked) if versions.asked else None
        return own_target(name, version, set_up=config.own_target, web=engine.web, deadline_s=config.call_timeout_s)
    ref = parse_model(name)
    vet_cap(request.max_cost_usd, ref.provider, ref.model)
    return ModelTarget(
        Metered(ref.provider, partial(engine.models.client, ref), budget), ref.model, engine.config.call_timeout_s
    )


async def plan(engine: Engine, request: RunRequest, case_ids: Sequence[str], judging: Judging) -> RunPlan:
    """The plan for those cases; raises by name what could not be judged, before anything runs."""
    versions = RunVersions(request.prompt_version_ref)
    versions.known.update(await engine.store.read_whole(lambda db: named_alike(db, request)))
    rubrics: dict[str, RubricInUse] = {}
    active: dict[str, bool] = {}  # whether it is a canary
    skipped: list[str] = []
    cases: list[str] = []
    rubric_digests: set[str | None] = set()
    judge_digests: set[str | None] = set()
    embedders: set[str | None] = set()
    without: list[str] = []
    held: dict[str, Measure] = {}
    asks_model = False
    names = WorldNames(engine, request)
    for at in range(0, len(case_ids), PAGE):
        page = await engine.store.read_whole(
            partial(
                _page, part=case_ids[at : at + PAGE], rubrics=rubrics, versions=versions, held=held, request=request
            )
        )
        for measure in page:
            if measure.case.deleted_at is not None or measure.case.fields.status != "active":
                skipped.append(f"{measure.case.id} ({_why_idle(measure)})")
                continue
            _vet_measure(engine, request, judging, measure, names=names, then=ask_again(request, case_ids, "runs it"))
            asks_model = asks_model or judging.panel.asks_model(measure)
            active[measure.case.id] = measure.case.fields.canary
            if default_name(measure.case.fields) is not None and versions.of(measure.case.fields) is None:
                without.append(measure.case.id)
            cases.append(measure.case_digest())
            rubric_digests.add(measure.rubric_digest())
            judge_digests.add(judging.panel.digest(measure))
            embedders.add(judging.panel.embedder(measure))
    names.vet_run([*active])
    model = _judge_model(engine) if asks_model else None
    digests = Digests(
        test_case=combined(cases),
        rubric=combined(rubric_digests),
        judge=combined(judge_digests),
        scorer=SCORER_VERSION,
        embedder=combined(embedders),
        prompt_version=versions.digest(),
    )
    return RunPlan(
        tuple(active),
        tuple(skipped),
        digests,
        rubrics,
        None if model is None else str(model),
        versions,
        tuple(without),
        tuple(filter(active.get, active)),
        any(stands_in(request.judge, rubric, has_model=judging.panel.llm is not None) for rubric in rubrics.values()),
        held,
    )


def _judge_model(engine: Engine) -> ModelRef | None:
    """The model that judges; a missing key or package is refused before anything runs."""
    model = engine.judge_model()
    if model is not None:
        engine.models.client(model)
    return model


def _vet_measure(
    engine: Engine, request: RunRequest, judging: Judging, measure: Measure, *, names: WorldNames, then: Next
) -> None:
    """Refuses what could not be judged, a user whom nobody can play, and a world that starts servers without consent.

    So it does with what a case names and its world does not have.
    """
    vet(judging.panel, measure, then=then)
    if measure.case.fields.conversation is not None and request.target is not None:
        from minions_evals_mcp.engine.run.conversing import vet_player  # noqa: PLC0415  few cases are conversations

        vet_player(engine, measure.case, max_cost_usd=request.max_cost_usd)
    names.vet(measure)
    if measure.world is None:
        return
    from minions_evals_mcp.world.units import vet_started  # noqa: PLC0415  few cases have a world

    vet_started(measure.world, agreed=engine.config.agreed_worlds(measure.world.id, measure.world.fields))


def _page(
    db: Db,
    *,
    part: Sequence[str],
    rubrics: dict[str, RubricInUse],
    versions: RunVersions,
    held: dict[str, Measure],
    request: RunRequest,
) -> list[Measure]:
    """A page of the cases with their yardsticks, held while there is room; the versions that they are asked with are met."""
    page = measures(db, part, rubrics, world=request.world, faults=request.faults)
    if len(held) < HELD:
        held.update((measure.case.id, measure) for measure in page)
    versions.meet(db, [measure.case.fields for measure in page])
    return page


async def vet_prompts(
    engine: Engine, request: RunRequest, planned: RunPlan, target: Target | None, *, sealed: bool
) -> None:
    """Refuses cases that name a prompt of which there is no version where a model would be sent their bare input."""
    if isinstance(target, ModelTarget) and request.target is not None:
        for case_id in planned.without_version:
            await engine.store.read_for(
                partial(_vet_prompt, request=request, case_id=case_id, sealed=sealed), sealed=sealed
            )


def _vet_prompt(db: Db, *, request: RunRequest, case_id: str, sealed: bool) -> None:
    ((case,),) = (measures(db, [case_id], {}),)
    fields = case.case.fields
    requests = [WantedRun(case.case, trial, fields.prompt_version_ref) for trial in range(1, request.trials + 1)]
    if None not in recorded_runs(db, request, requests, sealed=sealed):
        return
    raise BadInputError(
        f"test-case {case_id} names {request.prompt_version_ref or default_name(fields)}, which has no recorded version. A model cannot be"
        " called without a prompt.",
        remedy="Import the prompt-version, remove promptId from the case, or record the agent's outputs.",
    )


def lacks_outputs(db: Db, *, request: RunRequest, plan: RunPlan, page: Sequence[str]) -> bool:
    """Whether a sealed case of the page has no recorded output for one of the trials."""
    wanted = [
        WantedRun(measure.case, trial, plan.versions.default_ref(measure.case.fields))
        for measure in measures(db, page, plan.rubrics)
        for trial in range(1, request.trials + 1)
    ]
    return None in recorded_runs(db, request, wanted, sealed=True)


def _why_idle(measure: Measure) -> str:
    return "deleted" if measure.case.deleted_at is not None else measure.case.fields.status


def frame_for(engine: Engine, run_id: str | None, *, target_digest: str | None) -> RunDefaults:
    """Returns what all test-runs of the run have in common."""
    return RunDefaults(
        benchmark_run_id=run_id,
        target_digest=target_digest,
        scorer=SCORER_VERSION,
        thresholds=engine.skills.classify_failure.parameters,
    )


async def made_outputs(
    engine: Engine, request: RunRequest, seen: Digests, *, sealed: bool
) -> dict[tuple[str, int], UnitKey]:
    """The kept outputs of the run's target that it may use again: none, unless it was asked for."""
    if not request.cache or seen.target is None:
        return {}
    target = seen.target
    return await engine.store.read_for(lambda db: jobs.made_outputs(db, target), sealed=sealed)


async def resolved(engine: Engine, request: RunRequest, case_ids: Sequence[str]) -> RunRequest:
    """The request with the version that it names by its id; raises as `find_version` does, before a job exists."""
    return await engine.store.read_whole(lambda db: with_version(db, request, case_ids))
