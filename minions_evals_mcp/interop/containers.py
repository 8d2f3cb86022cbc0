"""Files that hold others, and are not opened here: packed files, workbooks, databases, aggregates without samples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.errors import legible
from minions_evals_mcp.frozen_types import frozen_type

ZIP = b"PK\x03\x04"
LOOKED_AT = 1 << 16
LONGEST_PREAMBLE = 1000
_PREAMBLE = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>)?\s*")


@frozen_type
class Container:
    """What the file is, and how to get at what it holds."""

    is_a: str
    remedy: str


WORKBOOK = Container("an Excel workbook", "Save its sheet as CSV (in Excel: CSV UTF-8) and import that file.")
DOCUMENT = Container("a Word document", "Put what it holds into a CSV or JSON file and import that.")
ARCHIVE = Container("a ZIP archive", "Unpack it, and import the files in it.")
IN_ZIP: dict[bytes, Container] = {b"xl/": WORKBOOK, b"word/": DOCUMENT}
"""Names of folders that tell what a ZIP archive is; they stand in it as they are."""
PACKED: dict[bytes, Container] = {
    b"BZh": Container("packed with bzip2", "Unpack it with `bunzip2 -k` and import that file."),
    b"\xfd7zXZ": Container("packed with xz", "Unpack it with `unxz -k` and import that file."),
    b"\x28\xb5\x2f\xfd": Container("packed with Zstandard", "Unpack it with `unzstd` and import that file."),
    b"SQLite format 3": Container(
        "a SQLite database",
        "Export what it holds as JSON or CSV with its tool. A store of ours is opened, not imported.",
    ),
    b"\xd0\xcf\x11\xe0": Container("an old Office file", "Save its sheet as CSV UTF-8 and import that file."),
}
"""What the first bytes of a file say of it."""
_JSON_INSTEAD = "Most tools write the same results as JSON (promptfoo: `-o results.json`). Import that file."
MARKUP: dict[bytes, Container] = {
    b"<!doctype html": Container("a web page", _JSON_INSTEAD),
    b"<html": Container("a web page", _JSON_INSTEAD),
    b"<promptfoo>": Container(
        "promptfoo's results as XML", "Write them as JSON (`-o results.json`), and import that file."
    ),
    b"<testsuite": Container("a JUnit report, which has no inputs and outputs", _JSON_INSTEAD),
}
"""How pages and reports begin, behind an XML declaration, in small letters."""
PROMPTFOO_TABLE = Container(
    "promptfoo's table of results, without assertions",
    "Write the results as JSON (`promptfoo export eval ID -o results.json`), and import that file.",
)
LM_EVAL = Container(
    "an aggregate of lm-evaluation-harness, without samples",
    "Import the samples_….jsonl files beside it, which lm-eval writes when it logs samples.",
)

OPENAI_EVAL = Container(
    "the definition of an eval of OpenAI's, or the summary of its run, without items",
    "Import the output items of a run: save what `client.evals.runs.output_items.list(RUN, eval_id=EVAL)` returns as"
    " JSON lines. Each item brings its output and grades.",
)


def container(path: Path) -> Container | None:
    """What the file is, if it is one of these; None for any other file."""
    with legible(path), path.open("rb") as file:
        head = file.read(LOOKED_AT)
    if head.startswith(ZIP):
        return next((kind for folder, kind in IN_ZIP.items() if folder in head), ARCHIVE)
    packed = next((found for magic, found in PACKED.items() if head.startswith(magic)), None)
    text = _PREAMBLE.sub(b"", head[:LONGEST_PREAMBLE], count=1).lower()
    return packed or next((found for mark, found in MARKUP.items() if text.startswith(mark)), None)


def table_of_results(head: str) -> Container | None:
    """What the first line of a table says that it is; None where it is any table."""
    first = head.partition("\n")[0]
    return PROMPTFOO_TABLE if all(name in first for name in ("Status", "Named Scores", "Grader Reason")) else None


def aggregate(document: Mapping[str, JsonValue]) -> Container | None:
    """The tool of whose results the document holds only the head, or an aggregate; None for any other one."""
    if {"results", "configs", "n-shot"} <= document.keys():
        return LM_EVAL
    if document.get("object") in ("eval", "eval.run") or {"testing_criteria", "data_source_config"} <= document.keys():
        return OPENAI_EVAL
    return None
