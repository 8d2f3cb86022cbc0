"""`{{env.NAME}}` in a config: filled in when it is read, from the environment with the config's own `env` over it.

A variable whose name says that it is secret is never filled in here: a provider's config keeps its place until a call is
made, and anywhere else, where it would be kept in clear, it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.known_secrets import SECRET_NAME

_PLACE = re.compile(r"\{\{(?:(?!\}\}|\{\{).)*+\}\}", re.DOTALL)
_NAME = re.compile(r"""\benv\.(\w+)|\benv\[['"]([^'"]+)['"]\]""")
_PLAIN = re.compile(r"\{\{\s*env\.\w+\s*\}\}")
PROVIDERS = frozenset({"provider", "providers", "targets", "redteam"})
OWN = "env"


def own_variables(node: Node) -> dict[str, str]:
    """The config's `env`."""
    own = node.value.get(OWN) if isinstance(node.value, dict) else None
    return {name: value_text(value) for name, value in own.items()} if isinstance(own, dict) else {}


def with_environment(node: Node, environment: Mapping[str, str], refusals: Refusals) -> Node:
    """The config with its places filled in, those of its own `env` first; one that cannot be is refused by name."""
    if isinstance(node.value, dict) and isinstance(node.value.get(OWN), dict):
        own: JsonValue = _own_filled(node.mapping()[OWN], environment, refusals)
        node = replace(node, value={**node.value, OWN: own})
    return replace(node, value=_Filling({**environment, **own_variables(node)}, refusals).value(node))


def _rendered(place: str, environment: Mapping[str, str]) -> str:
    from minions_evals_mcp.scoring.nunjucks.templates import rendered_of  # noqa: PLC0415  most configs have no such place

    return rendered_of(place, {"env": dict(environment)})


def _own_filled(node: Node, environment: Mapping[str, str], refusals: Refusals) -> dict[str, JsonValue]:
    """The config's `env` with its places filled in; what bears a secret's name may name another: neither is kept."""
    filling = _Filling(environment, refusals)

    def filled(name: str, variable: Node) -> JsonValue:
        if not isinstance(variable.value, str) or not SECRET_NAME.search(name):
            return filling.value(variable)
        return _PLACE.sub(lambda place: _rendered(place[0], environment), variable.value)

    return {name: filled(name, variable) for name, variable in node.mapping().items()}


@dataclass(frozen=True, slots=True)
class _Filling:
    environment: Mapping[str, str]
    refusals: Refusals

    def value(self, node: Node) -> JsonValue:
        match node.value:
            case str(text):
                return _PLACE.sub(lambda place: self._place(node, place[0]), text) if "env" in text else text
            case list():
                return [self.value(node) for node in node.elements()]
            case dict():
                return {name: node.value if name == OWN else self.value(node) for name, node in node.mapping().items()}
            case _:
                return node.value

    def _place(self, node: Node, place: str) -> str:
        """Returns what stands in place of it: itself where it names no variable, or is to be filled in at the call."""
        names = [plain or quoted for plain, quoted in _NAME.findall(place)]
        alone = _PLAIN.fullmatch(place) is not None
        if not names or (alone and _at_a_call(node)):
            return place
        for name in names:
            if SECRET_NAME.search(name):
                self.refusals.add(
                    node, f"the environment variable {name}, which would be kept in clear: its name says secret"
                )
                return place
            if alone and name not in self.environment:
                self.refusals.add(node, f"the environment variable {name} is not set")
                return place
        return _rendered(place, self.environment)


def _at_a_call(node: Node) -> bool:
    """Returns whether the value stands in a provider's config, which is filled in when the provider is called."""
    steps = [step for step in node.steps if isinstance(step, str)]
    return bool(PROVIDERS & {*steps}) and "config" in steps
