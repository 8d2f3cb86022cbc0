"""`evaluate`: a Python function run over cases on the same engine as everything else, kept, and compared with its last run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import ValidationError

from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.default_store import user_store
from minions_evals_mcp.domain.definitions import Json, World
from minions_evals_mcp.domain.request_fields import OF_A_FUNCTION
from minions_evals_mcp.engine.context import Engine, EngineConfig, OwnCheck, open_engine, uuid4
from minions_evals_mcp.engine.default_judge import default_judge
from minions_evals_mcp.engine.request import JudgeChoice, RunRequest
from minions_evals_mcp.engine.run.run_benchmark import StartedCases, start_benchmark
from minions_evals_mcp.errors import BadInputError, InstrumentError, ungrouped
from minions_evals_mcp.evaluation.case import Case, Cases
from minions_evals_mcp.evaluation.checks import PASSES_AT, Check, Checks, Function, NoAnswerError, Rubric, called
from minions_evals_mcp.evaluation.code_version import version_label, whole_source
from minions_evals_mcp.evaluation.figures import ResultOptions
from minions_evals_mcp.evaluation.records import Suite, evaluated_in, name_in, name_of, save_version
from minions_evals_mcp.evaluation.refusals import told_in_python
from minions_evals_mcp.evaluation.result import EvaluationResult, result_of
from minions_evals_mcp.evaluation.run_sync import run_sync
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.models.registry import parse_judges
from minions_evals_mcp.report.progress import ProgressShown, shown_progress
from minions_evals_mcp.scoring.checks import OwnVerdict, Unmet
from minions_evals_mcp.settings import settings_here
from minions_evals_mcp.stats.limits import Undecided
from minions_evals_mcp.targets.function.output import output_of
from minions_evals_mcp.targets.function.task import LAMBDA, function_name, task_of
from minions_evals_mcp.targets.function.tracing import Recorder, recording

JUDGES: tuple[str, ...] = get_args(JudgeChoice)


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of `evaluate`, vetted."""

    task: Callable[..., object]
    cases: Cases
    checks: Checks
    request: RunRequest
    name: str
    label: str
    source: str
    config: EngineConfig
    asked: ResultOptions
    progress: bool | None
    world: Mapping[str, object] | str | None = None


