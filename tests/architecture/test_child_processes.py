"""Who starts programs, and with what: every start gives the child its environment, and none inherits ours."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTS = frozenset({"subprocess.run", "subprocess.Popen", "subprocess.check_output", "subprocess.check_call", "subprocess.call",
                    "anyio.open_process", "anyio.run_process", "asyncio.create_subprocess_exec",
                    "asyncio.create_subprocess_shell", "StdioServerParameters"})  # fmt: skip
NEVER = frozenset(
    {"os.system", "os.popen", "os.execv", "os.execve", "os.execvp", "os.spawnv", "os.spawnvp", "os.posix_spawn"}
)
KEEPS_A_CHILDS_OWN = frozenset({"sandbox/keeper.py", "sandbox/monty_launcher.py"})
"""Programs of ours that run in a child already, and know no more than it was given."""


def starts(source: str) -> list[str]:
    """The calls that start a program without saying what it finds in its environment."""
    if not any(name in source for name in STARTS | NEVER):
        return []
    return [
        f"{node.lineno} {ast.unparse(node.func)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func) in NEVER
            or (ast.unparse(node.func) in STARTS and not any(keyword.arg == "env" for keyword in node.keywords))
        )
    ]


@pytest.mark.parametrize("package", ["minions_evals_mcp", "agent"])
def test_every_program_is_started_with_an_environment_of_its_own(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{start}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if str(path.relative_to(ROOT / package)) not in KEEPS_A_CHILDS_OWN
        for start in starts(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("name", sorted(STARTS | NEVER))
def test_a_start_that_hands_on_everything_is_seen(name: str) -> None:
    assert starts(f"{name}(['true'])") == [f"1 {name}"]
