"""The project file: what a repository's evaluations are set up with, once. `minions-evals.toml`, or a table in pyproject.toml."""

from __future__ import annotations

import difflib
import logging
import os
import stat
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast
from urllib.parse import urlsplit

from platformdirs import user_config_path
from pydantic import AliasGenerator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.domain.request_fields import OWN_TARGETS
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.dotenv import written_down
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.network_address import is_loopback

NAME = "minions-evals.toml"
PYPROJECT = "pyproject.toml"
KEYS = frozenset(row.key_variable for row in PROVIDERS.values())
"""What a `.env` beside the file is read for."""


Whole = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]
"""As TOML writes them: `outputs = true` is no day, nor is "no" a truth."""
Days = Annotated[Whole, Field(ge=1, le=36_500)]


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,  # every command imports it, few read such a file
        alias_generator=AliasGenerator(validation_alias=lambda name: name.replace("_", "-")),
    )


class Thresholds(_Table):
    """The thresholds at which `run` fails. `min_score` is 0–1; `undecided` is what a gate becomes that too few cases decide."""

    min_score: Annotated[Number, Field(ge=0, le=1)] | None = None
    fail_on_regression: Truth = False
    allow_skipped: Truth = False
    undecided: Literal["pass", "fail"] | None = None


class Caps(_Table):
    """The caps that stop a run before it spends more."""

    max_cost_usd: Annotated[Number, Field(gt=0)] | None = None
    max_seconds: Annotated[Number, Field(gt=0)] | None = None


class Retention(_Table):
    """So many days content is kept: outputs with what was said of them, recorded agent-runs and traces, messages that are done with."""

    outputs: Days | None = None
    agent_runs: Days | None = None
    messages: Days | None = None

    def days(self) -> dict[str, int]:
        """The days of each kind that has a limit."""
        return {name.replace("_", "-"): days for name, days in self if days is not None}


Place = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.:_-]*$", max_length=100)]


class Endpoint(_Table):
    """A model endpoint under a name of yours: `api` is the interface that it speaks, `key_env` the variable with its key.

    A cloud is asked at its own address where no `base_url` is given: Bedrock's in a `region`, Vertex's of a `project` in one.
    """

    api: Literal["openai", "anthropic", "azure", "bedrock", "vertex", "vertex-gemini"] = "openai"
    base_url: Annotated[str | None, Field(pattern=r"^https?://[^/?#\s]+")] = None
    key_env: Annotated[str | None, Field(pattern=r"^[A-Za-z_]\w*$")] = None
    region: Place | None = None
    project: Place | None = None
    api_version: Place | None = None

    @model_validator(mode="after")
    def _has_its_place(self) -> Self:
        needed, known = CLOUDS.get(self.api, (("base-url",), ()))
        given = {
            name: getattr(self, name.replace("-", "_")) for name in ("base-url", "region", "project", "api-version")
        }
        if missing := [name for name in needed if given[name] is None]:
            raise ValueError(f"api {self.api!r} needs {' and '.join(missing)}")
        if strange := [name for name, value in given.items() if value and name not in {*needed, *known, "base-url"}]:
            raise ValueError(f"api {self.api!r} takes no {strange[0]}")
        return self

    @property
    def place(self) -> dict[str, str]:
        """What a cloud needs besides its address."""
        version = self.api_version or (AZURE_VERSION if self.api == "azure" else None)
        given = {"region": self.region, "project": self.project, "api-version": version}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return is_loopback(urlsplit(self.base_url or "").hostname or "")


CLOUDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "azure": (("base-url",), ("api-version",)),
    "bedrock": (("region",), ()),
    "vertex": (("project", "region"), ()),
    "vertex-gemini": (("project", "region"), ()),
}
"""What an endpoint at a cloud needs, and what it also takes."""
SIGNED = frozenset({"bedrock", "vertex", "vertex-gemini"})
"""Clouds that are asked with the credentials of whoever runs the program."""
AZURE_VERSION = "2024-10-21"
"""The version of Azure's interface where none is named: the newest that is generally available."""

TAKEN = frozenset(
    {*PROVIDERS, "http", "https", "python", "command", "file", "exec", "echo", "config", "evaluate", "latest"}
)
"""What an endpoint may not be called: another meaning has it already."""


class ProjectFields(_Table):
    """The keys of the file; paths are relative to it."""

    store: str | None = None
    suites: tuple[str, ...] = ()
    target: str | None = None
    target_config: str | None = None
    prompt_version: str | None = None
    judge: str | None = None
    embedder: str | None = None
    concurrency: Annotated[Whole, Field(ge=1, le=1000)] | None = None
    call_timeout: Annotated[Number, Field(gt=0, le=3600)] | None = None
    trials: Annotated[Whole, Field(ge=1, le=1000)] = 1
    models: dict[str, Endpoint] = {}
    thresholds: Thresholds = Field(default_factory=Thresholds)
    caps: Caps = Field(default_factory=Caps)
    retention: Retention = Field(default_factory=Retention)


