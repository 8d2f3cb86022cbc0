"""Files with secrets and decisions: whoever lays a file or a link in their place decides nothing and learns nothing."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from minions_evals_mcp.interop.reached_resources import NamedResources
from minions_evals_mcp.interop.worlds import agreed
from minions_evals_mcp.private_files import append_private, create_private, read_private, write_private
from minions_evals_mcp.view.entrance.door import Keys

PLANTED = json.dumps({"token": "planted", "session": "planted"})


def through_a_link(file: Path) -> None:
    other = file.with_name("other")
    other.write_text(PLANTED)
    other.chmod(0o600)
    file.symlink_to(other)


def readable_by_others(file: Path) -> None:
    file.write_text(PLANTED)
    file.chmod(0o644)


def writable_by_others(file: Path) -> None:
    file.write_text(PLANTED)
    file.chmod(0o620)


def a_pipe(file: Path) -> None:
    os.mkfifo(file, 0o600)


def a_folder(file: Path) -> None:
    file.mkdir()


PLANTS: tuple[Callable[[Path], None], ...] = (
    through_a_link, readable_by_others, writable_by_others, a_pipe, a_folder,
)  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
def test_what_somebody_laid_there_is_neither_read_nor_added_to(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    file = tmp_path / "keys.json"
    plant(file)
    for ask in (read_private, append_private):
        with pytest.raises(OSError, match=r"others can|symbolic|directory|Is a|No such device"):
            ask(file)


@pytest.mark.parametrize("plant", PLANTS)
def test_the_page_takes_no_keys_that_others_could_know(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    file = tmp_path / "keys.json"
    plant(file)
    keys = Keys.kept(1, file)
    assert "planted" not in (keys.token, keys.session)
    if plant is not a_folder:
        assert stat.S_IMODE(file.lstat().st_mode) == 0o600
        assert Keys.kept(1, file) == keys
    if plant is through_a_link:
        assert (tmp_path / "other").read_text() == PLANTED, "nothing is written through a link"


def test_what_others_could_write_gives_no_consent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, source = tmp_path / "agreed-projects.json", tmp_path / "promptfooconfig.yaml"
    monkeypatch.setattr(agreed, "agreed_file", lambda: file)
    named = NamedResources(commands=("make evil",))
    agreed.keep_agreed(source, named)
    assert agreed.has_agreed(source, named)
    file.chmod(0o666)
    assert not agreed.has_agreed(source, named)


def test_a_file_is_written_whole_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write_private(file, "first")
    write_private(file, "second")
    with append_private(file) as opened:
        opened.write(", third")
    assert read_private(file) == b"second, third"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with pytest.raises(FileExistsError):
        create_private(file)
