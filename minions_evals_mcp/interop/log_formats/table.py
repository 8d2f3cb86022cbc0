"""The formats whose files are read: what each looks like, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.interop.log_formats import (
    atif_log,
    data_set,
    deepeval_run,
    eval_cases,
    every_eval_ever,
    inspect_log,
    langfuse_rows,
    lm_eval_samples,
    mlflow_traces,
    openai_evals,
    openevals,
    parquet_samples,
    plugin_eval,
    promptfoo_log,
    session_log,
    skill_evals,
    tau2,
    tau2_tasks,
    tau_bench,
    trace_log,
)
from minions_evals_mcp.interop.log_formats.reports import (
    adk_result,
    harbor,
    openai_items,
    pydantic_report,
    strands_report,
)
from minions_evals_mcp.interop.log_formats.tables import (
    azure_rows,
    braintrust_rows,
    langsmith_rows,
    langsmith_runs,
    opencode_store,
    opik_rows,
    phoenix_rows,
    ragas_rows,
)
from minions_evals_mcp.interop.logs.files import head_of
from minions_evals_mcp.interop.logs.json_stream import glimpse
from minions_evals_mcp.interop.logs.records import answered
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample, Recorded
from minions_evals_mcp.interop.logs.whole_documents import is_yaml, whole_document
from minions_evals_mcp.interop.parsing import ROOTS
from minions_evals_mcp.interop.text_table import SEPARATORS, read_text_table
from minions_evals_mcp.interop.trajectory import is_trajectory
from minions_evals_mcp.sessions.conversation import finite

ZIP = b"PK\x03\x04"
PARQUET = b"PAR1"
SQLITE = b"SQLi"
Reader = Callable[[Path], Iterator[Item]]


@dataclass(frozen=True, slots=True)
class Seen:
    """The beginning of a file: `magic` of a binary one, the `columns` of a table, else the beginning of its (first) JSON value."""

    path: Path
    magic: bytes
    first: JsonValue
    columns: frozenset[str] = frozenset()

    @property
    def is_lines(self) -> bool:
        """Returns whether its name says that each line is a value."""
        return self.path.suffix.lower() in (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name for `--format`, what it is in words, whether a file is of it, and what reads it."""

    name: str
    title: str
    sniff: Callable[[Seen], bool]
    read: Reader


