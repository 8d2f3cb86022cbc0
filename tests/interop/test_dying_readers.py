"""Files on which what reads them dies, or that are made to become a thousand times as much: refused, with this process as it was."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zipfile
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats import inspect_log, parquet_samples
from minions_evals_mcp.interop.logs.sample import LogSample
from minions_evals_mcp.interop.table_rows import parquet_labels, read_rows

ABORTS = zlib.decompress(
    base64.b64decode(
        "eNoLcAwyFGUTvcMimhAjmiLKAMYsogyCMmYMGkyFZhJMhQaCggwMDCmM8t0cDCDAxJyclJCgYZLANLEt4RKHj1Szp7BBJpfa2Rlue7wYFhpNvqDDyMAANHQJ"
        "m+g1RjRTJTgMGSBAggPKYBBj0MAiimGr7tHrTI1A1oEzJzIUNmlq//5ff65593Tupv1ts/N2vu3bzXe3+P5EdrmqJxuT1f3mVj5amX7O9vuh1ulxlW97t9+r"
        "fN/crxf788lm/X2/nt0qt//z5XR+/Z+v/KsuXUiZAHHwCjbRWygOZiHdwQwpzPR0MjXCmImeDl4mJvqJCTOpGVaRCiQwXT+3+yrTYQUBlpW7d+/+/f7s9eu3"
        "lzAe+tqYnBqmuVRpu/uXug5bvY/P3R99nVzDHSTv+kv7ZIVJ5HrF58VP/k471L/8h3QAl8qUZkFRX7dQ8aDLy658NeR19rsccsHIbMtZUVlv9+thlzZv+/LW"
        "tHnCvESJAxpTEmT6DAoTZuxyODNH41meBLd731LtE6dmprzt2yS4IUfVwFrwbFxbscAnmaXMfo9Y03+2nJaXXieUI6I2kRUWeSuYMCIvFAwMHODR1ACKPExR"
        "zAxy0pHvYIJI60U3JcFOFkeBJauAwDrDPHHymuNCZ3x9elr+3zl5ujxOpDX2f7XJQ7vZC/T/5r3bft/OJsu5/NaH99saq/ecZ69Z4f4v2e5hsN3j4n0PvPc9"
        "yt73cGPf3+02Dznvf5yyvOa88byPzOcrz/XvecBq/3HS9D9ntOM+cq8vvVvHeGhT63poLMuIysD8xQbyl5CMBCOjBCMoGYJpqNtBLueH+IxRlEVyjymDBFtx"
        "ckZqbqIoD4MojyqTBGtmXkFpiSqDjwxQqSgLUIQxj8EUSOaIMomy+dgARU1ZJFhyMotLRJkgCthTc1JzU/NKGEyLJRiLRVmg2hIhBjImwQzjAvHSGEQZwKIM"
        "YimSMpI1agwyojySqmwMklCrRVnEUsSWsYqtYlTjsEEpEyVlgP5jANpqI3aCUZJNUg2Y+RkYQAawQAxgzANr3sAu9ohJbROjDUn5EmG6JqbRFow5YC/DvAq2"
        "Zwu72DMmtSksZNujlsIg6QYuw5Dt0mAsZkxE8sgvNgo8YoYwnQduehLY9DPiYjNY1O5w2pBfGiDFyCRhSRTbuKBRkgbzyRZmtS+8NiTlNhxRwiApygY0GeKL"
        "HLEctRWCNhipHayXDUWv2CJrsRQ1DrEeIaCsBI9jUJB/uBUk9Uv0sOqDgLajk6OjY6AjBHg7OpY7OqU7ujk6pjs6p4PFnIAKfEEMZ0dHT7AAggaCSIgM0AR/"
        "R1dHR79ykEwySMYHLA8y2jlfv0xfH2xWBlgwFKHfEc6MBNnnFaINdJUvTL1jBdwSDPVR6Y7uIHc6gWlHiBMDsoD6LYBMVz+woBPIPSCHOYKUOjq6pDvC/Qsi"
        "PUBecykG2ecVALQZpDwwFCzv5uiIFDRQpjvY64GgoAuGq/fEox5ktZMFSD2Szw2gfCcXp0A0/7mius8dHJ7ZIPV5aPa5o9kH1u+eYxAVbgDmG8LUQ11Whabf"
        "A6t7TUAsT1A6cAYrSYcbHwi1xA0sHwkKWl+oi2GGODkFgelktPgCOyAx3LQ8JSIQrgVJ3pZBQqEgsaiwNLVEN7mgQDexqCi/XKEstag4Mz9PwchMz0DPULIG"
        "WKZiIoZrwJouANjGBAAmlLt1"
    )
)
"""A table of which four bytes were changed: pyarrow 21 and later end the whole process by SIGABRT on it."""
HEAD = {"status": "success", "eval": {"task": "t", "eval_id": "e", "model": "m"}}


def test_a_table_that_kills_its_reader_costs_no_more_than_the_table(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(ABORTS)
    for read in (read_rows, parquet_samples.read):
        with pytest.raises(InvalidRecordError, match=r"x.parquet.*: no Parquet: "):
            list(read(path))


def test_the_names_of_classes_come_with_the_rows(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    about = {"info": {"features": {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}}}}
    table = arrow.table({"text": ["a", "b"], "label": [1, 0]}).replace_schema_metadata(
        {"huggingface": json.dumps(about)}
    )
    parquet.write_table(table, path)
    assert parquet_labels(path) == {"label": ["bad", "good"]}
    samples = [item for item in parquet_samples.read(path) if isinstance(item, LogSample)]
    assert [sample.targets for sample in samples] == [("good",), ("bad",)]


def test_a_reader_that_nobody_listens_to_ends(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table({"text": ["a" * 1000] * 20_000}), path)
    rows = read_rows(path)
    assert next(rows).cells == {"text": "a" * 1000}
    assert isinstance(rows, Generator)
    rows.close()


@pytest.mark.parametrize("content", ["attachment://ab " * 5000, [{"type": "text", "text": "attachment://ab"}] * 5000])
def test_a_text_that_is_meant_many_times_is_refused_before_it_fills_the_memory(
    tmp_path: Path, content: JsonValue
) -> None:
    path = tmp_path / "x.eval"
    sample: dict[str, JsonValue] = {
        "id": 1, "epoch": 1, "input": "q", "target": "a", "messages": [{"role": "user", "content": content}],
        "output": {"completion": "a"}, "scores": {}, "attachments": {"ab": "x" * 900_000},
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(HEAD))
        archive.writestr("samples/a.json", json.dumps(sample))
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRecordError, match="its attachments, each where it is meant, take more than"):
            list(inspect_log.read_archive(path))
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()
