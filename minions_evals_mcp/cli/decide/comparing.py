"""Comparing prompt versions, approving them, judging stored outputs anew."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.default_judge import say_default_judge
from minions_evals_mcp.cli.run.gates import BROKEN, gate_failed, undecided, unscored
from minions_evals_mcp.cli.run.run_options import RUN_DEFAULTS, RunOptions
from minions_evals_mcp.cli.run.showing import progress_line, show_summary
from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, kept_in, reply, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.seals import SealedVerdict
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.answers.comparison_summary import (
    ComparisonSummary,
    Margin,
    NonInferior,
    summarize_comparison,
)
from minions_evals_mcp.engine.answers.gates import comparison_gate, skipped_words, undecided_words
from minions_evals_mcp.engine.answers.names import in_sentence
from minions_evals_mcp.engine.request import RunSettings
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.operations import approve_prompt_version as approving
from minions_evals_mcp.operations import compare_versions as operation
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations import rejudge as rejudging
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id, with_whole_ids
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.store.queries.pages.listings import ids_beginning


@takes("compare", but=RunSettings.model_fields)
async def compare(
    id: str,  # noqa: A002  the argument's name
    other: str | None = None,
    /,
    *,
    given: GivenOptions,
    limit: Limit = 10,
    fail_on_regression: Annotated[bool, Parameter(negative="")] = False,
    literal: Annotated[bool, Parameter(negative="")] = False,
    allow_skipped: Annotated[bool, Parameter(negative="")] = False,
    explain: Annotated[bool, Parameter(negative="")] = False,
    margin: str | None = None,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Compare two prompt versions on a benchmark: which is better, and is that significant?

    Runs the benchmark under both versions on the same cases, or compares two stored runs. A benchmark alone: its two
    newest runs of different versions. With --fail-on-regression,
    exit 1 if the new version is significantly worse. Exit 3 if outputs could not be judged or there is too little
    data to decide.
    Example: minions-evals compare support/quality --from support/prompt@1 --to support/prompt@2

    Parameters
    ----------
    id
        The benchmark, or the first of two benchmark-runs, by id or key.
    other
        The second benchmark-run, by id or key.
    limit
        Maximum number of cases shown that got worse, and that got better.
    fail_on_regression
        Exit 1 if the new version is significantly worse, 3 if passes fell by more than 10 points on too few cases to decide.
    literal
        Fail on any drop of more than 10 points, even if it is not statistically significant.
    allow_skipped
        Evaluate the gate on the available outputs. Without this, missing outputs exit with 3.
    margin
        Ask whether the new version is worse by no more than this: a difference of the scores (0.02), or a share of the score in
        use now (5%). Exit 1 if it is worse by more, 3 if that is undecided.
    explain
        Also show the method: test, significance level, criteria, runs.
    """
    allowed = None if margin is None else Margin.parse(margin)
    gates = partial(_gate, literal=literal) if fail_on_regression else None
    async with options.session(common) as engine:
        pair = () if other else await _newest(engine, id, given, options, common)
        if pair:
            ident = (await operation.of_runs(engine, given.request(operation.Request, run_ids=pair))).id
        elif other is not None:
            if given.values["version_a"] or given.values["version_b"] or given.values["sequential"]:
                raise BadInputError(
                    "two runs take no versions to compare.", remedy="Leave --from, --to and --sequential out."
                )
            ident = (await operation.of_runs(engine, given.request(operation.Request, run_ids=(id, other)))).id
        else:
            verdict = await _run_both(engine, id, given, options, common)
            if verdict is None:
                return _waiting(common, gated=gates is not None)
            if isinstance(verdict, SealedVerdict):
                return _say_sealed(verdict, common, gated=gates is not None)
            ident = verdict
        summary = await summarize_comparison(engine, ident, limit=limit, margin=allowed)
        sides = [await get_run.summary(engine, run_id, limit=1) for run_id in (summary.run_a, summary.run_b)]
    if common.json:
        say(summary.model_dump(mode="json"))
    else:
        from minions_evals_mcp.report.comparisons import show_comparison  # noqa: PLC0415  rich is imported where a person looks

        show_comparison(summary, store=common.db, place=kept_in(common), explain=explain)
    if any(map(unscored, sides)):
        return BROKEN
    code = 0 if gates is None else gates(summary)
    if not code and summary.non_inferior is not None:
        code = _margin_gate(summary.non_inferior)
    if (
        gates is None or code or allow_skipped or given.values["sequential"]
    ):  # what was settled early left cases out on purpose
        return code
    return undecided(next((missing for side in sides if (missing := skipped_words(side))), ""))


def _margin_gate(found: NonInferior) -> int:
    """The exit code of the gate on the margin."""
    if found.gate == "failed":
        return gate_failed(found.in_words)
    tell(f"{found.in_words}\n", aside=True)
    return BROKEN if found.gate == "undecided" else 0


def _gate(summary: ComparisonSummary, *, literal: bool) -> int:
    """The exit code of the gate on the new version's fall."""
    match comparison_gate(summary, literal=literal):
        case "failed":
            a, b = (in_sentence(summary.names, version) for version in (summary.version_a, summary.version_b))
            return gate_failed(f"{b} is worse than {a}")
        case "undecided":
            tell(undecided_words(summary.passes.lost, summary.sample_size) + "\n", aside=True)
            return BROKEN
        case "held":
            return 0


