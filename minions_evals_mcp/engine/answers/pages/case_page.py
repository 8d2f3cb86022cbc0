"""One case of a run with all that explains it: its other runs, the outputs before and after, the prompt as sent, its steps."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import messages_of
from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outputs import output_text, output_value
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.domain.worlds import WorldEvidence
from minions_evals_mcp.engine.answers.columns_beside import columns_of
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.pages.case_checks import CheckRow, check_rows
from minions_evals_mcp.engine.answers.pages.case_world import world_of_unit
from minions_evals_mcp.engine.answers.readings.user_errors import PlayedUser, read_user
from minions_evals_mcp.engine.answers.report_data import cases_at
from minions_evals_mcp.engine.answers.report_values import ReportedCase
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.scoring.classification.classify import KNOWN_FROM
from minions_evals_mcp.scoring.failure_causes import blames_answer
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.judging.output_notes import OutputNote, notes_of
from minions_evals_mcp.store.queries.pages import case_strip
from minions_evals_mcp.store.queries.report_units import Place

RUNS = 24
FLIPS = 3
"""So many changes between passing and failing under one version, and a case counts as flaky here."""
_STEP = re.compile(r"\bstep (\d+)\b")
_POSSIBLE = "(possible, "
"""What a root cause of an earlier version says of itself where it is no more than possible: it puts no step at fault."""


class PageCaseRun(Value):
    """A run of the case in the strip."""

    run_id: str
    at: str
    when: Timestamp
    status: str
    score: float
    version: str


class TrajectoryStep(Value):
    """One step of a trajectory; `depth` is how far it stands below a step that called it."""

    number: int
    tool: str
    depth: int
    arguments: JsonValue
    result: JsonValue
    error: str
    duration_ms: float | None
    tokens: int | None
    agent: str
    extra: JsonValue
    in_world: bool = False
    """Whether a world saw the calls: `extra` then says who answered, and what was done to the agent."""

    @property
    def brief(self) -> str:
        """The arguments in a line: their values, the first ones first."""
        if isinstance(self.arguments, dict):
            return ", ".join(
                value if isinstance(value, str) else json.dumps(value) for value in self.arguments.values()
            )
        return "" if self.arguments is None else str(self.arguments)


class Beside(Value):
    """A text that the output is shown beside."""

    which: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CasePage:
    """A case of a run. `before` is the run before of the same case; `quoted` the number of the step that the cause quotes, 0 for
    none; `fault` the same where that step is at fault, 0 where the answer departs from what a sound step gave.
    """

    case: ReportedCase
    run_id: str
    at: str
    run_title: str
    version: str
    titles: dict[str, str]
    strip: tuple[PageCaseRun, ...]
    flips: int
    before: ReportedCase | None
    before_at: str
    before_version: str
    checks: tuple[CheckRow, ...]
    columns: tuple[tuple[str, str], ...]
    """The other columns of the config by run and name, where the run is one of its columns."""
    beside: Beside | None
    prompt: str
    steps: tuple[TrajectoryStep, ...]
    steps_before: tuple[TrajectoryStep, ...]
    quoted: int
    fault: int
    previous: str
    following: str
    earlier: str
    later: str
    user: PlayedUser | None = None
    """The user of a conversation whose check a person can overrule."""
    world: WorldEvidence | None = None
    """The end of the world that the agent acted on."""
    notes: tuple[OutputNote, ...] = ()
    """What people said of the output, the oldest first."""

    @property
    def cause_known(self) -> bool:
        """Whether the rules are sure enough of the cause to state it."""
        cause = self.case.either_trial.cause
        return cause is not None and cause.confidence is not None and cause.confidence >= KNOWN_FROM

    @property
    def output(self) -> JsonValue:
        """What the output says: its text, its value, or the messages of a conversation."""
        output = self.case.either_trial.output or {}
        messages = messages_of(output)
        return output_value(output) if messages is None else [*messages]

    @property
    def outline(self) -> list[tuple[TrajectoryStep, ...]]:
        """The steps in order, equal calls in a row together."""
        return [tuple(group) for _, group in groupby(self.steps, key=_call)]


def _call(step: TrajectoryStep) -> tuple[str, int, str, bool, str]:
    beside = json.dumps(step.extra, sort_keys=True, ensure_ascii=False) if step.in_world else ""
    return (
        step.tool,
        step.depth,
        json.dumps(step.arguments, sort_keys=True, ensure_ascii=False),
        bool(step.error),
        beside,
    )


async def read_case_page(engine: Engine, run_id: str, place: Place, *, beside: str = "") -> CasePage:
    """The case at that place of the run under that id or key; raises `NotFoundError` where there is none.

    `beside`: "expected", "before", or another run in which the case was tried.
    """
    cases = await cases_at(engine, run_id, [place])
    if not cases:
        keyed = await engine.store.read(partial(jobs.job_by_key, key=run_id))
        if keyed is not None and keyed.id != run_id:
            return await read_case_page(engine, keyed.id, place, beside=beside)
        raise NotFoundError("case of that run", f"{run_id} {place[0]}.{place[1]}", remedy="Start from the run's page.")
    case = cases[0]
    tried = await engine.store.read(lambda db: case_strip.tried(db, case.test_case_id, trial=case.trial, limit=RUNS))
    at = next((number for number, trial in enumerate(tried) if trial.run_id == run_id), None)
    earlier = tried[at - 1] if at else None
    before = await cases_at(engine, earlier.run_id, [earlier.place]) if earlier is not None else []
    page = await engine.store.read(partial(_page, case=case, run_id=run_id, place=place, tried=tried, before=before))
    return replace(page, beside=await _beside(engine, page, beside, place))


async def _beside(engine: Engine, page: CasePage, which: str, place: Place) -> Beside | None:
    """The text to compare the output with; of another column, what it said to the same test."""
    match which:
        case "":
            return None
        case "expected":
            text = "" if not page.case.expected else output_text(page.case.expected)
            return Beside(which=which, name="expected", text=text)
        case "before":
            if page.before is None:
                return None
            return Beside(which=which, name="the run before", text=page.before.either_trial.text)
        case _:
            other = await cases_at(engine, which, [place])
            if not other or other[0].test_case_id != page.case.test_case_id:
                raise NotFoundError("run of that case", which, remedy="Choose one of the page's columns.")
            return Beside(which=which, name=dict(page.columns).get(which, which), text=other[0].either_trial.text)


def _page(
    db: Db, *, case: ReportedCase, run_id: str, place: Place, tried: Sequence[case_strip.StripResult], before: list[ReportedCase]
) -> CasePage:  # fmt: skip
    job = kept_job(db, run_id)
    request = job.spec["request"]
    assert isinstance(request, dict)
    version_ref = request.get("promptVersionRef")
    version = version_ref if isinstance(version_ref, str) else None
    names = version_names(db, (version, *(trial.version for trial in tried)))
    at = next((number for number, trial in enumerate(tried) if trial.run_id == run_id), None)
    earlier = tried[at - 1] if at else None
    later = tried[at + 1] if at is not None and at + 1 < len(tried) else None
    previous, following = case_strip.neighbours(db, run_id, place)
    judged = [judgment.criterion_id for judgment in case.either_trial.judgments]
    titles = report_units.titles(db, [*judged, job.subject_id])
    record = records.get(db, case.test_case_id, TestCase)
    world = world_of_unit(db, job.id, case.test_case_id, case.trial)
    world_before = None
    if before and earlier is not None:
        world_before = world_of_unit(db, earlier.run_id, case.test_case_id, before[0].trial)
    return CasePage(
        case=case,
        run_id=run_id,
        at=f"{place[0]}.{place[1]}",
        run_title=titles.get(job.subject_id, job.subject_id),
        version=named(names, version),
        titles=titles,
        strip=tuple(_strip(trial, names) for trial in tried),
        flips=_flips(tried),
        before=before[0] if before else None,
        before_at="" if earlier is None else _address(earlier.run_id, earlier.place),
        before_version="" if earlier is None else named(names, earlier.version),
        checks=check_rows(case.either_trial, None if record is None else record.fields, case.expected, titles),
        columns=tuple(columns_of(db, job.subject_id, but=run_id)),
        beside=None,
        prompt=_prompt(db, version, case),
        steps=read_steps(case.either_trial.tool_calls, in_world=world is not None),
        steps_before=read_steps(before[0].either_trial.tool_calls, in_world=world_before is not None) if before else (),
        quoted=quoted_step(case),
        fault=fault_step(case),
        previous="" if previous is None else _address(run_id, previous),
        following="" if following is None else _address(run_id, following),
        earlier="" if earlier is None else _address(earlier.run_id, earlier.place),
        later="" if later is None else _address(later.run_id, later.place),
        user=_user(db, job, case),
        notes=notes_of(db, run_id, place),
        world=world,
    )


def _user(db: Db, job: Job, case: ReportedCase) -> PlayedUser | None:
    is_talk = messages_of(case.either_trial.output or {}) is not None
    return read_user(db, job.id, case_id=case.test_case_id, trial=case.trial) if is_talk else None


def _address(run_id: str, place: Place) -> str:
    """Returns where the page of a case is: its run and its place there, as in an address."""
    return f"{run_id} {place[0]}.{place[1]}"


def _strip(trial: case_strip.StripResult, names: dict[str, str]) -> PageCaseRun:
    return PageCaseRun(
        run_id=trial.run_id,
        at=f"{trial.place[0]}.{trial.place[1]}",
        when=trial.at,
        status="passed" if trial.passed else "failed",
        score=trial.score,
        version=named(names, trial.version),
    )


def _flips(tried: Sequence[case_strip.StripResult]) -> int:
    """Returns how often the case changed between passing and failing while its version stayed the same."""
    return sum(trial.passed != other.passed for trial, other in pairwise(tried) if trial.version == other.version)


def _prompt(db: Db, version: str | None, case: ReportedCase) -> str:
    """The prompt as it was sent, where its version is recorded and can be filled."""
    record = None if version is None else records.get(db, version, PromptVersion)
    if record is None or case.edited:
        return ""
    try:
        return version_text(record.fields, case.inputs)
    except BadInputError:  # a version that wants other inputs was not what was sent
        return ""


def fault_step(case: ReportedCase) -> int:
    """The number of the step that the cause of the failure puts at fault, 0 where it is the answer, or nothing known."""
    cause = case.either_trial.cause
    return 0 if cause is None or blames_answer(cause.root_cause) else quoted_step(case)


def quoted_step(case: ReportedCase) -> int:
    """The number of the step that the cause of the failure quotes, 0 where it quotes none."""
    cause = case.either_trial.cause
    match = None if cause is None or _POSSIBLE in cause.root_cause else _STEP.search(cause.root_cause)
    return 0 if match is None or int(match[1]) > len(case.either_trial.tool_calls) else int(match[1])


def read_steps(calls: Sequence[JsonValue], *, in_world: bool = False) -> tuple[TrajectoryStep, ...]:
    """The steps of a trajectory in order, with how deep each stands."""
    depths: dict[str, int] = {}
    steps: list[TrajectoryStep] = []
    for number, call in enumerate(calls, 1):
        step: Json = call if isinstance(call, dict) else {"result": call}
        parent = step.get("parentId")
        depth = depths.get(parent, -1) + 1 if isinstance(parent, str) else 0
        ident = step.get("id")
        if isinstance(ident, str):
            depths[ident] = depth
        steps.append(_step(number, step, depth, in_world=in_world))
    return tuple(steps)


def _step(number: int, step: Json, depth: int, *, in_world: bool) -> TrajectoryStep:
    duration, tokens = step.get("durationMs"), step.get("tokensUsed")
    return TrajectoryStep(
        number=number,
        tool=str(step.get("tool") or "step"),
        depth=depth,
        arguments=step.get("arguments"),
        result=step.get("result"),
        error=str(step.get("error") or ""),
        duration_ms=float(duration) if isinstance(duration, int | float) else None,
        tokens=tokens if isinstance(tokens, int) else None,
        agent=str(step.get("agent") or ""),
        extra=step.get("extra"),
        in_world=in_world,
    )
