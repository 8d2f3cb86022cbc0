"""Trusted snippets: the real interpreters, limited and killed with what they started."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.sandbox import trusted_python
from minions_evals_mcp.sandbox.limits import Limits
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import Language, Ran, SnippetError
from tests.hang import HANG_S
from tests.sandbox.daemon import daemon, is_gone, linux

pytestmark = pytest.mark.anyio

BRIEF = Limits(seconds=1.0, memory_bytes=64 << 20, output_bytes=1_000)
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture
async def snippets() -> AsyncGenerator[Snippets]:
    async with Snippets(trusted=True) as found:
        yield found


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("import enum\nclass A(enum.Enum):\n    B = 3\nreturn A.B.value", 3),
        ("def each():\n    yield from data\nsum(each())", 3),
        ("print('goes nowhere')\nstatistics.mean(data) + stdev([1, 2, 3])", 2.5),
        ("text = '''\n kept'''\nif text:\n    return text", "\n kept"),
        ("", None),
    ],
)
async def test_the_real_python_runs(snippets: Snippets, code: str, value: object) -> None:
    assert await snippets.run("python", code, {"data": [1, 2]}) == Ran(value)  # pyright: ignore[reportArgumentType]  JSON all the same


@node
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("data.length", 2),
        ("const {join} = require; join", None),
        ("const one = data[0]; one + 1", 2),
        ("console.log('goes nowhere'); return process.version.startsWith('v')", True),
        ("Promise.resolve(data)", [1, 2]),
        ("undefined", None),
    ],
)
async def test_the_real_node_runs(snippets: Snippets, code: str, value: object) -> None:
    found = await snippets.run("javascript", code, {"data": [1, 2]})
    if value is None and "require" in code:
        assert isinstance(found, SnippetError)  # a snippet is no module
    else:
        assert found == Ran(value)  # pyright: ignore[reportArgumentType]  as above


@pytest.mark.parametrize(
    ("language", "code", "kind", "said"),
    [
        ("python", "x = 1\nx.nothing", "raised", "line 2: AttributeError"),
        ("python", "x = (", "syntax", "line 1: SyntaxError"),
        ("python", "while True: pass", "time-limit", "1 s"),
        ("python", "[0] * 10**9", "memory-limit", "64 MB"),
        ("python", "'x' * 100_000", "output-limit", "1,000"),
        ("python", "{1}", "raised", "no JSON"),
        ("python", "import os\nos._exit(3)", "died", "without an answer"),
        pytest.param("javascript", "const x = 1;\nx.y.z", "raised", "line 2: TypeError", marks=node),
        pytest.param("javascript", "let x = ;", "syntax", "SyntaxError", marks=node),
        pytest.param("javascript", "for (;;);", "time-limit", "1 s", marks=node),
        pytest.param("javascript", "'x'.repeat(100000)", "output-limit", "1,000", marks=node),
        pytest.param("javascript", "10n", "raised", "no JSON", marks=node),
    ],
)
async def test_a_failure_says_what(language: Language, code: str, kind: str, said: str) -> None:
    async with Snippets(trusted=True, limits=BRIEF) as snippets:
        with anyio.fail_after(HANG_S):
            found = await snippets.run(language, code, {})
    assert isinstance(found, SnippetError)
    assert (found.kind, said in found.error) == (kind, True), found


async def test_a_snippet_that_waits_and_does_not_compute_is_ended_by_the_clock() -> None:
    async with Snippets(trusted=True, limits=Limits(wall_seconds=0.3)) as snippets:
        found = await snippets.run("python", "import time\ntime.sleep(600)", {})
    assert found == SnippetError("time-limit", "it had not ended after 0.3 s")


@linux
async def test_what_a_snippet_started_is_killed_with_it(tmp_path: Path) -> None:
    code = f"import subprocess, sys\nchild = subprocess.Popen(['sleep', '600'])\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))"
    async with Snippets(trusted=True, limits=BRIEF) as snippets:
        with anyio.fail_after(HANG_S):
            ended = await snippets.run("python", f"{code}\nreturn 1", {})
            first = (tmp_path / "pid").read_text()
            stuck = await snippets.run("python", f"{code}\nwhile True: pass", {})
            second = (tmp_path / "pid").read_text()
            while any(running(pid) == "sleep" for pid in (first, second)):
                await anyio.lowlevel.checkpoint()
    assert ended == Ran(1)
    assert isinstance(stuck, SnippetError)


@linux
async def test_a_daemon_that_a_snippet_started_is_killed_with_it(tmp_path: Path) -> None:
    async with Snippets(trusted=True, limits=BRIEF) as snippets:
        with anyio.fail_after(HANG_S):
            ended = await snippets.run("python", f"{daemon(tmp_path / 'first')}\nreturn 1", {})
            await is_gone(tmp_path / "first")
            stuck = await snippets.run("python", f"{daemon(tmp_path / 'second')}\nwhile True: pass", {})
            await is_gone(tmp_path / "second")
    assert ended == Ran(1)
    assert isinstance(stuck, SnippetError)


def running(pid: str) -> str:
    """What a process is called; nothing once it has ended."""
    try:
        _, name, state = Path(f"/proc/{pid}/stat").read_text().split()[:3]
    except OSError:
        return ""
    return "" if state == "Z" else name.strip("()")


def test_the_request_is_answered_with_the_value_or_with_what_was_raised() -> None:
    asked = {"code": "assert double(n) == 4", "variables": {"n": 2}, "before": "def double(x): return 2 * x"}
    assert trusted_python.answer(asked, []) == {"value": None}
    told = trusted_python.answer({**asked, "before": "Sorry."}, [])
    assert (told["kind"], told["name"], told["error"][:17]) == ("raised", "SyntaxError", "the code before: ")


def test_the_server_has_no_way_to_trust_code() -> None:
    server = Path(__file__).parents[2] / "minions_evals_mcp" / "server"
    assert [one.name for one in server.rglob("*.py") if "trust_code" in one.read_text()] == []
    assert EngineConfig(Path("evals.db"), Path("skills")).trust_code is False
