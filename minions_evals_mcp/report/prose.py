"""Sentences of ours on a page: a name between backticks is set as code, and all else is escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.report.plain import printable

_CODE = late("`([^`]+)`")


def prose(text: str, limit: int = 600) -> Markup:
    """The sentence on one line, cut at `limit` characters; a backtick without its second one stays as it is."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(printable(text, limit)))))  # noqa: S704  escaped before
