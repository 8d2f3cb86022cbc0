"""The rules among the graders of `claude plugin eval`: `regex`, `tool_used`, `tool_order`, `file_exists`, as documented there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.text import found, search_needs
from minions_evals_mcp.scoring.checks import Evidence, RegexNeed, Subject, Unmet
from minions_evals_mcp.scoring.patterns import compiled, matcher
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

if TYPE_CHECKING:
    from minions_evals_mcp.domain.definitions import Json
    from minions_evals_mcp.domain.neighbours import ToolCall

PLUGIN_GRADER = "plugin-grader"
KEYS: Mapping[str, frozenset[str]] = {
    "regex": frozenset({"pattern", "flags", "target", "match"}),
    "tool_used": frozenset({"tool", "input_match", "min", "max"}),
    "tool_order": frozenset({"before", "after"}),
    "file_exists": frozenset({"path", "exists"}),
}
"""What each grader says beside its type."""
TARGETS = ("last_message", "trace", "files")
COUNT = "count:"
FLAGS = frozenset("gimsu")
NO_LOG = Unmet("the tool calls of this output were not recorded", not_judgeable=True)
Finding = UnweightedResult | Unmet


def plugin_grader(assertion: Assertion, subject: Subject, evidence: Evidence) -> Finding:
    """A rule among the graders of `claude plugin eval` holds; `value` is the grader: `type` and what it says.

    `regex` searches `target` (`last_message`, `trace`, `files` or {source: file, path}) for a `pattern` of JavaScript with
    `flags`, and passes by `match` (`contains`, `not_contains`, `count:N`). `tool_used` counts the calls of `tool` whose input as
    JSON fits `input_match`, from `min` (1) to `max`. `tool_order`: the first call of `before` comes before the first of `after`.
    `file_exists`: the agent made a file that fits the glob `path`, or with `exists: false` none. The last message is the
    answer alone, without the files.
    """
    grader = obj(assertion.value)
    return _RULES[str(grader["type"])](grader, subject, evidence)


def _regex(grader: Json, subject: Subject, evidence: Evidence) -> Finding:
    texts, pattern, match = _texts(grader, subject), _pattern(grader), str(grader.get("match") or "contains")
    if isinstance(texts, Unmet):
        return texts
    if match.startswith(COUNT):
        count, wanted = sum(_count(pattern, text) for text in texts), int(match.removeprefix(COUNT))
        return UnweightedResult(count == wanted, f"{excerpt(pattern)} is found {count} times, wanted {wanted}")
    hits = [found(pattern, text, evidence) for text in texts]
    if unmet := [hit for hit in hits if isinstance(hit, Unmet)]:
        return unmet[0]
    hit = any(hits)
    return UnweightedResult(
        hit != (match == "not_contains"), f"{excerpt(pattern)} {'is' if hit else 'is not'} found in {_target(grader)}"
    )


def _tool_used(grader: Json, subject: Subject, evidence: Evidence) -> Finding:
    if subject.tool_calls is None:
        return NO_LOG
    fits = [_fits(grader, call, evidence) for call in subject.tool_calls]
    if unmet := [fit for fit in fits if isinstance(fit, Unmet)]:
        return unmet[0]
    least, most = _bounds(grader)
    count = sum(map(bool, fits))
    shown = f"{least} to {most}" if most is not None else f"{least} or more"
    return UnweightedResult(
        count >= least and (most is None or count <= most), f"{_shown(grader)}: {count} calls, wanted {shown}"
    )


def _tool_order(grader: Json, subject: Subject, evidence: Evidence) -> Finding:
    if subject.tool_calls is None:
        return NO_LOG
    places: list[int | None] = []
    for side in ("before", "after"):
        fits = [_fits(_tool(grader[side]), call, evidence) for call in subject.tool_calls]
        if unmet := [fit for fit in fits if isinstance(fit, Unmet)]:
            return unmet[0]
        places.append(next((place for place, fit in enumerate(fits) if fit), None))
    before, after = places
    names = f"{_shown(_tool(grader['before']))} before {_shown(_tool(grader['after']))}"
    if before is None or after is None:
        missing = [side for side, place in (("before", before), ("after", after)) if place is None]
        return UnweightedResult(passed=False, reason=f"{names}: never called: {' and '.join(missing)}")
    return UnweightedResult(before < after, f"{names}: calls {before + 1} and {after + 1}")


def _file_exists(grader: Json, subject: Subject, _evidence: Evidence) -> Finding:
    path, wanted = str(grader["path"]), grader.get("exists") is not False
    made = [name for name in _files(subject) if _fits_glob(name, path)]
    reason = f"made: {excerpt(', '.join(made))}" if made else f"no file {path} was created"
    return UnweightedResult(bool(made) == wanted, reason)


_RULES: Mapping[str, Callable[[Json, Subject, Evidence], Finding]] = {
    "regex": _regex,
    "tool_used": _tool_used,
    "tool_order": _tool_order,
    "file_exists": _file_exists,
}


def grader_needs(assertion: Assertion, subject: Subject) -> tuple[RegexNeed, ...]:
    """The searches that the grader cannot make itself."""
    grader = obj(assertion.value)
    return tuple(need for pattern, text in _searches(grader, subject) for need in search_needs(pattern, text))


def _searches(grader: Json, subject: Subject) -> Iterator[tuple[str, str]]:
    if grader["type"] == "regex" and not str(grader.get("match")).startswith(COUNT):
        texts = _texts(grader, subject)
        yield from ((_pattern(grader), text) for text in (() if isinstance(texts, Unmet) else texts))
    sides = [_tool(grader[side]) for side in ("before", "after")] if grader["type"] == "tool_order" else [grader]
    for side in sides:
        if side.get("input_match"):
            for call in subject.tool_calls or ():
                yield str(side["input_match"]), _input(call)


def vet_grader(assertion: Assertion) -> None:
    """Refuses a `value` that is no grader of a known type, a key that it has not, and a pattern that is none."""
    grader = obj(assertion.value)
    kind = grader.get("type")
    if not isinstance(kind, str) or kind not in KEYS:
        raise InvalidRecordError(f"must be one of {', '.join(KEYS)}", field="value.type")
    for name in grader.keys() - KEYS[kind] - {"type"}:
        raise InvalidRecordError(
            f"{kind} has no such key; it has {', '.join(sorted(KEYS[kind]))}", field=f"value.{name}"
        )
    needed = {
        "regex": ("pattern",),
        "tool_used": ("tool",),
        "tool_order": ("before", "after"),
        "file_exists": ("path",),
    }
    for name in needed[kind]:
        if not grader.get(name):
            raise InvalidRecordError("is missing", field=f"value.{name}")
    if kind == "regex":
        _vet_regex(grader)
    for side in (_tool(grader[name]) for name in ("before", "after")) if kind == "tool_order" else (grader,):
        if side.get("input_match"):
            compiled(str(side["input_match"]))
    if kind == "tool_used":
        _bounds(grader)


def _vet_regex(grader: Json) -> None:
    target, match = grader.get("target", TARGETS[0]), str(grader.get("match") or "contains")
    if target not in TARGETS and not obj(target).get("path"):
        raise InvalidRecordError(f"must be one of {', '.join(TARGETS)}, or a file's path", field="value.target")
    if match not in ("contains", "not_contains") and not match.removeprefix(COUNT).isdecimal():
        raise InvalidRecordError("must be contains, not_contains or count:N", field="value.match")
    if strange := set(str(grader.get("flags") or "")) - FLAGS:
        raise InvalidRecordError(f"the flag {min(strange)!r} is not supported", field="value.flags")
    compiled(_pattern(grader))
    if match.startswith(COUNT):
        matcher(_pattern(grader))


def _pattern(grader: Json) -> str:
    """The pattern with those of its flags that bear on what is found, as it is searched here."""
    flags = "".join(flag for flag in "ims" if flag in str(grader.get("flags") or ""))
    return f"(?{flags}){grader['pattern']}" if flags else str(grader["pattern"])


def _count(pattern: str, text: str) -> int:
    search, at, count = matcher(pattern), 0, 0
    while at <= len(text) and (hit := search(text, at)) is not None:
        count, at = count + 1, max(hit.end(), hit.start() + 1)
    return count


def _target(grader: Json) -> str:
    target = grader.get("target", TARGETS[0])
    return target if isinstance(target, str) else str(obj(target).get("path"))


def _texts(grader: Json, subject: Subject) -> Sequence[str] | Unmet:
    """The texts that are searched; a file that was not made is none."""
    target = grader.get("target", TARGETS[0])
    files = {name: held for name, held in _files(subject).items() if isinstance(held, str)}
    if isinstance(target, dict):
        return [held for name, held in files.items() if _fits_glob(name, str(target["path"]))]
    if target == "files":
        return [*files.values()]
    answer = obj(subject.value).get("answer") if _has_files(subject) else subject.text
    last = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    if target == TARGETS[0]:
        return [last]
    if subject.tool_calls is None:
        return NO_LOG
    return ["\n".join([*map(_line, subject.tool_calls), last])]


def _line(call: ToolCall) -> str:
    """A call as a line of the trace."""
    line = {"name": call.tool, "input": call.arguments, "result": call.result, "error": call.error}
    return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


def _has_files(subject: Subject) -> bool:
    return obj(subject.value).keys() == {"answer", "files"} and isinstance(obj(subject.value)["files"], dict)


def _files(subject: Subject) -> Json:
    """The files that the agent made or changed, by path: their text, or their size."""
    return obj(obj(subject.value)["files"]) if _has_files(subject) else {}


def _fits_glob(name: str, pattern: str) -> bool:
    plain = pattern.removeprefix("./")
    return fnmatchcase(name, plain) or (plain.startswith("**/") and fnmatchcase(name, plain.removeprefix("**/")))


def _tool(side: JsonValue) -> Json:
    return {"tool": side} if isinstance(side, str) else obj(side)


def _shown(grader: Json) -> str:
    fits = f" with {excerpt(str(grader['input_match']))}" if grader.get("input_match") else ""
    return f"{grader.get('tool')}{fits}"


def _fits(grader: Json, call: ToolCall, evidence: Evidence) -> bool | Unmet:
    if not fnmatchcase(call.tool, str(grader.get("tool"))):
        return False
    return found(str(grader["input_match"]), _input(call), evidence) if grader.get("input_match") else True


def _input(call: ToolCall) -> str:
    """The input as JavaScript writes it."""
    return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))


def _bounds(grader: Json) -> tuple[int, int | None]:
    """From how many calls to how many; `max: 0` alone wants none."""
    most, least = grader.get("max"), grader.get("min")
    for name, bound in (("min", least), ("max", most)):
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool) or bound < 0):
            raise InvalidRecordError("must be a whole number from 0", field=f"value.{name}")
    assert least is None or isinstance(least, int)
    assert most is None or isinstance(most, int)
    return (least if least is not None else min(1, 1 if most is None else most), most)


TYPES: dict[str, AssertionKind] = {
    PLUGIN_GRADER: AssertionKind(plugin_grader, vet_grader, grader_needs, turned_there=False),
}
