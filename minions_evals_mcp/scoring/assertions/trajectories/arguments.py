"""The conditions of a call's arguments: values, or matchers that say how near a value must come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pydantic import JsonValue

from minions_evals_mcp.domain.values import is_finite
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.assertions.trajectories.steps import is_ignored, mapping, same
from minions_evals_mcp.scoring.patterns import compiled
from minions_evals_mcp.scoring.values import excerpt, js_text

MATCHERS = ("$exact", "$ignore", "$number", "$partial", "$regex")
TOLERANCE = "$tolerance"
SLACK = 1e-9
"""0.8 - 0.7 is not more than 0.1."""

FoundIn = Callable[[str, str], bool]
"""Whether a pattern is found in a text."""


@frozen_type
class ExpectedArguments:
    """The arguments that are asked for, those that do not matter, and whether a call may hold others besides."""

    wanted: dict[str, JsonValue]
    exact: bool
    ignored: tuple[str, ...]

    def misfits(self, given: dict[str, JsonValue], found_in: FoundIn) -> tuple[float, tuple[str, ...]]:
        """The share of the arguments that do not fit, and their names."""
        compared = {*self.wanted, *(given if self.exact else ())}
        names = sorted(name for name in compared if not any(is_ignored(entry, name) for entry in self.ignored))
        fit = partial(fits, exact=self.exact, found_in=found_in)
        # Each is looked at, whether or not another fails: its pattern may have to be searched elsewhere beforehand.
        wrong = [name for name in names if not self._fits(name, given, fit)]
        return (len(wrong) / len(names) if names else 0.0), tuple(wrong)

    def _fits(self, name: str, given: dict[str, JsonValue], fit: Callable[[JsonValue, JsonValue], bool]) -> bool:
        if name not in self.wanted:
            return False
        return fit(given[name], self.wanted[name]) if name in given else _is_ignore(self.wanted[name])


def fits(actual: JsonValue, wanted: JsonValue, *, exact: bool, found_in: FoundIn) -> bool:
    """Returns whether a value is what is wanted; an object may hold more unless `exact`, a list must be as long."""
    fit = partial(fits, exact=exact, found_in=found_in)
    match wanted:
        case dict() if is_matcher(wanted):
            return _by_matcher(actual, wanted, found_in)
        case dict():
            held = mapping(actual)
            optional = {key for key, part in wanted.items() if _is_ignore(part)}
            each = [fit(held[key], part) for key, part in wanted.items() if key in held]
            missing = wanted.keys() - held.keys() - optional
            return (
                isinstance(actual, dict) and not missing and all(each) and not (exact and held.keys() - wanted.keys())
            )
        case list():
            if not isinstance(actual, list) or len(actual) != len(wanted):
                return False
            each = [fit(part, other) for part, other in zip(actual, wanted, strict=True)]
            return all(each)
        case _:
            return same(actual, wanted)


def is_matcher(value: JsonValue) -> bool:
    """Returns whether an object says how to compare, instead of being what to compare with."""
    return isinstance(value, dict) and any(key.startswith("$") for key in value)


def vet_arguments_wanted(value: JsonValue, field: str) -> None:
    """Refuses a matcher that is not known or that does not fit, at any depth."""
    if not isinstance(value, dict | list):
        return
    if isinstance(value, dict) and is_matcher(value):
        _vet_matcher(value, field)
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inner:
        vet_arguments_wanted(part, f"{field}.{key}")


def _by_matcher(actual: JsonValue, matcher: dict[str, JsonValue], found_in: FoundIn) -> bool:
    match matcher:
        case {"$exact": wanted}:
            return fits(actual, wanted, exact=True, found_in=found_in)
        case {"$partial": wanted}:
            return fits(actual, wanted, exact=False, found_in=found_in)
        case {"$regex": str(pattern)}:
            return not isinstance(actual, dict | list) and found_in(pattern, js_text(actual))
        case {"$number": int() | float() as wanted}:
            tolerance = matcher.get(TOLERANCE, 0)
            within = tolerance if isinstance(tolerance, int | float) else 0
            return _is_number(actual) and abs(float(js_text(actual)) - wanted) <= within + SLACK
        case _:
            return True


def _is_ignore(wanted: JsonValue) -> bool:
    return isinstance(wanted, dict) and "$ignore" in wanted


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)


def _vet_matcher(matcher: dict[str, JsonValue], field: str) -> None:
    named = [key for key in matcher if key in MATCHERS]
    beside = {TOLERANCE} if named == ["$number"] else set[str]()
    if len(named) != 1 or matcher.keys() - {*named} - beside:
        raise InvalidRecordError(f"must be one of {', '.join(MATCHERS)}, not {excerpt(matcher)}", field=field)
    if "$regex" in matcher:
        pattern = matcher["$regex"]
        if not isinstance(pattern, str) or not pattern:
            raise InvalidRecordError(f"must be a pattern, not {excerpt(pattern)}", field=f"{field}.$regex")
        compiled(pattern)
    if matcher.get("$ignore", True) is not True:
        raise InvalidRecordError("must be true", field=f"{field}.$ignore")
    for key in {"$number", TOLERANCE} & matcher.keys():
        if not _is_number(matcher[key]) or (key == TOLERANCE and float(js_text(matcher[key])) < 0):
            raise InvalidRecordError(f"must be a number, not {excerpt(matcher[key])}", field=f"{field}.{key}")
