"""What strangers' code tries, in each language: nothing gets out, nothing takes the process down, each ends in time."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator, Mapping
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.sandbox.limits import Limits
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import Language, Ran, SnippetError
from tests.hang import HANG_S
from tests.sandbox.attempts import JAVASCRIPT, PYTHON, STANDARD_PYTHON
from tests.shared.cli.terminal import inherited

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=0.08, wall_seconds=2, memory_bytes=32 << 20, output_bytes=10_000)
SECRET = "correct horse battery"


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.setblocking(False)
        yield found


def aimed(code: str, folder: Path, port: int) -> str:
    """The attempt with what it aims at."""
    found = code.replace("@FILE", str(folder / "secret")).replace("@NEW", str(folder / "new"))
    return found.replace("@PORT", str(port))


def escaped(found: Ran | SnippetError) -> bool:
    """Whether the answer holds what no snippet can know, or says that it got out."""
    told = json.dumps(found.value) if isinstance(found, Ran) else found.error
    return any(secret in told for secret in (SECRET, inherited()["PATH"])) or told == '"escaped"'


async def offenders(
    language: Language, attempts: Mapping[str, str], folder: Path, port: int, *, confined: bool
) -> list[str]:
    """The attempts that got out; one that overstays is never ended."""
    found: list[str] = []
    room = anyio.CapacityLimiter(4)

    async def one(snippets: Snippets, name: str, code: str) -> None:
        async with room:
            answer = await snippets.run(language, aimed(code, folder, port), {"output": "x"})
        if escaped(answer):
            found.append(f"{name}: {answer}")

    async with Snippets(limits=LIMITS, confined=confined) as snippets:
        async with anyio.create_task_group() as tasks:
            for name, code in attempts.items():
                tasks.start_soon(one, snippets, name, code)
        if await snippets.run(language, "1 + 1", {}, limits=Limits()) != Ran(2):
            found.append("afterwards nothing runs")
    return found


def untouched(folder: Path) -> bool:
    """Whether nothing was written or removed there."""
    return [one.name for one in folder.iterdir()] == ["secret"] and (folder / "secret").read_text() == SECRET


@pytest.mark.parametrize(
    ("language", "attempts", "confined"),
    [("python", PYTHON, False), ("python", {**PYTHON, **STANDARD_PYTHON}, True), ("javascript", JAVASCRIPT, True)],
)
async def test_no_attempt_gets_out_takes_the_process_down_or_overstays(
    tmp_path: Path, listener: socket.socket, language: Language, attempts: Mapping[str, str], confined: bool
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    port = int(listener.getsockname()[1])
    assert len(attempts) >= 40
    with anyio.fail_after(HANG_S):
        assert await offenders(language, attempts, tmp_path, port, confined=confined) == []
    assert untouched(tmp_path)
    with pytest.raises(BlockingIOError):
        listener.accept()
