"""The only reader of the environment. Composition roots read it once; a name that is not known is refused."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import field
from pathlib import Path

from minions_evals_mcp import known_secrets
from minions_evals_mcp.domain.providers import NO_ACCESS, PROVIDERS, ProviderAccess, name_endpoint
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.dotenv import written_down
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.service_table import SERVICES
from minions_evals_mcp.project import TAKEN, Endpoint, Project, find_project, user_endpoints
from minions_evals_mcp.sandbox.child_environment import WORLD

PREFIX = "MINIONS_EVALS_"
KNOWN = (
    "DB",
    "JUDGE_MODEL",
    "JUDGE_CALLS",
    "EMPTY_OUTPUT",
    "SKILLS",
    "CONCURRENCY",
    "CALL_TIMEOUT",
    "EMBEDDER",
    "HTTP_TOKEN",
    "PERSON_TOKEN",
    "SEAL_KEY",
    "EXPLAIN",
    "EXPLAIN_CALLS",
    "WEBHOOKS",
    "MODELS",
)
JUDGE_CALLS = ("per-criterion", "per-run")
EMPTY_OUTPUT = ("fail", "judge")
EXPLAIN = ("off", "llm")
EXPLAIN_CALLS = 50
"""So many failures a model is asked about, by one command or by the agent in a day."""


@frozen_type
class Settings:
    """The settings of the environment; keys never show in a repr."""

    db: Path | None = None
    judge_model: str | None = None
    judge_calls: str = "per-criterion"
    skills: Path | None = None
    concurrency: int = 16
    call_timeout_s: float = 60.0
    providers: Mapping[str, ProviderAccess] = field(default_factory=dict[str, ProviderAccess])
    """Keys and addresses, by the provider's name; without an entry nothing is set."""
    embedder: str | None = None
    http_token: str | None = field(default=None, repr=False)
    person_token: str | None = field(default=None, repr=False)
    seal_key: str | None = field(default=None, repr=False)
    explain: str = "off"
    explain_calls: int = EXPLAIN_CALLS
    webhooks: tuple[str, ...] = ()
    empty_output: str = "fail"
    """Whether an empty output gets the lowest score without a call, or the judge is asked."""
    project: Project | None = None
    """The project file that these were completed from."""


def read_settings(environment: Mapping[str, str] = os.environ, project: Project | None = None) -> Settings:
    """The settings of this process: what the environment says, else the project file.

    Raises `BadInputError` naming an unknown or malformed variable.
    """
    for name in environment:
        if name.startswith(PREFIX) and not name.startswith(WORLD) and name.removeprefix(PREFIX) not in KNOWN:
            near = difflib.get_close_matches(name.removeprefix(PREFIX), KNOWN, 1)
            hint = (
                f"Did you mean {PREFIX}{near[0]}?"
                if near
                else known_names(name, [PREFIX + known for known in KNOWN], "docs/reference/settings.md")
            )
            raise BadInputError(f"the environment variable {name} is unknown.", remedy=hint)

    def own(name: str) -> str | None:
        return environment.get(PREFIX + name) or None

    name_endpoints(project, own("MODELS"))
    file = None if project is None else project.fields
    keys: Mapping[str, str] = {} if project is None else project.keys
    read = Settings(
        db=_path(own("DB")) or (project.store() if project else None),
        judge_model=own("JUDGE_MODEL") or (file and file.judge),
        judge_calls=_one_of("JUDGE_CALLS", own("JUDGE_CALLS"), JUDGE_CALLS),
        empty_output=_one_of("EMPTY_OUTPUT", own("EMPTY_OUTPUT"), EMPTY_OUTPUT),
        skills=_path(own("SKILLS")),
        concurrency=_whole("CONCURRENCY", own("CONCURRENCY"), (file and file.concurrency) or 16),
        call_timeout_s=_seconds("CALL_TIMEOUT", own("CALL_TIMEOUT"), (file and file.call_timeout) or 60.0),
        providers=_providers(environment, keys),
        embedder=own("EMBEDDER") or (file and file.embedder),
        http_token=own("HTTP_TOKEN"),
        project=project,
        person_token=own("PERSON_TOKEN"),
        seal_key=own("SEAL_KEY"),
        explain=_one_of("EXPLAIN", own("EXPLAIN"), EXPLAIN),
        explain_calls=_whole("EXPLAIN_CALLS", own("EXPLAIN_CALLS"), EXPLAIN_CALLS),
        webhooks=tuple(_addresses("WEBHOOKS", own("WEBHOOKS"))),
    )
    known_secrets.remember_keys(
        (*(access.api_key for access in read.providers.values()), read.http_token, read.seal_key)
    )
    known_secrets.remember_named(environment)
    known_secrets.remember_named(written_down())
    return read


