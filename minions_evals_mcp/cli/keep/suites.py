"""Records: in, out, listed, shown, hidden."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.keep.folder_imports import EACH_UP_TO, FolderTally
from minions_evals_mcp.cli.keep.log_imports import (
    SUITE,
    explained,
    explanation,
    export_log,
    form_name,
    format_of,
    import_log,
    import_summary,
    members,
)
from minions_evals_mcp.cli.keep.row_imports import BY, RowImport, filled
from minions_evals_mcp.cli.session import DEFAULTS, Common, Cursor, Limit, reply, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import TYPES, Record, wire_fields
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.values import first_named, known_names, minute
from minions_evals_mcp.engine.cases.baselines import WentOn, save_spooled, save_with_baselines
from minions_evals_mcp.engine.records.restoring import handed_in
from minions_evals_mcp.engine.records.save_records import Saved, page_of
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, UnsupportedError
from minions_evals_mcp.interop.row_records import RowMapping, RowType
from minions_evals_mcp.interop.suite import has_lines, read_lines, read_suite
from minions_evals_mcp.known_secrets import counted
from minions_evals_mcp.operations import save_records
from minions_evals_mcp.operations.detect_trend import newest_target
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.next_command import next_line, run_command
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.queries import links
from minions_evals_mcp.store.queries.report_units import titles
from minions_evals_mcp.unpacked_files import unpacked

PAGE = 500
NAMED = 5
TELLING = ("benchmark_id", "failure_type", "agent_id")
"""Fields that say in a list what a record without a title is."""


async def import_(
    files: Annotated[list[Path], Parameter(negative="")],
    /,
    *,
    as_: Annotated[RowType | None, Parameter(name="--as")] = None,
    map: Annotated[tuple[str, ...], Parameter(negative="")] = (),  # noqa: A002  the option's name
    set: Annotated[tuple[str, ...], Parameter(negative="")] = (),  # noqa: A002  the option's name
    into: str | None = None,
    format: str | None = None,  # noqa: A002  the option's name
    explain: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Import records from suite files, other tools' logs, or rows of your own data. Importing twice changes nothing.

    A file is imported as a whole. An invalid file is refused with file, line, field and reason. If an expected output
    changes, the earlier one stays in the history. Outputs that waited for an expected output or a check are then
    judged.
    Example: minions-evals import evals.yaml
    Example: minions-evals import logs/2026-11-20_popularity.eval
    Example: minions-evals import tickets.csv --as test-case --map inputs.question=Question --map expectedOutputs.output=Answer

    Parameters
    ----------
    files
        A folder means all files below it of a known format, with a summary by format. Other files are counted by
        extension.
        Suite files: `records: [{id, type, fields}, …]` as YAML or JSON, or one record a line (.jsonl).
        Logs and data sets of other tools (docs/reference/log-formats.md). The format is detected from the content.
        With --as, rows: .csv, .tsv, .jsonl, .json (a list), .parquet.
    as_
        Each row becomes one of these. A row without an id gets one computed from its content.
    map
        FIELD=COLUMN, repeatable. Use dots for a part (inputs.question) or a nested column (meta.id). Without it, each
        column fills the field of its name. With it, other columns are ignored.
    set
        FIELD=VALUE for every row (agentId=support).
    into
        Add the test cases to this benchmark, which is created if necessary.
    format
        The format, if it cannot be detected: suite, or a format of docs/reference/log-formats.md.
    explain
        Show the detected format, what is read and what is not. Nothing is saved.
    """
    if explain:
        if as_ is not None:
            raise BadInputError("--explain is for suites and logs.", remedy="Leave --as out.")
        return sum(_explain_all(file, format, common) for file in files) and 1
    if as_ is None:
        if map or set or into:
            raise BadInputError("--map, --set and --into are for rows.", remedy="Name the record type: --as test-case.")
        return await _import_files(files, format, common)
    if format is not None:
        raise BadInputError("--format is for logs and suites, --as for rows.", remedy="Give one of them.")
    rows = RowImport(RowMapping(as_, filled(map, "--map"), filled(set, "--set")), into)
    async with session(common, makes=True) as engine:
        engine = engine.speaking(await speaker_at(engine))  # noqa: PLW2901  what is imported is theirs
        for file in files:
            _say(file, *await rows.take(engine, file), common)
        target = None if into is None else await newest_target(engine, into)
    if into is not None and not common.json:
        tell(f"{next_line(run_command(into, target=target or 'python:MODULE:FUNCTION'), common.db)}\n")
    return 0


def _explain_all(file: Path, name: str | None, common: Common) -> int:
    """Explain the file, or each of a folder; returns how many of a folder were refused, each of which is named."""
    if not file.is_dir():
        _explain(file, name, common)
        return 0
    refused = 0
    for member in members(file)[0]:
        try:
            _explain(member, name, common)
        except BadInputError as error:
            refused += 1
            tell(f"refused: {error.message}\n", aside=True)
    return refused


