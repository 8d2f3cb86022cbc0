"""An application of the user's as the target: an address or a program, as the operator named and set it up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.targets.command import CommandSettings, CommandTarget, command_settings
from minions_evals_mcp.targets.http import ApplicationConnections, HttpSettings, HttpTarget, http_settings
from minions_evals_mcp.targets.workspace import Workspaces

OWN_KINDS = frozenset({"http", "https", "command"})


@frozen_type
class OwnTarget:
    """The operator's set-up of an application; `secrets` are the headers whose values the environment held.

    `workspaces`: a program is started in a fresh one for each output.
    """

    settings: HttpSettings | CommandSettings
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    workspaces: Workspaces | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The target as it is named in a request."""
        return self.settings.name


def own_target(
    name: str,
    version: Record[PromptVersion] | None,
    *,
    set_up: OwnTarget | None,
    web: ApplicationConnections,
    deadline_s: float,
) -> HttpTarget | CommandTarget:
    """The target of that name: as it was set up, else as its name says.

    Raises `BadInputError` where it cannot be called, or would not be told of the version.
    """
    if set_up is None:
        set_up = OwnTarget(command_settings(name) if name.startswith("command:") else http_settings(name))
    elif set_up.name != name:
        raise BadInputError(
            f"the target set up by {argument('target_config')} is {set_up.name}, not {name}.",
            remedy=f"Leave {argument('target')} out, or use that name.",
        )
    match set_up.settings:
        case HttpSettings() as settings:
            target = HttpTarget(settings, web, deadline_s, set_up.secrets)
        case CommandSettings() as settings:
            target = CommandTarget(settings, deadline_s, set_up.workspaces)
    target.vet(version)
    return target
