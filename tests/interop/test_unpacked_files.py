"""Files packed with gzip: read as what they hold, wherever rows and logs are read, and never without a limit."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from minions_evals_mcp import unpacked_files
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.score_table import read_table
from minions_evals_mcp.interop.table_rows import read_rows
from minions_evals_mcp.unpacked_files import unpacked

ROWS = b'{"question": "A"}\n{"question": "B"}\n'


def _packed(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [("r.jsonl.gz", ROWS), ("r.csv.gz", b"question\nA\nB\n"), ("R.JSONL.gz", ROWS), ("r.jsonl", ROWS),
     ("r.json.gz", b'[{"question": "A"}, {"question": "B"}]')],
)  # fmt: skip
def test_rows_and_scores_are_those_of_the_file_inside(tmp_path: Path, name: str, content: bytes) -> None:
    path = _packed(tmp_path / name, content)
    rows = list(read_rows(path))
    assert [row.cells["question"] for row in rows] == ["A", "B"]
    assert all(row.where.startswith(str(path)) for row in rows)
    table = read_table(path)
    assert not hasattr(table, "score")
    assert [row["question"] for row in table] == ["A", "B"]  # pyright: ignore  rows, as asserted


def test_an_error_names_the_packed_file_and_the_line_inside(tmp_path: Path) -> None:
    path = _packed(tmp_path / "r.jsonl.gz", b'{"question": "A"}\n7\n')
    with pytest.raises(InvalidRecordError, match=rf"{path}:2: a row is a JSON object"):
        list(read_rows(path))


def test_nothing_is_left_and_a_plain_file_is_itself(tmp_path: Path) -> None:
    plain = tmp_path / "r.jsonl"
    plain.write_bytes(ROWS)
    with unpacked(plain) as same:
        assert same is plain
    with unpacked(_packed(tmp_path / "r.jsonl.gz", ROWS)) as inside:
        assert (inside.name, inside.read_bytes()) == ("r.jsonl", ROWS)
    assert not inside.exists()


def test_a_file_that_holds_too_much_or_is_cut_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked_files, "MOST", 1 << 20)
    bomb = _packed(tmp_path / "bomb.jsonl.gz", b" " * (3 << 20))
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(ROWS)[:-9])
    for path, said in ((bomb, "bomb.jsonl.gz holds more than 1 MB"), (cut, "cut.jsonl.gz is damaged")):
        with pytest.raises(BadInputError, match=said):
            list(read_rows(path))
