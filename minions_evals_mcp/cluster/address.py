"""The address of a cluster: the address of a scheduler, or so many workers started here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec

from minions_evals_mcp.errors import BadInputError, UnsupportedError

MOST_LOCAL = 64
_SCHEDULER = re.compile(r"(?:tcp|tls)://(?:\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}")
_LOCAL = re.compile(r"local:(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A dask scheduler that runs somewhere, with workers of its own."""

    address: str


@dataclass(frozen=True, slots=True)
class LocalWorkers:
    """So many workers on this machine, for the length of the command."""

    count: int


Where = Scheduler | LocalWorkers


def parse_cluster(text: str) -> Where:
    """The cluster that `tcp://HOST:PORT`, `tls://HOST:PORT` or `local:N` names.

    Raises `BadInputError` for anything else, `UnsupportedError` where dask.distributed is not installed.
    """
    where = _where(text)
    if find_spec("distributed") is None:
        raise UnsupportedError(
            "--cluster needs the package distributed, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[cluster]'",
        )
    return where


def _where(text: str) -> Where:
    local = _LOCAL.fullmatch(text)
    if local is not None and 1 <= int(local[1]) <= MOST_LOCAL:
        return LocalWorkers(int(local[1]))
    if _SCHEDULER.fullmatch(text) is not None:
        return Scheduler(text)
    raise BadInputError(
        f"--cluster {text!r} names no cluster.",
        remedy=f"Write tcp://HOST:8786, tls://HOST:8786, or local:N for N workers here (1 to {MOST_LOCAL}).",
    )
