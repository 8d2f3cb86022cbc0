"""Reading XML: whether a text is well-formed, the tree that paths walk, and the elements that stand among prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertions.kinds.overlap import JS_SPACE, JS_SPACES

Tree = str | Mapping[str, "Tree"] | Sequence["Tree"]
"""A text, an element's parts by name (`@_` before an attribute's, `#text`), or the elements that share a name."""

_QUOTED = "\"[^\"]*+\"|'[^']*+'"
_MARK = late(
    "<(?:"
    "/(?P<close>[^>]*+)>"
    rf"|\?(?P<instruction>(?:{_QUOTED}|[^\"'?]|\?(?!>))*+)\?>"
    "|!--.*?-->"
    r"|!\[.{6}(?P<cdata>.*?)\]\]>"
    rf"|!D(?:{_QUOTED}|[^\"'\[>])*+>"
    rf"|(?!/|\?|!--|!\[|!D)(?P<open>(?:{_QUOTED}|[^\"'>])*+)>"
    ")",
    re.DOTALL,
)
_ATTRIBUTE = late(rf"([^{JS_SPACE}=]++)[{JS_SPACE}]*+(?:=[{JS_SPACE}]*+(\"[^\"]*+\"|'[^']*+'))?")
_SPACE = late(f"[{JS_SPACE}]")
_START = (
    ":_A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_TAG = late(
    "<(?:"
    r"!--(?:.*?-->|.*\Z)|!\[CDATA\[(?:.*?\]\]>|.*\Z)|\?(?:.*?\?>|.*\Z)"
    rf"|(?P<declaration>!)"
    rf"|(?P<slash>/?)(?P<name>[{_START}][{_START}.0-9\xb7\u0300-\u036f\u203f\u2040-]*+)"
    rf"(?P<rest>(?:{_QUOTED}|[^\"'<>])*+)>)",
    re.DOTALL,
)
_SELF_CLOSED = late(r"/\s*\Z")
_IN_DECLARATION = late(rf"{_QUOTED}|[\[\]>]|[\"'].*", re.DOTALL)


class _Refused(Exception):  # noqa: N818  it ends the parse, and is caught where it began
    pass


def flaw(text: str) -> str | None:
    """Returns why a whole text is no well-formed XML with namespaces; None where it is.

    A document type with an internal subset is refused before an entity is read, so that none is ever expanded.
    """
    parser = expat.ParserCreate("utf-8", " ")
    parser.StartDoctypeDeclHandler = _no_subset
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)  # noqa: FBT003  expat takes no keywords
    except expat.ExpatError as error:
        return f"{expat.ErrorString(error.code)} in line {error.lineno}"
    except _Refused:
        return "its document type has an internal subset"
    return None


def _no_subset(_name: str, _system: str | None, _public: str | None, has_internal_subset: int) -> None:
    if has_internal_subset:
        raise _Refused


@dataclass(slots=True)
class _Element:
    """An element while it is read."""

    name: str
    attributes: dict[str, Tree]
    parts: dict[str, Tree] = field(default_factory=dict[str, Tree])
    repeated: dict[str, list[Tree]] = field(default_factory=dict[str, list[Tree]])
    has_text: bool = False

    def add(self, name: str, part: Tree) -> None:
        if name in self.repeated:
            self.repeated[name].append(part)
        elif name in self.parts:
            self.parts[name] = self.repeated[name] = [self.parts[name], part]
        else:
            self.parts[name] = part

    def read(self) -> Tree:
        if not self.parts and not self.attributes:
            return ""
        text: dict[str, Tree] = {"#text": ""} if self.has_text else {}
        return {**self.parts, **text, **self.attributes}


def tree(text: str) -> Tree | None:
    """The elements of a text as promptfoo's lenient reader sees them; None where a mark does not end.

    An end tag closes the innermost element whatever its name, and entities are left as they stand.
    """
    opened = [_Element("", {})]
    end = 0
    while (start := text.find("<", end)) >= 0:
        opened[-1].has_text |= bool(text[end:start].strip(JS_SPACES))
        mark = _MARK.match(text, start)
        if mark is None:
            return None
        _take(mark, opened)
        end = mark.end()
    while len(opened) > 1:
        _close(opened)
    return opened[0].parts


def _take(mark: re.Match[str], opened: list[_Element]) -> None:
    match mark.lastgroup:
        case "close" if len(opened) > 1:
            _close(opened)
        case "cdata":
            opened[-1].has_text |= bool(mark["cdata"])
        case "instruction":
            name, attributes = _named(mark["instruction"])
            opened[-1].add(f"?{name}", attributes or "")
        case "open":
            inner = mark["open"]
            name, attributes = _named(inner.removesuffix("/"))
            opened.append(_Element(name, attributes))
            if inner.endswith("/"):
                _close(opened)
        case _:
            pass


def _close(opened: list[_Element]) -> None:
    element = opened.pop()
    opened[-1].add(element.name, element.read())


def _named(inner: str) -> tuple[str, dict[str, Tree]]:
    space = _SPACE.search(inner)
    if space is None:
        return inner, {}
    matches = _ATTRIBUTE.finditer(inner, space.end())
    return inner[: space.start()], {f"@_{match[1]}": (match[2] or "")[1:-1] for match in matches}


def has_path(document: Tree, path: str) -> bool:
    """Returns whether the names between the path's dots lead somewhere; a number counts the elements that share a name."""
    for key in path.split("."):
        match document:
            case str():
                return False
            case Mapping():
                if key not in document:
                    return False
                document = document[key]
            case _:
                if not key.isdecimal() or str(int(key)) != key or int(key) >= len(document):
                    return False
                document = document[int(key)]
    return True


class ElementSpan(NamedTuple):
    """The place where an element, or a run of siblings, stands in a text."""

    start: int
    end: int


def candidates(text: str) -> list[ElementSpan]:
    """Returns where XML stands among prose: runs of siblings first, then the outermost closed elements, each in order.

    An element that is not closed is prose, and so is everything open where an end tag fits no start tag.
    """
    closed = list(_closed(text))
    starts = {span.start for span, _ in closed}
    outermost: dict[int | None, list[ElementSpan]] = {}
    for span, parent in closed:
        if parent not in starts:
            outermost.setdefault(parent, []).append(span)
    runs = [ElementSpan(min(spans).start, max(spans).end) for spans in outermost.values() if len(spans) > 1]
    return [*runs, *sorted(span for spans in outermost.values() for span in spans)]


def _closed(text: str) -> Iterator[tuple[ElementSpan, int | None]]:
    """Each closed element with the start of the one that it stands in."""
    opened: list[tuple[str, int]] = []
    position = 0
    while (start := text.find("<", position)) >= 0:
        tag = _TAG.match(text, start)
        position = start + 1 if tag is None else tag.end()
        if tag is None:
            continue
        if tag["declaration"]:
            position = _declaration_end(text, position)
        elif tag["slash"]:
            if opened and opened[-1][0] == tag["name"]:
                start = opened.pop()[1]
                yield ElementSpan(start, position), opened[-1][1] if opened else None
            else:
                opened.clear()
        elif tag["name"] and _SELF_CLOSED.search(tag["rest"]):
            yield ElementSpan(start, position), opened[-1][1] if opened else None
        elif tag["name"]:
            opened.append((tag["name"], start))


def _declaration_end(text: str, position: int) -> int:
    depth = 0
    for mark in _IN_DECLARATION.finditer(text, position):
        if mark[0] == ">" and depth == 0:
            return mark.end()
        depth = max(depth + {"[": 1, "]": -1}.get(mark[0], 0), 0)
    return len(text)
