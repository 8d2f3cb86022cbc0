"""A raw HTTP request as a provider's config holds it: its first line, its headers and its body, each with its places.

It is taken apart before its places are filled; there after. Values are written into it as in a JSON string, so that none
can begin a line; what they are filled into is the same but for a place that stands for several parts at once. Tags of a
template (`{% … %}`) are sent there as they stand, and refused here.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from minions_evals_mcp.engine.config_eval.evaluation import AddressSpec
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, named_file, read_text

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNSENT = frozenset({"host", "content-length"})
"""Headers that follow from the address and the body."""
PLAIN = "text/plain;charset=UTF-8"
_FIRST = re.compile(r"(?P<method>[A-Z]+) (?P<target>\S.*) HTTP/[\d.]+\s*")
_PLACE = re.compile(r"\{\{(?:(?!\}\}|\{\{).)*+\}\}", re.DOTALL)


def raw_request(node: Node, *, secure: bool) -> AddressSpec:
    """The request in that text, or in the file that it names; `secure`: it is sent by https."""
    text = node.text() if node.file is None else read_text(named_file(node, node.file))
    head, _, body = text.strip().replace("\r\n", "\n").partition("\n\n")
    first, *lines = head.split("\n")
    match = _FIRST.fullmatch(first)
    if match is None or match["method"] not in METHODS:
        raise node.wrong("must begin with a line like POST /path HTTP/1.1")
    headers = dict(_header(node, line) for line in lines if line.strip())
    if "{%" in text:
        raise node.wrong("a raw request holds places like {{prompt}}, and no tags")
    url = urljoin(f"{'https' if secure else 'http'}://{headers.get('host', '')}", match["target"])
    if not urlsplit(_PLACE.sub("x", url)).hostname:
        raise node.wrong("must have a header Host, or an address in its first line")
    content = body.strip() or None
    sent = {name: value for name, value in headers.items() if name not in UNSENT}
    return AddressSpec(
        url=url,
        method=match["method"],
        headers=sent if content is None else {"content-type": PLAIN, **sent},
        text=content,
        escaped=True,
    )


def _header(node: Node, line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise InvalidRecordError(f"{line[:60]!r} is no header", field=node.name, where=node.at)
    return name.strip().lower(), value.strip()
