"""The file in which the operator names the neighbours: who is told in which way, and from where is read."""

from __future__ import annotations

import os
import shutil
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import ASKED, Record
from minions_evals_mcp.domain.values import Text, Value, unknown_key
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.parsing import parse_yaml
from minions_evals_mcp.toolboxes.servers import ServerSettings
from minions_evals_mcp.toolboxes.webhook import WebhookSettings

HEADS = frozenset({"key", "addressee", "record", "type", *map(to_camel, Record.__dataclass_fields__)})
FIELDS = frozenset(to_camel(name) for kind in ASKED for name in kind.model_fields)
"""What `$name` and `$fields.name` of an argument may stand for."""


class _Tool(Value):
    """A tool of one of the `servers`, and what it is called with."""

    server: Text | None = None
    tool: Text | None = None
    arguments: Json | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.server is None) != (self.tool is None) or (self.arguments is not None and self.tool is None):
            raise ValueError("tool: server and tool need each other, and arguments need both")
        return self


def _unknown_name(value: JsonValue) -> str | None:
    """Returns what is wrong with the first `$name` in an argument that no record has; None where each stands for something."""
    match value:
        case dict() | list():
            return next(filter(None, map(_unknown_name, value.values() if isinstance(value, dict) else value)), None)
        case str() if value.startswith("$") and not value.startswith("$$"):
            head, _, rest = value[1:].partition(".")
            known, name = (FIELDS, rest.partition(".")[0]) if head == "fields" and rest else (HEADS, head)
            if name in known:
                return None
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(sorted(known))}"
            return f"{value} has no value here{hint}"
        case _:
            return None


class Telling(_Tool):
    """The way that an addressee is notified: by a tool, by a file in `folder`, by a webhook, or not at all, for it pulls the
    outbox itself."""

    folder: Text | None = None
    webhook: WebhookSettings | None = None
    pulls: Literal[True] | None = None
    patience: Annotated[int, Field(ge=1)] = 100

    @model_validator(mode="after")
    def _in_one_way(self) -> Self:
        if sum(option is not None for option in (self.tool, self.folder, self.webhook, self.pulls)) != 1:
            raise ValueError("tool: give one of server with tool, folder, webhook, or pulls = true")
        if (wrong := _unknown_name(self.arguments or {})) is not None:
            raise ValueError(f"arguments: {wrong}")
        return self


class SourceReading(_Tool):
    """From where agent-runs and prompt versions are read: a tool, or a file or folder at `path`; looked at so often."""

    path: Text | None = None
    every_seconds: Annotated[float, Field(gt=0, le=86_400)] = 2.0

    @model_validator(mode="after")
    def _from_one_place(self) -> Self:
        if (self.tool is None) == (self.path is None):
            raise ValueError("path: give path, or server with tool, not both")
        return self


class NeighboursFile(Value):
    """The whole file. `tell`: by addressee, `*` for everybody else; `read`: by any name; `people`: whose answers are a person's."""

    servers: dict[Text, ServerSettings] = {}
    tell: dict[Text, Telling] = {}
    read: dict[Text, SourceReading] = {}
    people: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _servers_are_there(self) -> Self:
        for place, ways in (("tell", self.tell), ("read", self.read)):
            for name, way in ways.items():
                if way.server is not None and way.server not in self.servers:
                    raise ValueError(f"{place}.{name}.server: the file has no server {way.server!r}")
        return self

    def listed(self) -> list[Json]:
        """Who is notified or read, and how."""
        notified: list[Json] = [
            {
                "name": name,
                "does": "notified by",
                "how": _way(way, _other_way(way)),
            }
            for name, way in self.tell.items()
        ]
        read: list[Json] = [
            {"name": name, "does": "read from", "how": _way(way, str(way.path))} for name, way in self.read.items()
        ]
        return [*notified, *read]

    def vet_programs(self, path: Path) -> None:
        """Raises `BadInputError` naming the first server whose program is not there."""
        for name, server in self.servers.items():
            if server.run is None:
                continue
            program = server.run[0]
            if shutil.which(str(Path(server.folder or "", program)) if os.sep in program else program) is None:
                raise BadInputError(
                    f"{path}: servers.{name}.run: program {program!r} not found.",
                    remedy="Install it, or give its full path.",
                )

    def variables(self) -> list[str]:
        """The environment variables that the servers and webhooks need."""
        hooks = (way.webhook for way in self.tell.values() if way.webhook is not None)
        return [name for called in (*self.servers.values(), *hooks) for name in called.variables()]


def _other_way(way: Telling) -> str:
    if way.webhook is not None:
        return way.webhook.way()
    return f"the folder {way.folder}" if way.folder else "its own pull"


def _way(way: _Tool, otherwise: str) -> str:
    return otherwise if way.tool is None else f"the tool {way.tool} of {way.server}"


def read_neighbours(path: Path) -> NeighboursFile:
    """Returns what the file says, TOML or else YAML; raises `BadInputError` naming what does not fit."""
    try:
        text = bounded_files.read_text(path)
        document = tomllib.loads(text) if path.suffix.lower() == ".toml" else parse_yaml(text, str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"--integrations {path} cannot be read: {error}.") from None
    except ValueError as error:  # no TOML, or a number of too many digits
        raise InvalidRecordError(f"not TOML: {error}", where=str(path)) from None
    try:
        return NeighboursFile.model_validate_json(to_json(document or {}, fallback=str))
    except ValidationError as error:
        detail = min(
            error.errors(include_url=False, include_input=False), key=lambda detail: detail["type"] != "extra_forbidden"
        )
        is_unknown = detail["type"] == "extra_forbidden"
        problem = (
            unknown_key(NeighboursFile, detail["loc"]) if is_unknown else detail["msg"].removeprefix("Value error, ")
        )
        raise InvalidRecordError(
            problem, field=".".join(str(part) for part in detail["loc"]), where=str(path)
        ) from None
