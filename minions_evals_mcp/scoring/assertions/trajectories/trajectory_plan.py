"""The steps that `trajectory:match` asks for, as a value: steps in order, their alternatives, and calls that must not be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.assertions.trajectories.arguments import ExpectedArguments, FoundIn, vet_arguments_wanted
from minions_evals_mcp.scoring.assertions.trajectories.steps import (
    MATCHER_KEYS,
    STEP_TYPES,
    CalledStep,
    Matcher,
    items,
    mapping,
    matcher_of,
    texts,
    vet_matcher,
    vet_object,
    vet_pattern,
)
from minions_evals_mcp.scoring.values import excerpt

MOST_TOGETHER = 8
"""So many steps stand in one `unordered`, at most: each doubles the places that are looked at."""
MOST_STEPS = 100

_CALL_KEYS = frozenset({"args", "mode", "ignore", "optional"})


class Misfit(NamedTuple):
    """The share of a call's arguments that do not fit, and their names."""

    share: float
    arguments: tuple[str, ...]


@frozen_type
class WantedStep:
    """A step that is asked for: one of several calls. An optional one may be left out."""

    calls: tuple[tuple[Matcher, ExpectedArguments], ...]
    optional: bool = False

    @property
    def name(self) -> str:
        """Returns what it is called when it is missing."""
        return " or ".join(matcher.pattern for matcher, _ in self.calls)

    def misfit(self, step: CalledStep, found_in: FoundIn) -> Misfit | None:
        """The misfit of the call that fits the step best; None where the step is another tool."""
        fitting = [
            Misfit(*arguments.misfits(mapping(step.arguments), found_in))
            for matcher, arguments in self.calls
            if matcher.fits(step)
        ]
        return min(fitting, default=None)


@frozen_type
class TrajectoryPlan:
    """All that is asked for: groups in order, the members of one in any order."""

    groups: tuple[tuple[WantedStep, ...], ...]
    forbidden: tuple[Matcher, ...] = ()
    extra_refused: bool = False

    @property
    def required(self) -> int:
        """Returns how many steps must not be missing."""
        return sum(not wanted.optional for group in self.groups for wanted in group)

    @property
    def places(self) -> int:
        """Returns how many ways there are to have done a part of it."""
        return 1 + sum(1 << len(group) for group in self.groups)


def plan_of(value: JsonValue) -> TrajectoryPlan:
    """Returns what a vetted `value` asks for."""
    plan_fields = mapping(value) if isinstance(value, dict) else {"steps": value}
    groups = tuple(_group(step) for step in items(plan_fields.get("steps")))
    forbidden = tuple(matcher_of(step, "") for step in _listed(plan_fields.get("forbidden", [])))
    return TrajectoryPlan(groups, forbidden, plan_fields.get("extra") == "refused")


def vet_plan(value: JsonValue) -> None:
    """Refuses what asks for nothing, and every step that could not be looked for, by its place."""
    plan_fields = {"steps": value} if isinstance(value, list) else vet_object(value, {"steps", "forbidden", "extra"})
    steps, forbidden = plan_fields.get("steps", []), _listed(plan_fields.get("forbidden", []))
    if not isinstance(steps, list) or not (steps or forbidden or "extra" in plan_fields):
        raise InvalidRecordError("must ask for at least one step", field="value.steps")
    if len(steps) > MOST_STEPS:
        raise InvalidRecordError(f"asks for more than {MOST_STEPS} steps", field="value.steps")
    for number, step in enumerate(steps):
        _vet_group(step, f"value.steps.{number}")
    for number, matcher in enumerate(forbidden):
        _vet_call(matcher, f"value.forbidden.{number}", frozenset())
    if plan_fields.get("extra", "allowed") not in {"allowed", "refused"}:
        raise InvalidRecordError(
            f"must be allowed or refused, not {excerpt(plan_fields['extra'])}", field="value.extra"
        )


def _group(step: JsonValue) -> tuple[WantedStep, ...]:
    members = mapping(step).get("unordered")
    return tuple(map(_wanted, members)) if isinstance(members, list) else (_wanted(step),)


def _wanted(step: JsonValue) -> WantedStep:
    fields = mapping(step)
    choices = fields.get("anyOf")
    calls = tuple(map(_call, choices if isinstance(choices, list) else [step]))
    return WantedStep(calls, fields.get("optional") is True)


def _call(step: JsonValue) -> tuple[Matcher, ExpectedArguments]:
    fields = mapping(step)
    arguments = ExpectedArguments(
        mapping(fields.get("args")), fields.get("mode") == "exact", tuple(texts(fields.get("ignore")))
    )
    return matcher_of(step, ""), arguments


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else [value]


def _vet_group(step: JsonValue, field: str) -> None:
    if not isinstance(step, dict) or "unordered" not in step:
        _vet_wanted(step, field)
        return
    _vet_keys(step, {"unordered"}, field)
    members = step["unordered"]
    if not isinstance(members, list) or not 0 < len(members) <= MOST_TOGETHER:
        raise InvalidRecordError(f"must be a list of 1 to {MOST_TOGETHER} steps", field=f"{field}.unordered")
    for number, member in enumerate(members):
        _vet_wanted(member, f"{field}.unordered.{number}")


def _vet_wanted(step: JsonValue, field: str) -> None:
    if isinstance(step, dict) and "anyOf" in step:
        _vet_keys(step, {"anyOf", "optional"}, field)
        if not isinstance(step["anyOf"], list) or not step["anyOf"]:
            raise InvalidRecordError("must be a list of calls", field=f"{field}.anyOf")
        for number, choice in enumerate(step["anyOf"]):
            _vet_call(choice, f"{field}.anyOf.{number}", _CALL_KEYS - {"optional"})
    else:
        _vet_call(step, field, _CALL_KEYS)
    if isinstance(step, dict) and not isinstance(step.get("optional", False), bool):
        raise InvalidRecordError("must be true or false", field=f"{field}.optional")


def _vet_call(step: JsonValue, field: str, also: frozenset[str]) -> None:
    if not isinstance(step, dict):
        vet_pattern(step, field)
        return
    _vet_keys(step, MATCHER_KEYS | also, field)
    try:
        vet_matcher({key: step[key] for key in step.keys() & MATCHER_KEYS}, (), named=True, types=STEP_TYPES)
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field=field + error.field.removeprefix("value")) from None
    if not isinstance(step.get("args", {}), dict):
        raise InvalidRecordError("must map arguments to values", field=f"{field}.args")
    for name, wanted in mapping(step.get("args")).items():
        vet_arguments_wanted(wanted, f"{field}.args.{name}")
    if step.get("mode", "partial") not in {"partial", "exact"}:
        raise InvalidRecordError(f"must be partial or exact, not {excerpt(step['mode'])}", field=f"{field}.mode")
    for entry in _listed(step.get("ignore", [])):
        vet_pattern(entry, f"{field}.ignore")


def _vet_keys(step: dict[str, JsonValue], known: set[str] | frozenset[str], field: str) -> None:
    if unknown := sorted(step.keys() - known):
        raise InvalidRecordError(f"has no {unknown[0]!r}; known are {', '.join(sorted(known))}", field=field)