def _explain(file: Path, name: str | None, common: Common) -> None:
    with unpacked(file) as plain:
        if common.json:
            say({**explained(plain, name), "file": str(file)})
        else:
            tell(explanation(plain, name).replace(str(plain), str(file)))


async def _import_files(files: list[Path], name: str | None, common: Common) -> int:
    refused = 0
    async with session(common, makes=True) as engine:
        engine = engine.speaking(await speaker_at(engine))  # noqa: PLW2901  what is imported is theirs
        for file in files:
            if file.is_dir():
                refused += await _import_folder(engine, file, name, common)
            else:
                await _import_one(engine, file, name, common)
    return 1 if refused else 0


async def _import_one(engine: Engine, file: Path, name: str | None, common: Common, *, told: bool = True) -> Saved:
    """Take the file in; unless `told`, only what is to be noted of it is said."""
    with unpacked(file) as plain:
        form = format_of(plain, name)
        taken = None if form is None else await import_log(engine, form, plain)
        saved, went_on = await import_file(engine, plain) if taken is None else (taken.saved, taken.went_on)
    about, lines = (None, "") if taken is None else (taken.wire(), import_summary(taken, common.db))
    if told or common.json or saved.notes or went_on.run_ids or went_on.left:
        _say(file, saved, went_on, common, about=about, lines=lines)
    return saved


async def _import_folder(engine: Engine, folder: Path, name: str | None, common: Common) -> int:
    """Take in each file of the folder that can be read; returns how many were refused, each of which is named."""
    known, others = members(folder)
    tally = FolderTally(folder)
    tally.left(others)
    for file in known:
        form = SUITE
        try:
            form = name or form_name(file)
            saved = await _import_one(engine, file, name, common, told=len(known) <= EACH_UP_TO)
            tally.took(form, new=saved.new, changed=saved.changed, unchanged=saved.unchanged)
        except BadInputError as error:
            tally.refused[form] += 1
            tell(f"refused: {error.message}\n", aside=True)
    if common.json:
        say(tally.wire())
    else:
        tell("".join(f"{line}\n" for line in tally.lines()))
    return tally.refused.total()


def _say(
    file: Path, saved: Saved, went_on: WentOn, common: Common, *, about: Json | None = None, lines: str = ""
) -> None:
    if common.json:
        say(_wire(file, saved, went_on) | (about or {}))
    else:
        tell(_lines(file, saved, went_on) + lines)


def _wire(file: Path, saved: Saved, went_on: WentOn) -> Json:
    wire: Json = {"file": str(file), "new": saved.new, "changed": saved.changed, "unchanged": saved.unchanged}
    judged: Json = {"judgedRunIds": [*went_on.run_ids], "waiting": [*went_on.left], "notes": [*saved.notes]}
    return wire | {name: value for name, value in judged.items() if value}


def _lines(file: Path, saved: Saved, went_on: WentOn) -> str:
    lines = [
        f"{file}: {saved.new} new, {saved.changed} changed, {saved.unchanged} unchanged",
        *(f"  {printable(note, 400)}" for note in saved.notes),
        *(
            as_typed(f"  outputs that waited for it are judged now: minions-evals runs {run_id}")
            for run_id in went_on.run_ids
        ),
        *(f"  an output still waits: {printable(why, 400)}" for why in went_on.left),
    ]
    return "\n".join(lines) + "\n"


async def import_file(engine: Engine, file: Path) -> tuple[Saved, WentOn]:
    """Takes one suite file in; what a case expected before is kept, and what waited for it is judged."""
    now = engine.clock()
    try:
        if has_lines(file):
            return await save_spooled(engine, map(handed_in, read_lines(file, new_id=engine.new_id, now=now)), by=BY)
        arrivals, relations = read_suite(file, new_id=engine.new_id, now=now)
        return await save_with_baselines(engine, [handed_in(arrival) for arrival in arrivals], relations, by=BY)
    except InvalidRecordError as error:
        raise (error if error.where else error.at(str(file))) from None