def evaluate(  # noqa: PLR0913  its parameters are the evaluation
    task: Callable[..., object],
    cases: Cases,
    *,
    checks: Sequence[Check] | Check | None = (),
    name: str | None = None,
    version: str | None = None,
    trials: int = 1,
    judge: str | None = None,
    concurrency: int | None = None,
    store: Path | str | None = None,
    max_cost_usd: float | None = None,
    threshold: float = PASSES_AT,
    min_pass_rate: float | None = None,
    fail_on_regression: bool = False,
    undecided: Undecided | None = None,
    literal: bool = False,
    key: str | None = None,
    progress: bool | None = None,
    world: Mapping[str, object] | str | None = None,
) -> EvaluationResult:
    """Runs the task over the cases, checks what it returns, keeps all of it and compares it with the last run of the name.

    `task` is given a case's inputs as keyword arguments, or as one mapping where it has one parameter; it returns a text,
    a mapping, an `Output`, or a list of messages. `checks`: the name of an assertion type whose value is what the case
    expects, a mapping {type, value, …}, a `Rubric`, or a function `(output, case) → bool | float | Score | Verdict`,
    or a mapping of several; without any, the expected text must stand in the output. `version` is by default the
    commit and a digest of the task's source and of your code that it calls. `judge` is `provider:model`. `key` names
    the run: the same key goes on where a run was stopped.
    `world` is what the task acts on: the fields of a world, or the id of one in the store; each case gets a fresh copy.
    `min_pass_rate` (0 to 1) fails where the rate and its whole interval are below it; where only the rate is, `passed` is None,
    unless `undecided` is "pass" or "fail", or `literal` compares the rate alone.
    Raises `BadInputError` before anything runs, `StoppedError` at a cap.
    Example: `evaluate(answer, [Case({"question": "Capital of France?"}, expected="Paris")], checks=["icontains"])`
    """
    try:
        return _waited(
            _vetted(
                task, cases, checks=checks, name=name, version=version, trials=trials, judge=judge, concurrency=concurrency,
                store=store, max_cost_usd=max_cost_usd, threshold=threshold, min_pass_rate=min_pass_rate,
                fail_on_regression=fail_on_regression, undecided=undecided, literal=literal, key=key, progress=progress,
                world=world,
            )
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001  raised again, without the frames that are none of the caller's
        raise told_in_python(error) from None


async def evaluate_async(task: Callable[..., object], cases: Cases, **options: Any) -> EvaluationResult:
    """As `evaluate`, from a running event loop: `await evaluate_async(answer, cases)`."""
    try:
        return await _evaluated(_vetted(task, cases, **options))
    except Exception as error:  # noqa: BLE001  as above
        raise told_in_python(error) from None


def _waited(call: _Call) -> EvaluationResult:
    try:
        return run_sync(partial(_evaluated, call))
    except KeyboardInterrupt:
        sys.stderr.write(f"Interrupted. Progress is saved. Resume with evaluate(…, key={call.request.key!r}).\n")
        raise


def _vetted(  # noqa: PLR0913  as above
    task: Callable[..., object],
    cases: Cases,
    *,
    checks: Sequence[Check] | Check | None = (),
    name: str | None = None,
    version: str | None = None,
    trials: int = 1,
    judge: str | None = None,
    concurrency: int | None = None,
    store: Path | str | None = None,
    max_cost_usd: float | None = None,
    threshold: float = PASSES_AT,
    min_pass_rate: float | None = None,
    fail_on_regression: bool = False,
    undecided: Undecided | None = None,
    literal: bool = False,
    key: str | None = None,
    progress: bool | None = None,
    world: Mapping[str, object] | str | None = None,
) -> _Call:
    if not callable(task):
        raise BadInputError(f"the task is a {type(task).__name__}, no function.", remedy="Give the function itself.")
    if min_pass_rate is not None and not 0 <= min_pass_rate <= 1:
        raise BadInputError(f"min_pass_rate is {min_pass_rate:g}.", remedy="Give a share from 0 to 1.")
    if undecided not in {None, "pass", "fail"}:
        raise BadInputError(f"undecided is {undecided!r}.", remedy="Give 'pass' or 'fail', or leave it out.")
    alone = isinstance(checks, str | Mapping | Rubric) or callable(checks)
    all_checks = (cast("Check", checks),) if alone else tuple(cast("Sequence[Check]", checks or ()))
    subject = name_of(name or _name(task))
    chosen = Chosen(
        db=None if store is None else Path(store),
        judge_model=None if judge in JUDGES else judge,
        concurrency=concurrency,
    )
    if chosen.judge_model is not None:
        parse_judges(chosen.judge_model)
    config = engine_config(settings_here(), chosen)
    asked_judge = cast("JudgeChoice", judge) if judge in JUDGES else "auto"
    request = _request(subject, judge=asked_judge, trials=trials, key=key, max_cost_usd=max_cost_usd)
    request = request.model_copy(update={"key": key or f"{subject}/{uuid4()}"})  # known to whoever interrupts it
    has_judge = config.judge_model is not None or default_judge(config.providers) is not None
    options = ResultOptions(
        min_pass_rate, fail_on_regression, config, undecided=undecided, literal=literal,
        is_default_store=store is None, lacks_judge=asked_judge == "auto" and not has_judge,
    )  # fmt: skip
    source = whole_source(task)
    label = version or version_label(task, source)
    grades = asked_judge == "llm" or (asked_judge == "auto" and has_judge)
    return _Call(
        task,
        cases,
        Checks(all_checks, threshold, grades),
        request,
        subject,
        label,
        source,
        config,
        options,
        progress,
        world,
    )


def _name(task: Callable[..., object]) -> str:
    """The name that its runs are compared under."""
    name = function_name(task)
    if name == LAMBDA:
        raise BadInputError(
            "a lambda has no name under which its runs can be compared.",
            remedy='Give one: evaluate(…, name="geography").',
        )
    return name


def _request(subject: str, **arguments: Any) -> RunRequest:
    try:
        return RunRequest(subject_id=subject, triggered_by="python", **arguments)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        raise BadInputError(
            f"{field} is {first['input']!r}: {first['msg'].lower()}.", remedy=f"Give another {field}, or leave it out."
        ) from None


async def _evaluated(call: _Call) -> EvaluationResult:
    with shown_progress(shown=call.progress) as progress:
        async with open_engine(call.config) as engine:
            with ungrouped():
                return await _in(engine, call, progress)


async def _in(engine: Engine, call: _Call, progress: ProgressShown) -> EvaluationResult:
    progress.phase("saving the cases")
    folder = Path.cwd() if call.asked.is_default_store and call.config.db == user_store() else None
    if folder is not None:
        call = await _named_in(engine, call, folder)
    task = task_of(call.task, call.name, deadline_s=call.config.call_timeout_s, width=call.config.concurrency)
    suite = Suite(engine, call.name, call.checks, task, "" if folder is None else evaluated_in(folder))
    world = None if call.world is None else await suite.save_world(call.world)
    await suite.save(call.cases)
    version = await save_version(engine, call.name, call.label, call.source)
    if isinstance(call.world, Mapping):  # whoever writes the program agrees to what it names
        engine = replace(engine, config=replace(engine.config, agreed_worlds=partial(_is_own, world)))
    engine = replace(engine, own_checks=own_checks(call.checks, suite.known), watch=progress.stands)
    request = call.request.model_copy(
        update={
            "prompt_version_ref": version,
            "target": f"{OF_A_FUNCTION}{call.name}",
            "world": world,
        }
    )
    started = await start_benchmark(engine, request, target=lambda _: task)
    problem = await _carried_out(started, progress)
    return await result_of(engine, started.job.id, call.asked, problem=problem)


async def _named_in(engine: Engine, call: _Call, folder: Path) -> _Call:
    """The call under a name that no other folder's evaluation has: the two would be compared."""
    name = await name_in(engine, call.name, folder)
    if name == call.name:
        return call
    request = call.request.model_copy(update={"subject_id": name})
    return replace(call, name=name, request=request, asked=replace(call.asked, taken_name=call.name))


def _is_own(own: str | None, ident: str, _world: World) -> bool:
    return ident == own


async def _carried_out(started: StartedCases, progress: ProgressShown) -> str:
    """Runs the cases; the instrument's failure, if it failed: that is told in the result."""
    try:
        await started.finish(progress.ended)
    except (InstrumentError, BadInputError) as error:
        return error.message_text
    return ""


def own_checks(checks: Checks, known: dict[str, Case]) -> dict[str, OwnCheck]:
    """The user's functions among the checks, by their names, asked about an output beside its case."""
    return {name: partial(_own_verdict, name, function, known) for name, function in checks.functions.items()}


async def _own_verdict(name: str, function: Function, known: dict[str, Case], work: Work) -> OwnVerdict | Unmet:
    """Returns what a function of the user's says of an output; what it raises is no verdict."""
    case = known.get(work.case_id) or Case(work.inputs, _expected(work.expected), id=work.case_id.rpartition("/")[2])
    try:
        with recording(Recorder()):  # a tool that a check calls is no call of an output
            verdict = await called(function, output_of(work.observed), case)
    except NoAnswerError as error:
        return Unmet(f"{name}: {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything
        return Unmet(f"{name} raised {type(error).__name__}: {error}")
    if verdict.passed is None and verdict.score is None and not verdict.parts:
        return Unmet(f"{name}: {verdict.reason or 'it cannot be judged'}", not_judgeable=True)
    return verdict


def _expected(expected: Json | None) -> object:
    return expected["output"] if expected is not None and expected.keys() == {"output"} else expected
