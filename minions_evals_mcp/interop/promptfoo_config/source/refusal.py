"""The parts of a config that are not supported: all of it by name, before anything runs; what does no harm is noted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.next_steps import SET_KEY, argument

MOST_NAMED = 20
NEAR = 0.75
VITAL = frozenset({"tests", "prompts", "providers", "targets", "scenarios", "defaultTest", "assert", "vars", "type", "value",
                   "threshold", "weight"})  # fmt: skip
"""Keys without which a config asks for less than its author wrote down."""
NOTHING: Mapping[str, str] = {}


class Refusals:
    """Gathers what is not supported, in the order in which it was met."""

    def __init__(self, *, trust_code: bool = False) -> None:
        self.trust_code = trust_code
        self._found: dict[str, None] = {}
        self._noted: dict[str, None] = {}
        self._ungraded: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Returns what the config says that changes nothing here, each with its place and why."""
        return tuple(self._noted)

    def note(self, node: Node, why: str) -> None:
        """The value changes nothing here: no verdict would be another with it."""
        self._noted[f"{node.at}: {node.name}: {why}"] = None

    def remark(self, what: str) -> None:
        """Says of the whole config what its user should know."""
        self._noted[what] = None

    def __len__(self) -> int:
        return len(self._found)

    def add(self, node: Node, what: str = "") -> None:
        """The value is not supported; `what` says more than its name."""
        reason = what.removesuffix(".")
        self._found[f"{node.at}: {node.name}{f': {reason}' if reason else ''}"] = None

    def add_ungraded(self, node: Node, kind: str) -> None:
        """A model would have to decide the check, and there is none."""
        self._ungraded[f"{node.at}: {kind}: no judge model"] = None

    def known(
        self,
        node: Node,
        names: Iterable[str],
        *,
        harmless: Mapping[str, str] = NOTHING,
        there: Collection[str] | None = None,
    ) -> dict[str, Node]:
        """The mapping's values under known keys; a harmless key is noted, with why it is, each other one is refused.

        `there` are the keys that promptfoo reads in this place: what it does not read either is noted, unless it is a slip of
        the pen for what decides a verdict.
        """
        names, members = tuple(names), node.mapping()
        for name in harmless.keys() & members.keys():
            self.note(members.pop(name), harmless[name])
        wanted = {name: members[name] for name in names if name in members}
        for name in members.keys() - wanted.keys():
            self.strange(members[name], wanted=names, there=there)
        return wanted

    def strange(self, node: Node, *, wanted: Iterable[str], there: Collection[str] | None) -> None:
        """Refuses the key that is not supported, or notes that promptfoo does not read it either."""
        near = get_close_matches(str(node.steps[-1]), wanted, 1, NEAR)
        if there is None or str(node.steps[-1]) in there:
            self.add(node)
        elif near and near[0] in VITAL:
            self.add(node, f"promptfoo does not read it; do you mean {near[0]}?")
        else:
            meant = f" (do you mean {near[0]}?)" if near else ""
            self.note(node, f"promptfoo does not read it either, so that it changes nothing{meant}")

    def settled(self, *, allowed: bool) -> tuple[str, ...]:
        """Returns what is left out; raises `UnsupportedError` naming it unless that is allowed."""
        refused, ungraded = tuple(sorted(self._found)), tuple(sorted(self._ungraded))
        if refused and not allowed:
            raise UnsupportedError(
                _listed("the config asks for what is not supported:", refused),
                remedy=f"Take it out, or leave it out of this evaluation with {argument('allow_unsupported')}.",
            )
        if ungraded and not allowed:
            raise UnsupportedError(
                _listed("a check needs a judge model, and none is configured:", ungraded),
                remedy=f"{SET_KEY}, or name a model with {argument('judge_model', 'provider:model')}"
                ". With an OPENAI_BASE_URL of your own you always name it."
                f" Or run the rest with {argument('allow_unsupported')}, which lists these checks as left out.",
            )
        return refused + ungraded


def _listed(what: str, named: Sequence[str]) -> str:
    more = [f"and {len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
    return "\n".join((what, *named[:MOST_NAMED], *more))
