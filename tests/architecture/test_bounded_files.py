"""Files of others are read whole by one function, which takes no device and no more than may be held."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from minions_evals_mcp.bounded_files import read_bytes, read_lines, read_text
from minions_evals_mcp.errors import BadInputError
from tests.shared.cli.terminal import Terminal

ROOT = Path(__file__).parents[2]
OURS = frozenset({
    "minions_evals_mcp/interop/hosts/settings_file.py",  # a host's own settings, of the user's own program
    "minions_evals_mcp/interop/worlds/agreed.py", "minions_evals_mcp/view/entrance/door.py", "minions_evals_mcp/world/attacking.py",
    "minions_evals_mcp/world/passing.py", "minions_evals_mcp/world/sessions.py", "minions_evals_mcp/cli/start/demo.py",
    "minions_evals_mcp/cli/run/eval_options.py",  # git's own
    "minions_evals_mcp/embedding/local.py", "minions_evals_mcp/sandbox/javascript_worker.py",
    "minions_evals_mcp/targets/code_files.py", "minions_evals_mcp/targets/workspace.py",  # vetted by size where they are listed
    "minions_evals_mcp/cluster/setup.py", "minions_evals_mcp/store/migrate.py", "minions_evals_mcp/shipped.py",
    "minions_evals_mcp/bounded_files.py", "minions_evals_mcp/server/resources/skill_files.py",
})  # fmt: skip
"""Files that read what this program wrote or ships, and why else."""

WHOLE = ("read_text", "read_bytes")


def whole_reads(source: str) -> list[int]:
    """The lines on which a file is read whole by its path."""
    if not any(f"{read}(" in source for read in WHOLE):
        return []
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WHOLE
        and ast.unparse(node.func.value) != "bounded_files"
        and "files(" not in ast.unparse(node.func.value)
    ]


def test_a_path_that_somebody_names_is_read_within_bounds() -> None:
    found = {
        f"{name}:{line}"
        for package in ("minions_evals_mcp", "agent")
        for file in sorted((ROOT / package).rglob("*.py"))
        if (name := file.relative_to(ROOT).as_posix()) not in OURS
        for line in whole_reads(file.read_text("utf-8"))
    }
    assert sorted(found) == []


def first_line(path: Path) -> str:
    return next(read_lines(path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no devices as files")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_is_no_file(device: str) -> None:
    for read in (read_bytes, read_text, first_line):
        with pytest.raises(BadInputError, match=f"{device} is a device"):
            read(Path(device))


def test_what_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole: a terabyte that takes no room
    with pytest.raises(BadInputError, match="larger than 64 MB"):
        read_text(path)
    with pytest.raises(BadInputError, match="a line of more than 67108864 characters"):
        next(read_lines(path))


@pytest.mark.parametrize("name", ["z.yaml", "z.yml", "many.yaml", "many.json"])
def test_a_suite_has_bounds(tmp_path: Path, name: str) -> None:
    at = Terminal(tmp_path)
    if name.startswith("z"):
        (tmp_path / name).symlink_to("/dev/zero")
    else:
        text = (
            "records:\n" + "- {}\n" * 1_000_000 if name.endswith("yaml") else '{"records":[' + "{}," * 500_000 + "{}]}"
        )
        (tmp_path / name).write_text(text)
    for command in (("import", name), ("eval", name)):
        ended = at.run(*command)
        assert ended.code == 2, ended
        assert name in ended.err
        assert name != "many.yaml" or "more than 1000000 lines or values" in ended.err
