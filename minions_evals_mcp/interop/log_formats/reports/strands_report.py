"""Reports of Strands' experiments (`EvaluationReport.to_file`): a row for each case and evaluator, its verdict in lists beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_checks
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import inputs_of, objects, texts, without

NAME = "strands-report"
TOOL = "strands"
LISTS = ("scores", "test_passes", "reasons", "detailed_results", "diagnoses", "recommendations")
TASK_FAILED, EVALUATOR_FAILED = "An error occurred:", "Evaluator error:"
"""How the reason of a row begins whose task, or whose evaluator, raised an error: both are written down as a score of 0."""
NOT_APPLICABLE = "not_applicable"
_OF_EVALUATOR = ("evaluator", "evaluator_type", "session_id")
_READ = ("input", "name", "expected_output", "actual_output", *_OF_EVALUATOR)


def is_report(seen: JsonValue) -> bool:
    """Whether a JSON document is such a report."""
    document = obj(seen)
    return {"overall_score", "scores", "cases", "test_passes"} <= document.keys()


@dataclass(frozen=True, slots=True)
class _Row:
    """What one evaluator said of one case."""

    case: Json
    evaluator: str
    verdict: Json

    @property
    def reason(self) -> str:
        """Why it said so."""
        return str(self.verdict.get("reasons") or "")

    @property
    def details(self) -> list[Json]:
        """The results that the verdict sums up."""
        return [*objects(self.verdict.get("detailed_results"))]

    @property
    def task_error(self) -> str | None:
        """The error of the task, where it failed."""
        failed = "actual_output" not in self.case and not self.details and self.reason.startswith(TASK_FAILED)
        return self.reason.removeprefix(TASK_FAILED).strip() or "the task failed" if failed else None

    @property
    def is_applicable(self) -> bool:
        """Whether it had something to judge; Strands drops what had not from its mean."""
        skipped = [part.get("label") == NOT_APPLICABLE and part.get("test_pass") is True for part in self.details]
        return not skipped or not all(skipped)

    @property
    def score(self) -> ForeignScore:
        """The recorded score; that of an evaluator that failed has its error."""
        about: Json = {
            "explanation": self.reason or None, "evaluatorType": self.case.get("evaluator_type"),
            "details": [*self.details] or None, "diagnosis": self.verdict.get("diagnoses"),
            "recommendation": self.verdict.get("recommendations"),
        }  # fmt: skip
        if not self.details and self.reason.startswith(EVALUATOR_FAILED):
            error = self.reason.removeprefix(EVALUATOR_FAILED).strip() or "failed"
            return ForeignScore(self.evaluator, None, without({**about, "error": error}))
        if not self.is_applicable:
            return ForeignScore(self.evaluator, None, without({**about, "unscored": True}))
        passed = self.verdict.get("test_passes")
        return ForeignScore(self.evaluator, self.verdict.get("scores"), without({"passed": passed, **about}))


def read(path: Path) -> Iterator[Item]:
    """A sample for each case, with the recorded verdicts of all evaluators."""
    document = the_object(whole_document(path), str(path))
    yield EvaluationLog(NAME, path.stem, TOOL, extra=without(document, "cases", *LISTS), own_id=False)
    for place, rows in enumerate(_cases(document, str(path)), 1):
        yield _sample(rows, place, f"{path}: case {place}")


def _cases(document: Json, where: str) -> list[list[_Row]]:
    """The rows of each case: equal ones of different evaluators belong together, in their order."""
    listed = objects_under(document, "cases", where)
    beside = {name: listed_values(document.get(name)) for name in LISTS}
    cases: dict[tuple[str, int], list[_Row]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for place, case in enumerate(listed):
        if "input" not in case:
            raise InvalidRecordError("a case has an input", field="input", where=f"{where}: cases.{place + 1}")
        row = _Row(case, str(case.get("evaluator") or "score"), {
            name: values[place] for name, values in beside.items() if place < len(values)
        })  # fmt: skip
        content = digest(without(case, *_OF_EVALUATOR))
        seen[content, row.evaluator] += 1
        cases.setdefault((content, seen[content, row.evaluator]), []).append(row)
    return [*cases.values()]


def _sample(rows: Sequence[_Row], place: int, where: str) -> LogSample:
    case = rows[0].case
    expected = case.get("expected_output")
    wanted = texts(expected)
    plain: Json | None = {"output": wanted[0]} if len(wanted) == 1 else None
    judging = [row.evaluator for row in rows if row.is_applicable] or [row.evaluator for row in rows]
    return LogSample(
        id=case.get("name") or place,
        inputs=inputs_of(case["input"]),
        name=str(case.get("name") or ""),
        targets=wanted,
        expected=expected if isinstance(expected, dict) and expected else plain,
        assertions=recorded_checks(TOOL, judging),
        extra=without({name: case.get(name) for name in case if name not in _READ and not name.startswith("actual_")}),
        produced=_produced(rows),
        where=where,
    )


def _produced(rows: Sequence[_Row]) -> Produced:
    case = rows[0].case
    error = next((row.task_error for row in rows if row.task_error), None)
    calls = _calls(case.get("actual_trajectory"))
    beside = {name: value for name, value in case.items() if name.startswith("actual_") and name != "actual_output"}
    session = without({"session_id": case.get("session_id")})
    return Produced(
        output=case.get("actual_output"),
        tools=calls,
        scores=() if error else tuple(row.score for row in rows),
        error=error,
        extra=without({**beside, **session}),
    )


def _calls(trajectory: JsonValue) -> tuple[JsonValue, ...] | None:
    """The tool calls: of a session its spans that carried out a tool, of a list its names."""
    if isinstance(trajectory, list):
        named = [{"tool": name} for name in trajectory if isinstance(name, str) and name]
        return tuple(named) if len(named) == len(trajectory) else None  # pyright: ignore[reportReturnType]  mappings of texts
    traces = objects(obj(trajectory).get("traces"))
    spans = [span for trace in traces for span in objects(trace.get("spans")) if obj(span.get("tool_call"))]
    return tuple(map(_call, spans)) if obj(trajectory).get("traces") else None


def _call(span: Json) -> JsonValue:
    call, result = obj(span.get("tool_call")), obj(span.get("tool_result"))
    return without({
        "tool": call.get("name") or "tool", "arguments": obj(call.get("arguments")), "result": result.get("content"),
        "error": result.get("error"), "id": call.get("tool_call_id"),
    })  # fmt: skip
