"""`audit --fix`: what an audit suggests, for a person to read and apply: a diff of the suite file, or a suite of stored cases."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.audits import CaseAudit
from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.parsing import ROOTS
from minions_evals_mcp.interop.suite import LINES
from minions_evals_mcp.next_steps import Next


def diff_of(path: Path, audits: Iterable[CaseAudit]) -> str:
    """A unified diff that gives each case of the file the checks that were suggested for it; empty where none were.

    Raises `BadInputError` for a form that cannot be edited so that nothing else changes.
    """
    suggested = _suggested(audits)
    text = bounded_files.read_text(path)
    if path.suffix.lower() in LINES:
        changed = "\n".join(_line(line, suggested) for line in text.split("\n"))
    else:
        changed = _edited(path, text, suggested)
    shown = path.as_posix().lstrip("/")
    lines = difflib.unified_diff(
        text.splitlines(keepends=True),
        changed.splitlines(keepends=True),
        f"a/{shown}",
        f"b/{shown}",
    )
    return "".join(lines)


def suite_of(records: Iterable[Record[Fields]], audits: Iterable[CaseAudit]) -> str:
    """A suite file of those records, with the checks that were suggested for each; empty where none were."""
    suggested = _suggested(audits)
    rows = [_with(record.wire(), checks) for record in records if (checks := suggested.get(record.id)) is not None]
    return yaml.safe_dump({ROOTS[0]: rows}, allow_unicode=True, sort_keys=False, width=120) if rows else ""


def _suggested(audits: Iterable[CaseAudit]) -> dict[str, list[Json]]:
    """The checks that were suggested for each case, by its id."""
    return {
        audit.test_case_id: [dict(check) for check in audit.suggestion.assertions]
        for audit in audits
        if audit.suggestion is not None
    }


def _line(line: str, suggested: dict[str, list[Json]]) -> str:
    if not line.strip():
        return line
    record = json.loads(line)
    if record.get("id") not in suggested:
        return line
    return json.dumps(_with(record, suggested[record["id"]]), ensure_ascii=False)


def _with(record: Json, checks: list[Json]) -> Json:
    fields = {
        key: value
        for key, value in cast("Json", record["fields"]).items()
        if key not in {"threshold", "rubricId", "assert"}
    }
    return {**record, "fields": {**fields, "assertions": [*checks]}}


def _edited(path: Path, text: str, suggested: dict[str, list[Json]]) -> str:
    """The text of a YAML or JSON suite with those checks; everything else stands as it stood, comments too."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    edits = [edit for node in _records(root) for edit in _edits(node, text, suggested)]
    for start, end, new in sorted(edits, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    _vet(path, text, suggested)
    return text


def _records(root: yaml.Node | None) -> Sequence[yaml.MappingNode]:
    held = root
    if isinstance(root, yaml.MappingNode):
        held = next((rows for name in ROOTS if (rows := _value(root, name)) is not None), None)
    rows = cast("list[yaml.Node]", held.value) if isinstance(held, yaml.SequenceNode) else []
    return [row for row in rows if isinstance(row, yaml.MappingNode)]


def _value(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in mapping.value if name.value == key), None)


def _edits(record: yaml.MappingNode, text: str, suggested: dict[str, list[Json]]) -> Iterator[tuple[int, int, str]]:
    """The stretches of the text that change for one record: its assertions, and what gives way to them."""
    ident, fields = _value(record, "id"), _value(record, "fields")
    if ident is None or ident.value not in suggested or not isinstance(fields, yaml.MappingNode):
        return
    checks = suggested[ident.value]
    entries = {key.value: (key, value) for key, value in fields.value}
    checks_key = next((name for name in ("assertions", "assert") if name in entries), None)
    for name in ("rubricId", "threshold"):
        if name in entries and not fields.flow_style:
            key, value = entries[name]
            start = text.rindex("\n", 0, key.start_mark.index) + 1
            yield start, _line_end(text, value.end_mark.index), ""
    if fields.flow_style:
        inside = json.dumps(checks, ensure_ascii=False)
        if checks_key is not None:
            yield entries[checks_key][1].start_mark.index, entries[checks_key][1].end_mark.index, inside
        else:
            yield fields.end_mark.index - 1, fields.end_mark.index - 1, f', "assertions": {inside}'
        return
    indent = " " * fields.value[0][0].start_mark.column
    block = f"{indent}assertions:\n" + "".join(
        f"{indent}  - {json.dumps(check, ensure_ascii=False)}\n" for check in checks
    )
    if checks_key is not None:
        key, value = entries[checks_key]
        start = text.rindex("\n", 0, key.start_mark.index) + 1
        yield start, _end(text, value), block
    else:
        at = _end(text, fields.value[-1][1])
        yield at, at, block if text[:at].endswith("\n") else f"\n{block}"


def _end(text: str, node: yaml.Node) -> int:
    """The end of a node's lines: a block ends in front of what follows it, white space and comments between them not its own."""
    held = text[: node.end_mark.index].rstrip()
    return _line_end(text, len(held))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _vet(path: Path, text: str, suggested: dict[str, list[Json]]) -> None:
    """Refuses an edit after which the file does not say what was meant."""
    try:
        document = yaml.load(text, Loader=yaml.CSafeLoader)  # the suite was read before: this is its edited text
        held: Any = cast("dict[str, Any]", document) if isinstance(document, dict) else {"": document}
        rows: list[dict[str, Any]] = next(held[name] for name in (*ROOTS, "") if name in held)
        right = all(
            row["fields"].get("assertions") == suggested[row["id"]] for row in rows if row.get("id") in suggested
        )
    except (yaml.YAMLError, KeyError, TypeError, StopIteration):
        right = False
    if not right:
        raise BadInputError(
            f"{path} is written in a way that cannot be edited line by line.",
            remedy=f"{Next('audit', {'benchmark_id': str(path), 'json': True}, 'prints the assertions, to be copied by hand')}.",
        )
