"""Logs of other tools, taken in and written."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from minions_evals_mcp.cli.keep.row_imports import BY
from minions_evals_mcp.cli.session import Common, reply, session
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import BadInputError, EvalsError, InvalidRecordError
from minions_evals_mcp.interop.log_formats.table import BY_NAME, Format, matching, named, sniff
from minions_evals_mcp.interop.log_formats.unknown_files import found, is_suite, refusal
from minions_evals_mcp.interop.log_intake.intake import Counted, Taken, read_counted, take_log
from minions_evals_mcp.interop.logs.files import head_of
from minions_evals_mcp.interop.logs.json_stream import LONGEST
from minions_evals_mcp.interop.logs.not_taken import NOT_TAKEN
from minions_evals_mcp.interop.parsing import ROOTS
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.sessions.sub_agents import is_of_a_session
from minions_evals_mcp.unpacked_files import unpacked

SUITE = "suite"
MOST_NAMED = 5
ANEW = "Get a complete copy, or name the format with --format. Nothing was imported."


def format_of(file: Path, name: str | None) -> Format | None:
    """The format that was named, else the one that the file looks like; None for a suite file.

    Raises `BadInputError` for a great document that looks like nothing: a suite is held whole, be it one or not.
    """
    if name is not None:
        return None if name == SUITE else named(name)
    look = sniff(file)
    form = matching(look)
    if form is None and not look.is_lines and file.stat().st_size > LONGEST and not obj(look.first).keys() & set(ROOTS):
        size = file.stat().st_size // 1_000_000
        raise BadInputError(
            f"the format of {file} is not recognized, and {size} MB is too large for a suite in one document.",
            remedy="Name the format with --format (docs/reference/log-formats.md). A suite of any size can be read as JSON lines (.jsonl).",
        )
    if form is None and not is_suite(look, head_of(file).decode("utf-8", "ignore")):
        raise refusal(look)
    return form


def members(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files below the folder that are a suite or of a known format, by name, and the others.

    Links are not followed. Raises `BadInputError` where nothing there can be read.
    """
    files = sorted(
        file for file in folder.rglob("*") if file.is_file() and not file.is_symlink() and not is_of_a_session(file)
    )
    known, others = list[Path](), list[Path]()
    for file in files:
        (known if _is_known(file) else others).append(file)
    if not known:
        raise BadInputError(
            f"{folder} holds {len(files)} files, but no suite and no known format.",
            remedy=f"Name one file to see what was detected in it. docs/reference/log-formats.md lists the {len(BY_NAME)} known formats.",
        )
    return known, others


def form_name(file: Path) -> str:
    """The name of the format that the file looks like, packed or not; raises as `format_of` does."""
    with unpacked(file) as plain:
        return getattr(format_of(plain, None), "name", SUITE)


def _is_known(file: Path) -> bool:
    try:
        form_name(file)
    except EvalsError:
        return False
    return True


async def import_log(engine: Engine, form: Format, file: Path) -> Taken:
    """Takes one log in; raises `BadInputError` naming the place that does not fit and what it was read as: nothing is kept then."""
    try:
        return await take_log(engine, form, file, by=BY)
    except InvalidRecordError as error:
        where = ": ".join(part for part in (str(file), error.where) if part)
        raise _read_as(form, error if str(file) in error.message_text else error.at(where)) from None
    except BadInputError as error:
        raise _read_as(form, error) from None


T = TypeVar("T", bound=BadInputError)


def _read_as(form: Format, error: T) -> T:
    """The refusal, whose remedy says what the file was taken for."""
    error.remedy_text = f"It was read as {form.title}. {error.remedy_text or ANEW}"
    return error


def import_summary(taken: Taken, store: Path | None) -> str:
    """Returns what came in, what its scores are worth here, and the next command."""
    counted = taken.counted
    named_scores = ", ".join(
        f"{printable(name, 40)} ({number})" for name, number in counted.scores.most_common(MOST_NAMED)
    )
    lines = [
        f"  {taken.form.title}: {counted.samples} samples, {counted.outputs} outputs, {counted.scores.total()} imported scores"
    ]
    lines += _unfinished(counted)
    if counted.scores:
        lines.append(f"  foreign: {named_scores}; gates ignore them until they are judged here")
    if counted.unread:
        checks = ", ".join(printable(name, 40) for name, _ in counted.unread.most_common(MOST_NAMED))
        lines.append(f"  checks with no equivalent here: {checks}; their cases are drafts (tag unread-checks)")
    lines += [*_next_commands(taken, store), *_judging(counted), *_left_out(counted)]
    return "\n".join(lines) + "\n"