async def _newest(
    engine: Engine, benchmark_id: str, given: GivenOptions, options: RunOptions, common: Common
) -> tuple[str, ...]:
    """The two newest runs of a benchmark that is named alone; says which. Empty where versions or options are given, or none are there."""
    if any(given.values[name] for name in ("version_a", "version_b", "sequential")) or options != RUN_DEFAULTS:
        return ()
    runs = await operation.newest_runs(engine, await whole_id(engine, benchmark_id, "benchmark"))
    if len(runs) < 2:
        return ()
    names = [f"{version} (run {short_id(run_id)})" for run_id, version in runs]
    if not common.json:
        tell(
            f"Comparing the two newest runs: {names[0]} and {names[1]}. Choose others with --from and --to.\n",
            aside=True,
        )
    return tuple(run_id for run_id, _ in runs)


async def _run_both(
    engine: Engine, benchmark_id: str, given: GivenOptions, options: RunOptions, common: Common
) -> str | SealedVerdict | None:
    """The comparison's id once both versions are run, or its verdict on sealed cases; None while outputs wait to be judged."""
    before, after = given.values["version_a"], given.values["version_b"]
    if before is None or after is None:
        missing = "--to is" if before else "--from is" if after else "--from and --to are"
        raise BadInputError(f"{missing} missing.", remedy=await _what_to_name(engine, benchmark_id))
    if options.prompt_version is not None:
        raise BadInputError("--from and --to name the prompt versions.", remedy="Leave --prompt-version out.")
    settings = options.values()
    asked = given.request(operation.Request, **settings, benchmark_id=benchmark_id)
    request = await with_whole_ids(engine, asked)
    with progress_line(common, engine, takes_key=True) as progress:
        comparison = await operation.run(engine, request, progress=progress)
    return comparison.id if isinstance(comparison, Record) else comparison


async def _what_to_name(engine: Engine, benchmark_id: str) -> str:
    """How to compare: by versions where the store has two, else the newest two runs, whatever they are of."""
    known = await engine.store.read(lambda db: ids_beginning(db, "prompt-version", "", limit=2))
    if len(known) > 1:
        return (
            f"Name both prompt versions (minions-evals compare {benchmark_id} --from {known[1]} --to {known[0]}),"
            " or two runs: compare RUN RUN."
        )
    pair = await operation.two_newest(engine, await whole_id(engine, benchmark_id, "benchmark"))
    if len(pair) < 2:
        return f"Name both prompt versions: minions-evals compare {benchmark_id} --from VERSION --to VERSION."
    runs = {"run_a": short_id(pair[0]), "run_b": short_id(pair[1])}
    return f"No prompt versions are recorded. {Next('diff', runs, 'compares the two newest runs case by case')}."


def _say_sealed(sealed: SealedVerdict, common: Common, *, gated: bool) -> int:
    """The verdict, which is all that is told of sealed cases; a gate fails where it is worse."""
    reply(common, sealed, [sealed.in_words])
    return gate_failed("the verdict is regressed") if gated and sealed.verdict == "regressed" else 0


def _waiting(common: Common, *, gated: bool) -> int:
    """Outputs wait for the caller or a person: the comparison is recorded with the last judgment; a gate is not checked."""
    reply(
        common,
        {"state": "awaiting-judgments"},
        [
            as_typed(
                "outputs wait to be judged: `minions-evals runs` shows the judgment requests, `submit` takes the answers"
            )
        ],
    )
    return BROKEN if gated else 0


@takes("rejudge")
async def rejudge(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    given: GivenOptions,
    judge_model: str | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Judge a benchmark-run's stored outputs again with another judge or the current rubric. No target is called.

    The new run is added. It does not count for trends and regressions.
    Example: minions-evals rejudge RUN --judge llm --judge-model anthropic:claude-sonnet-5-5

    Parameters
    ----------
    id
        The benchmark-run, by id or key.
    judge_model
        Judge model, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    """
    request = given.request(rejudging.Request, run_id=id)
    async with session(common, judge_model=judge_model) as engine:
        with progress_line(common, engine, takes_key=True) as progress:
            job = await rejudging.run(engine, request, progress=progress)
        say_default_judge(engine, job, common)
        summary = await get_run.summary(engine, job.id)
    show_summary(summary, common)
    return BROKEN if unscored(summary) else 0


@takes("approve")
async def approve(
    version: str,
    /,
    *,
    given: GivenOptions,
    refuse: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Approve a prompt version that a comparison shows to be better than the current one, or refuse it.

    Without that evidence the approval is refused, and the error names what is missing.
    Example: minions-evals approve support/prompt@2 --by maria

    Parameters
    ----------
    version
        The prompt version.
    refuse
        Record that the version is refused.
    """
    async with session(common) as engine:
        speaker = await speaker_at(engine, given.values["decided_by"] or "")
        if not speaker.name:
            raise BadInputError(
                "an approval needs the name of the person who decides.",
                remedy=f"minions-evals approve {version} --by YOUR-NAME",
            )
        asked = given.request(
            approving.Request,
            prompt_version_ref=version,
            decision="refused" if refuse else "approved",
            decided_by=speaker.name,
        )
        request = await with_whole_ids(engine, asked)
        decided = await approving.run(engine, request, by=speaker)
    judge, fields = decided.judge.brief(), decided.approval.fields
    if common.json:
        say({**decided.approval.wire(), "judge": judge})
    else:
        as_agent = "" if speaker.is_person else " (recorded as an agent: no person is identified here)"
        tell(f"{fields.prompt_version_ref} {fields.decision} by {speaker.name}{as_agent}: {fields.reason}\n")
        if judge["inWords"]:
            tell(printable(str(judge["inWords"]), 500) + "\n")
    return 0
