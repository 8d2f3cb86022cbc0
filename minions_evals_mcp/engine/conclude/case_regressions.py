"""The notification of test cases that regressed: at once, with their runs, once for each streak of a prompt version (HR5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.engine.outbox import message, queue
from minions_evals_mcp.engine.version_chain import cases_of_prompt, prompt_of_case, version_record
from minions_evals_mcp.scoring.verdicts.history import score_fraction
from minions_evals_mcp.skills.skill import RunTestCaseParameters
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import case_history
from minions_evals_mcp.store.queries.case_history import Regressed
from minions_evals_mcp.store.unit_rows import UnitRows, is_regression

KIND = "test-case-regression"
NAMED = 20
"""The most cases that one notification lists."""


def tell_case_regressions(db: Db, rows: Iterable[UnitRows], *, rule: RunTestCaseParameters, at: datetime) -> None:
    """Tells the orchestrator which cases regressed in these units, one message for each prompt version; the rows are written.

    A streak lasts until each case that regressed under the version has passed again: while it does, nobody is told again.
    """
    if not rule.notify_regressions:
        return
    idents = [str(unit.run[0]) for unit in rows if unit.run is not None and is_regression(unit.run)]
    if not idents:
        return
    regressed = case_history.regressed(db, idents)
    groups: dict[tuple[str | None, str], list[Regressed]] = {}
    for run in regressed:
        groups.setdefault(_group(db, run), []).append(run)
    for (version, subject), runs in groups.items():
        cases = None if version is not None else [case.id for case in cases_of_prompt(db, subject)] or [subject]
        if not case_history.is_regression_open(db, version, case_ids=cases, before=runs[0].seq):
            _tell(db, version, subject, runs, at=at)


def _group(db: Db, run: Regressed) -> tuple[str | None, str]:
    """The version and the prompt that the run is of; without either the case itself."""
    case = records.get(db, run.test_case_id, TestCase)
    prompt = None if case is None else prompt_of_case(db, case.fields)
    return run.prompt_version_ref, prompt or run.test_case_id


def _tell(db: Db, version: str | None, subject: str, runs: Sequence[Regressed], *, at: datetime) -> None:
    recorded = version_record(db, version)
    listed: list[JsonValue] = [
        {
            "testRunId": run.id, "testCaseId": run.test_case_id, "regressionType": run.kind, "passed": run.passed,
            "score": score_fraction(run.score, run.possible),
        }
        for run in runs[:NAMED]
    ]  # fmt: skip
    first = runs[0]
    cases = list(dict.fromkeys(run.test_case_id for run in runs))
    of_version = "" if version is None else f" under the prompt version {version}"
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    payload: Json = {
        "promptId": subject if subject != first.test_case_id else None, "promptVersionRef": version,
        "promptVersion": None if recorded is None else recorded.fields.version_number,
        "testCaseIds": [*cases[:NAMED]], "regressions": listed,
        "summary": f"test case {first.test_case_id}{more} regressed ({first.kind}){of_version}.",
    }  # fmt: skip
    queue(db, f"{first.id}:{KIND}", message(KIND, payload, at=at), key=f"{KIND}:{first.id}", at=at)
