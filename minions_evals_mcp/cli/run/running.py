"""Running, judging, handing in."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import anyio
from cyclopts import Parameter, validators
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.cli.run.agreeing import vet_agreed
from minions_evals_mcp.cli.run.choosing import WHOLE, Choice
from minions_evals_mcp.cli.run.default_judge import say_default_judge
from minions_evals_mcp.cli.run.targeting import read_target
from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, kept_in, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.providers import examples
from minions_evals_mcp.domain.results import UNSCORED, Outcome
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.gates import (
    regression_gate,
    skipped_words,
    stays_red,
    undecided_words,
    unscored_words,
)
from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import LATEST, comparison_of, get_job, with_gone
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.pipeline import Place, here
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark as carry_out_benchmark
from minions_evals_mcp.engine.run.run_test_case import run_test_case as carry_out_case
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.report.progress import shown_progress
from minions_evals_mcp.settings import settings_here
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.run_lines import RunLine, run_lines
from minions_evals_mcp.store.queries.run_pairs import comparison
from minions_evals_mcp.targets.own import OwnTarget

GATE = 1
BROKEN = 3
Positive = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=1000))]
Fraction = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]
Judge = Literal["auto", "heuristic", "llm", "human", "caller"]


@Parameter(name="*")
@frozen_type
class RunOptions:
    """The options of a run."""

    prompt_version: Annotated[
        str | None,
        Parameter(
            help="The prompt version: its id, PROMPT@NUMBER, PROMPT@latest, or the number alone. Else each case's own, else the"
            " latest of its prompt."
        ),
    ] = None
    judge: Annotated[
        Judge,
        Parameter(
            help="auto: each criterion's own; heuristic: rules; llm; human; caller: you judge what is handed out."
        ),
    ] = "auto"
    judge_model: Annotated[str | None, Parameter(help="Who judges, as provider:model (MINIONS_EVALS_JUDGE_MODEL).")] = (
        None
    )
    target: Annotated[
        str | None,
        Parameter(
            help=f"Makes outputs where none is recorded: {examples()}, python:module:function,"
            " http://HOST/PATH, 'command:PROGRAM ARGUMENTS' (your own application: JSON in, JSON or text out)."
        ),
    ] = None
    target_config: Annotated[
        Path | None, Parameter(help="A YAML file that says how your own application is called, as http: or command:.")
    ] = None
    trials: Annotated[Positive | None, Parameter(help="How often each case is run (else once).")] = None
    key: Annotated[str | None, Parameter(help="Names the run: the same key resumes it and judges nothing twice.")] = (
        None
    )
    fresh: Annotated[bool, Parameter(help="Pay for every judgment again, even where one is kept.", negative="")] = False
    concurrency: Annotated[
        Positive | None, Parameter(help="So many cases at once (MINIONS_EVALS_CONCURRENCY, else 16).")
    ] = None
    trust_code: Annotated[
        bool,
        Parameter(
            help="Run the code of assertions with the real interpreters, which can do whatever you can.", negative=""
        ),
    ] = False
    max_cost_usd: Annotated[
        float | None,
        Parameter(
            help="Stop before more dollars are spent on models, or on your own application, where it says what its outputs cost."
        ),
    ] = None
    max_seconds: Annotated[float | None, Parameter(help="Start no further call after so many seconds.")] = None
    embedder: Annotated[
        str | None,
        Parameter(
            help="Measures likeness: wordllama, semantic, openai:MODEL (MINIONS_EVALS_EMBEDDER, else wordllama)."
        ),
    ] = None
    yes: Annotated[
        bool, Parameter(help="Agree to the project file's target that runs a program or calls an address.", negative="")
    ] = False
    triggered_by: Annotated[str, Parameter(help="Who asks: an agent's, a person's or a schedule's id.")] = (
        "command-line"
    )

    def request(self, subject_id: str, *, agent_run_id: str | None = None, cache: bool = False) -> RunRequest:
        """The run that these options ask for."""
        max_cost_usd, max_seconds = self._caps()
        try:
            return RunRequest(
                subject_id=subject_id,
                agent_run_id=agent_run_id,
                prompt_version_ref=self.prompt_version,
                judge=self.judge,
                target=self.target_name(),
                trials=self.trials or 1,
                fresh=self.fresh,
                cache=cache,
                triggered_by=self.triggered_by,
                key=self.key,
                max_cost_usd=max_cost_usd,
                max_seconds=max_seconds,
            )
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem = first["msg"].removeprefix("Value error, ")
            raise BadInputError(
                f"{_option(str(first['loc'][0]))}: {problem}." if first["loc"] else f"--{problem}.",
                remedy="--help shows what an option takes.",
            ) from None

    def target_name(self) -> str | None:
        """The target that is asked for: the one that is named, set up in a file, or the project's.

        Raises `BadInputError` for two of them, and for a project's that runs code and was not agreed to.
        """
        if self.target_config is None:
            return self.target or self._of_project()
        if self.target is not None:
            raise BadInputError("--target and --target-config both name a target.", remedy="Give one of them.")
        return read_target(self.target_config).name

    def _of_project(self) -> str | None:
        project = settings_here().project
        if project is None or (project.fields.target is None and project.fields.target_config is None):
            return None
        vet_agreed(project, yes=self.yes)
        if str(project.folder) not in sys.path:
            sys.path.insert(0, str(project.folder))  # a python: target stands beside the file
        if project.fields.target_config is not None:
            return read_target(project.path(project.fields.target_config)).name
        return project.fields.target

    def _own_target(self) -> OwnTarget | None:
        if self.target_config is not None:
            return read_target(self.target_config)
        project = settings_here().project
        if project is None or project.fields.target_config is None or self.target is not None:
            return None
        return read_target(project.path(project.fields.target_config))

    def _caps(self) -> tuple[float | None, float | None]:
        """The caps of the command line, else the project's."""
        project = settings_here().project
        own = None if project is None else project.fields.caps
        cost, seconds = self.max_cost_usd, self.max_seconds  # 0 is refused where it is read, not passed over
        if own is None:
            return cost, seconds
        return own.max_cost_usd if cost is None else cost, own.max_seconds if seconds is None else seconds

    def session(
        self, common: Common, *, own_target: OwnTarget | None = None, makes: bool = False
    ) -> AbstractAsyncContextManager[Engine]:
        """An open engine that is set up by these options; `own_target` stands for the target that they name."""
        return session(
            common,
            judge_model=self.judge_model,
            concurrency=self.concurrency,
            embedder=self.embedder,
            trust_code=self.trust_code,
            own_target=own_target or self._own_target(),
            makes=makes,
        )


