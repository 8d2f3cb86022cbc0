"""The set-up that workers must have in common with the coordinator: compared by digest, and refused by name, before work starts."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path

from minions_evals_mcp.cluster.orders import EngineSetup
from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.settings import named_variables, settings_here
from minions_evals_mcp.targets.function.task import python_target
from minions_evals_mcp.targets.http import HttpSettings
from minions_evals_mcp.targets.own import OwnTarget

PACKAGE = "minions_evals_mcp"
DISTRIBUTION = "minions-evals-mcp"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def setup_of(config: EngineConfig) -> EngineSetup:
    """Returns how workers are to be set up for an engine that is set up so."""
    own = config.own_target
    return EngineSetup(
        judge_model=config.judge_model,
        judge_together=config.judge_together,
        judge_empty=config.judge_empty,
        concurrency=config.concurrency,
        call_timeout_s=config.call_timeout_s,
        embedder=config.embedder,
        trust_code=config.trust_code,
        application=None if own is None else own.settings,
    )


def worker_config(setup: EngineSetup) -> EngineConfig:
    """Returns how a worker's engine is set up: as ordered, with the keys and addresses of its own environment."""
    chosen = Chosen(
        judge_model=setup.judge_model,
        concurrency=setup.concurrency,
        embedder=setup.embedder,
        trust_code=setup.trust_code,
    )
    config = engine_config(settings_here(), chosen)
    return replace(
        config,
        judge_model=setup.judge_model,
        judge_together=setup.judge_together,
        judge_empty=setup.judge_empty,
        call_timeout_s=setup.call_timeout_s,
        providers=replace(config.providers, call_timeout_s=setup.call_timeout_s),
        own_target=_own_target(setup),
    )


def _own_target(setup: EngineSetup) -> OwnTarget | None:
    """The application as it is set up, with the headers that this machine's environment holds."""
    settings = setup.application
    if not isinstance(settings, HttpSettings):
        return None if settings is None else OwnTarget(settings)
    values = named_variables(settings.headers_from.values())
    return OwnTarget(settings, {header: values[name] for header, name in settings.headers_from.items()})


def described(config: EngineConfig, target: str | None) -> dict[str, str]:
    """Returns what this process would work with, by name: equal here and on a worker, or the worker is refused."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "the code of minions-evals": _code(),
        "the versions of its packages": _packages(),
        "the skills": _files(config.skills, "*.md"),
        "the providers' addresses": digest(
            {name: access.base_url for name, access in sorted(config.providers.access.items()) if access.base_url}
        ),
        "the target's code": _target_code(target, config.call_timeout_s),
    }


def unlike(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    """In words, what differs."""
    for name, value in here.items():
        other = there.get(name, "nothing")
        if other != value:
            yield f"{name} ({other[:12]} there, {value[:12]} here)"


@cache
def _code() -> str:
    return _files(Path(sys.modules[PACKAGE].__path__[0]), "*.py")


def _files(folder: Path, pattern: str) -> str:
    """The digest of the files' names and contents."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob(pattern)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return total.hexdigest()


@cache
def _packages() -> str:
    """The digest of the installed versions of what we need, as far as it is installed."""
    return digest({name: _version(name) for name in sorted(_required())})


def _required() -> set[str]:
    names = {name[0] for text in metadata.requires(DISTRIBUTION) or () if (name := _NAME.match(text)) is not None}
    return names & {
        "anyio",
        "cloudpickle",
        "dask",
        "distributed",
        "msgpack",
        "numpy",
        "orjson",
        "pydantic",
        "rapidfuzz",
        "wordllama",
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _target_code(target: str | None, timeout_s: float) -> str:
    """The digest of what a `python:` target is made of."""
    if target is None or not target.startswith("python:"):
        return ""
    return python_target(target.removeprefix("python:"), deadline_s=timeout_s, width=1).digest()
