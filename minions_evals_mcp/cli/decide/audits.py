"""Audits of suites: which cheats and mutants their checks let pass."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.bounded_files import vet_no_store
from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.agreeing import vet_config
from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, reply, session
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.domain.audits import Audit, CaseAudit
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.interop.audit.fixes import diff_of
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.operations import audit as operation
from minions_evals_mcp.operations.detect_trend import newest_target
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.audits import audit_lines, by_hand_lines, case_json, next_command, nothing_suggested
from minions_evals_mcp.report.next_command import next_line

ABOVE = 1
SHOWN = 20
Share = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]


@takes("audit")
async def audit(
    subject: str,
    /,
    *,
    given: GivenOptions,
    max_cheat_rate: Share | None = None,
    limit: Limit = SHOWN,
    fix: Path | None = None,
    judge_model: str | None = None,
    yes: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Try cheats and mutants on a suite's checks to see which wrong answers would pass, before any model has run.

    Cheats are an empty answer, the input itself, a refusal, a fixed sentence, all answers pasted together, or another
    case's answer. Mutants are the right answer with a changed number, date, name, step or meaning. You need no model
    and no key. Exit 1 if cheats pass more cases than --max-cheat-rate allows, 3 if the
    judge failed.
    Example: minions-evals audit evals.yaml --max-cheat-rate 0.05

    Parameters
    ----------
    subject
        A benchmark by its id, a suite file, or a promptfoo config.
    max_cheat_rate
        The share of cases that a cheat may pass, 0 to 1.
    limit
        Maximum number of cases shown. --json has all.
    fix
        Write the suggestions for a suite file to this file, as a diff that you read and apply (patch -p1). For a
        benchmark, a new suite file of its cases with the suggested checks, which you read and import. Suggestions for a
        promptfoo config are only shown.
    judge_model
        With --with-judge: judge model, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    yes
        Consent to everything the config names: programs, code, addresses, environment variables, outside paths.
    """
    request = given.request(operation.Request, subject=subject)
    file = Path(subject) if operation.names_file(subject) else None
    if file is not None and operation.is_config(file):
        vet_config(file, yes=yes)
    if fix is not None and file is None:
        _vet_new_suite(fix)
    with TemporaryFile("w+", encoding="utf-8") as cases:  # a suite may be long: its cases are not held in memory
        fixable: list[CaseAudit] = []
        each = partial(_took, cases if common.json else None, fixable)
        async with session(common, judge_model=judge_model, makes=file is not None) as engine:
            audited = subject if file is not None else await whole_id(engine, subject, "benchmark")
            request = given.request(operation.Request, subject=audited)
            record = await operation.run(engine, request, file=file, each=each)
            target, names = (None, dict[str, str]()) if file is not None else await _about(engine, record.fields)
            if fix is not None and not request.dry_run:
                await _fix(engine, fix, file, record.fields, fixable, common)
        if request.dry_run:
            return reply(common, {"dryRun": record.title}, [record.title])
        if common.json:
            _say(record, cases)
        else:
            command = next_command(record.fields, file, target)
            following = next_line(command, common.db) if fix is None else ""  # with it the note has said what follows
            tell("\n".join(audit_lines(record.fields, limit=limit, names=names, following=following)) + "\n")
    if record.fields.judge_error_count:
        return InstrumentError.exit_code
    rate = record.fields.cheat_pass_rate or 0.0
    return ABOVE if max_cheat_rate is not None and rate > max_cheat_rate + 1e-9 else 0


async def _fix(
    engine: Engine, fix: Path, file: Path | None, found: Audit, fixable: list[CaseAudit], common: Common
) -> None:
    """Write the suggestions: as a suite of a benchmark's cases, as a diff of a file; those for a config are told."""
    if file is None:
        _write_suite(fix, await operation.suggested_suite(engine, fixable), nothing_suggested(fixable), common)
    elif found.kind == "config":
        tell("".join(f"{line}\n" for line in by_hand_lines(fixable)), aside=True)
    else:
        _write(fix, diff_of(file, fixable), nothing_suggested(fixable))


async def _about(engine: Engine, audited: Audit) -> tuple[str | None, dict[str, str]]:
    """The target of the benchmark's newest run, and what its cases are called."""
    return await newest_target(engine, audited.subject), await operation.case_names(engine, audited)


def _took(cases: IO[str] | None, fixable: list[CaseAudit], case_audit: CaseAudit) -> None:
    if cases is not None:
        cases.write(json.dumps(case_json(case_audit), ensure_ascii=False) + "\n")
    if case_audit.suggestion is not None or case_audit.unsuggested:
        fixable.append(case_audit)


def _vet_new_suite(path: Path) -> None:
    """Refuses a file that is there, which may be the only copy of a suite, and one that would not be read as a suite."""
    if path.exists():
        raise BadInputError(
            f"{path} exists already.", remedy="Name a new file for the cases with the suggested checks."
        )
    if path.suffix.lower() not in {".yaml", ".yml"}:
        raise BadInputError(
            "For a benchmark, --fix writes a suite file.", remedy=f"Name it so: --fix {path.with_suffix('.yaml')}."
        )


def _write_suite(path: Path, suite: str, nothing: str, common: Common) -> None:
    if not suite:
        tell(f"{nothing}\n", aside=True)
        return
    _written(path, masked(suite))
    tell(f"Cases with the suggested checks written to {path}. Review them, then save them.\n", aside=True)
    tell(f"{next_line(f'import {shlex.quote(str(path))}', common.db)}\n", aside=True)


def _written(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise BadInputError(f"{path} cannot be written: {error.strerror}.", remedy="Name another file.") from None


def _write(path: Path, diff: str, nothing: str) -> None:
    vet_no_store(path)
    _written(path, diff)
    note = f"Suggestions written to {path}. Review them, then apply with: patch -p1 < {path}" if diff else nothing
    tell(f"{note}\n", aside=True)


def _say(record: Record[Audit], cases: IO[str]) -> None:
    """The whole answer on one line, its cases as they were written down."""
    wire = {"auditId": record.id, **wire_fields(record.fields), "mutationScore": record.fields.mutation_score}
    wire.pop("cases", None)
    head = json.dumps(wire, ensure_ascii=False)
    sys.stdout.write(masked(f'{head[:-1]}, "cases": ['))
    for number, line in enumerate(_lines(cases)):
        sys.stdout.write(masked(f"{', ' if number else ''}{line}"))
    sys.stdout.write("]}\n")


def _lines(cases: IO[str]) -> Iterator[str]:
    cases.seek(0)
    yield from (line.rstrip("\n") for line in cases)
