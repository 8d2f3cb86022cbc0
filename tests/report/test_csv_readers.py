"""Rows of CSV as their readers see them: Python, pandas and LibreOffice, none of which finds a formula or another row."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.report.rows import csv_row
from tests.hang import HANG_S

TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
HOSTILE = (
    "safe\r=cmd|'/C calc'!A0", "safe\r\n@SUM(A1)", "a\rb\rc", 'q"u,o;te\n"', "=1+1", " =1", "\N{FULLWIDTH EQUALS SIGN}1",
    "a;=1+1", 'x;"=1+1"', "\ufeff=1", "two\nlines", "\r", "\n", "-5", "a\t+1", "\r\n\r\n", "end\r", '"', ",", "",
)  # fmt: skip
FORMULA = re.compile('[\\s"\ufeff\u200b]*[=+\\-@\uff1d\uff0b\uff0d\uff20]')
ROWS = [("text", "number"), *((text, number) for number, text in enumerate(HOSTILE))]


def python_cells(text: str, separator: str = ",") -> list[list[str]]:
    """The rows as Python's csv module reads them."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def of_one_line_end(cell: str) -> str:
    """The cell with the line ends that a spreadsheet keeps."""
    return cell.replace("\r\n", "\n").replace("\r", "\n")


def libreoffice_cells(file: Path) -> list[list[str]]:
    """The rows as LibreOffice reads them; a formula raises."""
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice is not installed: apt-get install libreoffice-calc")
    profile = f"-env:UserInstallation={(file.parent / 'office').as_uri()}"
    read_as = "--infilter=CSV:44,34,76,1,,0,true"  # comma, quote, UTF-8, from row 1, quoted cells are texts
    command = [office, profile, "--headless", read_as, "--convert-to", "ods", "--outdir", str(file.parent), str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=HANG_S)
    with zipfile.ZipFile(file.with_suffix(".ods")) as book:
        sheet = ET.fromstring(book.read("content.xml"))  # noqa: S314  LibreOffice made it just now
    assert not [cell for cell in sheet.iter(f"{TABLE}table-cell") if cell.get(f"{TABLE}formula")]
    return [[shown(cell) for cell in row.iter(f"{TABLE}table-cell")] for row in sheet.iter(f"{TABLE}table-row")]


def shown(cell: ET.Element) -> str:
    """A cell's lines."""
    return "\n".join("".join(line.itertext()) for line in cell.findall(f"{TEXT}p"))


def test_no_output_makes_rows_or_formulas_of_its_own_for_any_reader(tmp_path: Path) -> None:
    file = tmp_path / "report.csv"
    file.write_text("".join(csv_row(row) for row in ROWS), encoding="utf-8", newline="")
    rows = python_cells(file.read_bytes().decode())
    assert [row[1] for row in rows[1:]] == [str(number) for number in range(len(HOSTILE))]
    assert not [row for row in rows if FORMULA.match(row[0])]
    assert [row[0].replace("'", "") for row in rows[1:]] == [text.replace("'", "") for text in HOSTILE]
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert frame.to_numpy().tolist() == rows[1:]


def test_libreoffice_reads_the_same_cells_as_python_and_no_formula(tmp_path: Path) -> None:
    file = tmp_path / "report.csv"
    seen = [row for row in ROWS if "\t" not in row[0]]  # a tab within a cell is an element of its own there
    file.write_text("".join(csv_row(row) for row in seen), encoding="utf-8", newline="")
    wanted = [[of_one_line_end(cell) for cell in row] for row in python_cells(file.read_bytes().decode())]
    assert libreoffice_cells(file) == wanted


@given(st.lists(st.text("=+-@;\t\r\n\"', a\ufeff\uff1d\u2028", max_size=12), min_size=1, max_size=4))
def test_a_reader_that_splits_elsewhere_finds_no_formula_either(texts: list[str]) -> None:
    line = csv_row(texts)
    assert len(python_cells(line)) == 1
    for separator in ",;\t":
        cells = [cell for row in python_cells(line, separator) for cell in row]
        assert not [cell for cell in cells if FORMULA.match(cell)], (separator, line)
