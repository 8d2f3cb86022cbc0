"""Reports of pydantic-evals, as `EvaluationReportAdapter` writes them: what a task answered, and what the evaluators said.

An assertion is a verdict. Scores, labels and metrics decide nothing there, so they are grades without a pass mark here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import object_under, objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, number, texts, without

NAME = "pydantic-evals-report"
TOOL = "pydantic-evals"
KINDS = ("assertions", "scores", "labels")
_OF_CASE = (
    "name", "source_case_name", "inputs", "expected_output", "output", "metrics", *KINDS, "task_duration", "evaluator_failures",
    "error_message",
)  # fmt: skip
_COUNTED = ("input_tokens", "output_tokens", "cost")


def is_report(seen: JsonValue) -> bool:
    """Whether a JSON document is a report: its cases have what was answered beside what was asked, or it lists failures of a task."""
    document = obj(seen)
    first, failed = (obj(next(iter(listed_values(document.get(name))), None)) for name in ("cases", "failures"))
    return {"inputs", "output", "assertions", "task_duration"} <= first.keys() or {
        "inputs",
        "error_message",
    } <= failed.keys()


def read(path: Path) -> Iterator[Item]:
    """A sample for each case and repetition; a task that failed is an error."""
    document = the_object(whole_document(path), str(path))
    yield EvaluationLog(
        NAME, path.stem, str(document.get("dataset_name") or document.get("name") or path.stem), str(document.get("name") or ""),
        extra=without(document, "cases", "failures", "name", "dataset_name"), own_id=False,
    )  # fmt: skip
    rows = [*_rows(document, "cases", path), *_rows(document, "failures", path)]
    given = _Given.of(rows)
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row.case, []).append(row)
    checked = {case: _checks([given.scores(row) for row in group if not row.failed]) for case, group in groups.items()}
    everywhere = _common([checks for checks in checked.values() if checks is not None])
    for case, group in groups.items():
        checks = checked[case]
        for epoch, row in enumerate(group, 1):
            yield _sample(row, epoch, everywhere if checks is None else checks, given)


@dataclass(frozen=True, slots=True)
class _Row:
    """A case of the report, of the name that its data set gives it; `failed`: its task raised an error."""

    case: str
    fields: Json
    failed: bool
    where: str


def _rows(document: Json, listed: str, path: Path) -> Iterator[_Row]:
    for place, fields in enumerate(objects_under(document, listed, str(path)), 1):
        where = f"{path}: {listed}.{place}"
        if "inputs" not in fields:
            raise InvalidRecordError("a case has inputs", field="inputs", where=where)
        name = fields.get("source_case_name") or fields.get("name") or place
        yield _Row(str(name), fields, listed == "failures", where)


@dataclass(frozen=True, slots=True)
class _Given:
    """What each evaluator gave anywhere in the report: the names of its assertions, and whether it gave anything at all."""

    assertions: dict[str, dict[str, None]]

    @classmethod
    def of(cls, rows: Iterable[_Row]) -> _Given:
        """What the evaluators of those rows gave."""
        held: dict[str, dict[str, None]] = {}
        for row in rows:
            for kind in KINDS:
                for name, result in object_under(row.fields, kind, row.where).items():
                    names = held.setdefault(_evaluator(obj(result), name), {})
                    names.update({name: None} if kind == "assertions" else {})
        return cls(held)

    def scores(self, row: _Row) -> list[ForeignScore]:
        """The recorded results of a row; an evaluator that failed has one for each assertion that it gives elsewhere."""
        found = [
            _score(name, the_object(result, row.where, f"{kind}.{name}"), kind)
            for kind in KINDS
            for name, result in object_under(row.fields, kind, row.where).items()
        ]
        for failure in objects_under(row.fields, "evaluator_failures", row.where):
            found += self._failed(failure)
        return found

    def _failed(self, failure: Json) -> Iterator[ForeignScore]:
        name = str(failure.get("name") or "evaluator")
        about: Json = {"error": failure.get("error_message") or "failed", **without(failure, "name", "error_message")}
        names = self.assertions.get(_evaluator(failure, name))
        for assertion in [name] if names is None else names:
            yield ForeignScore(assertion, None, about)
        if names == {}:  # it gives grades only, which decide nothing
            yield ForeignScore(name, None, {**about, "isGrade": True})


def _evaluator(result: Json, name: str) -> str:
    return str(obj(result.get("source")).get("name") or name)


def _score(name: str, result: Json, kind: str) -> ForeignScore:
    value = result.get("value")
    about: Json = {"explanation": result.get("reason"), **without(result, "name", "value", "reason"), "kind": kind}
    if result.get("name") != name:
        about["givenName"] = result.get("name")
    if kind == "assertions":
        return ForeignScore(name, value, without({"passed": value is True, **about}))
    return ForeignScore(name, value, without({"isGrade": True, **about}))


def _checks(runs: Sequence[list[ForeignScore]]) -> tuple[Json, ...] | None:
    """The checks of a case by all of its runs; None where every one of them failed."""
    if not runs:
        return None
    return recorded_of(TOOL, [score for scores in runs for score in scores])


def _common(listed: Sequence[tuple[Json, ...]]) -> tuple[Json, ...]:
    """The checks that every case has."""
    return tuple(check for check in listed[0] if all(check in checks for checks in listed)) if listed else ()


def _sample(row: _Row, epoch: int, checks: tuple[Json, ...], given: _Given) -> LogSample:
    fields, expected = row.fields, row.fields.get("expected_output")
    wanted = texts(expected)
    plain: Json | None = {"output": wanted[0]} if len(wanted) == 1 else None
    return LogSample(
        id=row.case,
        inputs=inputs_of(fields["inputs"]),
        epoch=epoch,
        name=row.case,
        targets=wanted,
        expected=expected if isinstance(expected, dict) and expected else plain,
        assertions=checks,
        extra=without({"metadata": fields.get("metadata")}),
        produced=_produced(fields, given.scores(row), failed=row.failed),
        where=row.where,
    )


def _produced(fields: Json, scores: Sequence[ForeignScore], *, failed: bool) -> Produced:
    metrics, seconds, output = obj(fields.get("metrics")), number(fields.get("task_duration")), fields.get("output")
    messages = output if isinstance(output, list) else []
    answer = last_answer(messages)
    beside = without(
        {"rest": without(fields, *_OF_CASE, "metadata") or None, "metrics": without(metrics, *_COUNTED) or None}
    )
    return Produced(
        output=output if answer is None else answer,
        messages=tuple(messages) if answer is not None else (),
        scores=tuple(scores),
        input_tokens=count(metrics.get("input_tokens")),
        output_tokens=count(metrics.get("output_tokens")),
        cost=number(metrics.get("cost")),
        latency_ms=None if seconds is None else seconds * 1000,
        error=str(fields.get("error_message") or "the task failed") if failed else None,
        extra={**beside, **({"run": fields["name"]} if fields.get("source_case_name") else {})},
    )
