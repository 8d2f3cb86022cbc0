"""Outputs that passed a case before, tried on the stricter checks that are suggested for it: what would fail is said beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.audits import CaseAudit
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.engine.audit.page import Audited
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import Judges, judge
from minions_evals_mcp.scoring.audit.rules import Rules, ScorePart, Trial
from minions_evals_mcp.scoring.failures.texts import cut
from minions_evals_mcp.store.queries.audits import outputs_that_passed

SHOWN = 80


async def with_passed_before(engine: Engine, page: Sequence[Audited], judges: Judges) -> list[Audited]:
    """The audited cases, each suggestion saying which of the case's own outputs that passed it would fail."""
    idents = [case.audit.test_case_id for case in page if case.audit.suggestion is not None]
    outputs_by_case = await engine.store.read(partial(outputs_that_passed, case_ids=idents)) if idents else {}
    trials = [[_trial(case, output) for output in outputs_by_case.get(case.audit.test_case_id, ())] for case in page]
    if not any(trials):
        return [*page]
    verdicts = iter(await judge([trial for several in trials for trial in several], judges))
    return [
        _with_doubt(case, several, [verdict.passed for verdict in islice(verdicts, len(several))])
        for case, several in zip(page, trials, strict=True)
    ]


def _trial(case: Audited, output: Json) -> Trial:
    assert case.audit.suggestion is not None
    checks = tuple(Assertion.model_validate(check) for check in case.audit.suggestion.assertions)
    return Trial(Rules(parts=(ScorePart("", "", checks),)), output, None, case.measure.case.fields.inputs)


def _with_doubt(case: Audited, trials: Sequence[Trial], passed: Sequence[bool | None]) -> Audited:
    failing = [output_text(trial.output) for trial, verdict in zip(trials, passed, strict=True) if verdict is False]
    if not failing or case.audit.suggestion is None:
        return case
    outputs = "an output that passed here" if len(failing) == 1 else f"{len(failing)} outputs that passed here"
    sentence = f"{case.audit.suggestion.in_words} But {outputs} would fail it, such as “{cut(failing[0], SHOWN)}”."
    suggestion = case.audit.suggestion.model_copy(update={"in_words": sentence})
    audit: CaseAudit = case.audit.model_copy(update={"suggestion": suggestion})
    return replace(case, audit=audit)
