"""The recognition of HTML, by the tree that a browser would make of it. Imports justhtml: import it at first use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from justhtml import JustHTML
from justhtml.dom import Node

from minions_evals_mcp.scoring.assertions.kinds.overlap import JS_SPACES

ELEMENTS = frozenset(
    """
    a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
    colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main map mark math menu meta meter nav
    noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script section select
    slot small source span strong style sub summary sup svg table tbody td template textarea tfoot th thead time title
    tr track u ul var video wbr
    """.split()  # noqa: SIM905  a hundred names read better without their quotes
)
WRAPPERS = frozenset({"html", "head", "body"})

_XML = re.compile(r"<\?xml", re.IGNORECASE)


def html_flaw(text: str) -> str | None:
    """Returns why a text is no HTML; None where it is."""
    text = text.strip(JS_SPACES)
    if not text:
        return "it is empty"
    if _XML.match(text):
        return "it begins as XML"
    nodes = list(_nodes(JustHTML(text, sanitize=False, track_node_locations=True).root))
    body = next((node for node in nodes if node.name == "body"), None)
    if body is not None and not _written(body) and any(_is_text(child) for child in _children(body)):
        return "there is text outside its elements"
    if not any(_is_known(node) for node in nodes):
        return "it has no HTML element"
    return None


def _nodes(root: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(_children(node))


def _children(node: Node) -> list[Node]:
    return list(node.children or ())


def _is_text(node: Node) -> bool:
    return node.name == "#text" and bool(str(node.data).strip(JS_SPACES))


def _is_known(node: Node) -> bool:
    if node.name in WRAPPERS:
        return _written(node)
    return node.name in ELEMENTS or ("-" in node.name and not node.name.startswith(("#", "!")))


def _written(wrapper: Node) -> bool:
    """Returns whether the wrapper's own tag made it: one that comes after its content only adds attributes to it."""
    start = wrapper.origin_offset
    if start is None:
        return False
    inside = (node for node in _nodes(wrapper) if node is not wrapper and node.name != "#comment")
    return all(node.origin_offset is None or node.origin_offset > start for node in inside)