def name_endpoints(project: Project | None, given: str | None) -> None:
    """Makes the endpoints known that the user's settings, the project file and the environment name, in this order."""
    named = {**user_endpoints(), **(project.endpoints() if project else {})}
    for part in (given or "").split(","):
        name, sign, url = part.strip().partition("=")
        if sign:
            named[name.strip()] = Endpoint.model_validate({"base-url": url.strip()})
        elif name:
            raise BadInputError(
                f"{PREFIX}MODELS: expected NAME=URL, got {part.strip()!r}.",
                remedy="For example: local=http://localhost:11434/v1",
            )
    for name, endpoint in named.items():
        if name in TAKEN or not name.replace("-", "").replace("_", "").isalnum():
            raise BadInputError(
                f"{name!r} cannot be the name of a model endpoint.", remedy="Choose another, such as local."
            )
        name_endpoint(name, endpoint.api, endpoint.base_url or "", endpoint.key_env or "", endpoint.place)


def is_set(name: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Returns whether the environment says something of that setting."""
    return bool(environment.get(PREFIX + name))


def settings_here() -> Settings:
    """The settings of a command that a person runs here: the environment's, else those of the project file above."""
    return read_settings(project=find_project(Path.cwd()))


def first_set(names: Iterable[str], environment: Mapping[str, str] = os.environ) -> str | None:
    """The value of the first of those environment variables that is set."""
    return next((value for name in names if (value := environment.get(name))), None)


def use_env_file(file: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Sets the variables of the file in place of those of the same names; raises `BadInputError` where there is no such file."""
    if not file.is_file():
        raise BadInputError(f"the file {file} does not exist.", remedy="Name a file with lines such as NAME=VALUE.")
    environment.update(written_down(file))


def every_variable(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment, for a config that names variables of it by its own words."""
    return dict(environment)


def named_variables(names: Iterable[str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The values of those environment variables; raises `BadInputError` naming the first that is not set."""
    variables: dict[str, str] = {}
    for name in names:
        if not environment.get(name, "").strip():
            raise BadInputError(f"the environment variable {name} is not set.", remedy=f"Set it: export {name}=…")
        variables[name] = environment[name].strip()
    known_secrets.remember_named(variables)
    return variables


def _providers(environment: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, ProviderAccess]:
    read = {
        name: ProviderAccess(
            environment.get(row.key_variable) or keys.get(row.key_variable),
            environment.get(row.url_variable) or ((row.url or None) if row.is_named else None),
        )
        for name, row in PROVIDERS.items()
    }
    for row in SERVICES:
        if row.account not in read:
            key = next((value for name in row.key_variables if (value := environment.get(name))), None)
            read[row.account] = ProviderAccess(key, environment.get(row.url_variable) or None)
    return {name: access for name, access in read.items() if access != NO_ACCESS}


def _addresses(name: str, text: str | None) -> list[str]:
    several = [address.strip() for address in (text or "").split(",") if address.strip()]
    for address in several:
        if not address.startswith(("http://", "https://")):
            raise BadInputError(
                f"{PREFIX}{name} contains {address!r}, which is not a web address.",
                remedy="Write addresses with http:// or https://, separated by commas.",
            )
    return several


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text).expanduser()


def _one_of(name: str, text: str | None, known: tuple[str, ...]) -> str:
    """The word that was given; the first that is known where none was."""
    if text is not None and text not in known:
        raise BadInputError(f"{PREFIX}{name} is {text!r}.", remedy=f"Use {' or '.join(known)}.")
    return text or known[0]


def _whole(name: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise BadInputError(f"{PREFIX}{name} is {text!r}.", remedy="Use a whole number from 1 to 1000.")
    return int(text)


def _seconds(name: str, text: str | None, default: float) -> float:
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise BadInputError(f"{PREFIX}{name} is {text!r}.", remedy="Use a number of seconds above 0, at most 3600.")
    return seconds