@frozen_type
class Project:
    """A project file that was found, with the keys of the `.env` beside it."""

    file: Path
    fields: ProjectFields
    digest: str
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    ignored: tuple[str, ...] = ()
    """Addresses in the `.env` that are not read: a repository must not say where keys are sent."""

    @property
    def folder(self) -> Path:
        """Returns what its paths are relative to."""
        return self.file.parent

    def path(self, text: str) -> Path:
        """A path of the file's."""
        if not text.strip() or "\0" in text:
            raise BadInputError(f"{self.file}: {text!r} is not a path.", remedy="Give a path from the file's folder.")
        try:
            return (self.folder / Path(text).expanduser()).absolute()
        except RuntimeError as error:
            raise BadInputError(
                f"{self.file}: {text!r}: {error}", remedy="Give a path from the file's folder."
            ) from None

    def store(self) -> Path | None:
        """The store, where the file names one."""
        return None if self.fields.store is None else self.path(self.fields.store)

    def endpoints(self) -> dict[str, Endpoint]:
        """The model endpoints of the file. A repository must not say where keys are sent: such an endpoint is the user's to name."""
        for name, endpoint in self.fields.models.items():
            if endpoint.api in SIGNED and endpoint.base_url is not None and not endpoint.is_local:
                raise BadInputError(
                    f"{self.file}: models.{name}: a project file must not send what your {endpoint.api} credentials sign to"
                    f" {endpoint.base_url}.",
                    remedy=f"Leave base-url out, or write the table into {settings_file()}, which is yours.",
                )
            if endpoint.key_env is not None and not endpoint.is_local:
                at = endpoint.base_url or endpoint.api
                raise BadInputError(
                    f"{self.file}: models.{name}: a project file must not send the key of {endpoint.key_env} to {at}.",
                    remedy=f"Write the table into {settings_file()}, which is yours, or leave key-env out.",
                )
        return self.fields.models

    def suites(self) -> list[Path]:
        """The suite files; raises `BadInputError` for a pattern that fits none."""
        paths: list[Path] = []
        for pattern in self.fields.suites:
            try:
                files = sorted(self.folder.glob(pattern))
            except (ValueError, NotImplementedError, OSError, IndexError) as error:
                raise BadInputError(
                    f"{self.file}: suites: {pattern!r} is not a pattern of files: {error}.",
                    remedy="Paths are relative to the project file.",
                ) from None
            if not files:
                raise BadInputError(
                    f"{self.file}: suites: no file matches {pattern!r}.",
                    remedy="Paths are relative to the project file.",
                )
            paths += [file for file in files if file not in paths]
        return paths

    def model_target(self) -> str | None:
        """The target, where it is a model: what runs a program or calls an address a server's operator names himself."""
        return self.fields.target if self.code() is None else None

    def code(self) -> str | None:
        """The target that runs a program or calls an address, if it is one: that is agreed to before it is used."""
        if self.fields.target_config is not None:
            return f"target-config {self.fields.target_config}"
        target = self.fields.target
        return target if target is not None and target.startswith(OWN_TARGETS) else None


def find_project(start: Path, home: Path | None = None) -> Project | None:
    """The nearest project file from that folder upwards, as far as the repository's root or the home folder.

    The search ends at a folder that everybody may write to, and passes over a file of another user: else a neighbour on this
    machine could say where results are stored and what runs. `trusted-folders` of your settings are exempt.
    """
    home = home or Path.home()
    trusted = trusted_folders() if sys.platform != "win32" else ()
    for folder in (start.absolute(), *start.absolute().parents):
        is_trusted = any(folder.is_relative_to(one) for one in trusted)
        if not is_trusted and _anybody_writes(folder):
            return None
        for name in (NAME, PYPROJECT):
            file = folder / name
            if not _exists(file) or not (is_trusted or _is_ours(file)):
                continue
            if (project := read_project(file)) is not None:
                return project if is_trusted or _is_ours(folder / ".env") else replace(project, keys={}, ignored=())
        if (folder / ".git").exists() or folder == home:
            return None
    return None


def repository_root(start: Path, home: Path | None = None) -> Path | None:
    """The root of the repository that the folder is in, if it is the user's own; None for the home folder and outside a repository.

    As for project files, the search ends at a folder that everybody may write to.
    """
    home = home or Path.home()
    trusted = trusted_folders() if sys.platform != "win32" else ()
    for folder in (start.absolute(), *start.absolute().parents):
        if folder == home or (not any(folder.is_relative_to(one) for one in trusted) and _anybody_writes(folder)):
            return None
        if (folder / ".git").exists():
            return folder if _is_ours(folder / ".git") else None
    return None


def settings_file() -> Path:
    """The user's own settings: `trusted-folders = ["/srv/shared"]`."""
    return user_config_path("minions-evals") / "settings.toml"


