"""What a config asks for and is not carried out: all of it by name, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.reading import Node

MOST_NAMED = 20


class Refusals:
    """Gathers what is not carried out, in the order in which it was met."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, node: Node, what: str = "") -> None:
        """The value is not carried out; `what` says more than its name."""
        said = what.removesuffix(".")
        self._found[f"{node.at}: {node.name}{f': {said}' if said else ''}"] = None

    def known(self, node: Node, names: Iterable[str]) -> dict[str, Node]:
        """The mapping's values under known keys; each other key is refused."""
        found = node.mapping()
        wanted = {name: found[name] for name in names if name in found}
        for name in found.keys() - wanted.keys():
            self.add(found[name])
        return wanted

    def settled(self, *, allowed: bool) -> tuple[str, ...]:
        """What is left out; raises `UnsupportedError` naming it unless that is allowed."""
        found = tuple(sorted(self._found))
        if found and not allowed:
            more = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
            raise UnsupportedError(
                "\n".join(("the config asks for what is not carried out:", *found[:MOST_NAMED], *more)),
                remedy="Take it out, or leave it out of this evaluation with --allow-unsupported.",
            )
        return found
