"""The needs of the parts beside the store from this machine: the embedder, the sandboxes, the programs, the extras."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version

import anyio

from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.engine.embedders import open_embedder
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.mcp_version import REMEDY as MCP_REMEDY
from minions_evals_mcp.mcp_version import mcp_problem
from minions_evals_mcp.models.registry import Models
from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.sandbox.javascript import worker_command
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.sandbox.worker import Worker, WorkerDiedError
from minions_evals_mcp.scoring.checks import Language, SnippetError

DISTRIBUTION = "minions-evals-mcp"
SERVER = "minions-evals-mcp"
PROGRAMS = (("MCP server", SERVER), ("agent", "minions-eval-agent"))
LANGUAGES: tuple[tuple[Language, str], ...] = (("python", "Python checks"), ("javascript", "JavaScript checks"))
START_S = 30.0
FOR_DEVELOPERS = "dev"
_EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
_PACKAGE = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """One thing that was looked at. `ok` is None where it is merely not configured."""

    name: str
    ok: bool | None
    said: str
    remedy: str = ""


async def machine(config: EngineConfig, *, ping: bool) -> list[MachineFinding]:
    """Returns what works here of what the store does not need; with `ping` also what takes a second, or a call, to try."""
    return [
        await _embedder(config, ping=ping),
        *await _sandboxes(),
        *[_with_library(await _program(label, name, ping=ping), name) for label, name in PROGRAMS],
        _extras(),
    ]


async def _embedder(config: EngineConfig, *, ping: bool) -> MachineFinding:
    try:
        async with Models(config.providers) as models:
            embedder = open_embedder(config.embedder, models)
            if not ping:
                return MachineFinding("embedder", ok=True, said=embedder.name, remedy="--ping tries it.")
            began = time.monotonic()
            (vector,) = await embedder.embed(["ready"])
    except EvalsError as error:
        return MachineFinding("embedder", ok=False, said=error.message_text, remedy=error.remedy_text)
    took = 1000 * (time.monotonic() - began)
    return MachineFinding(
        "embedder", ok=True, said=f"{embedder.name}: {len(vector)} numbers for a text in {took:.0f} ms"
    )


async def _sandboxes() -> list[MachineFinding]:
    """Returns whether each language's snippets run; a tenth of a second for both."""
    async with Snippets() as snippets:
        ran = [(language, label, await snippets.run(language, "1 + 1", {})) for language, label in LANGUAGES]
    return [
        MachineFinding(label, ok=None, said=outcome.error)
        if isinstance(outcome, SnippetError) and outcome.kind == "missing"
        else MachineFinding(label, ok=False, said=outcome.error, remedy=f"pip install --force-reinstall {DISTRIBUTION}")
        if isinstance(outcome, SnippetError)
        else MachineFinding(
            label, ok=True, said=f"run in a sandbox{await _confinement() if language == 'javascript' else ''}"
        )
        for language, label, outcome in ran
    ]


async def _confinement() -> str:
    """Returns what holds a sandbox process of this system, in words."""
    try:
        command = worker_command()
        if command is None:
            return ""
        worker = await Worker.started(command, longest=1000, seconds=START_S)
    except (OSError, WorkerDiedError):
        return ""
    await worker.stop()
    holds: list[str] = json.loads(worker.ready)
    return f", held by {', '.join(holds)}" if holds else ", in a process that this system cannot restrict further"


async def _program(label: str, name: str, *, ping: bool) -> MachineFinding:
    program = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if program is None:
        return MachineFinding(
            label, ok=False, said=f"{name} is not installed", remedy=f"pip install --force-reinstall {DISTRIBUTION}"
        )
    if not ping:
        return MachineFinding(label, ok=True, said=program)
    began = time.monotonic()
    ended = await _started([program, "--help"])
    if ended is None or ended.returncode != 0:
        why = "no answer" if ended is None else _last_line(ended.stderr) or f"exit {ended.returncode}"
        return MachineFinding(label, ok=False, said=f"{program}: {why}", remedy=f"{name} --help shows the whole error.")
    return MachineFinding(label, ok=True, said=f"{program}, starts in {time.monotonic() - began:.1f} s")


def _with_library(finding: MachineFinding, program: str) -> MachineFinding:
    """The finding about the server, or that its library is too old: everything else works with an older one."""
    problem = mcp_problem() if program == SERVER else ""
    return (
        MachineFinding(finding.name, ok=None, said=problem, remedy=MCP_REMEDY)
        if problem and finding.ok is not None
        else finding
    )


async def _started(command: Sequence[str]) -> subprocess.CompletedProcess[bytes] | None:
    """Returns how the program ended; None where it cannot be started, or does not end."""
    try:
        with anyio.fail_after(START_S):
            return await anyio.run_process(command, check=False, env=child_environment())
    except (OSError, TimeoutError):
        return None


def _last_line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip().rpartition("\n")[2]


def _extras() -> MachineFinding:
    """Returns which optional parts are installed."""
    wanted = _wanted()
    there = [name for name, packages in wanted.items() if all(map(_installed, packages))]
    if mcp_problem():
        there = [name for name in there if name != "server"]
    missing = [name for name in wanted if name not in there]
    if not missing:
        return MachineFinding("extras", ok=True, said=f"{', '.join(there)} installed")
    sentence = f"{', '.join(missing)} not installed" + (f"; {', '.join(there)} installed" if there else "")
    return MachineFinding("extras", ok=None, said=sentence, remedy=f"pip install '{DISTRIBUTION}[{','.join(missing)}]'")


def _wanted() -> dict[str, list[str]]:
    """By extra the packages that it brings, as our own package names them."""
    wanted: dict[str, list[str]] = {}
    for requirement in distribution(DISTRIBUTION).requires or ():
        extra, package = _EXTRA.search(requirement), _PACKAGE.match(requirement)
        if extra is not None and package is not None and extra[1] != FOR_DEVELOPERS:
            wanted.setdefault(extra[1], []).append(package[0])
    return wanted


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
