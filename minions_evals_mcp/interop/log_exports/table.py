"""The formats that are written, and a file of each, whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

from minions_evals_mcp.bounded_files import vet_no_store
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.interop.log_exports.evaluation_events import evaluation_events
from minions_evals_mcp.interop.log_exports.every_eval_ever import rows_file, write_every_eval_ever
from minions_evals_mcp.interop.log_exports.exported_outputs import Export
from minions_evals_mcp.interop.log_exports.inspect_json import inspect_json
from minions_evals_mcp.interop.log_exports.parquet_rows import write_parquet
from minions_evals_mcp.interop.log_exports.promptfoo_results import promptfoo_results

TEXTS: dict[str, Callable[[Export], AsyncIterator[str]]] = {
    "inspect-json": inspect_json,
    "promptfoo": promptfoo_results,
    "otel-events": evaluation_events,
}
"""Formats that are one text."""
PARQUET, EVERY_EVAL_EVER, JUNIT = "parquet", "every-eval-ever", "junit"
NAMES = (*TEXTS, EVERY_EVAL_EVER, JUNIT, PARQUET)
"""What `--format` takes; JUnit is the report's."""


async def write_export(export: Export, form: str, out: Path, *, now: datetime) -> list[Path]:
    """Writes the files of that format; nobody ever reads half of one. Raises `UnsupportedError` for another name."""
    vet_format(form)
    vet_no_store(out)
    part = out.with_name(f".{out.name[:40]}.{secrets.token_hex(4)}")
    lines = rows_file(out)
    lines_part = lines.with_name(f".{lines.name[:40]}.{secrets.token_hex(4)}")
    try:
        if form == EVERY_EVAL_EVER:
            aggregate = await write_every_eval_ever(export, lines=lines_part, now=now)
            part.write_text(aggregate, "utf-8")
            lines_part.replace(lines)
        elif form == PARQUET:
            await write_parquet(export, part)
        else:
            with part.open("x", encoding="utf-8", newline="") as file:
                async for piece in TEXTS[form](export):
                    file.write(piece)
        part.replace(out)
    except OSError as error:
        raise BadInputError(
            f"{out} cannot be written: {error.strerror or error}.", remedy="Check the path and its rights."
        ) from error
    finally:
        part.unlink(missing_ok=True)
        lines_part.unlink(missing_ok=True)
    return [out, lines] if form == EVERY_EVAL_EVER else [out]


def vet_format(form: str) -> None:
    """Raises `UnsupportedError` for a format that is not written."""
    if form not in NAMES:
        raise UnsupportedError(f"there is no format {form!r} to write.", remedy=f"Formats are {', '.join(NAMES)}.")
