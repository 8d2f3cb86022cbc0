"""What a config names: prompts and providers by label or id, by the beginning of a name (`x*`) or by group (`x` for `x:…`), and the
files in its folder that templates include.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, read_text

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


def fits(reference: str, names: Iterable[str | None]) -> bool:
    """Returns whether the reference stands for what bears those names."""
    known = [name for name in names if name]
    if reference in known:
        return True
    begins = (f"{reference}:", reference.removesuffix("*")) if reference.endswith("*") else (f"{reference}:",)
    return any(name.startswith(begins) for name in known)


def allowed(references: Iterable[str] | None, names: Iterable[str | None]) -> bool:
    """Returns whether one of the references stands for it; None allows everything."""
    return references is None or any(fits(reference, names) for reference in references)
