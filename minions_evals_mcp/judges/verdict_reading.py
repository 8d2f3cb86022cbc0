"""The one verdict in a judge's reply, however it is wrapped: in a fence, after thoughts, in prose, as a tool's arguments.

A verdict counts where the reply holds exactly one: objects that do not fit the form are no verdicts, two that differ are
none. A reply that was cut off in the midst of its object has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.lenient import read_yaml

T = TypeVar("T")
MAX_LENGTH = 1_000_000
MAX_OBJECTS = 200
_NAMES = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
_OPEN = rf"<(?:{_NAMES})>|\[think\]|◁think▷|<\|begin_of_thought\|>"
_CLOSE = rf"</(?:{_NAMES})>|\[/think\]|◁/think▷|<\|end_of_thought\|>"
_THOUGHT_CLOSE = re.compile(_CLOSE, re.IGNORECASE)
_THOUGHT_END = re.compile(rf"\A.*(?:{_CLOSE}|<\|channel\|>final<\|message\|>)", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = re.compile(_OPEN, re.IGNORECASE)
_MEMBER = re.compile(r"""\{\s*(?:"|'|[A-Za-z_]\w*\s*:|\})""")
_BRACE = re.compile(r"[{}]")
_COMMENT = re.compile(
    r"""("(?:[^"\\]|\\.)*+(?:"|\\?\Z)|'(?:[^'\\]|\\.)*+(?:'|\\?\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL
)
_TYPESET = str.maketrans("\u201c\u201d\u201e", '"""')
_NUMBER = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")
_BACKSLASH = re.compile(r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)")
REASONS = ("reason", "rationale", "reasoning", "explanation")
"""Names under which models give their reason; the form's own comes first."""


@frozen_type
class Flaw:
    """The reason why a reply cannot be used."""

    reason: str


class DuplicateKeyError(ValueError):
    """An object gives one key two values."""


def _once(pairs: list[tuple[str, JsonValue]]) -> Json:
    members: Json = {}
    for name, value in pairs:
        if name in members:
            raise DuplicateKeyError(f"it has {name[:20]!r} twice")
        members[name] = value
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_once, strict=False)


def verdict_in(text: str, read: Callable[[Json], T | Flaw], same: Callable[[T], object]) -> T | Flaw:
    """The only verdict in the reply, by `read`; of several that are the `same`, the last. Else what is wrong."""
    objects = reply_objects(text)
    if isinstance(objects, Flaw):
        return objects
    readings = [_read_within(found, read) for found in objects]
    verdicts = [reading for reading in readings if not isinstance(reading, Flaw)]
    if not verdicts:
        return next((reading for reading in readings if isinstance(reading, Flaw)), Flaw("it has no JSON object"))
    if any(same(verdict) != same(verdicts[0]) for verdict in verdicts):
        return Flaw("it gives several verdicts that differ")
    return verdicts[-1]


def _read_within(found: Json, read: Callable[[Json], T | Flaw]) -> T | Flaw:
    """The verdict of an object, or of the only object in it: `{"answer": {...}}`, a tool call's input."""
    verdict = read(_in_any_case(found))
    inner = [value for value in found.values() if isinstance(value, dict)]
    if not isinstance(verdict, Flaw) or len(inner) != 1:
        return verdict
    wrapped = read(_in_any_case(inner[0]))
    return verdict if isinstance(wrapped, Flaw) else wrapped


def _in_any_case(found: Json) -> Json:
    """The object with its keys in lower case, too: a `"Pass"` that is not found would be none."""
    small = {name.lower(): value for name, value in found.items()}
    return {**small, **found} if len(small) == len(found) else found


def reply_objects(text: str) -> list[Json] | Flaw:
    """The outermost JSON objects of a reply, without its thoughts; a flaw where one is broken or says something twice."""
    if len(text) > MAX_LENGTH:
        return Flaw(f"it is longer than {MAX_LENGTH:,} characters")
    try:
        whole: JsonValue = _DECODER.decode(text)
    except DuplicateKeyError as error:
        return Flaw(str(error))
    except (ValueError, RecursionError):
        return _embedded(without_thoughts(text))
    if isinstance(whole, dict):
        return [whole]
    return _embedded(whole if isinstance(whole, str) else text)


def without_thoughts(text: str) -> str:
    """The reply without what the model thought aloud before it; of thoughts that do not end, nothing is answer."""
    answer = _THOUGHT_END.sub("", _without_whole_thoughts(text), count=1)
    unended = _THOUGHT_START.search(answer)
    return answer[: unended.start()] if unended else answer


def _without_whole_thoughts(text: str) -> str:
    """The reply with a blank for each thought that begins and ends, in one pass."""
    kept, at = list[str](), 0
    while (begun := _THOUGHT_START.search(text, at)) and (ended := _THOUGHT_CLOSE.search(text, begun.end())):
        kept += (text[at : begun.start()], " ")
        at = ended.end()
    return "".join(kept) + text[at:]


def _embedded(text: str) -> list[Json] | Flaw:
    """The objects in the text. A backslash that escapes nothing, as in `\\(x\\)` or `C:\\dir`, stands for itself."""
    try:
        objects = list(_objects(text))
    except DuplicateKeyError as error:
        return Flaw(str(error))
    except (ValueError, RecursionError):
        doubled = _BACKSLASH.sub(lambda match: r"\\" if match[1] else match[0], text)
        return Flaw("its JSON is broken") if doubled == text else _embedded(doubled)
    if not objects and (straight := text.translate(_TYPESET)) != text:
        return _embedded(straight)
    return objects or Flaw("it has no JSON object")


def _objects(text: str) -> Iterator[Json]:
    """Raises `ValueError` at an object that cannot be read; a brace of prose begins none."""
    start = text.find("{")
    for _ in range(MAX_OBJECTS):
        if start < 0:
            return
        if not _MEMBER.match(text, start):
            start = text.find("{", start + 1)
            continue
        found, end = _object_at(text, start)
        yield found
        start = text.find("{", end)
    raise ValueError(f"more than {MAX_OBJECTS} braces")


def _object_at(text: str, start: int) -> tuple[Json, int]:
    try:
        found, end = _DECODER.raw_decode(text, start)
    except DuplicateKeyError:
        raise
    except ValueError:
        return _loose_object(text, start)
    return found, end


def _loose_object(text: str, start: int) -> tuple[Json, int]:
    """An object with trailing commas, comments or single quotes, up to its matching brace."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            written = text[start : brace.end()]
            found = read_yaml(_uncommented(written), bare_keys=False)
            if not isinstance(found, dict):
                raise ValueError("no object")
            for name in found:
                if len(re.findall(rf"""[{{,\s]["']?{re.escape(name)}["']?\s*:""", written)) > 1:
                    raise DuplicateKeyError(f"it has {name[:20]!r} twice")
            return found, brace.end()
    raise ValueError("a brace is not closed")


def _uncommented(written: str) -> str:
    """The object without the comments of JavaScript; what stands in quotes holds none."""
    return _COMMENT.sub(lambda match: match[1] or "", written) if "/" in written else written


def in_form(form: TypeAdapter[T], reply: Json, properties: Json) -> T | Flaw:
    """The reply in its form, of which `properties` are the schema: other fields are left out, `"0.5"` is a number."""
    members: Json = {name: _plain(reply[name], shape) for name, shape in properties.items() if name in reply}
    reasons = [reply[name] for name in REASONS if name in reply]
    for name in properties:
        if name in REASONS and name not in members and len(reasons) == 1:
            members[name] = reasons[0]
    try:
        return form.validate_python(members)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Flaw(f"{'.'.join(map(str, first['loc'])) or 'the answer'}: {first['msg']}")


def _plain(value: JsonValue, shape: JsonValue) -> JsonValue:
    """A Boolean or a number that was written as a text, by the type that its schema asks for."""
    kind = shape.get("type") if isinstance(shape, dict) else None
    if not isinstance(value, str):
        return value
    if kind == "boolean" and value.strip().casefold() in {"true", "false"}:
        return value.strip().casefold() == "true"
    return float(value) if kind in {"number", "integer"} and _NUMBER.fullmatch(value) else value


def contradiction(*, passed: bool, score: float) -> str:
    """Why a verdict is none: it passes with the lowest score, or fails with the highest. Empty where they agree."""
    if passed and score <= 0:
        return "pass is true, but the score is 0: they contradict each other"
    if not passed and score >= 1:
        return "pass is false, but the score is 1: they contradict each other"
    return ""
