"""An application of the user's as the target, set up in a file that the operator names."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import ValidationError, model_validator
from pydantic_core import to_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import InvalidRecordError, legible
from minions_evals_mcp.interop.parsing import parse_yaml
from minions_evals_mcp.interop.reached_resources import NamedResources, resolved_command
from minions_evals_mcp.settings import named_variables
from minions_evals_mcp.targets.command import CommandSettings
from minions_evals_mcp.targets.http import HttpSettings
from minions_evals_mcp.targets.own import OwnTarget


class TargetFile(Value):
    """A target file's top level: one application."""

    http: HttpSettings | None = None
    command: CommandSettings | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.http is None) == (self.command is None):
            raise ValueError("it needs either `http: {url, …}` or `command: {run: […], …}`")
        return self


def read_target(path: Path) -> OwnTarget:
    """The application that the file sets up, with the headers that the environment holds.

    Raises `BadInputError` naming the file and what in it does not fit, or the variable that is not set.
    """
    settings = read_target_settings(path)
    if isinstance(settings, CommandSettings):
        return OwnTarget(settings)
    values = named_variables(settings.headers_from.values())
    return OwnTarget(settings, {header: values[name] for header, name in settings.headers_from.items()})


def resources_of(settings: HttpSettings | CommandSettings, folder: Path) -> NamedResources:
    """What the application runs, calls and reads of the environment."""
    if isinstance(settings, CommandSettings):
        return NamedResources(commands=(resolved_command(settings.run, folder),))
    return NamedResources(addresses=(str(settings.url),), variables=tuple(sorted(settings.headers_from.values())))


def read_target_settings(path: Path) -> HttpSettings | CommandSettings:
    """The settings in the file; raises `BadInputError` naming the file and what in it does not fit."""
    with legible(path):
        text = bounded_files.read_text(path)
    try:
        target_file = TargetFile.model_validate_json(to_json(parse_yaml(text, str(path))))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(
            first["msg"].removeprefix("Value error, "), field=".".join(map(str, first["loc"])), where=str(path)
        ) from None
    settings = target_file.http or target_file.command
    assert settings is not None
    return settings
