"""One unit of work, from its case to how it ended: find or make the output, have it judged, compose the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.conversations import OUTSIDE, TalkFacts, UserLabel, exchanges, messages_of
from minions_evals_mcp.domain.definitions import TestCase, World
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.json_fields import json_fields
from minions_evals_mcp.domain.neighbours import AgentRun, PromptVersion
from minions_evals_mcp.domain.outcomes import (
    Awaiting,
    AwaitingUser,
    Ended,
    JudgeErrored,
    NotJudgeable,
    Observed,
    Skipped,
    TargetErrored,
    UnitKey,
    UserErrored,
)
from minions_evals_mcp.domain.outputs import is_erased, output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import NO_OUTPUT
from minions_evals_mcp.embedding.local import is_local
from minions_evals_mcp.engine.budget import Budget, uncapped
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.compose import OutputVerdicts, RunDefaults, compose
from minions_evals_mcp.engine.judge.judging import Decision, Judging
from minions_evals_mcp.engine.judge.likeness import compared_texts, likenesses
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, Measure
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.versions import RunVersions
from minions_evals_mcp.engine.version_chain import default_name
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.assertions.judged.criteria import BY_PROMPT
from minions_evals_mcp.scoring.assertions.kinds.code_context import code_reads
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.scoring.verdicts.history import Compared, Likeness, RunSample
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import case_history
from minions_evals_mcp.store.records import Unread
from minions_evals_mcp.store.seals import Seal
from minions_evals_mcp.store.talks import StoppedTalk
from minions_evals_mcp.targets.live import ActsInWorlds, Converses, ModelTarget, Target
from minions_evals_mcp.targets.prompted import PromptedTarget, recalled_inputs, written_prompt
from minions_evals_mcp.targets.recorded import observed_run

if TYPE_CHECKING:
    from minions_evals_mcp.world.units import UnitInWorld

TOGETHER = 50
"""How many units are judged and written in one go, where none of them has to wait for anything."""
OF_ANOTHER = "its output was made for other inputs, or in another world, than the case has by now"
NOBODY_GOES_ON = (
    "the user check stopped the conversation before the agent answered, and the run has no target to continue with"
)
Seen = Observed | Skipped | TargetErrored | JudgeErrored | UserErrored | AwaitingUser
"""An output, or why there is none yet."""


@frozen_type
class Bench:
    """The things that the units of one run share."""

    engine: Engine
    request: RunRequest
    judging: Judging
    target: Target | None
    versions: RunVersions
    frame: RunDefaults
    made: Mapping[tuple[str, int], UnitKey] = field(default_factory=dict[tuple[str, int], UnitKey])
    seal: Seal | None = None
    budget: Budget = field(default_factory=uncapped)
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    """Taken by whoever reads, judges at hand or writes: threads that do so at once hand Python's lock to and fro at each row."""

    def is_prompt(self, page: Sequence[Unit]) -> bool:
        """Returns whether the units, which are at hand, are judged without waiting for a model, an embedder or code."""
        asks_nothing = self.judging.panel.asks_nothing
        ruled = not self.engine.own_checks and all(asks_nothing(unit.measure) for unit in page)
        compares = any(unit.measure.expected is not None for unit in page)
        return ruled and (not compares or is_local(self.engine.embedder().name))


@frozen_type
class Unit:
    """One case and trial to be carried out: what is kept of an earlier start, the recorded agent-run that it judges, what
    the target made of the same for an earlier run, the case's earlier runs, newest first, and the scores that the
    agent-run's own proposal gives.
    """

    key: UnitKey
    measure: Measure
    kept: Observed | None = None
    recorded: Unread[AgentRun] | None = None
    earlier: tuple[RunSample, ...] = ()
    made: Observed | None = None
    proposed: Mapping[str, float] = field(default_factory=dict[str, float])
    label: UserLabel | None = None
    """What a person said of the user of the conversation that is judged anew."""
    stopped: StoppedTalk | None = None
    """That conversation, where the user check stopped it and the person calls it sound: it goes on."""

    def comes_alone(self, bench: Bench) -> bool:
        """Returns whether it may have to wait for its output or for a model: units that do not are judged by the page."""
        return not self.is_at_hand(bench) or bench.judging.panel.asks_any_model(self.measure)

    def is_at_hand(self, bench: Bench) -> bool:
        """Returns whether its output is there already, or can be had from nowhere."""
        return bool(self.kept or self.recorded or self.made) or bench.target is None


