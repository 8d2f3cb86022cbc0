"""The filters of Nunjucks on a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import quote

from pydantic import JsonValue

from minions_evals_mcp.scoring.nunjucks.budget import spend_characters
from minions_evals_mcp.scoring.nunjucks.list_filters import LIST_FILTERS
from minions_evals_mcp.scoring.nunjucks.regexes import JsRegExp
from minions_evals_mcp.scoring.nunjucks.values import (
    UNDEFINED,
    JsFunction,
    Undefined,
    as_added,
    as_js,
    is_number,
    js_length,
    js_string,
    to_number,
    truth,
    weighed,
    whole,
)

MOST_CHARACTERS = 1_000_000
_TAG_START = re.compile(r"</?[a-z][a-z0-9]*+\b|<!--", re.IGNORECASE)
_MARKS = {"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"}


def _text(value: object) -> str:
    """The text that a filter of texts is given: nothing for what is missing or false; anything else is a mistake."""
    if value is None or value is False or isinstance(value, Undefined):
        return ""
    if not isinstance(value, str):
        raise ValueError("the filter needs a text")  # noqa: TRY004  a template's mistake, told with the template
    spend_characters(len(value))
    return value


def _default(value: object, other: object = UNDEFINED, also_false: object = False) -> object:  # noqa: FBT002  nunjucks's order
    return other if isinstance(value, Undefined) or (truth(also_false) and not truth(value)) else value


def plain(value: object) -> JsonValue:
    """The value as JSON has it: numbers as JavaScript writes them; what is missing is null."""
    match value:
        case Undefined():
            return None
        case float():
            return whole(value) if math.isfinite(value) else None
        case list():
            return [plain(item) for item in cast("list[object]", value)]
        case dict():
            held = cast("dict[str, object]", value)
            return {name: plain(item) for name, item in held.items() if not isinstance(item, Undefined)}
        case range():
            return list(value)
        case _:
            return cast("JsonValue", value)


def _dumped(value: object, indent: object = None) -> object:
    if isinstance(value, Undefined):
        return UNDEFINED
    step = indent if isinstance(indent, str) else min(int(to_number(indent)), 10) if is_number(indent) else None
    separators = (",", ": ") if step else (",", ":")
    return json.dumps(plain(weighed(value)), ensure_ascii=False, indent=step or None, separators=separators)


def _replaced(value: object, old: object, new: object = UNDEFINED, most: object = UNDEFINED) -> object:
    if isinstance(old, JsRegExp):
        if not isinstance(value, str):
            raise ValueError("replace with a regular expression needs a text")  # noqa: TRY004  as above
        return old.replaced(value, new if isinstance(new, JsFunction) else as_added(new))
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
        raise ValueError("int with another base is not supported")
    match = re.match(r"\s*[-+]?\d+", js_string(value))
    return int(match.group()) if match else other


def _float(value: object, other: object = UNDEFINED) -> object:
    match = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", js_string(value))
    return whole(float(match.group())) if match else other


def _rounded(value: object, precision: object = 0, way: object = "") -> object:
    scale = 10.0 ** int(to_number(precision) if truth(precision) else 0)
    scaled = to_number(value) * scale
    if not math.isfinite(scaled):
        return scaled
    rounded = math.ceil(scaled) if way == "ceil" else math.floor(scaled) if way == "floor" else math.floor(scaled + 0.5)
    return whole(rounded / scale)


def _length(value: object) -> object:
    if value is None or value is False or isinstance(value, Undefined):
        return 0
    if isinstance(value, dict):
        return len(cast("dict[object, object]", value))
    return js_length(cast("list[object]", value)) if isinstance(value, list | str | range) else UNDEFINED


def _centred(value: object, width: object = 80) -> str:
    text = _text(value)
    missing = (int(to_number(width)) or 80) - len(text)
    if missing <= 0:
        return text
    spend_characters(missing)
    before, after = math.ceil(missing / 2 - missing % 2), math.ceil(missing / 2)
    return " " * before + text + " " * after


def _tags_removed(text: str) -> str:
    """The text without tags and comments that end; what begins one and does not end it is text."""
    kept, at, missing = list[str](), 0, set[str]()
    for begun in _TAG_START.finditer(text):
        closer = "-->" if begun[0] == "<!--" else ">"
        if begun.start() < at or closer in missing:
            continue
        end = text.find(closer, begun.end())
        if end < 0:
            missing.add(closer)
            continue
        kept.append(text[at : begun.start()])
        at = end + len(closer)
    return "".join(kept) + text[at:]


def _without_tags(value: object, keep_lines: object = False) -> str:  # noqa: FBT002  as above
    text = _tags_removed(_text(value)).strip()
    if not truth(keep_lines):
        return re.sub(r"\s+", " ", text)
    lines = "\n".join(line.strip(" ") for line in text.split("\n"))
    return re.sub(r"\n\n\n+", "\n\n", re.sub(r" +", " ", lines).replace("\r\n", "\n"))


def _escaped(value: object) -> str:
    return "".join(_MARKS.get(character, character) for character in js_string(value))


def _encoded(value: object) -> str:
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return "&".join(f"{_encoded(name)}={_encoded(as_added(item))}" for name, item in pairs)
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
    **LIST_FILTERS,
    "abs": _absolute,
    "capitalize": _capitalized,
    "center": _centred,
    "d": _default,
    "default": _default,
    "dump": _dumped,
    "e": _escaped,
    "escape": _escaped,
    "float": _float,
    "forceescape": _escaped,
    "indent": _indented,
    "int": _int,
    "length": _length,
    "load": _loaded,
    "lower": _of_text(str.lower),
    "nl2br": _with_breaks,
    "replace": _replaced,
    "round": _rounded,
    "safe": js_string,
    "string": _string,
    "striptags": _without_tags,
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
