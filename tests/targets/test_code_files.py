"""What a target is made of: the files that its command names, and what they import from the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.targets.code_files import MOST_FOLLOWED, files_digest, named_in, project_code
from minions_evals_mcp.targets.command import CommandTarget, command_settings

PROJECT = {
    "agent.py": "import json\nimport helper\nfrom package.inner import thing\nfrom package import other\n",
    "helper.py": "def answer(): return 1\n",
    "package/__init__.py": "from . import near\n",
    "package/near.py": "from .deep.end import x\n",
    "package/deep/__init__.py": "",
    "package/deep/end.py": "x = 1\n",
    "package/inner.py": "thing = 1\n",
    "package/other.py": "import helper\n",
    "agent.mjs": 'import { a } from "./lib/a.js";\nconst b = await import("./lib");\nexport * from "../outside/c.mjs";\n',
    "lib/a.js": 'const t = require("./table.json")\n',
    "lib/table.json": "{}\n",
    "lib/index.ts": "",
    "run.sh": "#!/bin/sh\npython3 ./agent.py | node lib/a.js\n",
    "../outside/c.mjs": "",
    "unused.py": "",
    "notes.txt": "agent.py\n",
}
REACHED = {
    "python3 agent.py": {
        "agent.py", "helper.py", "package/__init__.py", "package/near.py", "package/deep/__init__.py", "package/deep/end.py",
        "package/inner.py", "package/other.py",
    },
    "node agent.mjs --verbose": {"agent.mjs", "lib/a.js", "lib/table.json", "lib/index.ts", "../outside/c.mjs"},
    "./run.sh": {"run.sh", "lib/a.js", "lib/table.json"},
    "node --import=./lib/a.js -e 1": {"lib/a.js", "lib/table.json"},
    "cat notes.txt": {"notes.txt"},
    "echo nothing": set[str](),
}  # fmt: skip
REACHED["./run.sh"] |= REACHED["python3 agent.py"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("command", REACHED)
def test_a_command_is_made_of_the_files_that_it_names_and_of_what_they_import(project: Path, command: str) -> None:
    found = project_code(named_in(command.split(), project), project).files
    assert set(found) == {(project / name).resolve() for name in REACHED[command]}


@pytest.mark.parametrize("command", [command for command, files in REACHED.items() if files])
def test_an_edit_of_any_of_them_is_another_target_and_of_another_file_is_none(project: Path, command: str) -> None:
    def digest() -> str:
        return files_digest(named_in(command.split(), project), project)

    before = digest()
    for name, text in PROJECT.items():
        path = project / name
        path.write_text(f"{text}\n")
        assert (digest() != before) == (name in REACHED[command]), name
        path.write_text(text)
    assert digest() == before


def test_a_project_that_moves_is_the_same_target(project: Path) -> None:
    before = files_digest([project / "agent.py"], project)
    moved = project.rename(project.with_name("elsewhere"))
    assert files_digest([moved / "agent.py"], moved) == before


def test_a_circle_of_imports_and_code_that_does_not_parse_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("import a\n")
    (tmp_path / "c.py").write_text("import (\n")
    assert len(project_code([tmp_path / "a.py", tmp_path / "c.py"], tmp_path).files) == 3


def test_a_command_target_is_another_one_after_an_edit(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    settings = command_settings("command:python3 agent.py")
    before = CommandTarget(settings, 1).digest()
    assert CommandTarget(settings, 1).digest() == before
    (project / "helper.py").write_text("def answer(): return 2\n")
    assert CommandTarget(settings, 1).digest() != before


def test_of_code_that_is_large_any_code_of_the_folder_counts(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(MOST_FOLLOWED + 20)]
    (tmp_path / "agent.py").write_text("\n".join(f"import {name}" for name in names))
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    for unread in ("venv/lib/strange.py", ".hidden.py", "notes.txt"):
        (tmp_path / unread).write_text("x = 1")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "late.py").write_text("x = 1")
    found = {str(path.relative_to(tmp_path)) for path in project_code([tmp_path / "agent.py"], tmp_path).files}
    assert {"agent.py", "m0.py", f"{names[-1]}.py", "elsewhere/late.py"} <= found
    assert not found & {"venv/lib/strange.py", "notes.txt"}
    before = files_digest([tmp_path / "agent.py"], tmp_path)
    (tmp_path / "elsewhere" / "late.py").write_text("x = 2")
    assert files_digest([tmp_path / "agent.py"], tmp_path) != before


def test_what_was_missing_counts_once_it_is_there(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text("import kit.late\nTEXT = open('data/words.txt').read()\n")
    (tmp_path / "kit").mkdir()
    (tmp_path / "data").mkdir()
    digests = [files_digest([agent], tmp_path)]
    for name in ("kit/late.py", "data/words.txt"):
        (tmp_path / name).write_text("x = 1")
        digests.append(files_digest([agent], tmp_path))
    assert len({*digests}) == 3
    assert files_digest([agent], tmp_path) == digests[-1]