async def carry_out(bench: Bench, page: Sequence[Unit]) -> list[tuple[Unit, Ended]]:
    """Each unit of the page with how it ended; nothing is written but verdicts and outputs that were paid for.

    Raises `HaltedError` where a cap forbids a call: a unit that may call anything comes alone.
    """
    return await concluded(bench, [(unit, await output_of(bench, unit)) for unit in page])


async def concluded(bench: Bench, page: Sequence[tuple[Unit, Seen]]) -> list[tuple[Unit, Ended]]:
    """Each unit with how it ended: its output is there, or why there is none."""
    endings = iter(await judged(bench, [(unit, seen) for unit, seen in page if isinstance(seen, Observed)]))
    return [(unit, next(endings) if isinstance(seen, Observed) else seen) for unit, seen in page]


async def judged(bench: Bench, page: Sequence[tuple[Unit, Observed]]) -> list[Ended]:
    """The runs that the observed outputs become, or what they wait for."""
    alike = await likenesses([_compared(bench, unit, seen) for unit, seen in page], bench.engine.embedder)
    works = [_work(bench, unit, seen, likeness) for (unit, seen), likeness in zip(page, alike, strict=True)]
    units = [(unit.key, unit.measure, work) for (unit, _), work in zip(page, works, strict=True)]
    decisions = await bench.judging.judge(units)
    at = bench.engine.clock()
    return [_ending(bench, *unit, decision, at=at) for unit, decision in zip(units, decisions, strict=True)]


def _compared(bench: Bench, unit: Unit, seen: Observed) -> Compared | None:
    """The texts whose likeness is measured now: none where no text is expected, or where a benchmark's run leaves it to its readers."""
    of_benchmark = bench.frame.benchmark_run_id is not None
    if of_benchmark and bench.judging.panel.leaves_likeness(unit.measure, seen):
        return None
    return compared_texts(unit.measure.expected, seen)


def _ending(bench: Bench, key: UnitKey, measure: Measure, work: Work, decision: Decision, *, at: datetime) -> Ended:
    match decision:
        case OutputVerdicts():
            version = bench.versions.of_output(work.observed.prompt_version_ref)
            # A canary is no part of what the benchmark measures: its run stands beside the benchmark-run, not in it.
            frame = replace(bench.frame, benchmark_run_id=None) if measure.case.fields.canary else bench.frame
            return compose(key, measure, work, decision, frame=frame, version=version, at=at)
        case JudgeErrored() | NotJudgeable() | Awaiting():
            return decision


def _work(bench: Bench, unit: Unit, seen: Observed, alike: Likeness | None) -> Work:
    case = unit.measure.case.fields
    measured = unit.measure.yardstick
    asking = measured.asking if isinstance(measured, ByAssertions) else case.checks
    prompt = _prompt(bench, case, seen) if asking and _wants_prompt(asking) else ""
    inputs = recalled_inputs(case.inputs, seen.output)
    return Work(
        inputs, case.expected_outputs, seen, unit.proposed, alike, unit.earlier, prompt, unit.measure.case.id, case.written
    )  # fmt: skip


def _wants_prompt(assertions: Sequence[Assertion]) -> bool:
    """Returns whether a template may tell a judge, or a check is code that may read, what the output was asked for with."""
    wanted = any(
        assertion.rubric_prompt is not None
        or (assertion.provider is not None and assertion.provider.code is not None)
        or assertion.base_type in BY_PROMPT
        or _wants_prompt(assertion.assertions)
        for assertion in assertions
    )
    return wanted or code_reads(assertions, "prompt")


def _prompt(bench: Bench, case: TestCase, seen: Observed) -> str:
    """Returns what the output was asked for with: as code wrote it, else as the version makes it."""
    written = written_prompt(seen.output)
    version = bench.versions.of(case)
    if written is not None or version is None:
        return written or ""
    try:
        return version_text(version.fields, case.inputs)
    except BadInputError:  # an output that was not made with this version
        return ""


