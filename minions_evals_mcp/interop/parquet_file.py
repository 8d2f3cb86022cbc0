"""A Parquet file read some rows at a time: refused before anything is unpacked where a few bytes stand for gigabytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, cast

import pyarrow as pa
from pyarrow import compute, parquet

from minions_evals_mcp.errors import InvalidRecordError

BATCH = 200
READ_AHEAD = 1 << 20
MOST_UNPACKED, MOST_RATIO = 1 << 26, 200
"""A column of a row group may unpack to 64 MB, or so many times its packed size: more is a bomb."""
MOST_VALUES, MOST_PER_BYTE = 5_000_000, 10
"""So many values may it stand for, or so many for each of its bytes."""
AT_ONCE, MOST_IN_ROW = 1 << 24, 1 << 26
"""So large may rows become that are unpacked together, and one alone, in bytes."""
VALUE_SIZE = 32
TEXTS = ("string", "large_string", "binary", "large_binary")
_arrow, _compute, _parquet = (cast("Any", module) for module in (pa, compute, parquet))  # pyarrow brings no types


def parquet_rows(file: IO[bytes], where: str) -> Iterator[dict[str, object]]:
    """The rows; raises `InvalidRecordError` for a bomb, and pyarrow's errors where the file is damaged."""
    about = _parquet.read_metadata(file)
    shared: set[str] = set()
    largest = 1
    for chunk in _chunks(about):
        _vet(chunk, where)
        if chunk.has_dictionary_page and chunk.physical_type == "BYTE_ARRAY":
            if _is_mostly_repeated(chunk) or "." in chunk.path_in_schema:
                shared.add(chunk.path_in_schema)
            else:
                largest = max(largest, chunk.total_uncompressed_size)
    reader = _parquet.ParquetFile(
        file, metadata=about, read_dictionary=sorted(shared), buffer_size=READ_AHEAD, pre_buffer=False
    )
    at_once = max(1, min(BATCH, MOST_UNPACKED // largest))
    for group in range(about.num_row_groups):
        for batch in reader.iter_batches(row_groups=[group], batch_size=at_once, use_threads=False):
            yield from _rows(batch, where)
        _arrow.default_memory_pool().release_unused()  # else each group leaves some of its memory behind


def _chunks(about: Any) -> Iterator[Any]:
    """The columns of every row group."""
    for group in range(about.num_row_groups):
        yield from (about.row_group(group).column(place) for place in range(about.num_columns))


def _is_mostly_repeated(chunk: Any) -> bool:
    """Returns whether most of the column are values that stand there once and are meant often: kept so, they need no more memory."""
    said_once = chunk.data_page_offset - (chunk.dictionary_page_offset or chunk.data_page_offset)
    return 4 * said_once >= 3 * chunk.total_compressed_size


def _vet(chunk: Any, where: str) -> None:
    """Refuses a column chunk that would become much more than it is."""
    packed, name = max(1, chunk.total_compressed_size), chunk.path_in_schema
    if chunk.total_uncompressed_size > max(MOST_UNPACKED, MOST_RATIO * packed):
        raise _refusal(name, f"would unpack to {chunk.total_uncompressed_size} bytes from {packed}", where)
    if chunk.num_values > max(MOST_VALUES, MOST_PER_BYTE * packed):
        raise _refusal(name, f"stands for {chunk.num_values} values in {packed} bytes", where)


def _rows(batch: Any, where: str) -> Iterator[dict[str, object]]:
    """The rows of a batch: together, or one by one where a large value is said once and meant by many."""
    if sum(_size(column) for column in batch.columns) <= AT_ONCE:
        yield from batch.to_pylist()
        return
    for place in range(batch.num_rows):
        row = batch.slice(place, 1)
        if sum(_size(column) for column in row.columns) > MOST_IN_ROW:
            raise _refusal("", f"has a row of more than {MOST_IN_ROW} bytes", where)
        yield from row.to_pylist()


def _size(array: Any) -> int:
    """About how large the values become, each written out."""
    kind = array.type
    if _arrow.types.is_dictionary(kind) and str(kind.value_type) in TEXTS:
        lengths = _compute.take(_compute.binary_length(array.dictionary), array.indices)
        return int(_compute.sum(lengths).as_py() or 0) + VALUE_SIZE * len(array)
    if _arrow.types.is_struct(kind):
        return sum(_size(part) for part in array.flatten())
    if _arrow.types.is_nested(kind):  # a list of any kind, or a map
        return _size(array.flatten()) + VALUE_SIZE * len(array)
    return int(array.nbytes) + VALUE_SIZE * len(array)


def _refusal(column: str, reason: str, where: str) -> InvalidRecordError:
    return InvalidRecordError(
        f"the table is refused: {f'the column {column!r}' if column else 'it'} {reason}", where=where
    )
