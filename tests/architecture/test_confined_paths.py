"""Who writes files where somebody else names the path: `confined_paths` alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "minions_evals_mcp"
WRITES = frozenset({"copy", "copy2", "copyfile", "copytree", "move", "write_text", "write_bytes", "symlink_to", "hardlink_to",
                    "rename", "unpack_archive", "extractall", "extract"})  # fmt: skip
ROOMS = ("targets", "engine/lift", "interop")
OURS = {
    "interop/log_exports/table.py": "an export to the path that the user named",
    "interop/log_exports/every_eval_ever.py": "an export to the path that the user named",
}


def writes(module: Path) -> list[str]:
    """The calls in the module that write a file by its path."""
    tree = ast.parse(module.read_text("utf-8"))
    return [
        f"{module.relative_to(PACKAGE)}:{node.lineno} {ast.unparse(node.func)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (
            (node.func.attr in WRITES and ast.unparse(node.func.value) not in {"copy", "replace"})
            or (node.func.attr == "open" and any(isinstance(a, ast.Constant) and str(a.value)[:1] in set("wax") for a in node.args))
        )
    ]  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_that_handles_strangers_files_writes_by_a_path_of_its_own(room: str) -> None:
    found = [
        call for module in sorted((PACKAGE / room).rglob("*.py")) if str(module.relative_to(PACKAGE)) not in OURS
        for call in writes(module)
    ]  # fmt: skip
    assert found == []


OPENERS = {
    "confined_paths.py": "a path that somebody else wrote",
    "private_files.py": "a file that is ours alone",
    "sandbox/confine.py": "the folders that a sandbox may read",
    "store/backup.py": "the folder that is flushed to the disk",
    "world/sessions.py": "a journal in a folder that was made for it",
}
RIGHTS = {"private_files.py", "sandbox/python.py"}


def test_files_are_opened_with_flags_and_rights_in_vetted_modules_only() -> None:
    texts = {
        str(path.relative_to(PACKAGE.parent)).removeprefix("minions_evals_mcp/"): path.read_text("utf-8")
        for package in (PACKAGE, PACKAGE.parent / "agent") for path in package.rglob("*.py")
    }  # fmt: skip
    opened = {name for name, text in texts.items() if "os.open(" in text.replace("os.open(os.devnull", "")}
    assert opened == OPENERS.keys()
    assert {name for name, text in texts.items() if ".chmod(" in text} == RIGHTS
    assert [name for name, text in texts.items() if "agreed_file().read" in text or "KEYS).read" in text] == []


def test_the_test_sees_a_write() -> None:
    module = PACKAGE / "cli/start/starting.py"
    assert any("write_text" in call for call in writes(module))
