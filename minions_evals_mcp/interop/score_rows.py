"""The rows of `minions-evals score`: `{id, output, assert, threshold?, latencyMs?, cost?, toolCalls?}` in, a verdict a row out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json, to_json

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.conversations import MESSAGES
from minions_evals_mcp.domain.outputs import answered_record, output_value, value_text
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import EvalsError, InvalidRecordError
from minions_evals_mcp.frozen_types import tuples_of
from minions_evals_mcp.interop.finite_numbers import vet_finite
from minions_evals_mcp.scoring.assertions.table import asks, is_type, vet
from minions_evals_mcp.scoring.assertions.trajectories.turns import spoken_turns
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Aggregate, Evidence, Need, Subject, Unchecked
from minions_evals_mcp.scoring.verdicts.examination import Examination, OutputChecks, answered_alone

if TYPE_CHECKING:
    from minions_evals_mcp.domain.neighbours import ToolCall
    from minions_evals_mcp.engine.judge.door import Judges

MEASURED = frozenset({"latencyMs", "cost", "toolCalls", "state"})
KEYS = frozenset({"id", "output", "assert", "threshold"}) | MEASURED
ALSO = {"assertions": "assert"}
"""Other names of keys: what a test case calls its checks."""
NO_OTHER_NAMES: dict[str, str] = {}
CHUNK = 1 << 16
MOST_KNOWN, LONGEST_KNOWN = 4096, 2000
_KNOWN: dict[str | tuple[str, ...], tuple[Assertion, bool]] = {}
"""Vetted assertions, and whether each may need anything of the outside."""
_trusted, _of_row = Assertion.trusted, tuples_of(OutputChecks)
Answer = dict[str, JsonValue]
Asked = Examination[Answer]
"""A row as its reader made it."""
Batch = list[tuple[int, bytes]]
"""Lines with their numbers."""


class ScoreRow(NamedTuple):
    """One recorded output with the checks that it is to pass."""

    id: str
    checks: OutputChecks

    def needs(self) -> Sequence[Need]:
        """Returns what its checks need of the outside."""
        return self.checks.needs()

    def answer(self, evidence: Evidence = NO_EVIDENCE) -> Answer:
        """The row's verdict; where a check could not be carried out there is an error and no score."""
        result = self.checks.answer(evidence)
        if isinstance(result, Unchecked):
            return {"id": self.id, "error": f"{result.type}: {result.reason}"}
        return verdict_row(self.id, result)


def _checks(row: dict[str, JsonValue], subject: Subject) -> OutputChecks:
    """A row's output with its vetted assertions."""
    assertions: list[Assertion] = []
    asking = False
    for assertion in listed(row["assert"], "assert"):
        known, is_asking = _vetted(assertion, len(assertions))
        assertions.append(known)
        asking = asking or is_asking
    if not assertions:
        raise InvalidRecordError("is empty, so nothing would be checked", field="assert")
    return _of_row((tuple(assertions), subject, _number(row, "threshold"), False, asking))


def listed(value: JsonValue, field: str) -> list[JsonValue]:
    """The list that the field must be."""
    if not isinstance(value, list):
        raise InvalidRecordError("must be a list", field=field)
    return value


def vetted(value: JsonValue, number: int) -> Assertion:
    """The vetted assertion; rows often share theirs, and each is read once."""
    return _vetted(value, number)[0]


def _vetted(value: JsonValue, number: int) -> tuple[Assertion, bool]:
    if not isinstance(value, dict):
        raise InvalidRecordError("must be an object", field=f"assert.{number}")
    key = _key(value)
    known = _KNOWN.get(key)
    if known is None:
        assertion = _plain(key) or _assertion(to_json(value), number)
        vet(assertion, at=f"assert.{number}")
        known = assertion, asks(assertion)
        if len(_KNOWN) < MOST_KNOWN and len("".join(key)) <= LONGEST_KNOWN:
            _KNOWN[key] = known
    return known


def _key(members: Mapping[str, JsonValue]) -> str | tuple[str, ...]:
    """Returns what is equal for equal assertions and no others: the type, and the text of one that has but that beside it."""
    if len(members) < 3 and isinstance(kind := members.get("type"), str):
        if len(members) == 1:
            return (kind,)
        if isinstance(value := members.get("value"), str):
            return kind, value
    return repr(members)


def _plain(key: str | tuple[str, ...]) -> Assertion | None:
    """The assertion where it is but a type that there is, with a text or without, as most are; None for any other."""
    if isinstance(key, str) or not is_type(key[0]):
        return None
    return _trusted(type=key[0], value=key[1]) if len(key) == 2 else _trusted(type=key[0])


def read_assertion(value: JsonValue, number: int) -> Assertion:
    """The assertion, of whatever type; raises `InvalidRecordError` naming the key that does not fit."""
    return _assertion(to_json(value), number)


def _assertion(text: bytes, number: int) -> Assertion:
    try:
        return Assertion.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(
            first["msg"], field=".".join(("assert", str(number), *map(str, first["loc"])))
        ) from None


def read_row(line: str | bytes) -> ScoreRow:
    """The row in a line; raises `InvalidRecordError` naming the field that does not fit."""
    row = read_object(line, KEYS, ("output", "assert"), also=ALSO)
    subject = subject_of(row["output"], row)
    return ScoreRow(row_id(row), _checks(row, subject))


