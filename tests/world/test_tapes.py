"""A tape is whole whoever records it: several units at once, and processes that are killed while they write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minions_evals_mcp.world.calls import tool_result
from minions_evals_mcp.world.passing import TapeWriter
from minions_evals_mcp.world.tapes import TapedCall, TapeHead, read_tape

WRITERS, CALLS = 4, 25


def writer(path: Path) -> TapeWriter:
    """A writer that has opened the tape."""
    made = TapeWriter(path, TapeHead(tape=1, server="s"))
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
    tape.write(TapedCall(tool="one"))
    with path.open("ab") as killed:
        killed.write(b'{"tool":"tw')
    tape.write(TapedCall(tool="three"))
    tape.close()
    assert [call.tool for call in read_tape(path.read_bytes(), "t").calls] == ["one", "three"]