FORMATS: tuple[Format, ...] = (
    Format(
        "inspect-eval", "an Inspect log (.eval)",
        lambda seen: seen.magic == ZIP and inspect_log.is_archive(seen.path), inspect_log.read_archive,
    ),
    Format("inspect-json", "an Inspect log (.json)", lambda seen: inspect_log.is_log(seen.first), inspect_log.read_json),
    Format(
        "promptfoo", "results of promptfoo",
        lambda seen: (promptfoo_log.is_line if seen.is_lines else promptfoo_log.is_results)(seen.first), promptfoo_log.read,
    ),
    Format("openai-evals", "a record log of OpenAI evals", lambda seen: openai_evals.is_run(seen.first), openai_evals.read_run),
    Format(
        "openai-evals-samples", "samples of OpenAI evals",
        lambda seen: seen.is_lines and openai_evals.is_samples(seen.first), openai_evals.read_samples,
    ),
    Format(
        "openai-evals-items", "output items of OpenAI's hosted evals",
        lambda seen: openai_items.is_output_item(seen.first) or (seen.is_lines and openai_items.is_data(seen.first)),
        openai_items.read_output_items,
    ),
    Format("otel", "OpenTelemetry spans (GenAI, OpenInference)", lambda seen: trace_log.is_spans(seen.first), trace_log.read),
    Format("tau-bench", "trajectories of tau-bench", lambda seen: tau_bench.is_trajectories(seen.first), tau_bench.read),
    Format(tau2.NAME, "results of tau2-bench", lambda seen: tau2.is_results(seen.first), tau2.read),
    Format(tau2_tasks.NAME, "tasks of tau2-bench", lambda seen: tau2_tasks.is_tasks(seen.first), tau2_tasks.read),
    Format("deepeval", "a test run of DeepEval", lambda seen: deepeval_run.is_run(seen.first), deepeval_run.read),
    Format(
        plugin_eval.NAME, "results of claude plugin eval",
        lambda seen: plugin_eval.is_results(seen.first), plugin_eval.read,
    ),
    Format(
        openevals.NAME, "multi-turn simulations of openevals",
        lambda seen: openevals.is_simulation(seen.first), openevals.read,
    ),
    Format("atif", "trajectories (ATIF)", lambda seen: is_trajectory(seen.first), atif_log.read),
    Format(
        "every-eval-ever", "samples of Every Eval Ever",
        lambda seen: seen.is_lines and every_eval_ever.is_lines(seen.first), every_eval_ever.read_lines,
    ),
    Format(
        "every-eval-ever-results", "results of Every Eval Ever",
        lambda seen: every_eval_ever.is_aggregate(seen.first), every_eval_ever.read_aggregate,
    ),
    Format(
        lm_eval_samples.NAME, "samples of lm-evaluation-harness",
        lambda seen: seen.is_lines and lm_eval_samples.is_samples(seen.first), lm_eval_samples.read,
    ),
    Format("mlflow", "traces of MLflow", lambda seen: mlflow_traces.is_traces(seen.first), mlflow_traces.read),
    Format("langsmith", "runs or examples of LangSmith", lambda seen: langsmith_runs.is_export(seen.first), langsmith_runs.read),
    Format(
        braintrust_rows.NAME, "rows of Braintrust",
        lambda seen: braintrust_rows.is_rows(seen.first), braintrust_rows.read,
    ),
    Format(
        azure_rows.NAME, "results of Azure AI's evaluate()",
        lambda seen: azure_rows.is_results(seen.first), azure_rows.read,
    ),
    Format(
        phoenix_rows.NAME, "runs of a Phoenix experiment",
        lambda seen: phoenix_rows.is_runs(seen.first), phoenix_rows.read,
    ),
    Format(
        langsmith_rows.NAME, "results of LangSmith's evaluate()",
        lambda seen: langsmith_rows.has_columns(seen.columns) or langsmith_rows.is_results(seen.first), langsmith_rows.read,
    ),
    Format(opik_rows.NAME, "an experiment of Opik", lambda seen: opik_rows.is_experiment(seen.first), opik_rows.read),
    Format(opik_rows.TRACE, "a trace of Opik", lambda seen: opik_rows.is_trace(seen.first), opik_rows.read_trace),
    Format("langfuse", "an export of Langfuse", lambda seen: langfuse_rows.is_export(seen.first), langfuse_rows.read),
    Format("parquet", "a data set (Parquet)", lambda seen: seen.magic == PARQUET, parquet_samples.read),
    Format("adk-evalset", "an eval set of ADK", lambda seen: eval_cases.is_adk(seen.first), eval_cases.read_adk),
    Format(
        adk_result.NAME, "a result of an ADK evaluation",
        lambda seen: adk_result.is_result(seen.first) or (isinstance(seen.first, str | None) and adk_result.is_encoded(seen.path)),
        adk_result.read,
    ),
    Format(
        pydantic_report.NAME, "a report of pydantic-evals",
        lambda seen: pydantic_report.is_report(seen.first), pydantic_report.read,
    ),
    Format(
        strands_report.NAME, "a report of a Strands experiment",
        lambda seen: strands_report.is_report(seen.first), strands_report.read,
    ),
    Format(harbor.NAME, "results of Harbor", lambda seen: harbor.is_result(seen.first), harbor.read),
    Format("pydantic-evals", "a data set of pydantic-evals", lambda seen: eval_cases.is_pydantic(seen.first), eval_cases.read_pydantic),
    Format("strands", "an experiment of Strands", lambda seen: eval_cases.is_strands(seen.first), eval_cases.read_strands),
    Format(
        session_log.TELEMETRY, "OpenTelemetry logs of a coding agent",
        lambda seen: session_log.telemetry.is_logs(seen.first), session_log.read_telemetry,
    ),
    *(
        Format(name, title, lambda seen, name=name: session_log.HOSTS[name][0](seen.first), session_log.reader_of(name))
        for name, title in (
            ("claude-code", "a session of Claude Code"), ("codex", "a session of Codex"),
            ("gemini-cli", "a session of Gemini CLI"),
        )
    ),
    Format(
        "opencode", "sessions of opencode",
        lambda seen: opencode_store.is_store(seen.path) if seen.magic == SQLITE else session_log.opencode.is_session(seen.first),
        session_log.read_opencode,
    ),
    Format(
        ragas_rows.NAME, "a data set or results of ragas",
        lambda seen: ragas_rows.has_columns(seen.columns) or ragas_rows.is_rows(seen.first), ragas_rows.read,
    ),
    Format(
        "data-set", "a data set (input, expected_output)",
        lambda seen: data_set.has_columns(seen.columns) or data_set.is_rows(seen.first), data_set.read,
    ),
    Format("skill-evals", "evaluations of a skill (evals.json)", lambda seen: skill_evals.is_evals(seen.first), skill_evals.read),
)  # fmt: skip
BY_NAME = {format_.name: format_ for format_ in FORMATS}


