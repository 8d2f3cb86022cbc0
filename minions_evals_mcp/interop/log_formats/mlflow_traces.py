"""MLflow's traces as JSON: info, spans, and assessments (feedback and expectations).

A row of `search_traces()` holds its trace as a JSON text under `trace`. An assessment that another one overrides is no longer
valid, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.tagged_values import obj, parsed
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_checks
from minions_evals_mcp.interop.logs.grouped_rows import first_row, rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import objects_under
from minions_evals_mcp.scoring.foreign.recorded import says_verdict
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, objects, without

NAME = "mlflow"
LISTS = frozenset({"", "traces"})
HUMAN = "HUMAN"
EXPECTED = ("expected_response", "expected_output", "expected_answer", "ground_truth")


def is_traces(seen: JsonValue) -> bool:
    """Returns whether a JSON value is a trace, or holds some."""
    listed = seen if isinstance(seen, list) else obj(seen).get("traces")
    first = _trace(obj(next(iter(listed), None)) if isinstance(listed, list) else obj(seen))
    return "spans" in obj(first.get("data")) and bool(obj(first.get("info")).keys() & {"trace_id", "request_id"})


def read(path: Path) -> Iterator[Item]:
    """A sample for each trace."""
    yield EvaluationLog(
        NAME,
        path.stem,
        _experiment(obj(_trace(first_row(path, LISTS)).get("info"))) or path.stem,
        own_id=False,
        known_samples=True,
    )
    deciding = cache(lambda: _deciding(path))
    for where, row in rows_of(path, LISTS):
        yield _sample(_trace(row), where, deciding)


def _deciding(path: Path) -> frozenset[str]:
    """The scorers that say in the file whether an output is right, or nothing but that they failed: there nobody knows."""
    infos = (obj(_trace(row).get("info")) for _, row in rows_of(path, LISTS))
    feedback = [
        (_name(assessment), _score(assessment).wire())
        for info in infos
        for assessment in objects(info.get("assessments"))
        if _is_scored(assessment)
    ]
    verdicts = {name for name, score in feedback if says_verdict(score)}
    grades = {name for name, score in feedback if score.get("value") is not None} - verdicts
    return frozenset(name for name, _ in feedback) - grades


def _is_scored(assessment: Json) -> bool:
    """Whether it is a scorer's; what people say are labels."""
    return "feedback" in assessment and str(obj(assessment.get("source")).get("source_type")).upper() != HUMAN


def _trace(row: Json) -> Json:
    """The trace of a row, which may hold it as a text."""
    return obj(parsed(row.get("trace"))) if isinstance(row.get("trace"), str) and "data" not in row else row


def _experiment(info: Json) -> str | None:
    """The experiment that the traces belong to: exports of one are of one benchmark."""
    place = obj(obj(info.get("trace_location")).get("mlflow_experiment"))
    experiment = place.get("experiment_id", info.get("experiment_id"))
    return None if experiment is None else f"experiment-{experiment}"


def _sample(row: Json, where: str, deciding: Callable[[], frozenset[str]]) -> LogSample:
    info, spans = obj(row.get("info")), objects_under(obj(row.get("data")), "spans", where)
    ident = info.get("trace_id", info.get("request_id"))
    root = next((span for span in spans if not (span.get("parent_span_id") or span.get("parent_id"))), None)
    if not isinstance(ident, str) or root is None:
        raise InvalidRecordError("a trace has an id and a root span", where=where)
    assessed = objects_under(info, "assessments", where)
    assessments = [assessment for assessment in assessed if assessment.get("valid") is not False]
    overridden: list[JsonValue] = [assessment for assessment in assessed if assessment.get("valid") is False]
    expected = {
        _name(assessment): obj(assessment.get("expectation")).get("value")
        for assessment in assessments
        if "expectation" in assessment
    }
    wanted = next((value for name in EXPECTED if (value := expected.get(name)) not in (None, "")), None)
    question, answer = _attribute(root, "mlflow.spanInputs"), _attribute(root, "mlflow.spanOutputs")
    tokens = _attribute(root, "mlflow.chat.tokenUsage") or parsed(
        obj(info.get("trace_metadata")).get("mlflow.trace.tokenUsage")
    )
    return LogSample(
        id=ident,
        case="",
        inputs=inputs_of(_messages(question)),
        targets=() if wanted is None else (value_text(wanted),),
        assertions=recorded_checks(NAME, _verdicts(assessments, deciding)),
        extra=without({"expectations": expected or None, "ofExpectations": [*_expectations(assessments)] or None}),
        produced=Produced(
            output=_answer(answer),
            tools=tuple(_call(span) for span in spans if _attribute(span, "mlflow.spanType") == "TOOL"),
            scores=tuple(_score(assessment) for assessment in assessments if "feedback" in assessment),
            agent=str(root.get("name") or ""),
            started=info.get("request_time", info.get("timestamp_ms")),
            input_tokens=count(obj(tokens).get("input_tokens")),
            output_tokens=count(obj(tokens).get("output_tokens")),
            latency_ms=_duration(root),
            error=_error(root),
            extra=without(
                {
                    "info": without(info, "assessments"),
                    "overridden": overridden or None,
                    "spans": len(spans),
                    "rest": without(row, "info", "data") or None,
                    "data": without(obj(row.get("data")), "spans") or None,
                    "root": _rest_of_root(root) or None,
                }
            ),
        ),
        where=where,
    )


