"""Checks of what an agent brought about: calls that happened or did not, and the final state of its world."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Self, TypeVar

from pydantic import Field, JsonValue, ValidationError, model_validator

from minions_evals_mcp.confined_paths import confined_path
from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.querying.queries import Query, QueryError, is_filled, queried
from minions_evals_mcp.domain.values import Json, Text, Value, unknown_key
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.trajectories.steps import fits_pattern, same
from minions_evals_mcp.scoring.assertions.trajectories.trajectory import hinted, on_log
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

if TYPE_CHECKING:
    from minions_evals_mcp.domain.neighbours import ToolCall

Number = Annotated[float, Field(strict=False)]
Times = Annotated[int, Field(ge=0)]
COMPARATORS = {"equals": "", "contains": "something with ", "min": "at least ", "max": "at most "}
"""Each with the words before what it compares with."""
NO_STATE = Unmet(
    "the final state of the world is unknown: the case must name a world with mocked tools",
    not_judgeable=True,
)
NO_DATABASE = Unmet(
    "the final database of the world is unknown: the world must have one, of at most 1 MB",
    not_judgeable=True,
)
NO_FILES = Unmet("the final files of the world are unknown: the world must have a folder", not_judgeable=True)
_READS = re.compile(r"\s*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)
V = TypeVar("V", bound=Value)


class StateCheck(Value):
    """The value of `state`: what of the final state is looked at, and what it must be; alone, it must be there and not empty.

    `query` is JMESPath over the state that is JSON, `sql` a query over the world's database, `file` the path of a file.
    """

    query: Query | None = None
    sql: Text | None = None
    file: Text | None = None
    equals: JsonValue = None
    contains: JsonValue = None
    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _looks_at_one(self) -> Self:
        if len([part for part in (self.query, self.sql, self.file) if part is not None]) != 1:
            raise ValueError("query: give one of query, sql and file")
        if self.sql is not None and _READS.match(self.sql) is None:
            raise ValueError("sql: only SELECT, WITH or VALUES can be asked")
        if self.file is not None:
            try:
                confined_path(self.file, field="file")
            except BadInputError as error:
                raise ValueError(error.message_text) from None
        return self

    @property
    def what(self) -> str:
        """What is looked at, in words."""
        return self.query or self.sql or str(self.file)

    def failures(self, found: JsonValue) -> list[str]:
        """What is not as it must be."""
        asked = self.model_fields_set & COMPARATORS.keys()
        return [f"{words}{_shown(getattr(self, name))}" for name, words in COMPARATORS.items() if name in asked
                and not self._is_met(name, found)]  # fmt: skip

    def _is_met(self, name: str, found: JsonValue) -> bool:
        if name == "equals":
            return same(found, self.equals)
        if name == "contains":
            return _contains(found, self.contains)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return False
        return found >= self.min if name == "min" and self.min is not None else self.max is None or found <= self.max


class CallMatcher(Value):
    """The calls that are meant: of a tool (a pattern with `*` and `?`), perhaps of one server, with at least those arguments."""

    tool: Text
    server: Text | None = None
    args: Json = {}

    def fits(self, call: ToolCall) -> bool:
        """Whether the call is one of those."""
        server = call.extra.get("server")
        if self.server is not None and not (isinstance(server, str) and fits_pattern(self.server, server)):
            return False
        return fits_pattern(self.tool, call.tool) and covers(call.arguments, self.args)


class EffectCheck(CallMatcher):
    """The value of `effect`: calls and how often they happened. `times` is exactly, `never` not at all; else at least `min` (1).

    `before`: whenever that call happened, one of these had happened earlier. Calls that ended in an error count only with
    `attempts`. `outside`: the tool is one of the agent's own, which its world does not have.
    """

    times: Times | None = None
    min: Times | None = None
    max: Times | None = None
    never: bool = False
    before: CallMatcher | None = None
    attempts: bool = False
    outside: bool = False

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        given = [self.never, self.times is not None, self.min is not None or self.max is not None]
        if sum(given) > 1:
            raise ValueError("times: give times, never, or min and max")
        if self.never and self.before is not None:
            raise ValueError("before: a call that never happens comes before nothing")
        return self

    @property
    def least(self) -> int:
        """The smallest number of calls that passes."""
        if self.times is not None:
            return self.times
        return self.min if self.min is not None else 0 if self.never or self.max is not None else 1

    @property
    def most(self) -> int | None:
        """The largest number of calls that passes; None where any does."""
        return 0 if self.never else self.times if self.times is not None else self.max


def state(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The final state of the world is as `value` says: {query, equals | contains | min | max}, the query in JMESPath.

    In place of `query`, `sql` asks the world's database (one value, else a list), and `file` names a file of its folder; null is one
    that is not there. Without a comparison what is found must not be empty. Known where a test case names a world.
    """
    check = _read(StateCheck, canonical(assertion.value))
    try:
        found = _found(check, subject)
    except QueryError as error:
        return UnweightedResult(passed=False, reason=str(error))
    if isinstance(found, Unmet):
        return found
    if not check.model_fields_set & COMPARATORS.keys():
        is_there = found is not None if check.file is not None else is_filled(found)
        return hinted(UnweightedResult(is_there, f"{check.what} is {_shown(found)}"), subject)
    failed = check.failures(found)
    wanted = f", wanted {' and '.join(failed)}" if failed else ""
    return hinted(UnweightedResult(not failed, f"{check.what} is {_shown(found)}{wanted}"), subject)