def _option(field: str) -> str:
    """A field of the request as it stands on the command line."""
    return "ID" if field == "subject_id" else "--" + field.removesuffix("_id").removesuffix("_ref").replace("_", "-")


RUN_DEFAULTS = RunOptions()


async def run_test_case(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    agent_run: str | None = None,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Judge one output of one test case and keep the judgment.

    The output is the named agent-run's, else the newest recorded one's with the same inputs, else the target's.
    Exit 1 if it failed, 3 if it could not be judged.
    Example: minions-evals run-test-case support/refund-within-window

    Parameters
    ----------
    id
        The test case.
    agent_run
        Judge the output of this recorded agent-run.
    """
    request = options.request(id, agent_run_id=agent_run)
    async with options.session(common) as engine:
        case_id = await meant_id(engine, id, "test-case")
        return await run_case(engine, request.model_copy(update={"subject_id": case_id}), common)


def say_complete(job: Job, began: datetime, common: Common) -> None:
    """Says of a run that was complete before the command began that nothing was done for it now."""
    if job.state == "completed" and job.updated_at < began and not common.json:
        tell(
            f"The run under the key {job.key} is complete since {iso(job.updated_at)}: nothing was judged now.\n",
            aside=True,
        )


async def run_case(engine: Engine, request: RunRequest, common: Common) -> int:
    """Runs one test case and shows what came of it; the exit code."""
    began = engine.clock()
    with progress_line(common, engine) as progress:
        job = await carry_out_case(engine, request, progress=progress)
    say_complete(job, began, common)
    say_default_judge(engine, job, common)
    summary = await summarize(engine, job.id)
    show_summary(summary, common)
    if unscored(summary):
        return BROKEN
    return GATE if summary.failures else 0


async def run_benchmark(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    min_score: Fraction | None = None,
    fail_on_regression: Annotated[bool, Parameter(negative="")] = False,
    literal: Annotated[bool, Parameter(negative="")] = False,
    allow_skipped: Annotated[bool, Parameter(negative="")] = False,
    cluster: str | None = None,
    choice: Choice = WHOLE,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Run a benchmark: judge every case, record the run, tell a regression at once.

    Exit 1 if a gate failed (--min-score, --fail-on-regression), 3 if an output could not be judged or a gate not decided.
    A run of chosen cases is kept as such: it is no point of the trend, and later runs are not compared with it.
    Example: minions-evals run-benchmark support/quality --prompt-version support/prompt@2 --fail-on-regression

    Parameters
    ----------
    id
        The benchmark.
    min_score
        Exit 1 if the overall score (0 to 1) is below this.
    fail_on_regression
        Exit 1 if the pass rate fell by more than the skill's limit (10 points) since the last run that held, and by
        more than chance and the noise floor that `calibrate` found; 3 if too few cases changed to tell, and all got worse.
        It stays so until a run is better, or `accept RUN`.
    literal
        Let --fail-on-regression fail on the limit alone, whatever chance can do.
    allow_skipped
        Let the gates hold over the outputs that are there; else exit 3 where a case has none.
    cluster
        Let the workers of a dask cluster carry it out: tcp://HOST:8786, tls://HOST:8786, or local:4 for four processes here.
        Trusted machines only, for they run what they are sent. --concurrency then counts for each worker.
    """
    gates = partial(
        gate, min_score=min_score, fail_on_regression=fail_on_regression, literal=literal, allow_skipped=allow_skipped
    )
    request = options.request(id, cache=choice.cache)
    async with options.session(common) as engine:
        began = engine.clock()
        benchmark = await meant_id(engine, id, "benchmark")
        request = await choice.narrowed(engine, request.model_copy(update={"subject_id": benchmark}))
        async with _place(engine, request, cluster) as place:
            with progress_line(common, engine) as progress:
                job = await carry_out_benchmark(engine, request, progress=progress, place=place)
        say_complete(job, began, common)
        say_default_judge(engine, job, common)
        summary = await summarize(engine, job.id)
    show_summary(summary, common)
    return gates(summary)


@asynccontextmanager
async def _place(engine: Engine, request: RunRequest, cluster: str | None) -> AsyncGenerator[Place]:
    """Yields where the run is carried out: here, or on that cluster."""
    if cluster is None:
        yield here
        return
    from minions_evals_mcp.cluster.address import parse_cluster  # noqa: PLC0415  as rare as clusters are

    parse_cluster(cluster)  # says what is missing before it is imported
    from minions_evals_mcp.cluster.place import open_cluster  # noqa: PLC0415  an extra, and slow

    async with open_cluster(engine, request, cluster) as place:
        yield place


def gate(
    summary: RunSummary,
    *,
    min_score: float | None,
    fail_on_regression: bool,
    literal: bool = False,
    allow_skipped: bool = False,
) -> int:
    """The exit code of a benchmark-run: an instrument that failed, or a gate that could not be checked, before one that did."""
    if unscored(summary):
        return undecided(unscored_words(summary))
    fields = summary.benchmark_run
    if fields is None:  # outputs wait to be judged
        return BROKEN if min_score is not None or fail_on_regression else 0
    score = fields["overallScore"]
    assert isinstance(score, float)
    fallen = regression_gate(summary, literal=literal) if fail_on_regression else "held"
    reasons: list[str] = []
    if min_score is not None and score < min_score:
        rounded = f"{score:.3f}"
        reasons.append(f"score {rounded if float(rounded) < min_score else score} < {min_score:g}")
    if fallen == "failed":
        assert summary.regression is not None
        reasons.append(
            f"the pass rate fell since {summary.regression['previousRunId']}. {as_typed(stays_red(summary.run_id))}"
        )
    if reasons:
        return gate_failed("; ".join(reasons))
    if fallen == "undecided":
        assert summary.regression is not None
        sentence = undecided_words(summary.regression["worse"], summary.regression["cases"])
        tell(f"{sentence} {as_typed(stays_red(summary.run_id))}\n", aside=True)
        return BROKEN
    if fail_on_regression and summary.trend is not None and "slowFall" in summary.trend:
        tell(
            f"warning: {summary.trend['slowFall']}; no single step is a regression, so no gate fails for it\n",
            aside=True,
        )
    is_gated = min_score is not None or fail_on_regression
    return undecided(skipped_words(summary) if is_gated and not allow_skipped else "")


def undecided(why: str) -> int:
    """The exit code of a gate that held, unless something says that it could not be decided: that is told."""
    if not why:
        return 0
    tell(f"{why}\n", aside=True)
    return BROKEN


def gate_failed(why: str) -> int:
    """The exit code of a gate that failed, once it is told why."""
    tell(f"gate failed: {why}\n", aside=True)
    return GATE


def unscored(summary: RunSummary) -> bool:
    """Returns whether an output could not be judged."""
    return any(summary.outcomes.get(outcome) for outcome in UNSCORED)


@contextmanager
def progress_line(common: Common, engine: Engine) -> Generator[Callable[[Outcome], Awaitable[None]]]:
    """Shows on standard error how far the engine's runs are; not for programs, nor with --quiet."""
    with shown_progress(shown=False if common.json or common.quiet else None) as progress:
        engine.watch = progress.stands
        yield progress.ended


def show_summary(summary: RunSummary, common: Common) -> None:
    """A run's summary on stdout, for a program or for a person."""
    if common.json:
        say(summary.model_dump(mode="json"))
        return
    from minions_evals_mcp.report.tables import show_run  # noqa: PLC0415  rich is imported where a person looks

    show_run(summary, store=common.db, kept=kept_in(common))


async def runs(id: str | None = None, /, *, limit: Limit = 20, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Show the newest runs, or one: how far it is, what failed, and the outputs that wait to be judged.

    Example: minions-evals runs --json

    Parameters
    ----------
    id
        One run, by id, the beginning of its id, its key, or latest.
    limit
        At most so many runs; of one run so many failures and judgment requests.
    """
    async with session(common) as engine:
        if id is not None:
            return await _one_run(engine, id, limit, common)
        lines, names = await engine.store.read(partial(_named_lines, limit=limit))
        lines = [replace(line, job=with_gone(engine, line.job)) for line in lines]
    if common.json:
        say({"runs": [_job_line(line) for line in lines]})
        return 0
    if not lines:
        tell(as_typed("no runs yet; `minions-evals run-benchmark ID` makes one\n"))
        return 0
    from minions_evals_mcp.report.tables import show_jobs  # noqa: PLC0415  rich is imported where a person looks

    show_jobs(lines, names)
    return 0


def _named_lines(db: Db, *, limit: int) -> tuple[list[RunLine], dict[str, str]]:
    lines = run_lines(db, limit=limit)
    return lines, version_names(db, (ident for line in lines for ident in (line.version, line.job.subject_id)))


async def _one_run(engine: Engine, ident: str, limit: int, common: Common) -> int:
    """Shows a run; of a comparison that is made its verdict, which is also what `latest` means of a side of one."""
    job = await get_job(engine, ident)
    job = await comparison_of(engine, job) if ident == LATEST else job
    if common.json or await engine.store.read(lambda db: comparison(db, job.id)) is None:
        show_summary(await summarize(engine, job.id, limit=limit), common)
        return 0
    from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison  # noqa: PLC0415  as below
    from minions_evals_mcp.report.comparisons import show_comparison  # noqa: PLC0415  rich is imported where a person looks

    compared = await summarize_comparison(engine, job.id, limit=limit)
    show_comparison(compared, store=common.db, kept=kept_in(common))
    return 0


def _job_line(line: RunLine) -> dict[str, JsonValue]:
    job = line.job
    return {
        "runId": job.id, "key": job.key, "kind": job.kind, "subjectId": job.subject_id, "state": job.state,
        "reason": job.reason, "units": job.total, "startedAt": iso(job.created_at),
        "score": line.score, "passedCount": line.passed_count, "totalCount": line.total_count,
        "promptVersionRef": line.version, "target": line.target, "costUsd": line.cost_usd,
    }  # fmt: skip


async def submit(file: Annotated[str, Parameter(allow_leading_hyphen=True)], /, *, common: Common = DEFAULTS) -> int:
    """Hand in judgments that a run asked for (`minions-evals runs RUN --json` shows them).

    The file is {runId, judgedBy, packets: [{digest, judgments: [{criterionId, score, rationale, confidence?}]}]}.
    Example: minions-evals submit judgments.json

    Parameters
    ----------
    file
        JSON; `-` is standard input.
    """
    try:
        text = sys.stdin.buffer.read() if file == "-" else await anyio.Path(file).read_bytes()
        submission = Submission.model_validate_json(text.removeprefix(BOM_UTF8))
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInputError(
            f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
            remedy="minions-evals submit --help shows the form.",
        ) from None
    async with session(common) as engine:
        speaking = engine.speaking(await speaker_at(engine))
        job = await submit_judgments(speaking, submission)
        summary = await summarize(engine, job.id)
    show_summary(summary, common)
    return 0
