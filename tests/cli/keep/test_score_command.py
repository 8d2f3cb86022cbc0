"""`minions-evals score` as a process: streams, exit codes, pipes."""

from __future__ import annotations

import json
import subprocess

from tests.hang import HANG_S
from tests.shared.cli.terminal import CLI, Terminal

GOOD = json.dumps({"id": "g", "output": "Paris", "assert": [{"type": "contains", "value": "Paris"}]})
POOR = json.dumps({"id": "p", "output": "Rome", "assert": [{"type": "contains", "value": "Paris"}]})


def test_rows_come_from_a_file_or_standard_input_and_the_codes_tell_how_it_went(at: Terminal) -> None:
    at.file("good.jsonl", GOOD + "\n")
    at.file("poor.jsonl", f"{GOOD}\n{POOR}\n")
    at.file("bad.jsonl", f"{GOOD}\n{{bad\n{POOR}")
    at.file("empty.jsonl", "")
    commands = (
        ["good.jsonl", "--fail"],
        ["poor.jsonl"],
        ["poor.jsonl", "--fail"],
        ["bad.jsonl", "--fail"],
        ["empty.jsonl"],
    )
    found = at.many(*(["score", *one] for one in commands))
    assert [one.code for one in found] == [0, 0, 1, 3, 0]
    assert [[row["id"] for row in one.rows()] for one in found] == [["g"], ["g", "p"], ["g", "p"], ["g", "", "p"], []]
    assert found[3].err == "1 of 3 passed, 1 could not be checked\n"
    piped = at.run("score", "-", "--json", stdin=f"{GOOD}\n{POOR}\n")
    assert piped.rows() == found[1].rows()
    assert json.loads(piped.err) == {"rows": 2, "passed": 1, "errors": 0}


def test_a_reader_that_goes_away_is_no_error(at: Terminal) -> None:
    at.file("many.jsonl", f"{GOOD}\n" * 20_000)
    with subprocess.Popen(
        [*CLI, "score", "many.jsonl"], cwd=at.folder, env=at.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["pass"] is True
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(HANG_S) == 0


def test_nothing_is_kept_and_no_store_is_made(bare: Terminal) -> None:
    assert bare.run("score", "-", stdin=GOOD).code == 0
    assert not bare.db.exists()
    assert [one.name for one in bare.folder.iterdir()] == []
