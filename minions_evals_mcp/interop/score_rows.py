"""The rows of `minions-evals score`: `{id, output, assert, threshold?, latencyMs?, cost?}` in, a verdict a row out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.errors import EvalsError, InvalidRecordError
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.scoring.assertions import check_all, needs, vet
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Aggregate, Evidence, RegexNeed, Subject, Unchecked

KEYS = frozenset({"id", "output", "assert", "threshold", "latencyMs", "cost"})
CHUNK = 1 << 17
MOST_KNOWN = 4096
_ASSERTION = TypeAdapter(Assertion)
_KNOWN: dict[tuple[object, ...], Assertion] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded output with the checks that it is to pass."""

    id: str
    subject: Subject
    assertions: tuple[Assertion, ...]
    threshold: float | None


def _assertions(found: JsonValue) -> tuple[Assertion, ...]:
    """The vetted assertions of a row."""
    if not isinstance(found, list):
        raise InvalidRecordError("must be a list of assertions", field="assert")
    return tuple([_assertion(one, number) for number, one in enumerate(found)])


def _assertion(one: JsonValue, number: int) -> Assertion:
    """The vetted assertion; rows often share theirs, and a plain one is read once."""
    if not isinstance(one, dict):
        raise InvalidRecordError("must be an object", field=f"assert.{number}")
    key = (*one.items(), *map(type, one.values()))  # the types tell 1 from true
    try:
        known = _KNOWN.get(key)
    except TypeError:  # a list or object among the values
        return _read_assertion(one, number)
    if known is None:
        known = _read_assertion(one, number)
        if len(_KNOWN) < MOST_KNOWN:
            _KNOWN[key] = known
    return known


def _read_assertion(one: JsonValue, number: int) -> Assertion:
    try:
        assertion = _ASSERTION.validate_json(to_json(one))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(
            first["msg"], field=".".join(("assert", str(number), *map(str, first["loc"])))
        ) from None
    vet(assertion, at=f"assert.{number}")
    return assertion


def read_row(line: str | bytes) -> Row:
    """The row in a line; raises `InvalidRecordError` naming the field that does not fit."""
    try:
        found: JsonValue = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRecordError(f"no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidRecordError("a row is a JSON object")
    if not found.keys() <= KEYS:
        unknown = min(found.keys() - KEYS)
        raise InvalidRecordError(f"unknown key; known are {', '.join(sorted(KEYS))}", field=unknown)
    if "output" not in found or "assert" not in found:
        raise InvalidRecordError("is missing", field="assert" if "output" in found else "output")
    ident = found.get("id")
    if not isinstance(ident, str | int | float | None):
        raise InvalidRecordError("must be a string or a number", field="id")
    subject = Subject(_text(found["output"]), _number(found, "latencyMs"), _number(found, "cost"))
    return Row("" if ident is None else str(ident), subject, _assertions(found["assert"]), _number(found, "threshold"))


def _text(output: JsonValue) -> str:
    if isinstance(output, str):
        return output
    return output_text(output) if isinstance(output, dict) else json.dumps(output, ensure_ascii=False)


def _number(found: dict[str, JsonValue], key: str) -> float | None:
    value = found.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRecordError("must be a number", field=key)
    return float(value)


def answer(row: Row, evidence: Evidence = NO_EVIDENCE) -> dict[str, JsonValue]:
    """The row's verdict; where a check could not be carried out there is an error and no score."""
    found = check_all(row.assertions, row.subject, threshold=row.threshold, evidence=evidence)
    if isinstance(found, Unchecked):
        return {"id": row.id, "error": f"{found.type}: {found.reason}"}
    return _verdict(row.id, found)


def _verdict(ident: str, found: Aggregate) -> dict[str, JsonValue]:
    results: list[JsonValue] = [
        {"type": one.type, "pass": one.passed, "score": one.score, "reason": one.reason} for one in found.results
    ]
    return {"id": ident, "pass": found.passed, "score": found.score, "results": results}


@dataclass(slots=True)
class Tally:
    """How the rows came out; `errors` have no verdict."""

    rows: int = 0
    passed: int = 0
    errors: int = 0

    def count(self, said: dict[str, JsonValue]) -> None:
        """Counts one answer."""
        self.rows += 1
        self.passed += said.get("pass") is True
        self.errors += "error" in said


class Source(Protocol):
    """Where rows come from: a file or pipe that gives what has come, at most so many bytes."""

    def read1(self, size: int, /) -> bytes: ...


def batches(source: Source) -> Iterator[list[tuple[int, bytes]]]:
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


async def answers(
    batch: Sequence[tuple[int, str | bytes]], regexes: RegexSandbox, tally: Tally
) -> list[dict[str, JsonValue]]:
    """One answer for each line; a bad row says why and does not stop the others."""
    rows: list[Row | dict[str, JsonValue]] = []
    wanted: list[RegexNeed] = []
    for number, line in batch:
        try:
            row = read_row(line)
        except EvalsError as error:
            rows.append({"id": _id_of(line), "error": f"line {number}: {error}"})
            continue
        wanted.extend(needs(row.assertions, row.subject))
        rows.append(row)
    evidence = Evidence(await regexes.search(wanted)) if wanted else NO_EVIDENCE
    said = [row if isinstance(row, dict) else answer(row, evidence) for row in rows]
    for one in said:
        tally.count(one)
    return said


def _id_of(line: str | bytes) -> str:
    try:
        found: JsonValue = from_json(line)
    except ValueError:
        return ""
    return str(found.get("id", "")) if isinstance(found, dict) else ""
