"""What each filter of Nunjucks makes of a value."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key, partial
from typing import Any, cast
from urllib.parse import quote

from minions_evals_mcp.scoring.nunjucks.budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.nunjucks.conditions import CONDITIONS
from minions_evals_mcp.scoring.nunjucks.values import (
    UNDEFINED,
    JsArray,
    JsObject,
    Undefined,
    as_added,
    as_js,
    calculated,
    compared,
    identical,
    is_number,
    js_string,
    to_number,
    truth,
    weighed,
    whole,
)

MOST_CHARACTERS = 1_000_000
_TAGS = re.compile(r"</?([a-z][a-z0-9]*)\b[^>]*>|<!--[\s\S]*?-->", re.IGNORECASE)
_MARKS = {"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"}


def _text(value: object) -> str:
    """The text that a filter of texts is given: nothing for what is missing or false; anything else is a mistake."""
    if value is None or value is False or isinstance(value, Undefined):
        return ""
    if not isinstance(value, str):
        raise ValueError("the filter needs a text")  # noqa: TRY004  a template's mistake, told with the template
    spend_characters(len(value))
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list | str | range):
        raise ValueError("it needs a list")  # noqa: TRY004  as above
    spend_steps(len(cast("Sequence[object]", value)))
    return list(cast("Sequence[Any]", value))


def _under(value: object, name: object) -> object:
    """What stands under that name in the value."""
    if value is None or isinstance(value, Undefined):
        raise ValueError(f"there is nothing to look up {js_string(name)} in")
    if isinstance(value, str | list) and name == "length":
        return len(cast("Sequence[object]", value))
    return cast("dict[str, object]", value).get(js_string(name), UNDEFINED) if isinstance(value, dict) else UNDEFINED


def _attribute(value: object, name: object) -> object:
    """What stands under that name, steps with dots between; the value itself without a name."""
    for step in js_string(name).split(".") if name else ():
        value = UNDEFINED if isinstance(value, Undefined) else _under(value, step)
    return value


def _default(value: object, other: object = UNDEFINED, also_false: object = False) -> object:  # noqa: FBT002  nunjucks's order
    return other if isinstance(value, Undefined) or (truth(also_false) and not truth(value)) else value


def _plain(value: object) -> object:
    """The value as JSON has it: numbers as JavaScript writes them."""
    match value:
        case float():
            return whole(value) if math.isfinite(value) else None
        case list():
            return [None if isinstance(one, Undefined) else _plain(one) for one in cast("list[object]", value)]
        case dict():
            held = cast("dict[str, object]", value)
            return {name: _plain(one) for name, one in held.items() if not isinstance(one, Undefined)}
        case range():
            return list(value)
        case _:
            return value


def _dumped(value: object, indent: object = None) -> object:
    if isinstance(value, Undefined):
        return UNDEFINED
    step = indent if isinstance(indent, str) else min(int(to_number(indent)), 10) if is_number(indent) else None
    separators = (",", ": ") if step else (",", ":")
    return json.dumps(_plain(weighed(value)), ensure_ascii=False, indent=step or None, separators=separators)


def _replaced(value: object, old: object, new: object = UNDEFINED, most: object = UNDEFINED) -> object:
    if not (isinstance(old, str) or is_number(old)) or not (isinstance(value, str) or is_number(value)):
        return value
    text, before, after = js_string(value), js_string(old), as_added(new)
    limit = -1 if isinstance(most, Undefined) else int(to_number(most))
    times = text.count(before) if limit < 0 else min(text.count(before), limit)
    if len(text) + times * (len(after) - len(before)) > max(MOST_CHARACTERS, len(text)):
        raise ValueError(f"replace makes more than {MOST_CHARACTERS:,} characters")
    return text.replace(before, after, limit)


def _truncated(value: object, length: object = 255, entire: object = False, end: object = None) -> str:  # noqa: FBT002  as above
    text, most = _text(value), int(to_number(length)) or 255
    if len(text) <= most:
        return text
    space = -1 if truth(entire) else text.rfind(" ", 0, most + 1)
    return text[: most if space == -1 else space] + (
        "..." if end is None or isinstance(end, Undefined) else js_string(end)
    )


def _indented(value: object, width: object = 4, first: object = False) -> str:  # noqa: FBT002  as above
    lines, wide = _text(value).split("\n"), int(to_number(width)) or 4
    spend_characters(len(lines) * min(max(wide, 0), 100))
    return "\n".join(
        " " * min(wide, 100) + line if number or truth(first) else line for number, line in enumerate(lines)
    )


def _trimmed(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("trim needs a text")  # noqa: TRY004  as above
    return value.strip()


def _int(value: object, other: object = UNDEFINED, base: object = 10) -> object:
    if to_number(base) != 10:
        raise ValueError("int with another base is not carried out")
    found = re.match(r"\s*[-+]?\d+", js_string(value))
    return int(found.group()) if found else other


def _float(value: object, other: object = UNDEFINED) -> object:
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", js_string(value))
    return whole(float(found.group())) if found else other


def _rounded(value: object, precision: object = 0, way: object = "") -> object:
    scale = 10.0 ** int(to_number(precision) if truth(precision) else 0)
    scaled = to_number(value) * scale
    if not math.isfinite(scaled):
        return scaled
    found = math.ceil(scaled) if way == "ceil" else math.floor(scaled) if way == "floor" else math.floor(scaled + 0.5)
    return whole(found / scale)


def _reversed(value: object) -> object:
    return value[::-1] if isinstance(value, str) else JsArray(reversed(_list(value)))


def _length(value: object) -> object:
    if value is None or value is False or isinstance(value, Undefined):
        return 0
    return len(cast("Sequence[object]", value)) if isinstance(value, list | str | dict | range) else UNDEFINED


def _before(left: object, right: object) -> int:
    return -1 if compared("lt", left, right) else 1 if compared("gt", left, right) else 0


def _sorted(
    value: object,
    reverse: object = False,  # noqa: FBT002  as above
    case_sensitive: object = False,  # noqa: FBT002  as above
    attribute: object = None,
) -> object:
    def order(left: object, right: object) -> int:
        one, other = _attribute(left, attribute), _attribute(right, attribute)
        if not truth(case_sensitive) and isinstance(one, str) and isinstance(other, str):
            one, other = one.lower(), other.lower()
        return -_before(one, other) if truth(reverse) else _before(one, other)

    return JsArray(sorted(_list(value), key=cmp_to_key(order)))


def _dictionary_sorted(value: object, case_sensitive: object = False, by: object = "key") -> object:  # noqa: FBT002  as above
    if not isinstance(value, dict) or by not in ("key", "value"):
        raise ValueError("dictsort needs an object, and sorts by key or value")
    place = 0 if by == "key" else 1

    def order(left: tuple[str, object], right: tuple[str, object]) -> int:
        several = (left[place], right[place])
        one, other = (part.upper() if isinstance(part, str) and not truth(case_sensitive) else part for part in several)
        return 1 if compared("gt", one, other) else 0 if identical(one, other) else -1

    held = cast("dict[str, object]", weighed(cast("object", value)))
    return JsArray(JsArray(pair) for pair in sorted(held.items(), key=cmp_to_key(order)))


def _grouped(value: object, attribute: object) -> object:
    groups = JsObject()
    for one in _list(value):
        groups.setdefault(as_added(_attribute(one, attribute)), JsArray()).append(one)
    numbers = sorted((name for name in groups if re.fullmatch(r"0|[1-9]\d{0,8}", name)), key=int)
    return JsObject({name: groups[name] for name in [*numbers, *groups]})  # an object tells its numbers first


def _with_attribute(value: object, attribute: object, *, wanted: bool) -> object:
    return JsArray(one for one in _list(value) if truth(_under(one, attribute)) is wanted)


def _selected(value: object, name: object = "truthy", *arguments: object, wanted: bool) -> object:
    condition = CONDITIONS.get(js_string(name))
    if condition is None:
        raise ValueError(f"there is no test {js_string(name)!r}")
    return JsArray(one for one in _list(value) if condition(one, *arguments) is wanted)


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


def _centred(value: object, width: object = 80) -> str:
    text = _text(value)
    missing = (int(to_number(width)) or 80) - len(text)
    if missing <= 0:
        return text
    spend_characters(missing)
    before, after = math.ceil(missing / 2 - missing % 2), math.ceil(missing / 2)
    return " " * before + text + " " * after


def _without_tags(value: object, keep_lines: object = False) -> str:  # noqa: FBT002  as above
    text = _TAGS.sub("", _text(value)).strip()
    if not truth(keep_lines):
        return re.sub(r"\s+", " ", text)
    lines = re.sub(r"^ +| +$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n\n\n+", "\n\n", re.sub(r" +", " ", lines).replace("\r\n", "\n"))


def _escaped(value: object) -> str:
    return "".join(_MARKS.get(one, one) for one in js_string(value))


def _encoded(value: object) -> str:
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return "&".join(f"{_encoded(name)}={_encoded(as_added(one))}" for name, one in pairs)
    return quote(js_string(value), safe="-_.!~*'()")


def _capitalized(value: object) -> str:
    text = _text(value).lower()
    return text[:1].upper() + text[1:]


def _title(value: object) -> str:
    return " ".join(map(_capitalized, _text(value).split(" ")))


def _string(value: object) -> str:
    if value is None or isinstance(value, Undefined):
        raise ValueError("there is nothing to make a text of")
    return js_string(value)


def _first(value: object) -> object:
    return UNDEFINED if _holds_nothing(value) else next(iter(_list(value)), UNDEFINED)


def _last(value: object) -> object:
    return UNDEFINED if _holds_nothing(value) else next(iter(_list(value)[::-1]), UNDEFINED)


def _holds_nothing(value: object) -> bool:
    """Whether the value has no first and no last: a number, a Boolean, an object."""
    return isinstance(value, int | float | dict)


def _joined(value: object, between: object = "", attribute: object = None) -> str:
    if isinstance(value, str):
        raise ValueError("join needs a list, not a text")  # noqa: TRY004  as above
    members = _list(value)
    parts = [_under(one, attribute) for one in members] if truth(attribute) else members
    joint = js_string(between) if truth(between) else ""
    spend_characters(len(parts) * len(joint))
    return joint.join(map(js_string, parts))


def _array(value: object) -> object:
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return JsArray(JsObject(key=name, value=one) for name, one in pairs)
    return JsArray(_list(value))


def _sum(value: object, attribute: object = None, start: object = 0) -> object:
    total: object = 0
    if isinstance(value, str):
        raise ValueError("sum needs a list")  # noqa: TRY004  as above
    for one in _list(value):
        total = calculated("+", total, _under(one, attribute) if truth(attribute) else one)
    return calculated("+", start, total)


def _absolute(value: object) -> float:
    return whole(abs(to_number(value)))


def _loaded(value: object) -> object:
    return as_js(json.loads(js_string(value)))


def _with_breaks(value: object) -> str:
    return re.sub(r"\r\n|\n", "<br />\n", js_string(value))


def _words(value: object) -> object:
    return len(re.findall(r"\w+", _text(value), re.ASCII)) or None  # of no words Nunjucks counts none


def _of_text(work: Callable[[str], object]) -> Callable[[object], object]:
    """A filter of a text."""
    return lambda value: work(_text(value))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": _absolute,
    "batch": _batched,
    "capitalize": _capitalized,
    "center": _centred,
    "d": _default,
    "default": _default,
    "dictsort": _dictionary_sorted,
    "dump": _dumped,
    "e": _escaped,
    "escape": _escaped,
    "first": _first,
    "float": _float,
    "forceescape": _escaped,
    "groupby": _grouped,
    "indent": _indented,
    "int": _int,
    "join": _joined,
    "last": _last,
    "length": _length,
    "list": _array,
    "load": _loaded,
    "lower": _of_text(str.lower),
    "nl2br": _with_breaks,
    "reject": partial(_selected, wanted=False),
    "rejectattr": partial(_with_attribute, wanted=False),
    "replace": _replaced,
    "reverse": _reversed,
    "round": _rounded,
    "safe": js_string,
    "select": partial(_selected, wanted=True),
    "selectattr": partial(_with_attribute, wanted=True),
    "slice": _in_slices,
    "sort": _sorted,
    "string": _string,
    "striptags": _without_tags,
    "sum": _sum,
    "title": _title,
    "trim": _trimmed,
    "truncate": _truncated,
    "upper": _of_text(str.upper),
    "urlencode": _encoded,
    "wordcount": _words,
}
"""The filters that Nunjucks has, but for what is drawn by chance and `urlize`, and promptfoo's `load`."""
WITH_NAMES: Mapping[str, frozenset[str]] = {"sort": frozenset({"reverse", "case_sensitive", "attribute"})}
"""Filters that take arguments by these names; others would read them as one object."""
