"""A file that holds others is named for what it is, at each interface that takes files, with the way to what it holds."""

from __future__ import annotations

import bz2
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.log_formats.table import sniff
from minions_evals_mcp.interop.log_formats.unknown_files import refusal
from minions_evals_mcp.interop.table_rows import read_rows

LINES = b'{"question": "A", "answer": "1"}\n'


def _zipped(*names: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "x")

    return write


MADE: dict[str, tuple[Callable[[Path], object], str]] = {
    "samples.jsonl.bz2": (lambda path: path.write_bytes(bz2.compress(LINES)), "packed with bzip2"),
    "samples.jsonl.xz": (lambda path: path.write_bytes(lzma.compress(LINES)), "packed with xz"),
    "book.xlsx": (_zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook"),
    "logs.zip": (_zipped("a.jsonl"), "a ZIP archive"),
    "report.html": (lambda path: path.write_text("<!DOCTYPE html>\n<html><title>Eval Output</title>"), "a web page"),
    "results.xml": (
        lambda path: path.write_text('\ufeff<?xml version="1.0"?>\n<promptfoo><evalId>e'),
        "promptfoo's results as XML",
    ),
    "junit.xml": (
        lambda path: path.write_text("<testsuites name='e'>"),
        "a JUnit report, which has no inputs and outputs",
    ),
    "traces.db": (lambda path: path.write_bytes(b"SQLite format 3\0"), "a SQLite database"),
}


@pytest.mark.parametrize("name", MADE)
def test_it_is_named_with_a_remedy(tmp_path: Path, name: str) -> None:
    make, is_a = MADE[name]
    make(path := tmp_path / name)
    with pytest.raises(EvalsError) as as_rows:
        list(read_rows(path))
    for error in (refusal(sniff(path)), as_rows.value):
        assert f"{name} is {is_a}." in error.message_text
        assert error.remedy


def test_an_aggregate_of_lm_eval_leads_to_its_samples(tmp_path: Path) -> None:
    (path := tmp_path / "results_1.json").write_text(json.dumps({"results": {}, "configs": {}, "n-shot": {}}))
    error = refusal(sniff(path))
    assert "an aggregate of lm-evaluation-harness" in error.message_text
    assert "samples_" in str(error.remedy)


@pytest.mark.parametrize("name", ["missing.jsonl.gz", "missing.xlsx"])
def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError, match=name):
        list(read_rows(tmp_path / name))


def test_the_table_that_promptfoo_writes_is_named_and_any_other_table_is_not(tmp_path: Path) -> None:
    head = "Description,x,[echo] {{x}},Status,Score,Named Scores,Metric: says,Grader Reason,Comment\n"
    for name, text, is_named in (("r.csv", head, True), ("t.csv", "x,Status,Score\n", False)):
        (path := tmp_path / name).write_text(text + ",a,b,PASS,1\n")
        error = refusal(sniff(path))
        assert ("promptfoo's table of results" in error.message_text) == is_named
        assert ("-o results.json" in str(error.remedy)) == is_named
