"""Checks of markup: XML and HTML, whole or among prose.

Where promptfoo 0.121.20 and we differ:
- A `value` that names no element (`""`, `"a,"`) is refused when it is read; there no output ever passes.
- Elements that are called like JavaScript's own properties (`constructor`, `toString`) are elements like any other, and
  a path that ends in such a name leads nowhere; there the first stop the parse and the second always exist.
- XML may nest deeper than 100 levels, and entities are not expanded: `contains-xml` refuses an internal subset too.
- `is-xml` reads XML 1.0 as expat does, so XML 1.1's own characters are no XML; a `#` in a system identifier is allowed.
- More than 1,000,000 characters of output are not checked; there 10 MB of HTML are the limit, and fail.
"""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.text import TEXT_LIMIT
from minions_evals_mcp.scoring.assertions.kinds.xml_tree import ElementSpan, candidates, flaw, has_path, tree
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.patterns import linear
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt, js_text

REQUIRED = "requiredElements"

_PAIR = (r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?>", r"</[a-zA-Z][a-zA-Z0-9-]*\s*>")
_SIGNS = {
    r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?/>": 1,
    r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);": 1,
    r"(?i)<!DOCTYPE\s+html": 2,
    r"<!--[^-]*(?:-[^-]+)*-->": 1,
    r"\s[a-zA-Z-]+=\s*[\"'][^\"']*[\"']": 1,
    r"(?i)<(html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style|link|meta"
    r"|br|hr)\b": 2,
}
ENOUGH_SIGNS = 2


def is_xml(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The whole output is one well-formed XML document with namespaces, and has the elements in `value`.

    `value`: paths of names from the root, `root.child`; a list, a text with commas, or {requiredElements}. An element
    that stands more than once is reached by its number, `root.item.0`; an attribute by `@_` before its name.
    """
    if too_long := _too_long(subject.text):
        return too_long
    error = flaw(subject.text)
    if error:
        return UnweightedResult(passed=False, reason=f"is not XML: {error}")
    missing = _missing(subject.text, required(assertion.value))
    if missing is None:
        return UnweightedResult(passed=False, reason="is not XML: a tag is not closed")
    return UnweightedResult(not missing, _lacks(missing) if missing else "is XML")


def contains_xml(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """An element, or a run of siblings, stands somewhere in the output and has the elements in `value` (as `is-xml`).

    Read leniently, as promptfoo does: several roots make one document, and so do the same elements in prose.
    """
    if too_long := _too_long(subject.text):
        return too_long
    wanted = required(assertion.value)
    reason, readable = "contains no XML", list[ElementSpan]()
    for span in candidates(subject.text):
        if any(outer.start <= span.start and span.end <= outer.end for outer in readable):
            continue
        missing = _missing(subject.text[span.start : span.end], wanted)
        if missing is None:
            continue
        if not missing:
            return UnweightedResult(passed=True, reason="contains XML")
        reason = _lacks(missing)
        readable.append(span)
    return UnweightedResult(passed=False, reason=reason)


def is_html(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The whole output is HTML: it has an element that HTML (or a custom element's dash) knows, and no text beside.

    Text may stand at the top only in a `<body>` that is written out. Parsed as a browser does; it takes no `value`.
    """
    from minions_evals_mcp.scoring.assertions.kinds.html_tree import html_flaw  # noqa: PLC0415  imports justhtml: 70 ms

    if too_long := _too_long(subject.text):
        return too_long
    error = html_flaw(subject.text)
    return UnweightedResult(not error, f"is not HTML: {error}" if error else "is HTML")


def contains_html(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """At least two signs of HTML stand in the output: tags, a common tag (two), an entity, a comment, an attribute.

    Counted as promptfoo counts; a start and an end tag are two signs, `<!DOCTYPE html>` too. It takes no `value`.
    """
    if too_long := _too_long(subject.text):
        return too_long
    tags = sum(linear(pattern)(subject.text) for pattern in _PAIR)
    tags += sum(weight for pattern, weight in _SIGNS.items() if linear(pattern)(subject.text))
    return UnweightedResult(tags >= ENOUGH_SIGNS, f"{tags} signs of HTML, {ENOUGH_SIGNS} are enough")


def vet_elements(assertion: Assertion) -> None:
    """Refuses a `value` that names no elements, or one that has no name; none at all is well."""
    match assertion.value:
        case None | []:
            return
        case str() | list():
            names = required(assertion.value)
        case {"requiredElements": list()} if len(assertion.value) == 1:
            names = required(assertion.value)
        case dict() if not assertion.value:
            return
        case other:
            raise InvalidRecordError(f"must name elements, not {excerpt(other)}", field="value")
    if not all(names):
        raise InvalidRecordError(f"an element has no name in {excerpt(assertion.value)}", field="value")


def vet_no_value(assertion: Assertion) -> None:
    """Refuses a `value`, which would be passed over."""
    if assertion.value not in (None, ""):
        raise InvalidRecordError(f"is not used by this type, but is {excerpt(assertion.value)}", field="value")


def required(value: JsonValue) -> list[str]:
    """The paths of the elements that a vetted `value` asks for."""
    match value:
        case str():
            return [name.strip() for name in value.split(",")]
        case list():
            return [js_text(name) for name in value]
        case dict():
            return required(value.get(REQUIRED, []))
        case _:
            return []


def _missing(text: str, wanted: list[str]) -> list[str] | None:
    parsed_tree = tree(text)
    return None if parsed_tree is None else [path for path in wanted if not has_path(parsed_tree, path)]


def _lacks(missing: list[str]) -> str:
    return f"XML has no {excerpt(', '.join(missing))}"


def _too_long(text: str) -> Unmet | None:
    if len(text) <= TEXT_LIMIT:
        return None
    return Unmet(f"the output has {len(text):,} characters; at most {TEXT_LIMIT:,} are read")


TYPES: dict[str, AssertionKind] = {
    "contains-html": AssertionKind(contains_html, vet_no_value, stands_alone=True),
    "contains-xml": AssertionKind(contains_xml, vet_elements, stands_alone=True),
    "is-html": AssertionKind(is_html, vet_no_value, stands_alone=True),
    "is-xml": AssertionKind(is_xml, vet_elements, stands_alone=True),
}