def read_object(
    line: str | bytes, known: frozenset[str], required: Sequence[str], *, also: Mapping[str, str] = NO_OTHER_NAMES
) -> dict[str, JsonValue]:
    """The JSON object in a line, with known keys only and every one that is required."""
    try:
        document: JsonValue = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRecordError(f"no JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidRecordError("a row is a JSON object")
    vet_finite(document)
    for name, meant in also.items():
        if name in document and meant not in document:
            document[meant] = document.pop(name)
    if not document.keys() <= known:
        unknown = min(document.keys() - known)
        raise InvalidRecordError(
            f"unknown key; {known_names(unknown, sorted(known), are='known are')}".removesuffix("."), field=unknown
        )
    for key in required:
        if key not in document:
            raise InvalidRecordError("is missing", field=key)
    return document


def row_id(members: dict[str, JsonValue]) -> str:
    """The row's id; a row without one is "" in its answer."""
    ident = members.get("id")
    if isinstance(ident, str):
        return ident
    if not isinstance(ident, int | float | None):
        raise InvalidRecordError("must be a string or a number", field="id")
    return "" if ident is None else str(ident)


def subject_of(output: JsonValue, measured: dict[str, JsonValue]) -> Subject:
    """The output as checks see it, with the `latencyMs`, `cost` (US dollars), `toolCalls` and final `state` that were recorded."""
    if isinstance(output, dict):
        value, record = output_value(output), answered_record(output)
        text, log = (value, None) if isinstance(value, str) else (value_text(value), value)
    elif isinstance(output, str):
        text, log, record = output, None, None
    else:
        text, log, record = json.dumps(output, ensure_ascii=False), output, None
    turns = spoken_turns(output) if isinstance(output, dict) and MESSAGES in output else ()
    if measured.keys().isdisjoint(MEASURED):
        return Subject(text, value=log, record=record, turns=turns)
    times = _number(measured, "latencyMs"), _number(measured, "cost")
    calls, state = _tool_calls(measured), measured.get("state")
    if not isinstance(state, dict | None):
        raise InvalidRecordError("must be an object", field="state")
    return Subject(text, *times, tool_calls=calls, value=log, record=record, state=state, turns=turns)


def _tool_calls(measured: dict[str, JsonValue]) -> tuple[ToolCall, ...] | None:
    """The calls that the row holds; None where it says nothing of them."""
    calls = measured.get("toolCalls")
    if calls is None:
        return None
    from minions_evals_mcp.domain.neighbours import tool_calls_of  # noqa: PLC0415  few rows hold any

    try:
        return tool_calls_of(calls)
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field="toolCalls") from None


def _number(members: dict[str, JsonValue], key: str) -> float | None:
    value = members.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRecordError("must be a number", field=key)
    if not 0 <= value < math.inf:
        raise InvalidRecordError("must be a number from 0", field=key)
    try:
        return float(value)
    except OverflowError:
        raise InvalidRecordError("is too large a number", field=key) from None


def verdict_row(ident: str, aggregate: Aggregate) -> Answer:
    """The verdict as a row says it."""
    results: list[JsonValue] = [
        {"type": kind, "pass": passed, "score": score, "reason": reason}
        for kind, passed, score, reason, _, _, _, _ in aggregate.results
    ]
    return {"id": ident, "pass": aggregate.passed, "score": aggregate.score, "results": results}


@dataclass(slots=True)
class RowTally:
    """The counts of the rows' verdicts: `passed` counts those that pass, or of which an output is selected; `errors` have no verdict."""

    rows: int = 0
    passed: int = 0
    errors: int = 0

    def counted(self, answers: list[Answer]) -> list[Answer]:
        """The answers, once they are counted."""
        self.rows += len(answers)
        for answer in answers:
            self.passed += answer.get("pass") is True or answer.get("selected") is not None
            self.errors += "error" in answer
        return answers


class RowSource(Protocol):
    """The source of rows: a file or pipe that gives what has come, at most so many bytes."""

    def read1(self, size: int, /) -> bytes: ...


def batches(source: RowSource) -> Iterator[Batch]:
    """The lines with their numbers, as many as are there at once; blank ones are left out.

    A producer that waits for each verdict is answered, for no more is read than what has come.
    """
    number, rest = 0, b""
    while chunk := source.read1(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
        batch = [(at, line) for at, line in enumerate(lines, number + 1) if line.strip()]
        number += len(lines)
        if batch:
            yield batch
    if rest.strip():
        yield [(number + 1, rest)]


def rows_of(batch: Sequence[tuple[int, str | bytes]], read: Callable[[str | bytes], Asked] = read_row) -> list[Asked]:
    """The rows of the lines; a bad one has its answer already, which says why, and does not stop the others."""
    rows: list[Asked] = []
    for number, line in batch:
        try:
            rows.append(read(line))
        except EvalsError as error:
            rows.append(_Unreadable({"id": _id_of(line), "error": f"line {number}: {error}"}))
    return rows


def answers_alone(rows: Sequence[Asked], tally: RowTally) -> list[Answer] | None:
    """One answer for each row, from what stands in it; None, and nothing counted, where one needs more than that."""
    verdicts = answered_alone(rows)
    return None if verdicts is None else tally.counted(verdicts)


async def answers(rows: Sequence[Asked], judges: Judges, tally: RowTally) -> list[Answer]:
    """One answer for each row."""
    from minions_evals_mcp.engine.judge.door import judge  # noqa: PLC0415  most rows need no evidence, nor what fetches it

    return tally.counted(await judge(rows, judges))


class _Unreadable(NamedTuple):
    """A line that is no row, with the answer that says why."""

    why: Answer

    def needs(self) -> Sequence[Need]:
        """Nothing."""
        return ()

    def answer(self, evidence: Evidence, /) -> Answer:
        """Returns why it could not be read."""
        del evidence
        return self.why


def _id_of(line: str | bytes) -> str:
    try:
        document: JsonValue = from_json(line)
    except ValueError:
        return ""
    return str(document.get("id", "")) if isinstance(document, dict) else ""