def _unfinished(counted: Counted) -> list[str]:
    """What is said of runs that end before the agent answered."""
    if not counted.unfinished:
        return []
    how_many = "1 run has" if counted.unfinished == 1 else f"{counted.unfinished} runs have"
    return [f"  {how_many} no final answer: kept as running, and not judged. Import again once the agent has answered"]


def explained(file: Path, name: str | None) -> Json:
    """What the file was taken for and why, what is read of it and what is not; nothing is kept."""
    form = format_of(file, name)
    if form is None:
        return {"file": str(file), "format": SUITE, "recognizedBy": "minions, or a record a line"}
    log, counted = read_counted(form, file)
    return {
        "file": str(file),
        "format": form.name,
        "recognizedBy": found(sniff(file)),
        "task": log.task,
        **counted.wire(),
        "notTaken": {**NOT_TAKEN.get(form.name, {})},
    }


def explanation(file: Path, name: str | None) -> str:
    """The same in words."""
    form = format_of(file, name)
    if form is None:
        return f"{file}: a suite of minions-evals\n"
    log, counted = read_counted(form, file)
    lines = [
        f"{file}: {form.title} (--format {form.name})",
        f"  recognized by: {printable(found(sniff(file)), 300)}",
        f"  task {printable(log.task, 60)}: {counted.samples} samples, {counted.outputs} outputs, {counted.errors} errors,"
        f" {counted.scores.total()} imported scores",
        *_unfinished(counted),
        *_judging(counted),
        *_left_out(counted),
    ]
    if counted.beside:
        beside = ", ".join(f"{printable(key, 40)} ({number})" for key, number in counted.beside.most_common(20))
        lines.append(f"  not interpreted, kept under extra: {beside}")
    lines += [f"  not imported: {field} ({why})" for field, why in NOT_TAKEN.get(form.name, {}).items()]
    return "\n".join(lines) + "\n"


def _judging(counted: Counted) -> Iterator[str]:
    """The checks of the cases, and how the other tool's scorers are carried out."""
    for how in sorted(counted.checks):
        yield f"  check: {printable(how, 120)}, {counted.checks[how]} samples"
    if counted.errors:
        yield f"  errors: {counted.errors} samples ended in an error in the source and are not judged"


def _left_out(counted: Counted) -> Iterator[str]:
    yield from (f"  left out: {number} × {printable(why, 100)}" for why, number in counted.skipped.items())


def _next_commands(taken: Taken, store: Path | None) -> Iterator[str]:
    kept_there = "" if store is None else f" --db {shlex.quote(str(store))}"
    trials = f" --trials {taken.counted.trials}" if taken.counted.trials > 1 else ""
    if not taken.benchmarks:
        yield from (f"  its version: {version}; `promote` turns runs into cases" for version in taken.versions)
    for benchmark in taken.benchmarks:
        run = f"minions-evals run-benchmark {benchmark}"
        yield from (
            f"  judge it here: {run} --prompt-version {version}{trials}{kept_there}" for version in taken.versions
        )
        if not taken.versions:
            yield f"  its cases: {run} --target …{kept_there}"


async def export_log(ident: str, form: str, out: Path, common: Common) -> int:
    """Writes a run, or an imported log, into a file of that format."""
    from minions_evals_mcp.interop.log_exports.exported_outputs import export_of  # noqa: PLC0415  as above
    from minions_evals_mcp.interop.log_exports.table import JUNIT, vet_format, write_export  # noqa: PLC0415  slow, and rarely asked for

    vet_format(form)
    async with session(replace(common, read_only=True)) as engine:
        if form == JUNIT:
            files = [await _junit(engine, ident, out)]
        else:
            files = await write_export(await export_of(engine, ident), form, out, now=engine.clock())
    sizes = {str(file): file.stat().st_size for file in files}
    return reply(
        common, {"format": form, "files": dict(sizes)}, [f"{file}: {size} bytes" for file, size in sizes.items()]
    )


async def _junit(engine: Engine, ident: str, out: Path) -> Path:
    """The report's own JUnit, whatever the file is called."""
    from minions_evals_mcp.engine.answers.report_data import find_subject, read_report  # noqa: PLC0415  as above
    from minions_evals_mcp.report.documents.forms import FORMS  # noqa: PLC0415  as above
    from minions_evals_mcp.report.writing import written  # noqa: PLC0415  as above

    report = await read_report(engine, await find_subject(engine, ident))
    async with aclosing(FORMS[".xml"](engine, report)) as pieces:
        await written(out, pieces)
    return out
