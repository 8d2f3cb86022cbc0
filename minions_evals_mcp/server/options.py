"""The operator's options when the server is started."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.server.catalogue import CATALOGUE, TOOLSETS
from minions_evals_mcp.settings import EXPLAIN, Settings


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The choice of offered tools, on which store. No toolset and no tool named: all of them."""

    db: Path | None = None
    read_only: bool = False
    toolsets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    target: str | None = None
    http: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    graphql: bool = False
    explain: str | None = None
    project: Path | None = None

    def offered(self) -> dict[str, str]:
        """Every tool's name with why it is not offered; empty where it is."""
        return {name: self._withheld(name) for name in CATALOGUE}

    def _withheld(self, name: str) -> str:
        entry = CATALOGUE[name]
        if self.read_only and entry.writes:
            return "this server is read-only (--read-only)."
        named = self.toolsets or self.tools
        if named and entry.toolset not in self.toolsets and name not in self.tools:
            return f"the operator does not offer it (toolset {entry.toolset})."
        return ""


def named_path(options: ServerOptions, settings: Settings) -> Path | None:
    """The store's file as the operator named it: a person's command line has to be told of it, too."""
    named = options.db or settings.db
    return None if named is None else named.absolute()


def store_path(options: ServerOptions, settings: Settings) -> Path:
    """The store's file: the option, else the environment or the project file, else the project's own, else the user's."""
    named = named_path(options, settings)
    if named is None:
        from minions_evals_mcp.default_store import default_store  # noqa: PLC0415  what a named store does not need

        named = default_store(settings.project)
    return named.absolute()


def read_options(arguments: Sequence[str]) -> ServerOptions:
    """The options; raises `BadInputError` for a toolset or tool that does not exist."""
    parser = argparse.ArgumentParser(
        prog="minions-evals-mcp",
        description="Serve Minions Evals to agents over MCP (stdio, or --http).",
        allow_abbrev=False,
    )
    parser.add_argument("--db", type=Path, help="the store file (MINIONS_EVALS_DB, otherwise in your data folder)")
    parser.add_argument(
        "--read-only", action="store_true", help="offer only tools that read; a missing store is an error"
    )
    parser.add_argument("--toolsets", default="", metavar="A,B", help=f"offer only these: {', '.join(TOOLSETS)}")
    parser.add_argument(
        "--tools", default="", metavar="A,B", help="offer these tools in addition to the named toolsets"
    )
    parser.add_argument(
        "--target", help="default target, for outputs that are not recorded: PROVIDER:MODEL or python:module:function"
    )
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="listen on this address instead of stdin, e.g. 127.0.0.1:8765"
    )
    parser.add_argument(
        "--allowed-host",
        dest="allowed_hosts",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name that callers may use (with --http)",
    )
    parser.add_argument(
        "--graphql",
        action="store_true",
        help="also serve the testing API at /graphql (with --http; needs the graphql extra)",
    )
    parser.add_argument(
        "--project",
        type=Path,
        metavar="FILE",
        help="minions-evals.toml: store, judge, embedder, limits, and its target if that is a model",
    )
    parser.add_argument(
        "--explain",
        choices=EXPLAIN,
        help="llm: callers may ask a model to explain failures where rules are unsure",
    )
    options = parser.parse_args(arguments)
    if options.allowed_hosts and options.http is None:
        raise BadInputError("--allowed-host needs --http.", remedy="Name the address: --http HOST:PORT.")
    if options.graphql and options.http is None:
        raise BadInputError("--graphql needs --http.", remedy="Name the address: --http HOST:PORT.")
    options.toolsets = _names("toolset", options.toolsets, TOOLSETS)
    options.tools = _names("tool", options.tools, tuple(CATALOGUE))
    options.allowed_hosts = tuple(options.allowed_hosts)
    return ServerOptions(**vars(options))


def _names(kind: str, given: str, known: Sequence[str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else known_names(name, known)
            raise BadInputError(f"unknown {kind} {name!r}.", remedy=hint)
    return names
