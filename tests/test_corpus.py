"""The corpus command: of each file of a folder what came of the first command that a user would try."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import main
from tests.shared.interop.makers import inspect_json, inspect_sample, written


def test_each_file_of_a_folder_is_tried_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inspect_json(tmp_path / "log.json", inspect_sample(1, 1, "It is Paris"))
    written(tmp_path / "odd.json", {"doc_id": 1})
    main(tmp_path)
    told = capsys.readouterr().out
    assert (
        "read     log.json\n         inspect-json: 1 samples, 1 outputs, 0 errors; scores: includes; checks: inspect's includes"
        in told
    )
    assert "exit 2   odd.json" in told
    assert "looks like none of the known formats" in told
    assert told.endswith("1 read, 1 exit 2\n")
