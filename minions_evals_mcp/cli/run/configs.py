"""Configs of promptfoo, run as they stand."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import redirect_stdout
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import uuid4

from cyclopts import Parameter

from minions_evals_mcp.bounded_files import vet_no_store
from minions_evals_mcp.cli.run.agreeing import vet_config
from minions_evals_mcp.cli.run.eval_options import branch_here, narrowed, variables_given
from minions_evals_mcp.cli.run.gates import BROKEN, GATE, gate_failed, undecided
from minions_evals_mcp.cli.run.run_options import Fraction, Positive
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, engine_config, kept_in, run, say, session
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.domain.values import Value, iso, minute
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions, Evaluation
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.context import Engine, wall_clock
from minions_evals_mcp.engine.default_judge import default_embedder, default_judge
from minions_evals_mcp.engine.jobs import LATEST, get_job
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.promptfoo_config.options import WRITTEN
from minions_evals_mcp.known_secrets import remember_named
from minions_evals_mcp.operations.evaluations import ColumnGate
from minions_evals_mcp.operations.evaluations import gates as column_gates
from minions_evals_mcp.report.matrix.verdict import apart_words, column_words, pass_rate_gates, whole_pass_rate_gate
from minions_evals_mcp.settings import every_variable, named_variables, settings_here, use_env_file

INTERRUPTED = 130
SHOWN = 25


class _How(Value):
    """The options of running and showing the config."""

    out: tuple[Path, ...]
    limit: int
    verbose: bool
    fail: bool
    min_pass_rate: float | None
    fail_on_regression: bool
    baseline: str | None
    judge_model: str | None
    concurrency: int | None
    embedder: str | None
    trust_code: bool

    @property
    def asks_gate(self) -> bool:
        """Whether an option decides when the command fails."""
        return self.fail or self.fail_on_regression or self.min_pass_rate is not None


def eval_(
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    *,
    prompt: Annotated[tuple[str, ...], Parameter(name=["--prompt", "--prompts", "-p"], negative="")] = (),
    provider: Annotated[tuple[str, ...], Parameter(name=["--provider", "--providers", "-r"], negative="")] = (),
    tests: Annotated[tuple[Path, ...], Parameter(name=["--tests", "-t"], negative="")] = (),
    var: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    env_file: Annotated[Path | None, Parameter(name=["--env-file", "--env-path"])] = None,
    filter_pattern: str | None = None,
    filter_failing: str | None = None,
    filter_first_n: Annotated[Positive | None, Parameter(name=["--filter-first-n", "-n"])] = None,
    repeat: Positive | None = None,
    out: Annotated[tuple[Path, ...], Parameter(name=["--out", "--output", "-o"], negative="")] = (),
    allow_unsupported: Annotated[bool, Parameter(negative="")] = False,
    fail: Annotated[bool, Parameter(negative="")] = False,
    min_pass_rate: Fraction | None = None,
    fail_on_regression: Annotated[bool, Parameter(negative="")] = False,
    baseline: str | None = None,
    cache: Annotated[bool, Parameter(negative="--no-cache")] = True,
    key: str | None = None,
    max_cost_usd: float | None = None,
    max_seconds: float | None = None,
    judge_model: Annotated[str | None, Parameter(name=["--judge-model", "--grader"])] = None,
    concurrency: Annotated[Positive | None, Parameter(name=["--concurrency", "--max-concurrency", "-j"])] = None,
    verbose: Annotated[bool, Parameter(negative="")] = False,
    embedder: str | None = None,
    trust_code: Annotated[bool, Parameter(negative="")] = False,
    yes: Annotated[bool, Parameter(negative="")] = False,
    limit: Limit = SHOWN,
    common: Common = DEFAULTS,
) -> int:
    """Run a promptfoo config as it is: every prompt with every provider on every test, as a matrix of outputs.

    A config with an unsupported feature is refused before anything runs, and the error names the feature. Every cell
    is saved, so the same command resumes an interrupted evaluation. Outputs are cached by provider, prompt, variables
    and options. Exit 3 if an output could not be generated, judged or chosen. With --fail, exit 1 if a test failed, 3
    if one has no verdict.
    Example: minions-evals eval promptfooconfig.yaml -o results.json

    Parameters
    ----------
    config
        The config, with or without the option name (default: promptfooconfig.yaml, .yml or .json in this folder). The
        Python files, programs and addresses that it names are run or called, so read it first.
    prompt
        A prompt, or a file of prompts, in place of the config's. Repeatable.
    provider
        A provider in place of the config's. Repeatable.
    tests
        A file of tests (YAML, JSON, JSONL or CSV) to use instead of the config's. Repeatable.
    var
        NAME=VALUE, a variable for every test that does not set it. Repeatable.
    env_file
        A file of environment variables. They replace existing ones of the same name.
    filter_pattern
        Evaluate only the tests whose description matches this regular expression.
    filter_failing
        Evaluate only the tests that failed: in a results file (.json), or in a stored evaluation (eval/…).
    filter_first_n
        Evaluate only this many tests, from the first.
    repeat
        Number of times that each test is run (else the config's evaluateOptions.repeat).
    out
        Also write the results to a file: .json, .jsonl or .yaml like promptfoo, the matrix as .html, .md or .csv,
        JUnit as .xml. Repeatable. Missing folders are created.
    allow_unsupported
        List what is not supported, and leave it out.
    fail
        Exit 1 if an output failed. If a test selects among its outputs, only the selected one counts.
    cache
        Use cached outputs. With --no-cache every provider is called again.
    min_pass_rate
        Exit 1 if the pass rate of a column (0 to 1) is significantly below this, 3 if more tests would decide.
    fail_on_regression
        Exit 1 if a column passes significantly fewer tests than in the baseline, 3 if too few tests changed to decide.
    baseline
        The baseline of --fail-on-regression: a branch of the repository, or a run (default: the last evaluation of
        this config).
    key
        Names the evaluation. A new key runs an unchanged config again, without the cache.
    max_cost_usd
        Stop before spending more than this, over all columns.
    max_seconds
        Start no further call of a column after this many seconds.
    judge_model
        Model that grades llm-rubric, factuality and select-best, as provider:model (default: the config's, else
        MINIONS_EVALS_JUDGE_MODEL).
    concurrency
        Maximum number of tests run in parallel (default: the config's maxConcurrency).
    embedder
        Embedder for similarity: wordllama, semantic, openai:MODEL.
    trust_code
        Run the code of assertions and transforms outside the sandbox, with all your permissions.
    yes
        Consent to everything the config names: programs, code, addresses, environment variables, outside paths.
    verbose
        Show every test, with the reason of each check.
    limit
        Maximum number of tests shown. Files contain all.
    """
    how = _How(
        out=out, limit=sys.maxsize if verbose else limit, verbose=verbose, fail=fail,
        min_pass_rate=min_pass_rate, fail_on_regression=fail_on_regression, baseline=baseline, judge_model=judge_model,
        concurrency=concurrency, embedder=embedder, trust_code=trust_code,
    )  # fmt: skip
    if env_file is not None:
        use_env_file(env_file)
    settings = settings_here()
    configured = engine_config(common, settings, judge_model=judge_model, embedder=embedder)
    overrides = ConfigOverrides(
        prompt, provider, allow_unsupported, judge_model, embedder, every_variable(),
        has_judge=configured.judge_model is not None or default_judge(configured.providers) is not None,
        default_embedder=None if embedder or settings.embedder else default_embedder(configured.providers),
        trust_code=trust_code, tests=tuple(str(file.resolve()) for file in tests), variables=variables_given(var),
        repeat=repeat, narrowed=narrowed(filter_pattern, filter_first_n, filter_failing, common),
    )  # fmt: skip
    path = config or _config_here()
    vet_config(path, yes=yes or trust_code)
    try:
        evaluation = read_config(
            path, now=wall_clock(), overrides=overrides
        )  # its code may run long: Ctrl-C ends it here
        uses_cache = cache and evaluation.caches
        limits = EvalOptions(
            key if uses_cache or key else str(uuid4()),
            max_cost_usd,
            max_seconds,
            cache=uses_cache and key is None,
            branch=branch_here(),
        )
        return run(partial(_eval, evaluation, how, limits, common))
    except KeyboardInterrupt:
        tell("Interrupted. Progress is saved. Run the same command to resume.\n", aside=True)
        return INTERRUPTED


def _config_here() -> Path:
    """The config of this folder, under the name that promptfoo looks for."""
    here = [Path(f"promptfooconfig{suffix}") for suffix in (".yaml", ".yml", ".json")]
    for config in here:
        if config.is_file():
            return config
    raise BadInputError(
        "no config given, and there is no promptfooconfig.yaml in this folder.",
        remedy="Name one: minions-evals eval CONFIG",
    )


async def _eval(evaluation: Evaluation, how: _How, limits: EvalOptions, common: Common) -> int:
    paths = [*how.out, *map(Path, evaluation.output_paths)]
    for path in paths:
        if path.suffix.lower() not in WRITTEN:
            forms = f"Write to a file of {' or '.join(WRITTEN)}."
            raise BadInputError(f"unsupported output format {path.suffix or '(no suffix)'}: {path}", remedy=forms)
    environment = {**named_variables(sorted(evaluation.variables)), **evaluation.given_variables}
    remember_named(environment)
    with redirect_stdout(sys.stderr):  # what the config's code prints is no part of the answer
        matrix, gates = await _evaluated(evaluation, environment, how, limits, common)
    for path in paths:
        _write(path, matrix, evaluation)
    if common.json:
        from minions_evals_mcp.report.matrix.matrices import matrix_json  # noqa: PLC0415  rich is imported where it is needed

        say(matrix_json(matrix))
    else:
        from minions_evals_mcp.report.matrix.matrices import show_matrix  # noqa: PLC0415  as above

        show_matrix(matrix, limit=how.limit, verbose=how.verbose, store=common.db, place=kept_in(common))
    code = _code(matrix, how, gates) or _whole_code(matrix, evaluation)
    if code == 0 and not how.asks_gate and evaluation.pass_rate is None and not sys.stdout.isatty():
        _say_ungated(matrix)
    return code


async def _evaluated(
    evaluation: Evaluation, environment: dict[str, str], how: _How, limits: EvalOptions, common: Common
) -> tuple[Matrix, list[ColumnGate] | None]:
    """The matrix, and how its columns stand beside the baseline; None where there is none or nobody asked."""
    opening = session(
        common,
        judge_model=how.judge_model or evaluation.judge_model,
        concurrency=how.concurrency or evaluation.concurrency,
        embedder=how.embedder,
        trust_code=how.trust_code,
        makes=True,
    )
    async with opening as engine:
        with progress_line(common, engine) as progress:
            began = engine.clock()
            matrix = await evaluate(engine, evaluation, limits, environment=environment, progress=progress)
        await _say_cached(engine, matrix, began)
        gates = None
        if how.fail_on_regression:
            gates = await column_gates(engine, matrix, how.baseline)
        return matrix, gates


async def _say_cached(engine: Engine, matrix: Matrix, began: datetime) -> None:
    """Says of an evaluation that had ended before since when it is there."""
    idents = [ident for column in matrix.columns for ident in column.run_ids]
    jobs = [await get_job(engine, ident) for ident in idents]
    cached = [job for job in jobs if job.state == "completed" and job.updated_at < began]
    anew = "To ask again: --no-cache."
    if len(cached) < len(jobs) or not cached:
        return
    since = minute(max(job.updated_at for job in cached))
    newest = await get_job(engine, LATEST)
    also = "" if newest.id in idents else " `latest` is a newer run than these."
    tell(f"Cached result from {since}: nothing was re-run.{also} {anew}\n", aside=True)


def _code(matrix: Matrix, how: _How, gates: list[ColumnGate] | None) -> int:
    unchosen = any(selection.problem for row in matrix.rows for selection in row.selections)
    if unchosen or any(column.errors or column.problem for column in matrix.columns):
        return BROKEN
    verdicts = Counter(row.verdict for row in matrix.rows) if how.fail else Counter[str]()
    total = len(matrix.rows)
    reasons = [f"{verdicts['failed']} of {total} tests failed"] if verdicts["failed"] else []
    if how.fail_on_regression and gates is None:
        tell("No earlier evaluation of this config to compare with.\n", aside=True)
    for apart in filter(None, (apart_words(matrix, column) for column in gates or ())):
        tell(f"{apart}.\n", aside=True)
    limits = [] if how.min_pass_rate is None else pass_rate_gates(matrix, how.min_pass_rate)
    reasons += [words for gate, words in limits if gate == "failed"]
    reasons += [column_words(matrix, column) for column in gates or () if column.gate == "failed"]
    if reasons:
        return gate_failed("; ".join(reasons))
    unjudged = verdicts["undecided"]
    open_gates = [f"{unjudged} of {total} tests {'has' if unjudged == 1 else 'have'} no verdict"] if unjudged else []
    open_gates += [words for gate, words in limits if gate == "undecided"]
    for column in gates or ():
        if column.gate == "undecided":
            too_few = ", and too few tests changed to decide" if column.diff is not None else ""
            open_gates.append(f"{column_words(matrix, column)}{too_few}")
        elif column.diff is None:
            tell(f"{column_words(matrix, column)}.\n", aside=True)
    return undecided(f"gate undecided: {'; '.join(open_gates)}" if open_gates else "")


def _say_ungated(matrix: Matrix) -> None:
    """Says in a pipe or a build that failed tests do not fail this command: they fail promptfoo's."""
    failed = sum(cell.verdict == "failed" for row in matrix.rows if row.verdict == "failed" for cell in row.cells)
    if failed:
        total = sum(len(row.cells) for row in matrix.rows)
        tell(f"{failed} of {total} outputs failed, and the exit code is 0. Add --fail to exit with 1.\n", aside=True)


def _whole_code(matrix: Matrix, evaluation: Evaluation) -> int:
    """The exit code of the pass rate that the environment asks for in promptfoo's words."""
    why = "" if evaluation.pass_rate is None else whole_pass_rate_gate(matrix, evaluation.pass_rate)
    if not why:
        return 0
    return gate_failed(why, GATE if evaluation.failed_exit is None else evaluation.failed_exit)


def _write(path: Path, matrix: Matrix, evaluation: Evaluation) -> None:
    vet_no_store(path)
    text = _written(path.suffix.lower(), matrix, evaluation)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be written: {error.strerror}.", remedy="Check the path and its permissions."
        ) from None


def _written(suffix: str, matrix: Matrix, evaluation: Evaluation) -> str:
    """The text of a file of that form."""
    from minions_evals_mcp.interop.promptfoo_results import results_json  # noqa: PLC0415  only a file needs it
    from minions_evals_mcp.report.matrix.forms import MATRIX_FORMS  # noqa: PLC0415  as above
    from minions_evals_mcp.report.matrix.matrix_files import result_lines, yaml_text  # noqa: PLC0415  as above

    if suffix in MATRIX_FORMS and suffix != ".json":
        return MATRIX_FORMS[suffix](matrix)
    results = results_json(matrix, evaluation, at=iso(wall_clock()))
    if suffix == ".jsonl":
        return result_lines(results)
    return yaml_text(results) if suffix != ".json" else json.dumps(results, ensure_ascii=False, indent=2) + "\n"
