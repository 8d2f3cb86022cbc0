"""The filters of Nunjucks on a list, or of an object's members."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key, partial
from typing import Any, cast

from minions_evals_mcp.scoring.nunjucks.budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.nunjucks.conditions import CONDITIONS
from minions_evals_mcp.scoring.nunjucks.values import (
    UNDEFINED,
    JsArray,
    JsObject,
    Undefined,
    as_added,
    calculated,
    compared,
    identical,
    js_length,
    js_string,
    to_number,
    truth,
    weighed,
)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list | str | range):
        raise ValueError("it needs a list")  # noqa: TRY004  as above
    spend_steps(len(cast("Sequence[object]", value)))
    return list(cast("Sequence[Any]", value))


def _under(value: object, name: object) -> object:
    """Returns what stands under that name in the value."""
    if value is None or isinstance(value, Undefined):
        raise ValueError(f"there is nothing to look up {js_string(name)} in")
    if isinstance(value, str | list) and name == "length":
        return js_length(cast("list[object]", value))
    return cast("dict[str, object]", value).get(js_string(name), UNDEFINED) if isinstance(value, dict) else UNDEFINED


def _attribute(value: object, name: object) -> object:
    """Returns what stands under that name, steps with dots between; the value itself without a name."""
    for step in js_string(name).split(".") if name else ():
        value = UNDEFINED if isinstance(value, Undefined) else _under(value, step)
    return value


def _reversed(value: object) -> object:
    return value[::-1] if isinstance(value, str) else JsArray(reversed(_list(value)))


def _before(left: object, right: object) -> int:
    return -1 if compared("lt", left, right) else 1 if compared("gt", left, right) else 0


def _sorted(
    value: object,
    reverse: object = False,  # noqa: FBT002  as above
    case_sensitive: object = False,  # noqa: FBT002  as above
    attribute: object = None,
) -> object:
    def order(left: object, right: object) -> int:
        first, other = _attribute(left, attribute), _attribute(right, attribute)
        if not truth(case_sensitive) and isinstance(first, str) and isinstance(other, str):
            first, other = first.lower(), other.lower()
        return -_before(first, other) if truth(reverse) else _before(first, other)

    return JsArray(sorted(_list(value), key=cmp_to_key(order)))


def _dictionary_sorted(value: object, case_sensitive: object = False, by: object = "key") -> object:  # noqa: FBT002  as above
    if not isinstance(value, dict) or by not in ("key", "value"):
        raise ValueError("dictsort needs an object, and sorts by key or value")
    place = 0 if by == "key" else 1

    def order(left: tuple[str, object], right: tuple[str, object]) -> int:
        several = (left[place], right[place])
        side, other = (
            part.upper() if isinstance(part, str) and not truth(case_sensitive) else part for part in several
        )
        return 1 if compared("gt", side, other) else 0 if identical(side, other) else -1

    held = cast("dict[str, object]", weighed(cast("object", value)))
    return JsArray(JsArray(pair) for pair in sorted(held.items(), key=cmp_to_key(order)))


def _grouped(value: object, attribute: object) -> object:
    groups = JsObject()
    for item in _list(value):
        groups.setdefault(as_added(_attribute(item, attribute)), JsArray()).append(item)
    numbers = sorted((name for name in groups if re.fullmatch(r"0|[1-9]\d{0,8}", name)), key=int)
    return JsObject({name: groups[name] for name in [*numbers, *groups]})  # an object tells its numbers first


def _with_attribute(value: object, attribute: object, *, wanted: bool) -> object:
    return JsArray(item for item in _list(value) if truth(_under(item, attribute)) is wanted)


def _selected(value: object, name: object = "truthy", *arguments: object, wanted: bool) -> object:
    condition = CONDITIONS.get(js_string(name))
    if condition is None:
        raise ValueError(f"there is no test {js_string(name)!r}")
    return JsArray(item for item in _list(value) if condition(item, *arguments) is wanted)


def _batched(value: object, size: object, fill: object = None) -> object:
    members, step = _list(value), int(to_number(size))
    if step < 1:
        raise ValueError("batch needs a size of 1 or more")
    parts = [JsArray(members[at : at + step]) for at in range(0, len(members), step)]
    if parts and truth(fill):
        spend_steps(step)
        parts[-1].extend([fill] * (step - len(parts[-1])))
    return JsArray(parts)


def _in_slices(value: object, slices: object, fill: object = None) -> object:
    members, number = _list(value), int(to_number(slices))
    if number < 1:
        raise ValueError("slice needs a number of 1 or more")
    spend_steps(number)
    size, more = divmod(len(members), number)
    starts = [at * size + min(at, more) for at in range(number + 1)]
    texts = isinstance(value, str)
    parts = [
        "".join(members[start:end]) if texts else JsArray(members[start:end])
        for start, end in itertools.pairwise(starts)
    ]
    for part in parts[more:] if truth(fill) else ():
        if isinstance(part, str):
            raise ValueError("slice fills lists, no texts")  # noqa: TRY004  as above
        part.append(fill)
    return JsArray(parts)


def _first(value: object) -> object:
    return UNDEFINED if _holds_nothing(value) else next(iter(_list(value)), UNDEFINED)


def _last(value: object) -> object:
    return UNDEFINED if _holds_nothing(value) else next(iter(_list(value)[::-1]), UNDEFINED)


def _holds_nothing(value: object) -> bool:
    """Returns whether the value has no first and no last: a number, a Boolean, an object."""
    return isinstance(value, int | float | dict)


def _joined(value: object, between: object = "", attribute: object = None) -> str:
    if isinstance(value, str):
        raise ValueError("join needs a list, not a text")  # noqa: TRY004  as above
    members = _list(value)
    parts = [_under(item, attribute) for item in members] if truth(attribute) else members
    joint = js_string(between) if truth(between) else ""
    spend_characters(len(parts) * len(joint))
    return joint.join(map(js_string, parts))


def _array(value: object) -> object:
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return JsArray(JsObject(key=name, value=item) for name, item in pairs)
    return JsArray(_list(value))


def _sum(value: object, attribute: object = None, start: object = 0) -> object:
    total: object = 0
    if isinstance(value, str):
        raise ValueError("sum needs a list")  # noqa: TRY004  as above
    for item in _list(value):
        total = calculated("+", total, _under(item, attribute) if truth(attribute) else item)
    return calculated("+", start, total)


LIST_FILTERS: Mapping[str, Callable[..., Any]] = {
    "batch": _batched,
    "dictsort": _dictionary_sorted,
    "first": _first,
    "groupby": _grouped,
    "join": _joined,
    "last": _last,
    "list": _array,
    "reject": partial(_selected, wanted=False),
    "rejectattr": partial(_with_attribute, wanted=False),
    "reverse": _reversed,
    "select": partial(_selected, wanted=True),
    "selectattr": partial(_with_attribute, wanted=True),
    "slice": _in_slices,
    "sort": _sorted,
    "sum": _sum,
}
