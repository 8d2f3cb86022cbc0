"""What a file names that runs, is called, is read of the environment, or stands outside of its folder."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class NamedResources:
    """What a file names that runs, is called, is read of the environment, or stands outside of its folder."""

    commands: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(named for _, named in self.listed())

    def with_paths(self, *paths: str) -> NamedResources:
        """The same with these paths outside of the folder."""
        return NamedResources(self.commands, self.code, self.addresses, self.variables, (*self.paths, *paths))

    def listed(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """What is named, by what happens with it."""
        return (
            ("runs the program", self.commands),
            ("runs the code in", self.code),
            ("calls", self.addresses),
            ("reads the variable", self.variables),
            ("uses, outside of its folder,", self.paths),
        )

    def digest(self) -> str:
        """The digest of all that is named: resolved, without what stands in the code."""
        return digest({said: list(named) for said, named in self.listed()})


def resolved_command(words: Sequence[str], folder: Path) -> str:
    """The command with its program as it is started from that folder: by its whole path."""
    program = words[0]
    beside = folder / program
    found = os.path.normpath(beside.absolute()) if "/" in program and beside.exists() else shutil.which(program)
    return shlex.join((found or program, *words[1:]))