def _found(check: StateCheck, subject: Subject) -> JsonValue | Unmet:
    """What the final state holds there; raises `QueryError`."""
    if check.query is not None:
        return NO_STATE if subject.state is None else queried(check.query, dict(subject.state))
    if check.sql is not None:
        return NO_DATABASE if subject.ask is None else subject.ask(check.sql)
    assert check.file is not None
    if subject.files is None:
        return NO_FILES
    path = str(confined_path(check.file, field="file"))
    if subject.files.get(path, "") is None:
        return Unmet(f"the content of {path} was not saved: it is not text, or too long", not_judgeable=True)
    return subject.files.get(path)


def effect(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """A call happened: {tool, server?, args?} names it, `times`, `min`, `max` or `never` say how often (default: at least once).

    `args` are arguments that it has, among others. `before` names a call that it must come before. A call that ended in an error
    has no effect and does not count, unless `attempts` is true. In a world, a tool that it does not have is refused, and
    so is an argument that is not in the tool's schema, unless `outside` is true: the tool is one of the agent's own.
    """
    check = _read(EffectCheck, canonical(assertion.value))
    calls = [call for call in subject.tool_calls or () if check.attempts or call.error is None]
    matching = [place for place, call in enumerate(calls) if check.fits(call)]
    within = len(matching) >= check.least and (check.most is None or len(matching) <= check.most)
    wanted = _wanted(check.least, check.most)
    what = f"{check.tool}{f' {_cut(canonical(check.args))}' if check.args else ''}"
    reason = f"{what} {_happened(len(matching))}, wanted {wanted}; calls: {_calls(calls)}"
    if check.before is None or not within:
        return UnweightedResult(within, reason)
    early = [
        place for place, call in enumerate(calls) if check.before.fits(call) and not any(at < place for at in matching)
    ]
    if early:
        return UnweightedResult(
            passed=False,
            reason=f"call {early[0] + 1}, {check.before.tool}, came before any {what}; calls: {_calls(calls)}",
        )
    return UnweightedResult(passed=True, reason=f"{what} came before every {check.before.tool}; {reason}")


def vet_state(assertion: Assertion) -> None:
    """Refuses a `value` that is no {query, …}."""
    _vet(StateCheck, assertion.value)


def vet_effect(assertion: Assertion) -> None:
    """Refuses a `value` that is no {tool, …}."""
    _vet(EffectCheck, assertion.value)


def covers(actual: JsonValue, wanted: JsonValue) -> bool:
    """Whether a value has at least what is wanted; lists have the same length."""
    match actual, wanted:
        case list(), list():
            return len(actual) == len(wanted) and all(map(covers, actual, wanted))
        case dict(), dict():
            return all(key in actual and covers(actual[key], part) for key, part in wanted.items())
        case _:
            return same(actual, wanted)


def _contains(found: JsonValue, wanted: JsonValue) -> bool:
    match found:
        case str():
            return isinstance(wanted, str) and wanted in found
        case list():
            return any(covers(item, wanted) for item in found)
        case _:
            return isinstance(found, dict) and covers(found, wanted)


def _wanted(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {_times(least)}"
    return _times(least) if least == most else f"{least} to {_times(most)}"


def _happened(count: int) -> str:
    return f"happened {_times(count)}" if count else "never happened"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times" if count else "never"


def _calls(calls: list[ToolCall]) -> str:
    return _cut(", ".join(call.tool for call in calls) or "none", 200)


def _shown(value: JsonValue) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str, most: int = 80) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


@lru_cache(maxsize=1024)
def _read(kind: type[V], value: str) -> V:
    return kind.model_validate_json(value)


def _vet(kind: type[Value], value: JsonValue) -> None:
    if not isinstance(value, dict):
        raise InvalidRecordError(f"must be an object, not {excerpt(value)}", field="value")
    try:
        kind.model_validate_json(canonical(value))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        first = next(
            (one for one in errors if one["type"] == "extra_forbidden"), errors[0]
        )  # the cause of a missing key
        place = first["loc"]
        told = (
            unknown_key(kind, place)
            if first["type"] == "extra_forbidden"
            else first["msg"].removeprefix("Value error, ")
        )
        raise InvalidRecordError(told, field=".".join(map(str, ("value", *place)))) from None


TYPES: dict[str, AssertionKind] = {
    "effect": AssertionKind(on_log(effect), vet_effect),
    "state": AssertionKind(state, vet_state),
}
