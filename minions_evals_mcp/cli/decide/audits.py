"""Audits of suites: which cheats and mutants their checks let pass."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, run, session
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.domain.results import Audit, CaseAudit
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.interop.audit.audits import audit as audit_checks
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.report.audits import audit_lines, case_json

ABOVE = 1
SHOWN = 20
Share = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]


class _How(Value):
    """How a suite is audited and told."""

    subject: str
    max_cheat_rate: float | None
    limit: int


def audit(
    subject: str,
    /,
    *,
    max_cheat_rate: Share | None = None,
    limit: Limit = SHOWN,
    common: Common = DEFAULTS,
) -> int:
    """Try cheats and mutants on the checks of a suite: which wrong answers would pass, before any model has run.

    Each case's checks are given an empty answer, its own input, a refusal, a fixed sentence, all answers pasted together,
    another case's answer and the like, and its right answer with a number, date, name, step or sense changed. No model is
    asked, no key is needed. Exit 1 if cheats pass more cases than --max-cheat-rate allows.
    Example: minions-evals audit evals.yaml --max-cheat-rate 0.05

    Parameters
    ----------
    subject
        A benchmark by its id, a suite file, or a promptfoo config.
    max_cheat_rate
        The share of cases that a cheat may pass, 0 to 1.
    limit
        Show at most so many cases; --json has all.
    """
    return run(partial(_audit, _How(subject=subject, max_cheat_rate=max_cheat_rate, limit=limit), common))


async def _audit(how: _How, common: Common) -> int:
    with TemporaryFile("w+", encoding="utf-8") as cases:  # a suite may be long: its cases are not held in memory
        each = partial(_spool, cases) if common.json else None
        async with session(common) as engine:
            record = await audit_checks(engine, _subject(how.subject), each=each)
        if common.json:
            _say(record, cases)
        else:
            sys.stdout.write("\n".join(audit_lines(record.fields, limit=how.limit)) + "\n")
    rate = record.fields.cheat_pass_rate or 0.0
    return ABOVE if how.max_cheat_rate is not None and rate > how.max_cheat_rate + 1e-9 else 0


def _subject(name: str) -> str | Path:
    return Path(name) if Path(name).is_file() else name


def _spool(cases: IO[str], found: CaseAudit) -> None:
    cases.write(json.dumps(case_json(found), ensure_ascii=False) + "\n")


def _say(record: Record[Audit], cases: IO[str]) -> None:
    """The whole answer on one line, its cases as they were written down."""
    told = {"auditId": record.id, **wire_fields(record.fields), "mutationScore": record.fields.mutation_score}
    told.pop("cases", None)
    head = json.dumps(told, ensure_ascii=False)
    sys.stdout.write(masked(f'{head[:-1]}, "cases": ['))
    for number, line in enumerate(_lines(cases)):
        sys.stdout.write(masked(f"{', ' if number else ''}{line}"))
    sys.stdout.write("]}\n")


def _lines(cases: IO[str]) -> Iterator[str]:
    cases.seek(0)
    yield from (line.rstrip("\n") for line in cases)
