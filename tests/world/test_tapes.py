"""A tape is whole whoever records it: several units at once, and processes that are killed while they write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import pytest

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.world.calls import tool_result
from minions_evals_mcp.world.passing import TapeWriter
from minions_evals_mcp.world.tapes import TapedCall, TapeHead, read_tape

WRITERS, CALLS = 4, 25


def writer(path: Path) -> TapeWriter:
    """A writer that has opened the tape."""
    made = TapeWriter(path.parent, PurePosixPath(path.name), TapeHead(tape=1, server="s"))
    made.open()
    return made


def test_units_that_record_at_once_lose_no_call_and_write_one_head(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"

    def record(by: int) -> None:
        for at in range(CALLS):  # each call by a writer of its own: opening takes a line that was cut short off
            tape = writer(path)
            tape.write(TapedCall(tool="get", arguments={"by": by, "at": at}, result=tool_result("x" * 2000)))
            tape.close()

    with ThreadPoolExecutor(WRITERS) as workers:
        assert len([*workers.map(record, range(WRITERS))]) == WRITERS
    tape = read_tape(path.read_bytes(), "t")
    assert {(call.arguments["by"], call.arguments["at"]) for call in tape.calls} == {
        (by, at) for by in range(WRITERS) for at in range(CALLS)
    }
    assert len(tape.calls) == WRITERS * CALLS
    assert path.read_bytes().count(b'"tape":1') == 1


def test_what_another_unit_was_killed_in_the_middle_of_spoils_no_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    tape = writer(path)
    tape.write(TapedCall(tool="one", result=tool_result(1)))
    with path.open("ab") as killed:
        killed.write(b'{"tool":"tw')
    tape.write(TapedCall(tool="three", protocol_error="refused"))
    tape.close()
    assert [call.tool for call in read_tape(path.read_bytes(), "t").calls] == ["one", "three"]


@pytest.mark.parametrize("content", ["a whole line\nand a last one", "one line that never ends", '{"a": 1}\n'])
def test_a_file_that_is_no_tape_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(BadInputError, match=r"notes\.txt"):
        writer(path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"tool": "a", "result": {"content": "hello"}}', "2 is not a line of a tape: result: .* list of blocks"),
        ('{"tool": "a", "result": {}}', "list of blocks"),
        ('{"tool": "a", "result": {"content": [{"type": "video", "text": "x"}]}}', "list of blocks"),
        ('{"tool": "a", "result": {"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}}', "list of blocks"),
        ('{"tool": "a", "result": {"content": [], "isError": "no"}}', "isError must be true or false"),
        ('{"tool": "a"}', "either result or protocolError"),
        ('{"tool": "a", "result": {"content": []}, "protocolError": "x"}', "either result or protocolError"),
        ("", "1 is not a line of a tape: tools: .* a name and an inputSchema"),
    ],
)
def test_an_answer_that_no_agent_could_be_given_is_refused_when_the_tape_is_read(line: str, said: str) -> None:
    head = '{"tape": 1, "server": "s", "tools": [{"name": "a", "inputSchema": {}}]}'
    content = f"{head}\n{line}\n" if line else head.replace("inputSchema", "schema") + "\n"
    with pytest.raises(BadInputError, match=f"t:.*{said}"):
        read_tape(content.encode(), "t")


def test_a_tape_is_recorded_through_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "profile").write_text("alias a=b")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "t.jsonl").symlink_to(outside / "profile")
    (folder / "tapes").symlink_to(outside)
    for place in ("t.jsonl", "tapes/new.jsonl"):
        with pytest.raises(BadInputError, match="cannot be changed"):
            TapeWriter(folder, PurePosixPath(place), TapeHead(tape=1, server="s")).open()
    assert (outside / "profile").read_text() == "alias a=b"
    assert [path.name for path in outside.iterdir()] == ["profile"]


def test_a_head_that_was_cut_short_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"name":"s","pro')
    writer(path).close()
    assert read_tape(path.read_bytes(), "t").head.server == "s"