def earlier_runs(db: Db, bench: Bench, job_id: str, case_ids: Sequence[str]) -> dict[str, tuple[RunSample, ...]]:
    """Returns what the first trial of each case is compared with, newest first; nothing for what is no history itself."""
    if bench.request.purpose == "comparison":
        return {}
    limit = bench.engine.skills.run_test_case.parameters.history
    return case_history.earlier_samples(db, case_ids, job_id=job_id, limit=limit)


def proposal_scores(db: Db, measure: Measure, agent_run_id: str | None) -> dict[str, float]:
    """The scores that the newest proposal-draft of that agent-run gives, where a criterion asks for one."""
    scores: dict[str, float] = {}
    if agent_run_id is None or not isinstance(measure.yardstick, RubricInUse) or not measure.yardstick.takes_proposals:
        return scores
    for draft in records.proposals_of(db, agent_run_id):
        scores.update(draft.fields.scores)
    return scores


async def output_of(bench: Bench, unit: Unit) -> Seen:
    """The output, from the first place that has one."""
    found = _at_hand(unit)
    if found is not None:
        return _of_the_same(bench, unit, found)
    if unit.made is not None:
        await _keep_output(bench, unit, unit.made)
        return unit.made
    case = unit.measure.case.fields
    version = bench.versions.of(case)
    if bench.target is None or (bench.request.target is None and version is None) or _is_judged_anew(bench, unit):
        return Skipped(NOBODY_GOES_ON if unit.stopped else _missing(bench, case, unit.key.trial))
    if version is None and isinstance(bench.target, ModelTarget) and default_name(case) is not None:
        return Skipped(f"no version of {default_name(case)} is recorded, and a model cannot be called without a prompt")
    if bench.versions.asked is None and not bench.target.takes_version:
        version = None  # it is not told of the version, so that its output is not that version's
    try:
        if case.conversation is None:
            produced = partial(_produced, budget=bench.budget, case=case, version=version)
            seen = await _in_its_world(bench, bench.target, unit, produced)
        else:
            seen = await _conversed(bench, bench.target, unit, version)
    except BadInputError as error:  # a template variable that this case lacks
        return Skipped(str(error))
    if isinstance(seen, Observed):
        seen = _with_word(unit, seen).with_trusted(
            made_from=made_from(bench, unit.measure), asked=asked_digest(bench.request, unit.measure)
        )
        await _keep_output(bench, unit, seen)
    return seen


def _at_hand(unit: Unit) -> Seen | None:
    """The output that is kept or recorded; nothing is judged whose content was erased, nor by such a case."""
    if unit.measure.erased_part is not None:
        part = unit.measure.erased_part
        return Skipped(f"the content of its case ({part}) was erased: update the case to judge by it again")
    if unit.kept is not None:
        return (
            Skipped("the content of its output was erased")
            if is_erased(unit.kept.output)
            else _checked_user(unit, unit.kept)
        )
    if unit.recorded is not None:
        return _checked_user(unit, observed_run(unit.recorded.read(), timeout_ms=unit.measure.case.fields.timeout_ms))
    return None


def _of_the_same(bench: Bench, unit: Unit, seen: Seen) -> Seen:
    """The stored output; none where it was made for other inputs, or in another world, than the case has by now."""
    made = seen.asked if isinstance(seen, Observed) and bench.request.rejudge_run_id is not None else None
    if made in (None, asked_digest(bench.request, unit.measure)):
        return seen
    return Skipped(OF_ANOTHER)


def _is_judged_anew(bench: Bench, unit: Unit) -> bool:
    """Whether only a stored output can be judged: no target is called but for a conversation that goes on."""
    return bench.request.rejudge_run_id is not None and unit.stopped is None


def _with_word(unit: Unit, seen: Observed) -> Observed:
    """The conversation that went on after it was stopped, with the person's word on its user."""
    facts, stopped = seen.conversation, unit.stopped
    if facts is None or stopped is None or facts.attempt != stopped.attempt:
        return seen
    return seen.with_trusted(conversation=facts.model_copy(update={"label": unit.label}))


