"""Files in the config's folder that templates include."""

from __future__ import annotations

import re

from minions_evals_mcp.interop.promptfoo_config.reading import Node, read_text

MOST_INCLUDED = 10
_INCLUDE = re.compile(
    r"""(?P<open>\{%-?)\s*include\s+(?P<quote>["'])(?P<name>[^"'{}]+)(?P=quote)(?P<optional>\s+ignore\s+missing)?\s*"""
    r"""(?P<close>-?%\})"""
)


def with_included(node: Node, template: str, *, left: int = MOST_INCLUDED) -> str:
    """The template with what it includes as blocks: there, too, what a file sets is not set around it."""

    def block(tag: re.Match[str]) -> str:
        opening, name, optional, closing = tag["open"], tag["name"], tag["optional"], tag["close"]
        folder = node.source.base.resolve()
        path = (folder / name).resolve()
        if left == 0 or not path.is_relative_to(folder) or (not path.is_file() and not optional):
            raise node.wrong(f"include: there is no file {name} in the config's folder, or it includes itself")
        text = with_included(node, read_text(path), left=left - 1) if path.is_file() else ""
        return f"{opening} block included %}}{text}{{% endblock {closing}"

    return _INCLUDE.sub(block, template)
