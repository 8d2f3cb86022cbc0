"""Reads a Parquet file for the process that started this one: pyarrow aborts on some damaged files, and takes no more than this process.

    python -P -m minions_evals_mcp.interop.parquet_worker rows|labels NAME < FILE

Writes JSON lines: `{"row": …}` for each row, `{"labels": …}`, `{"refused": REASON}`, and `{"end": true}` behind all of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, cast

import pyarrow as pa
from pyarrow import parquet
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.parquet_file import parquet_rows

MEMORY = 4 << 30
"""Addresses, not pages: pyarrow reserves a good deal that it never touches."""
_ARROW = cast("type[Exception]", cast("Any", pa).ArrowException)  # pyarrow brings no types
_JSON: TypeAdapter[Json] = TypeAdapter(Json)


def main() -> None:
    """Answers one question about the file that is its standard input."""
    _bound()
    question, name = sys.argv[1:]
    try:
        for line in _rows(sys.stdin.buffer, name) if question == "rows" else _labels(sys.stdin.buffer):
            _say(line)
    except InvalidRecordError as error:
        _say({"refused": error.reason, "where": error.where})
    except (_ARROW, OverflowError, ValueError, OSError) as error:
        _say({"refused": f"no Parquet: {(str(error).splitlines() or [''])[0]}", "where": name})
    except MemoryError:
        _say({"refused": "no Parquet: it takes more memory than a table may", "where": name})
    _say({"end": True})


def _bound() -> None:
    """No more memory than `MEMORY`, and no core file where the reader aborts."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _say(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def _rows(file: IO[bytes], name: str) -> Iterator[Json]:
    for number, cells in enumerate(parquet_rows(file, name), 1):
        yield {"row": _plain(cells, f"{name}:{number}")}


def _plain(cells: dict[str, object], where: str) -> Json:
    """The cells as JSON: dates as their text."""
    try:
        return _JSON.validate_python(to_jsonable_python(cells, inf_nan_mode="constants"))
    except (ValidationError, ValueError) as error:
        raise InvalidRecordError(f"cannot be JSON: {str(error).splitlines()[0]}", where=where) from None


def _labels(file: IO[bytes]) -> Iterator[Json]:
    """The names of the classes, by column, as the library `datasets` writes them into the file."""
    metadata = cast("dict[bytes, bytes]", cast("Any", parquet).read_schema(file).metadata or {}).get(
        b"huggingface", b"{}"
    )
    with suppress(ValueError, AttributeError, KeyError, TypeError):
        features: Any = json.loads(metadata).get("info", {}).get("features", {})
        yield {
            "labels": {
                name: list(feature["names"])
                for name, feature in features.items()
                if feature.get("_type") == "ClassLabel"
            }
        }


if __name__ == "__main__":
    main()