def _checked_user(unit: Unit, seen: Seen) -> Seen:
    """The output; a conversation that its user spoiled, in the word of a person or else by the user check, has no verdict."""
    setup = unit.measure.case.fields.conversation
    messages = messages_of(seen.output) if isinstance(seen, Observed) and setup is not None else None
    if messages is None:
        return seen
    from minions_evals_mcp.engine.run.conversing import recorded_facts  # noqa: PLC0415  few cases are conversations

    assert isinstance(seen, Observed)
    assert setup is not None
    facts = seen.conversation or recorded_facts(setup, messages)
    if unit.label is not None:
        facts = (facts or TalkFacts(player=setup.player, ended="recorded")).model_copy(update={"label": unit.label})
    if facts is None:
        return seen
    told = seen.with_trusted(conversation=facts)
    return UserErrored(told, facts.spoiled) if facts.spoiled else told


async def _conversed(bench: Bench, target: Target, unit: Unit, version: Record[PromptVersion] | None) -> Seen:
    """The conversation of the case with the target; one that its user spoiled is had again, in a fresh world."""
    from minions_evals_mcp.engine.run import conversing  # noqa: PLC0415  few cases are conversations

    case = unit.measure.case
    if not isinstance(target, Converses):
        return Skipped(f"the case is a conversation, in which {bench.request.target} cannot take part")
    if (
        case.fields.conversation is not None
        and case.fields.conversation.player in OUTSIDE
        and not bench.judging.kept.waits
    ):
        return Skipped("the caller or a person plays its user, and no worker of a cluster waits for them")
    setup = case.fields.conversation
    talking = conversing.Conversing(
        unit.key,
        case,
        version,
        bench.budget,
        bench.judging.kept,
        conversing.players(bench.engine, bench.budget),
        None if setup is None else conversing.reviewing(bench.engine, bench.budget, setup),
    )
    start = await conversing.begun(bench.judging.kept, unit.key, unit.stopped)
    while True:
        seen = await _in_its_world(bench, target, unit, partial(talking.held, start=start), start.attempt)
        if not isinstance(seen, Observed):
            return seen
        ended = talking.verdict_on_user(seen, start)
        if not isinstance(ended, conversing.ConversationState):
            return ended
        start = ended


Unseen = TargetErrored | JudgeErrored | AwaitingUser
Producing = Callable[..., Awaitable[Observed | Unseen]]
"""Has a target make its output; `world` is what it acts on, if anything."""


async def _in_its_world(
    bench: Bench, target: Target, unit: Unit, produced: Producing, attempt: int = 1
) -> Observed | Unseen | Skipped:
    """Returns what the target makes of the case, in a fresh copy of the world that it acts on, if any."""
    case, world, attacks = unit.measure.case.fields, unit.measure.world, bench.request.attacks
    if world is None:
        return await produced(target)
    if not isinstance(target, ActsInWorlds):
        return Skipped(
            f"the case acts on the world {world.id}: only a program, a Python function, an HTTP application or a chat model can,"
            " as the target"
        )
    from minions_evals_mcp.world.units import unit_in_world, vet_started  # noqa: PLC0415  few cases have a world

    config = bench.engine.config
    vet_started(world, agreed=config.agreed_worlds(world.id, world.fields))
    draws = f"{unit.measure.case.id}:{unit.key.trial}" + (f":{attempt}" if attempt > 1 else "")
    attack = attacks[(unit.key.trial - 1) % len(attacks)] if attacks else None
    with unit_in_world(world, config.world_folder, clock=bench.engine.clock, unit=draws, attack=attack) as acted_on:
        seen = await _seen_there(target, acted_on, produced)
        if isinstance(seen, AwaitingUser | JudgeErrored):
            return seen
        if isinstance(seen, TargetErrored):
            of_provider = isinstance(target, ModelTarget) and seen.unanswered
            if seen.fatal or of_provider or not acted_on.met_fault():
                return seen
            # It broke after a fault that was put there on purpose: that is the agent's failure.
            seen = Observed(output={}, agent_error=seen.reason, produced_by=bench.request.target)
        said = "\n".join(turn.agent for turn in exchanges(messages_of(seen.output) or ())) or output_text(seen.output)
        calls, evidence = acted_on.ended(seen.tool_calls, said=said, given=_given(case))
        return seen.with_trusted(tool_calls=calls, world=evidence)


