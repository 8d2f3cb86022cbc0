"""The checks of one case, a row each: what was wanted, what was found, and the score; the failed ones first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.outcomes import IMPLICIT
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.report_values import ReportedTrial
from minions_evals_mcp.store.queries.report_units import CriterionScore

_LINE = re.compile(r"(?:^|; )(passed|failed) ((?:not-)?[\w:-]+(?: \([^)]{1,80}\))?): ")
_TYPE = re.compile(r"(?:not-)?[\w:-]+")
WANTED = 400
"""Characters of what a check wants."""


class CheckRow(Value):
    """One check or criterion. `score` and `weight` are None where they were not kept; `of` is the best score."""

    name: str
    passed: bool
    wanted: str
    found: str
    score: float | None
    of: float = 1.0
    weight: float | None
    by: str = ""


def check_rows(
    tried: ReportedTrial, case: TestCase | None, expected: Json | None, titles: Mapping[str, str]
) -> tuple[CheckRow, ...]:
    """The rows of one trial; `case` is the case as it is now, None where it is no longer there."""
    kept = tried.checks
    rows = [row for judged in tried.judgments for row in _of_judgment(judged, kept, case, expected, titles)]
    return tuple(sorted(rows, key=lambda row: row.passed))


def _of_judgment(
    judged: CriterionScore,
    kept: Sequence[Json],
    case: TestCase | None,
    expected: Json | None,
    titles: Mapping[str, str],
) -> Iterator[CheckRow]:
    if not judged.criterion_id.startswith(IMPLICIT):
        title = titles.get(judged.criterion_id, judged.criterion_id)
        yield CheckRow(
            name=title, passed=judged.score >= judged.max_score, wanted="", found=judged.rationale, score=judged.score,
            of=judged.max_score, weight=None, by=_by(judged),
        )  # fmt: skip
        return
    assertions = () if case is None else case.checks
    if kept:
        yield from _kept(kept, assertions)
        return
    lines = list(_lines(judged.rationale))
    if lines and assertions:
        yield from _told(lines, assertions)
        return
    yield CheckRow(
        name="expected output" if expected else "the case's own checks", passed=judged.score >= judged.max_score,
        wanted=_expected(expected), found=judged.rationale, score=judged.score, of=judged.max_score, weight=None,
        by=_by(judged),
    )  # fmt: skip


def _by(judged: CriterionScore) -> str:
    kind = {"llm": "a model", "human": "a person"}.get(judged.judged_by_type, "")
    sure = "" if judged.confidence is None else f", confidence {judged.confidence:.2g}"
    return f"{judged.judged_by} ({kind}{sure})" if kind else ""


def _kept(kept: Sequence[Json], assertions: Sequence[Assertion]) -> Iterator[CheckRow]:
    """The scores that were kept check by check; what each wanted is the case's, where its checks are still those."""
    same = len(kept) == len(assertions)
    for at, one in enumerate(kept):
        yield from _kept_row(one, assertions[at] if same else None, "")


def _kept_row(one: Json, assertion: Assertion | None, within: str) -> Iterator[CheckRow]:
    parts = one.get("parts")
    name = f"{within}{one['name']}"
    if isinstance(parts, list) and parts:
        inner = () if assertion is None else (assertion.assertions or ())
        for at, part in enumerate(parts):
            if isinstance(part, dict):
                yield from _kept_row(part, inner[at] if len(inner) == len(parts) else None, f"{name} / ")
        return
    yield CheckRow(
        name=name, passed=one["passed"] is True, wanted="" if assertion is None else wanted(assertion),
        found=str(one.get("reason") or ""), score=_number(one.get("score")), weight=_number(one.get("weight", 1.0)),
    )  # fmt: skip


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _lines(rationale: str) -> Iterator[tuple[bool, str, str]]:
    """Verdict, name and reason of each check that a rationale tells of."""
    found = list(_LINE.finditer(rationale))
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(rationale)
        yield match[1] == "passed", match[2], rationale[match.end() : end]


def _told(lines: Sequence[tuple[bool, str, str]], assertions: Sequence[Assertion]) -> Iterator[CheckRow]:
    """The rows that an earlier version's rationale tells of; what was wanted is told where one check alone has that type."""
    of_type: dict[str, list[Assertion]] = {}
    for assertion in _flat(assertions):
        of_type.setdefault(assertion.type, []).append(assertion)
    for passed, name, reason in lines:
        kind = _TYPE.match(name)
        meant = of_type.get(kind[0], []) if kind else []
        only = meant[0] if len(meant) == 1 else None
        yield CheckRow(
            name=name, passed=passed, wanted="" if only is None else wanted(only), found=reason, score=None,
            weight=None if only is None else only.weight,
        )  # fmt: skip


def _flat(assertions: Sequence[Assertion]) -> Iterator[Assertion]:
    for assertion in assertions:
        yield assertion
        yield from _flat(assertion.assertions or ())


def wanted(assertion: Assertion) -> str:
    """What the check looks for, with its limit where it has one."""
    value = assertion.value
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    limit = "" if assertion.threshold is None else f"{' ' if text else ''}threshold {assertion.threshold:g}"
    return f"{text[:WANTED]}{'…' if len(text) > WANTED else ''}{limit}"


def _expected(expected: Json | None) -> str:
    if not expected:
        return ""
    text = "; ".join(
        value_text(value) if len(expected) == 1 else f"{key}: {value_text(value)}" for key, value in expected.items()
    )
    return f"{text[:WANTED]}…" if len(text) > WANTED else text
