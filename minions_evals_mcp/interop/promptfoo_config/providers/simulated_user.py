"""`promptfoo:simulated-user` in a config: a user whom a model plays, in place of promptfoo's service."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.config_eval.evaluation import ModelSpec, SimulatedUserSpec
from minions_evals_mcp.interop.promptfoo_config.providers.models import model_spec
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, named_file, read_node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals

SIMULATED_USER = "promptfoo:simulated-user"
PLAYER = "userProvider"
"""The model that plays the user: a key of ours, which promptfoo passes over; without it the run's judge does."""
KEYS = ("instructions", "maxTurns", "initialMessages", "stateful", PLAYER)


def simulated_user_spec(config: Node, refusals: Refusals) -> SimulatedUserSpec:
    """The user as the config sets it up; whom it talks with is the column's."""
    members = refusals.known(config, KEYS)
    return SimulatedUserSpec(
        user=_player(members[PLAYER], refusals) if PLAYER in members else None,
        instructions=members["instructions"].text() if "instructions" in members else "{{instructions}}",
        max_turns=members["maxTurns"].whole(least=0) if "maxTurns" in members else 10,
        initial=tuple(_messages(members["initialMessages"])) if "initialMessages" in members else (),
        stateful="stateful" in members and members["stateful"].yes(),
    )


def _player(node: Node, refusals: Refusals) -> ModelSpec | None:
    if isinstance(node.value, str):
        return model_spec(node, node.value, node.child("config", {}), refusals)
    members = refusals.known(node, ("id", "config"))
    if "id" not in members:
        raise node.wrong("must be a model's id, or {id, config}")
    return model_spec(node, members["id"].text(), members.get("config", node.child("config", {})), refusals)


def _messages(node: Node) -> list[Json]:
    value: JsonValue = node.value
    if node.file is not None:
        value = read_node(named_file(node, node.file), node.source.base).value
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise node.wrong("must be a list of {role, content}, or a file of one")
    return [message for message in value if isinstance(message, dict)]