async def export(
    id: str | None = None,  # noqa: A002  the argument's name
    /,
    *,
    type: str | None = None,  # noqa: A002  the option's name
    format: str | None = None,  # noqa: A002  the option's name
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    common: Common = DEFAULTS,
) -> int:
    """Write records as JSON lines to standard output, definitions first, or a run in another tool's format.

    Example: minions-evals export --type test-case > cases.jsonl
    Example: minions-evals export RUN --format inspect-json -o log.json

    Parameters
    ----------
    id
        With --format: a run's id or key, a benchmark (its newest run), or the version of an imported log.
    type
        Only the records of this type.
    format
        every-eval-ever, inspect-json, junit, otel-events, parquet or promptfoo (docs/reference/log-formats.md).
    out
        With --format: the file. An existing one is replaced.
    """
    if format is not None or id is not None or out is not None:
        if format is None or id is None or out is None or type is not None:
            raise BadInputError("exporting a run needs its id, --format and --out.", remedy="--help shows the form.")
        return await export_log(id, format, out, common)
    kinds = [_known(type)] if type else list(TYPES)
    leaky = 0
    async with session(common) as engine:
        for kind in kinds:
            after = 0
            while page := await page_of(engine, kind, after=after, limit=PAGE):
                for _, record in page:
                    wire = record.wire()
                    leaky += bool(counted(json.dumps(wire, ensure_ascii=False)))
                    say(wire)
                after = page[-1][0]
    if leaky:
        held = "1 record held" if leaky == 1 else f"{leaky} records held"
        tell(
            as_typed(
                f"{held} one of your secrets, shown here as [secret DIGEST]. minions-evals db check lists the places.\n"
            ),
            aside=True,
        )
    return 0


def _known(kind: str) -> str:
    if kind not in TYPES:
        near = get_close_matches(kind, TYPES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UnsupportedError(
            f"unknown record type {kind!r}{hint}", remedy=known_names(kind, sorted(TYPES), "docs/reference/records.md")
        )
    return kind


async def list_(type: str, /, *, limit: Limit = 50, after: Cursor = 0, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """List the records of one type, oldest first.

    Example: minions-evals list benchmark

    Parameters
    ----------
    type
        The type, such as test-case, benchmark, agent-run, eval-failure.
    limit
        Maximum number shown.
    after
        Continue after this cursor (the last line of the previous page).
    """
    kind = _known(type)
    async with session(common) as engine:
        page = await page_of(engine, kind, after=after, limit=limit + 1)
        shown, more = page[:limit], len(page) > limit
        cases = await engine.store.read(partial(titles, idents=[*filter(None, (_case_of(row) for _, row in shown))]))
    lines = [_list_line(record, cases) for _, record in shown]
    if more:
        lines.append(f"more: --after {shown[-1][0]} (newer)")
    return reply(
        common,
        {"records": [record.wire() for _, record in shown], "nextCursor": shown[-1][0] if more else None},
        lines or [as_typed(f"no {kind} records yet. `minions-evals import FILE` adds some")],
    )


def _case_of(record: Record[Fields]) -> str:
    return str(getattr(record.fields, "test_case_id", None) or "")  # some types have one


def _list_line(record: Record[Fields], cases: Mapping[str, str]) -> str:
    """A record by its id, when it was made, and its title; of one that has none of its own, what it says of itself, and its case."""
    what = record.title
    if what == f"{record.type} {record.id}":
        case, own = _case_of(record), (getattr(record.fields, name, None) for name in TELLING)
        ended = "" if not isinstance(record.fields, TestRun) else "passed" if record.fields.passed else "failed"
        what = "  ".join(filter(None, (ended, *own, cases.get(case, case))))
    return f"{record.id}  {minute(record.created_at)}  {printable(what, 80)}".rstrip()


async def show(id: str, /, *, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Show one record, what it refers to, and what refers to it.

    Example: minions-evals show support/quality

    Parameters
    ----------
    id
        The record's id, of any type.
    """
    async with session(common) as engine:
        record = await save_records.found(engine, await whole_id(engine, id))
        linked = await engine.store.read(lambda db: links.links(db, record.id, record.type))
        named = await engine.store.read(lambda db: links.linked_titles(db, record.id, linked))
        gates = await engine.store.read(lambda db: records.gates(db, record))
        judged = await engine.store.read(lambda db: runs.judgments_of(db, record.id))
    wire = record.wire()
    wire["relations"] = [
        {"sourceId": relation.source_id, "type": relation.type, "targetId": relation.target_id} for relation in linked
    ]
    if gates:
        wire["gates"] = [gate.wire() for gate in gates]
    if judged:
        wire["judgments"] = [{"id": judgment.id, **wire_fields(judgment.fields)} for judgment in judged]
    if common.json:
        say(wire)
        return 0
    from minions_evals_mcp.report.record_table import show_record  # noqa: PLC0415  rich is imported where a person looks

    show_record(wire, named)
    return 0


async def delete(id: str, /, *, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Hide a record from lists. Runs that refer to it keep it. `forget` erases its content.

    Example: minions-evals delete support/old-case

    Parameters
    ----------
    id
        The record's id.
    """
    async with session(common) as engine:
        record = await save_records.hide(engine, await whole_id(engine, id))
        listing = await engine.store.read(lambda db: links.listed_in(db, record.id, record.type))
    still = f"Still listed in {first_named(listing, NAMED)}, whose next runs leave it out"
    return reply(
        common,
        record.wire(),
        [
            f"{record.type} {record.id} is hidden, not erased. Import it again to restore it",
            *([still] if listing else []),
            f"To erase its content: minions-evals forget --record {record.id}",
        ],
    )
