"""`audit`: of a benchmark in the store, of a suite file, of a config; a file is read into a store of its own, which is thrown away."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.audits import Audit, CaseAudit
from minions_evals_mcp.domain.definitions import Benchmark, TestCase
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.audit.model_judged import JudgeAsked, ModelAudit, model_audit
from minions_evals_mcp.engine.audit.suite import AuditSubject, audit_suite, keep_audit, subject_of
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.parsing import ROOTS, parse_yaml
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.suite import LINES, read_suite
from minions_evals_mcp.temporary_folders import temporary_folder

SUITES = (".yaml", ".yml", ".json", *LINES)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a suite file or a config, as records."""

    arrivals: Sequence[Arrival]
    relations: Sequence[Relation]
    subject: AuditSubject


def is_file(subject: str | Path) -> bool:
    """Returns whether an audit's subject names a file: it is there, or is called like one."""
    return Path(subject).suffix.lower() in SUITES or Path(subject).is_file()


async def audit(
    engine: Engine,
    subject: str | Path,
    *,
    each: Callable[[CaseAudit], None] | None = None,
    suggest: bool = True,
    keep: bool = True,
    with_judge: JudgeAsked | None = None,
) -> Record[Audit]:
    """Returns what cheats and mutants show of the checks of a benchmark (its id), of a suite file or of a config.

    By rule alone, without a key, unless `with_judge` has the model asked that judges (a dry run only counts that). The
    answer's figures are those of the whole suite; `each` is told of every case in order. It is kept as a record unless
    `keep` is off or the store is read only.
    Raises `NotFoundError` for an unknown benchmark, `BadInputError` or `InvalidRecordError` for a file that does not fit.
    """
    if not is_file(subject):
        return await audit_benchmark(engine, str(subject), each=each, suggest=suggest, keep=keep, with_judge=with_judge)
    content = file_content(engine, Path(subject))
    async with opened(engine, content) as apart:
        model = None if with_judge is None else model_audit(apart, with_judge)
        record = await audit_suite(apart, content.subject, each=each, suggest=suggest, model=model)
    return await _kept(engine, record, model, keep=keep)


async def audit_benchmark(
    engine: Engine,
    benchmark_id: str,
    *,
    each: Callable[[CaseAudit], None] | None = None,
    suggest: bool = True,
    keep: bool = True,
    with_judge: JudgeAsked | None = None,
) -> Record[Audit]:
    """The audit of a benchmark in the store, never of a file: for callers who name no files here."""
    model = None if with_judge is None else model_audit(engine, with_judge)
    subject = await subject_of(engine, benchmark_id)
    record = await audit_suite(engine, subject, each=each, suggest=suggest, model=model)
    return await _kept(engine, record, model, keep=keep)


async def _kept(engine: Engine, record: Record[Audit], model: ModelAudit | None, *, keep: bool) -> Record[Audit]:
    if model is not None and model.dry_run:
        return replace(record, title=model.in_words())
    if keep and not engine.config.read_only:
        await keep_audit(engine, record)
    return record


def file_content(engine: Engine, path: Path) -> FileContent:
    """The records of a suite file or a config; which of the two it is, its top level tells."""
    if is_config(path):
        evaluation = read_config(path, now=engine.clock(), overrides=ConfigOverrides(allow_unsupported=True))
        return FileContent(evaluation.arrivals, (), AuditSubject(str(path), "config", evaluation.case_ids))
    arrivals, relations = read_suite(path, new_id=engine.new_id, now=engine.clock())
    cases = tuple(arrival.record.id for arrival in arrivals if isinstance(arrival.record.fields, TestCase))
    if not cases:
        raise BadInputError(f"{path} has no test case.", remedy="Audit a suite with test cases, or a benchmark.")
    benchmarks = {
        arrival.record.id: arrival.record.fields.test_case_ids
        for arrival in arrivals
        if isinstance(arrival.record.fields, Benchmark)
    }
    return FileContent(arrivals, relations, AuditSubject(str(path), "suite", cases, benchmarks))


def is_config(path: Path) -> bool:
    """Returns whether the file is read as a promptfoo config."""
    return path.suffix.lower() in {".yaml", ".yml"} and not _is_suite(path)


def _is_suite(path: Path) -> bool:
    try:
        document = parse_yaml(bounded_files.read_text(path), str(path))
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except UnicodeDecodeError:
        return True  # the reader of suites says what is wrong with it
    return isinstance(document, list) or any(root in cast("dict[str, object]", document or {}) for root in ROOTS)


@asynccontextmanager
async def opened(engine: Engine, content: FileContent) -> AsyncGenerator[Engine]:
    """An engine set up as this one, on a store that holds what the file says and is thrown away."""
    with temporary_folder("audit") as folder:
        config = replace(engine.config, db=folder / "audit.db", read_only=False)
        async with open_engine(config) as apart:
            apart.clock, apart.new_id = engine.clock, engine.new_id
            try:
                await save_records(apart, content.arrivals, content.relations)
            except InvalidRecordError as error:
                raise (error if error.where else error.at(content.subject.name)) from None
            yield apart