def _verdicts(assessments: list[Json], deciding: Callable[[], frozenset[str]]) -> Iterator[str]:
    """The names of the scorers that say whether the output is right, or would if they had not failed."""
    for assessment in filter(_is_scored, assessments):
        score = _score(assessment).wire()
        if says_verdict(score) or (score.get("error") and _name(assessment) in deciding()):
            yield _name(assessment)


def _expectations(assessments: list[Json]) -> Iterator[JsonValue]:
    """Returns what expectations say beside their value."""
    for assessment in assessments:
        about = without(assessment, "expectation", "assessment_name", "name")
        more = without({**about, "expectation": without(obj(assessment.get("expectation")), "value") or None})
        if "expectation" in assessment and more:
            yield {"name": _name(assessment), **more}


def _rest_of_root(root: Json) -> Json:
    """Returns what the root says beside what was asked and answered."""
    attributes = without(obj(root.get("attributes")), "mlflow.spanInputs", "mlflow.spanOutputs")
    return without({**without(root, "attributes"), "attributes": attributes or None})


def _name(assessment: Json) -> str:
    return str(assessment.get("assessment_name", assessment.get("name")))


def _attribute(span: Json, name: str) -> JsonValue:
    """The attribute, which is written as a JSON text."""
    value = obj(span.get("attributes")).get(name)
    value_read = parsed(value)
    if not isinstance(value_read, str) or value_read[:1] != '"':
        return value_read
    whole = parsed(f"[{value_read}]")
    return whole[0] if isinstance(whole, list) else value_read


def _messages(question: JsonValue) -> JsonValue:
    messages = obj(question).get("messages")
    return messages if isinstance(messages, list) else question


def _answer(answer: JsonValue) -> JsonValue:
    """The last thing that was said, where the root's output is a conversation or a completion."""
    messages = obj(answer).get("messages")
    if isinstance(messages, list):
        return last_answer(messages) or answer
    choices = list(objects(obj(answer).get("choices")))
    return (last_answer([choices[0].get("message")]) or answer) if choices else answer


def _call(span: Json) -> Json:
    span_inputs = _attribute(span, "mlflow.spanInputs")
    arguments: Json = (
        span_inputs if isinstance(span_inputs, dict) else {} if span_inputs is None else {"input": span_inputs}
    )
    call: Json = {
        "tool": span.get("name") or "tool", "arguments": arguments, "result": _attribute(span, "mlflow.spanOutputs"),
        "error": _error(span), "id": ident if isinstance(ident := span.get("span_id"), str) else None, "durationMs": _duration(span),
    }  # fmt: skip
    return without(call)


def _duration(span: Json) -> float | None:
    start, end = (
        count(span.get(name, span.get(older)))
        for name, older in (("start_time_unix_nano", "start_time"), ("end_time_unix_nano", "end_time"))
    )
    return None if start is None or end is None or end < start else (end - start) / 1e6


def _error(span: Json) -> str | None:
    status = span.get("status", span.get("status_code"))
    code = obj(status).get("code", status)
    return str(obj(status).get("message") or "failed") if code in ("ERROR", "STATUS_CODE_ERROR", 2) else None


def _score(assessment: Json) -> ForeignScore:
    feedback = obj(assessment.get("feedback"))
    about = {
        "explanation": assessment.get("rationale"),
        **without(assessment, "assessment_name", "name", "feedback", "rationale"),
        "error": feedback.get("error"),
        "ofFeedback": without(feedback, "value", "error") or None,
    }
    return ForeignScore(_name(assessment), feedback.get("value"), without(about))
