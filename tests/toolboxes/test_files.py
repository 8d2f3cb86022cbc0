"""A neighbour's files are read as they grow, and never touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.toolboxes.files import FilesSource


async def texts(source: FilesSource) -> list[str]:
    """What is new."""
    return [arrived.text for arrived in await source.read()]


async def test_lines_are_told_once_and_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    source = FilesSource(tmp_path)
    assert await texts(source) == []
    file.write_text('{"a": 1}\n\n{"a": 2}\n')
    assert [(one.text, one.where) for one in await source.read()] == [
        ('{"a": 1}', f"{file}:1"),
        ('{"a": 2}', f"{file}:3"),
    ]
    assert await texts(source) == []
    with file.open("a") as more:
        more.write('{"a": 3}\n')
    assert [(one.text, one.where) for one in await source.read()] == [('{"a": 3}', f"{file}:4")]


async def test_a_last_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    source = FilesSource(file)
    file.write_text('{"a": 1}\n{"a": ')
    assert await texts(source) == ['{"a": 1}']
    file.write_text('{"a": 1}\n{"a": 2}')
    assert await texts(source) == ['{"a": 2}']
    file.write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\n')
    assert await texts(source) == ['{"a": 3}']


async def test_a_file_that_begins_anew_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    source = FilesSource(file)
    file.write_text('{"a": 1}\n{"a": 2}\n')
    assert len(await texts(source)) == 2
    (tmp_path / "new").write_text('{"b": 1}\n')
    (tmp_path / "new").rename(file)
    assert await texts(source) == ['{"b": 1}']


async def test_a_whole_file_is_read_when_it_parses_and_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    source = FilesSource(tmp_path)
    file.write_text('{"a": ')
    assert await texts(source) == []
    file.write_text('{"a": 1}')
    assert await texts(source) == ['{"a": 1}']
    assert await texts(source) == []
    file.write_text('{"a": 22}')
    assert await texts(source) == ['{"a": 22}']
    (tmp_path / "notes.txt").write_text("{}")
    assert await texts(source) == []


async def test_a_file_that_stays_as_it_is_and_parses_not_is_told_so_that_it_can_be_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{torn")
    source = FilesSource(tmp_path)
    assert [await texts(source) for _ in range(3)] == [[], ["{torn"], []]


async def test_a_file_that_cannot_be_read_keeps_nothing_from_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "b.jsonl").symlink_to("/proc/self/mem")  # it opens, and every read of its beginning fails
    (tmp_path / "c.jsonl").write_text('{"c": 1}\n')
    source = FilesSource(tmp_path)
    assert await texts(source) == ['{"a": 1}', '{"c": 1}']
    with pytest.raises(OSError):
        await source.read()