async def _seen_there(target: ActsInWorlds, acted_on: UnitInWorld, produced: Producing) -> Observed | Unseen:
    """What the target makes in that world; an error where a real server of the world did not start or ended."""
    try:
        async with target.in_world(acted_on) as pointed:
            seen = await produced(pointed, world=acted_on)
    except BadInputError:
        if acted_on.session.lost() is None:
            raise
        seen = None
    lost = acted_on.session.lost()
    if lost is not None and not isinstance(seen, AwaitingUser):
        return TargetErrored(lost)
    assert seen is not None
    return seen


def _given(case: TestCase) -> JsonValue:
    """What the agent was given: the inputs, and what the user of a conversation knows."""
    talk = case.conversation
    return case.inputs if talk is None else {**case.inputs, "user": talk.model_dump(mode="json")}


async def _produced(
    target: Target,
    *,
    budget: Budget,
    case: TestCase,
    version: Record[PromptVersion] | None,
    world: UnitInWorld | None = None,
) -> Observed | TargetErrored:
    """Returns what the target makes of the case; what the user's own application says that this cost is counted."""
    del world  # the target is pointed at it
    if isinstance(target, ModelTarget | PromptedTarget):  # what they call is taken out of the budget call by call
        return await target.produce(case.inputs, version, timeout_ms=case.timeout_ms)
    return await budget.own_output(partial(target.produce, case.inputs, version, timeout_ms=case.timeout_ms))


def asked_digest(request: RunRequest, measure: Measure) -> str:
    """The digest of what an output of the case answers, whoever makes it: equal ones were asked the same in the same world."""
    case, world = measure.case.fields, measure.world
    world_parts = [None] if world is None else [world.content_digest(), *request.attacks]
    talk_parts = [] if case.conversation is None else [json_fields(case.conversation)]
    return digest([case.inputs, *world_parts, *talk_parts])


def made_from(bench: Bench, measure: Measure) -> str:
    """The digest of what the target makes an output of the case from: equal ones ask it the same."""
    case, world = measure.case.fields, measure.world
    version = bench.versions.of(case)
    version_parts = [None, None] if version is None else [version.id, bench.versions.content_digest(version)]
    world_parts = [] if world is None else _world_parts(bench, world)
    talk_parts = [] if case.conversation is None else [json_fields(case.conversation)]
    return digest([bench.frame.target_digest, *version_parts, case.inputs, *world_parts, *talk_parts])


def _world_parts(bench: Bench, world: Record[World]) -> list[str]:
    from minions_evals_mcp.engine.run.world_files import files_digest  # noqa: PLC0415  few cases have a world

    files = files_digest(world.fields, bench.engine.config.world_folder)
    return [world.content_digest(), *([files] if files else []), *bench.request.attacks]


def made_before(db: Db, bench: Bench, measure: Measure, trial: int) -> Observed | None:
    """Returns what the target made of the same for an earlier run, if the run may use it again."""
    case = measure.case.fields
    key = bench.made.get((made_from(bench, measure), trial)) if bench.made else None
    if key is None:
        return None
    observed = jobs.output_of(db, key)
    late = case.timeout_ms is not None and observed.latency_ms is not None and observed.latency_ms > case.timeout_ms
    return observed.model_copy(update={"reused_from": observed.reused_from or key.run_id, "timed_out": late})


async def _keep_output(bench: Bench, unit: Unit, seen: Observed) -> None:
    await bench.judging.kept.keep_output(jobs.UnitRow(unit.key, unit.measure.case.id, observed=seen))


def agent_runs(db: Db, idents: Iterable[str]) -> dict[str, Unread[AgentRun]]:
    """The recorded agent-runs under those ids."""
    return records.unread(db, idents, AgentRun)


def _missing(bench: Bench, case: TestCase, trial: int) -> str:
    request = bench.request
    if request.rejudge_run_id is not None:
        return f"the run {request.rejudge_run_id} has no output of this case for trial {trial}"
    version, default = request.prompt_version_ref, bench.versions.default_ref(case)
    other = f" of {default}, or of another version," if default else f" by {case.agent_id}" if case.agent_id else ""
    of = f" of {version}" if version else other
    more = f" for trial {trial}" if trial > 1 else ""
    return f"{NO_OUTPUT}{of} with these inputs{more}, and no target to generate one"
