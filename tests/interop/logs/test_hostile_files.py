"""Files of every format, harmed in every way: refused by name, with what they were read as, and nothing of them kept."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow import parquet

from minions_evals_mcp.cli.keep.log_imports import format_of, import_log
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.log_formats.table import FORMATS, named
from minions_evals_mcp.interop.logs.json_stream import LONGEST
from minions_evals_mcp.store.connection import Db
from tests.shared.cli.terminal import Terminal
from tests.shared.interop.log_parts import TAU
from tests.shared.interop.makers import INSPECT_HEADER, Json, inspect_archive, packed, written
from tests.shared.interop.whole_files import SAMPLES, WHOLE

ARCHIVE, TABLE = "inspect-eval", "parquet"
SAMPLES_UNDER: dict[str, str] = {
    "data-set": "", "openevals": "", "tau2-tasks": "", "adk-evalset": "eval_cases", "pydantic-evals": "cases", "strands": "cases",
    "inspect-json": "samples", "promptfoo": "results.results", "deepeval": "testCases", "skill-evals": "evals",
    "every-eval-ever-results": "", "tau-bench": "", "tau2": "simulations", "opencode": "messages",
    "claude-plugin-eval": "cases", "pydantic-evals-report": "cases", "strands-report": "cases",
    "harbor": "trial_results", "otel-logs": "resourceLogs",
}  # fmt: skip
"""Where a document's list of samples stands; of other formats each line is one."""
SESSIONS = ("claude-code", "codex", "gemini-cli", "opencode", "otel-logs")
NO_IDS = (
    *SESSIONS,
    "openai-evals",
    "openai-evals-samples",
    "every-eval-ever",
    "lm-eval",
    "promptfoo",
    "otel",
    "langfuse",
    "skill-evals",
    "data-set",
    "ragas",
    "adk-evalset",
    "pydantic-evals",
    "pydantic-evals-report",
    "strands",
    "strands-report",
    "harbor",
)
"""Formats in which a sample that comes again is another try, another case, or the same row once more."""

LEFT_OUT = (*SESSIONS, "inspect-json", "openai-evals-items", "every-eval-ever-results", "mlflow")
"""Formats in which the end of a file is nothing that is kept."""


STILL_WRITTEN = frozenset(("claude-code", "codex", "gemini-cli"))
"""Formats whose files grow: a last line that is not whole is left for the next time."""


def _within(raw: bytes, key: bytes) -> bytes:
    """The JSON text with that key and value at the beginning of its last object."""
    at = raw.rfind(b'{"') + 1
    return raw[:at] + key + b", " + raw[at:]


TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda raw: raw[: len(raw) - len(raw) // 5].rstrip()[:-1],
    "a byte that is none of JSON's": lambda raw: raw[: len(raw) // 2] + b"\0" + raw[len(raw) // 2 :],
    "a byte that is no UTF-8": lambda raw: _within(raw, b'"odd": "\xff"'),
    "nested without end": lambda raw: _within(raw, b'"deep": ' + b"[" * 100_000 + b"]" * 100_000),
    "a number without end": lambda raw: _within(raw, b'"huge": ' + b"9" * 5000),
    "a key that comes twice": lambda raw: _within(raw, b'"again": 1, "again": 2'),
    "more than one value behind another": lambda raw: raw.rstrip() + b" 7\n",
}
"""Ways to harm a text, whatever it says."""


def with_number(doc: Any, under: str) -> Any:
    """The document whose first sample is a number."""
    if not under:
        return [7, *doc[1:]]
    first, _, rest = under.partition(".")
    return {**doc, first: with_number(doc[first], rest)}


def wrong_types(name: str, raw: bytes) -> bytes:
    """The file with a number for a sample."""
    if name not in SAMPLES_UNDER:
        return raw + b"7\n"
    doc = json.loads(raw)
    return (
        b"7" if not isinstance(doc, list) and not SAMPLES_UNDER[name] else _text(with_number(doc, SAMPLES_UNDER[name]))
    )


def twice(name: str, raw: bytes) -> bytes:
    """The file whose last sample comes again."""
    if name not in SAMPLES_UNDER:
        return raw + raw.splitlines(keepends=True)[-1]
    doc = json.loads(raw)
    under = SAMPLES_UNDER[name]
    return _text([*doc, doc[-1]] if not under else {**doc, under: [*doc[under], doc[under][-1]]})


def _text(doc: object) -> bytes:
    return json.dumps(doc).encode()


def archives(folder: Path) -> dict[str, bytes]:
    """Archives made to harm, and such as were harmed."""
    whole = inspect_archive(folder / "whole.eval", *SAMPLES).read_bytes()
    start = {"header.json": json.dumps(INSPECT_HEADER)}
    made = {
        "a way out": {**start, "../../etc/cron.d/x": "{}"},
        "a way out from the root": {**start, "/etc/passwd": "{}"},
        "a way out on another system": {**start, "..\\..\\x": "{}"},
        "a member nested without end": {**start, "samples/1_epoch_1.json": '{"id": ' + "[" * 100_000},
        "a member of another type": {**start, "samples/1_epoch_1.json": "7"},
        "a member that is larger than may be": {**start, "samples/1_epoch_1.json": " " * (LONGEST + 1)},
        "a member of nothing but values": {
            **start,
            "samples/1_epoch_1.json": f'{{"id": 1, "input": [{"[]," * 3_000_000}7]}}',
        },
    }
    found = {name: packed(folder / "made.eval", members).read_bytes() for name, members in made.items()}
    bomb = inspect_archive(folder / "bomb.eval", {**SAMPLES[0], "long": "x" * 9_000_000}, zstd=True).read_bytes()
    size = len(json.dumps({**SAMPLES[0], "long": "x" * 9_000_000}))
    found["a member that says it is small"] = bomb.replace(size.to_bytes(4, "little"), (999).to_bytes(4, "little"))
    found["a member twice"] = packed(
        folder / "twice.eval", {**start, "samples/1_epoch_1.json": "{}", "samples/2_epoch_1.json": "{}"}
    ).read_bytes().replace(b"samples/2_", b"samples/1_")  # fmt: skip
    with zipfile.ZipFile(other := folder / "bzip2.eval", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("header.json", json.dumps(INSPECT_HEADER))
    found["a member packed in another way"] = other.read_bytes()
    place = whole.rfind(b"PK\x01\x02") + 8
    found["a member that is encrypted"] = whole[:place] + b"\x01" + whole[place + 1 :]
    found["a member that says it is packed from gigabytes"] = whole[: place + 12] + b"\xf0" * 4 + whole[place + 16 :]
    found["a directory elsewhere"] = whole[:-6] + b"\x00\x00\xff\xff" + whole[-2:]
    found["cut short"] = whole[: len(whole) * 2 // 3]
    found["no directory"] = whole[:-30]
    return found


def tables(folder: Path) -> dict[str, bytes]:
    """Tables that would become much more than they are, and such as were harmed."""
    arrow, path = cast("Any", pa), folder / "made.parquet"  # pyarrow brings no types

    def written(**columns: object) -> bytes:
        cast("Any", parquet).write_table(arrow.table(columns), path, compression="zstd")
        return path.read_bytes()

    whole = written(id=["a", "b"], question=["A?", "B?"], answer=["1", "2"])
    values = arrow.ListArray.from_arrays(
        arrow.array([0, 6_000_000], arrow.int32()), arrow.nulls(6_000_000, arrow.int8())
    )
    said_once = arrow.DictionaryArray.from_arrays(arrow.array([0] * 7, arrow.int32()), arrow.array(["q" * 10_000_000]))
    many = arrow.ListArray.from_arrays(arrow.array([0, 7], arrow.int32()), said_once)
    return {
        "cut short": whole[:-10],
        "no end": whole[: len(whole) // 2] + b"PAR1",
        "a footer longer than the file": whole[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        "a damaged footer": whole[:-40] + b"\xff" * 24 + whole[-16:],
        "one value of many megabytes": written(question=["q" * (LONGEST + 1)]),
        "one row of millions of values": written(question=["q"], numbers=values),
        "one value meant by many": written(question=["q"], texts=many),
        "no question": written(number=[1]),
    }


def _counts(db: Db) -> dict[str, int]:
    names = [str(row[0]) for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {name: int(db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in names}


async def refused(engine: Engine, name: str, path: Path) -> str:
    """What is said of the file, of which nothing was kept."""
    before = await engine.store.read(_counts)
    form = named(name)
    with pytest.raises(BadInputError) as refusal:
        await import_log(engine, form, path)
    assert await engine.store.read(_counts) == before
    assert refusal.value.exit_code == 2
    assert str(path) in refusal.value.message
    assert form.title in refusal.value.remedy
    return str(refusal.value)


def test_there_is_a_whole_file_of_every_format() -> None:
    assert set(WHOLE) == {form.name for form in FORMATS}


@pytest.mark.parametrize("name", [name for name in WHOLE if name not in (ARCHIVE, TABLE)])
async def test_a_text_that_was_harmed_is_refused_whole(engine: Engine, tmp_path: Path, name: str) -> None:
    file, make = WHOLE[name]
    path = make(tmp_path / file)
    raw = path.read_bytes()
    harmed = {why: harm(raw) for why, harm in TEXTS.items()} | {"a number for a sample": wrong_types(name, raw)}
    if name not in LEFT_OUT:
        harmed["nested deeper than is kept"] = _within(raw, b'"deep": ' + b'{"a":' * 600 + b"1" + b"}" * 600)
    if name not in NO_IDS and name != "every-eval-ever-results":
        harmed["the same sample twice"] = twice(name, raw)
    if name in STILL_WRITTEN:
        del harmed["cut short"]
    for why, content in harmed.items():
        path.write_bytes(content)
        assert await refused(engine, name, path), why
    if name == "every-eval-ever-results":  # of which nothing is read, be it whole
        return
    path.write_bytes(raw)
    taken = await import_log(engine, named(name), path)  # what was harmed would have come in
    assert taken.counted.samples


@pytest.mark.parametrize("name", ["openai-evals-samples", "tau-bench"])
async def test_one_value_that_no_memory_should_hold_is_refused(engine: Engine, tmp_path: Path, name: str) -> None:
    """Texts are read by lines or by values, each format in one of these two ways."""
    file, make = WHOLE[name]
    path = make(tmp_path / file)
    path.write_bytes(_within(path.read_bytes(), b'"huge": "' + b"x" * (LONGEST + 1) + b'"'))
    assert "longer than" in await refused(engine, name, path)


@pytest.fixture(scope="module")
def hostile_archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return archives(tmp_path_factory.mktemp("archives"))


@pytest.fixture(scope="module")
def hostile_tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return tables(tmp_path_factory.mktemp("tables"))


async def test_an_archive_that_was_harmed_or_made_to_harm_is_refused_whole(
    engine: Engine, tmp_path: Path, hostile_archives: dict[str, bytes]
) -> None:
    path = tmp_path / "a.eval"
    for why, content in hostile_archives.items():
        path.write_bytes(content)
        assert await refused(engine, ARCHIVE, path), why
    assert sorted(one.name for one in tmp_path.parent.glob("*/etc")) == []


async def test_a_table_that_was_harmed_or_made_to_harm_is_refused_whole(
    engine: Engine, tmp_path: Path, hostile_tables: dict[str, bytes]
) -> None:
    path = tmp_path / "a.parquet"
    for why, content in hostile_tables.items():
        path.write_bytes(content)
        assert await refused(engine, TABLE, path), why


LOST: dict[str, tuple[str, list[str | int]]] = {
    "inspect-json": ("scores", ["samples", 0, "scores"]),
    "promptfoo": ("gradingResult.componentResults", ["results", "results", 0, "gradingResult", "componentResults"]),
    "openai-evals": ("data", [3, "data"]),
    "openai-evals-items": ("grades", [0, "grades"]),
    "otel": ("resourceSpans", [0, "resourceSpans"]),
    "deepeval": ("metricsData", ["testCases", 0, "metricsData"]),
    "every-eval-ever": ("evaluation", [0, "evaluation"]),
    "lm-eval": ("metrics", [0, "metrics"]),
    "openevals": ("evaluator_results", [0, "evaluator_results"]),
    "mlflow": ("assessments", [0, "info", "assessments"]),
    "langsmith": ("trace_id", [0, "trace_id"]),
    "langfuse": ("traceId", [0, "traceId"]),
    "adk-result": ("overall_eval_metric_results", ["eval_case_results", 0, "overall_eval_metric_results"]),
    "braintrust": ("scores", [0, "scores"]),
    "phoenix-experiment": ("annotations", [0, "annotations"]),
}
"""Where each format's samples and scores stand: with a number there, they would be lost in silence."""


@pytest.mark.parametrize("name", LOST)
async def test_scores_are_never_lost_because_they_are_of_another_type(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    file, make = WHOLE[name]
    path = make(tmp_path / file)
    raw = path.read_text("utf-8")
    lines = path.suffix == ".jsonl"
    doc: Any = [json.loads(line) for line in raw.splitlines()] if lines else json.loads(raw)
    said, (*way, last) = LOST[name]
    held = doc
    for step in way:
        held = held[step]
    held[last] = 7
    path.write_text("".join(json.dumps(line) + "\n" for line in doc) if lines else json.dumps(doc), "utf-8")
    assert said.rpartition(".")[2] in await refused(engine, name, path)


def test_the_command_says_file_format_and_remedy_and_ends_with_2(tmp_path: Path) -> None:
    at = Terminal(tmp_path)
    for name in ("inspect-eval", "mlflow", "parquet"):
        file, make = WHOLE[name]
        path = make(at.folder / file)
        path.write_bytes(path.read_bytes()[:-30])
        ended = at.run("import", file)
        assert (ended.code, ended.out) == (2, "")
        assert file in ended.err
        assert f"It was read as {named(name).title}" in ended.err
        assert "Nothing was imported" in ended.err
    assert at.run("export").out == ""


async def test_a_list_of_samples_that_comes_twice_is_refused(engine: Engine, tmp_path: Path) -> None:
    """Of a document that is read piece by piece the key is told, too."""
    (path := tmp_path / "a.json").write_text(json.dumps({**INSPECT_HEADER, "samples": []})[:-1] + ', "samples": []}')
    assert "duplicate key 'samples'" in await refused(engine, "inspect-json", path)


def test_a_great_document_that_looks_like_nothing_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (path := tmp_path / "x.json").open("wb") as file:
        file.write(b'{"what": [')
        file.truncate(LONGEST + 1)
    with pytest.raises(BadInputError, match="is not recognized"):
        format_of(path, None)
    assert format_of(path, "suite") is None
    path.write_bytes(b'{"minions": [')
    assert format_of(path, None) is None


def test_what_is_made_to_fill_the_memory_does_not(
    tmp_path: Path, hostile_archives: dict[str, bytes], hostile_tables: dict[str, bytes]
) -> None:
    at = Terminal(tmp_path)
    bombs: dict[str, bytes] = {f"{place}.eval": raw for place, raw in enumerate(hostile_archives.values())}
    bombs |= {f"{place}.parquet": raw for place, raw in enumerate(hostile_tables.values())}
    bombs["values.json"] = b'{"eval": {"task": "x"}, "status": "x", "samples": [[' + b"[]," * 9_000_000
    many = b"".join(b', "k%d": [%s7]' % (place, b"[]," * 600_000) for place in range(12))
    bombs["beside.json"] = b'{"eval": {"task": "x"}, "status": "x"' + many + b"}"
    for file, raw in bombs.items():
        (at.folder / file).write_bytes(raw)
    script = Path(__file__).with_name("refused_peak.py")
    ended = at.carried_out([sys.executable, str(script), *bombs])
    told = cast("Json", json.loads(ended.out.splitlines()[-1]))
    assert told["refused"] == len(bombs), ended.err
    assert int(str(told["peakKb"])) < 450_000, told


async def test_a_call_and_a_gold_action_of_another_type_are_kept_or_refused_by_file(
    engine: Engine, tmp_path: Path
) -> None:
    odd = json.loads(json.dumps(TAU).replace('"type": "function"', '"type": ["function"]'))
    taken = await import_log(engine, named("tau-bench"), written(tmp_path / "m-airline.json", [odd]))
    assert taken.counted.outputs == 1
    odd["info"]["task"]["actions"] = [{"name": 7, "kwargs": {}}]
    path = written(tmp_path / "n-airline.json", [odd])
    assert "must be a name or a pattern" in await refused(engine, "tau-bench", path)