def _user_settings() -> dict[str, Any]:
    file = settings_file()
    try:
        return tomllib.loads(bounded_files.read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:  # what is no UTF-8, no TOML, or a number of too many digits
        raise BadInputError(f"{file}: {error}.", remedy="It is TOML, in UTF-8.") from None


def user_endpoints() -> dict[str, Endpoint]:
    """The model endpoints of the user's own settings; raises `BadInputError` for one that does not fit."""
    try:
        return ProjectFields.model_validate({"models": _user_settings().get("models", {})}).models
    except ValidationError as error:
        raise _refusal(settings_file(), error) from None


def trusted_folders() -> tuple[Path, ...]:
    """The folders whose project files are followed whoever owns them; raises `BadInputError` for settings that do not fit."""
    file, held = settings_file(), _user_settings()
    named = held.get("trusted-folders", [])
    if held.keys() - {"trusted-folders", "models"} or not isinstance(named, list):
        raise BadInputError(
            f"{file}: only trusted-folders and [models.NAME] tables are allowed.",
            remedy='trusted-folders = ["/path/of/a/folder"]',
        )
    folders = [Path(str(one)).expanduser() for one in cast("list[object]", named)]
    if wrong := [folder for folder in folders if not folder.is_absolute()]:
        raise BadInputError(f"{file}: trusted-folders: {wrong[0]} is not absolute.", remedy="Write absolute paths.")
    return tuple(folders)


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False


def _anybody_writes(folder: Path) -> bool:
    try:
        return sys.platform != "win32" and bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _is_ours(file: Path) -> bool:
    """Returns whether the file, and what a link leads to, is this user's or the administrator's; also where there is none."""
    if sys.platform == "win32":
        return True
    try:
        owners = {file.lstat().st_uid, file.stat().st_uid}
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if owners <= {os.geteuid(), 0}:
        return True
    logging.getLogger(__name__).warning(
        "%s is not used: it belongs to another user. To use it, add its folder to trusted-folders in %s.",
        file,
        settings_file(),
    )
    return False


def read_project(file: Path) -> Project | None:
    """The project in that file; None for a pyproject.toml without our table. Raises `BadInputError` naming what does not fit."""
    try:
        text = bounded_files.read_text(file)
        held: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except RecursionError:
        raise BadInputError(f"{file}: it is nested too deeply.", remedy="It is TOML, in UTF-8.") from None
    except ValueError as error:  # what is no UTF-8, no TOML, or a number of too many digits
        if file.name == PYPROJECT:
            return None  # another program's business
        raise BadInputError(f"{file}: {error}.", remedy="It is TOML, in UTF-8.") from None
    if file.name == PYPROJECT:
        tool: object = held.get("tool", {})
        table: object = cast("dict[str, Any]", tool).get("minions-evals") if isinstance(tool, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise BadInputError(f"{file}: tool.minions-evals is not a table.", remedy="Write [tool.minions-evals].")
        held = cast("dict[str, Any]", table)
    try:
        fields = ProjectFields.model_validate(held)
    except ValidationError as error:
        raise _refusal(file, error) from None
    keys, ignored = _env_keys(file.parent / ".env")
    return Project(file, fields, text_digest(f"{file}\n{text}"), keys, ignored)


def project_at(path: Path | None) -> Project | None:
    """The project that an operator names by its file or folder; raises `BadInputError` where there is none."""
    if path is None:
        return None
    file = path / NAME if path.is_dir() else path
    project = read_project(file.absolute())
    if project is None:
        raise BadInputError(f"{file} has no table [tool.minions-evals].", remedy=f"Name a {NAME}, or add the table.")
    return project


def _refusal(file: Path, error: ValidationError) -> BadInputError:
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] != "extra_forbidden":
        return BadInputError(f"{file}: {place}: {first['msg']}.", remedy="docs/reference/settings.md lists the keys.")
    prefix = "tool.minions-evals." if file.name == PYPROJECT else ""
    tables = {"thresholds": Thresholds, "caps": Caps, "retention": Retention}
    inner = tables.get(str(first["loc"][0]), ProjectFields)
    known = [name.replace("_", "-") for name in inner.model_fields]
    key = str(first["loc"][-1]).replace("_", "-")
    near = difflib.get_close_matches(key, known, 1) or [
        f"{name.replace('_', '-')} in [{prefix}{table}]"
        for table, fields in tables.items()
        for name in difflib.get_close_matches(key.replace("-", "_"), fields.model_fields, 1)
    ]
    hint = f"Did you mean {near[0]}?" if near else known_names(key, known, "docs/reference/settings.md")
    return BadInputError(f"{file}: unknown key {place!r}.", remedy=hint)


def _env_keys(file: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """The providers' keys that a `.env` holds, and the addresses in it that are passed over."""
    held = written_down(file)
    return {name: value for name, value in held.items() if name in KEYS and value}, tuple(
        sorted(name for name in held if name.endswith("_BASE_URL"))
    )
