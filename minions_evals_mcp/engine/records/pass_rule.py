"""The rule by which a case passes by its expected outputs alone: decided once, when it is written, whoever writes it."""

from __future__ import annotations

from dataclasses import replace

from minions_evals_mcp.domain.definitions import SIMILARITY, Fields, TestCase
from minions_evals_mcp.domain.records import Record, of_type


def with_pass_rule(record: Record[Fields], earlier: Record[Fields] | None) -> Record[Fields]:
    """The record as it is written: a case that only expected outputs can judge says by which rule.

    The rule that is given; else the stored one; else similarity where the case names a prompt, `max_score` where it does not.
    """
    case = record.fields
    if not isinstance(case, TestCase) or case.pass_rule is not None or not _is_judged_by_expectation(case):
        return record
    stored = of_type(earlier, TestCase)
    if stored is not None and (stored.fields.pass_rule is not None or _is_judged_by_expectation(stored.fields)):
        rule = stored.fields.pass_rule
    else:
        rule = "max_score" if case.prompt_id is None else SIMILARITY
    return replace(record, fields=case.model_copy(update={"pass_rule": rule}))


def _is_judged_by_expectation(case: TestCase) -> bool:
    return bool(case.expected_outputs) and case.rubric_id is None and not case.checks