def sniff(path: Path) -> Seen:
    """Returns what the file looks like; raises `BadInputError` where it cannot be read."""
    head = head_of(path)
    magic = head[:4]
    if magic in (ZIP, PARQUET, SQLITE):
        return Seen(path, magic, None)
    text = head.decode("utf-8", "ignore")
    if is_yaml(path):
        return Seen(path, b"", None if any(f"{root}:" in text for root in ROOTS) else _document(path))
    if path.suffix.lower() in SEPARATORS:
        return Seen(path, b"", glimpse(text), _columns(path))
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        text = text.lstrip("\ufeff").lstrip().partition("\n")[0]
    return Seen(path, b"", glimpse(text))


def _columns(path: Path) -> frozenset[str]:
    try:
        return frozenset(next((row.cells for row in read_text_table(path)), dict[str, str]()))
    except InvalidRecordError:
        return frozenset()  # whoever reads its rows says so


def _document(path: Path) -> JsonValue:
    try:
        return whole_document(path)
    except InvalidRecordError:
        return None


def matching(look: Seen) -> Format | None:
    """The format of a file that looks so."""
    return next((form for form in FORMATS if form.sniff(look)), None)


def named(name: str) -> Format:
    """The format of that name; raises `UnsupportedError` where there is none."""
    if name not in BY_NAME:
        raise UnsupportedError(
            f"there is no format {name!r}.", remedy=known_names(name, BY_NAME, "docs/reference/log-formats.md")
        )
    return BY_NAME[name]


def headed(form: Format, path: Path) -> EvaluationLog:
    """Returns what the log says of itself; nothing of the file stays open, or in memory. Raises as `opened` does."""
    log, items = opened(form, path)
    items.close()
    return log


def opened(form: Format, path: Path) -> tuple[EvaluationLog, Generator[Item]]:
    """The log and what it holds; raises `InvalidRecordError` where the file is none of that format."""
    items = _held(_kept(form.read(path)), path)
    log = next(items, None)
    if not isinstance(log, EvaluationLog):
        raise InvalidRecordError(f"this is not {form.title}", where=str(path))
    return log, items


def _kept(items: Iterator[Item]) -> Iterator[Item]:
    """The items as they can be kept: numbers are finite, and a sample that nothing came of says so."""
    log: EvaluationLog | None = None
    for item in items:
        match item:
            case EvaluationLog():
                log = item
                yield item
            case LogSample() if log is not None:
                yield answered(log, item)
            case Recorded():
                yield replace(item, wire=obj(finite(item.wire)))
            case _:
                yield item


def _held(items: Iterator[Item], path: Path) -> Generator[Item]:
    """The items; raises `InvalidRecordError` where one holds what has no words here: nesting without end, NaN as a target."""
    number = 0
    try:
        for number, item in enumerate(items, 1):  # noqa: B007  said where it ends
            yield item
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else f"cannot be read: {error}"
        raise InvalidRecordError(reason, where=f"{path}: behind its sample {max(0, number - 1)}") from None
