"""Inspect's logs: archives and JSON, samples and scores as they were written, harmful archives refused."""

from __future__ import annotations

import math
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.sample import LogSample
from tests.shared.interop.makers import (
    INSPECT_HEADER,
    Json,
    foreign,
    inspect_archive,
    inspect_json,
    inspect_sample,
    kept,
    packed,
    read,
    samples,
    written,
)

FOUR = [inspect_sample(ident, epoch, "It is Paris") for ident in (1, "two") for epoch in (1, 2)]


@pytest.mark.parametrize("zstd", [False, True])
def test_an_archive_and_a_json_log_say_the_same(tmp_path: Path, zstd: bool) -> None:
    log, items = read(inspect_archive(tmp_path / "a.eval", *FOUR, zstd=zstd), "inspect-eval")
    as_json, same = read(inspect_json(tmp_path / "a.json", *FOUR), "inspect-json")
    assert (
        (log.id, log.task, log.subject)
        == (as_json.id, as_json.task, as_json.subject)
        == ("eval1", "capitals", "openai/gpt-x")
    )
    assert len(items) == len(same) == 4
    told, told_as_json = (
        [(one.id, one.epoch, one.produced) for one in held if isinstance(one, LogSample)] for held in (items, same)
    )
    assert told == told_as_json


def test_an_archive_too_long_for_the_old_format_is_read(tmp_path: Path) -> None:
    """Its directory's place and a member's numbers stand in eight bytes where four are too few."""
    raw = inspect_archive(tmp_path / "a.eval", *FOUR).read_bytes()
    *_, number, length, first, _ = struct.unpack("<4s4H2LH", raw[-22:])
    entry = bytearray(raw[first : first + length])
    place = entry.rfind(b"PK\x01\x02")
    size, extra = entry[place + 24 : place + 28], place + 30
    entry[place + 24 : place + 28] = b"\xff" * 4
    entry[extra : extra + 2] = (12).to_bytes(2, "little")
    entry += struct.pack("<2HQ", 1, 8, int.from_bytes(size, "little"))
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, number, number, len(entry), first)
    end += struct.pack("<4sLQL", b"PK\x06\x07", 0, first + len(entry), 1)
    end += struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, *[0xFFFF] * 2, *[0xFFFFFFFF] * 2, 0)
    (tmp_path / "b.eval").write_bytes(raw[:first] + entry + end)
    assert [one.produced for one in samples(tmp_path / "b.eval")] == [
        one.produced for one in samples(tmp_path / "a.eval")
    ]


def test_a_sample_is_a_case_and_each_epoch_an_output_with_its_foreign_score(tmp_path: Path) -> None:
    cases, runs = kept(inspect_json(tmp_path / "a.json", *FOUR))
    assert len({case.id for case in cases}) == 2
    assert len({run.id for run in runs}) == 4
    first = runs[0].fields
    assert first.inputs == cases[0].fields.inputs == {"input": "Capital 1?"}
    assert first.outputs == {"output": "It is Paris"}
    assert foreign(runs[0]) == [
        {
            "name": "includes",
            "value": "C",
            "foreign": True,
            "answer": "It is Paris",
            "explanation": "it says It is Paris",
        }
    ]
    assert (first.tokens_used, first.stop_reason, first.status) == (13, "stop", "success")
    assert first.prompt_version_ref == "log:inspect/capitals/eval1"
    assert first.extra["rest"] == {"store": {}, "uuid": "u1-1"}
    assert first.extra["leftOut"] == {"events": 1}
    assert cases[0].fields.extra["metadata"] == {"level": 3}
    (check,) = cases[0].fields.assertions
    assert (check.type, check.value) == (
        "foreign-scorer",
        {"tool": "inspect", "scorer": "includes", "targets": ["Paris"]},
    )


def test_values_of_every_kind_are_kept_and_nan_says_that_nothing_was_scored(tmp_path: Path) -> None:
    values: list[Any] = ["C", "I", "P", "N", 0.25, 7, True, [1, "x"], {"a": 1.5}, math.nan]
    path = inspect_json(tmp_path / "a.json", *(inspect_sample(n, 1, "x", value) for n, value in enumerate(values)))
    _, runs = kept(path)
    found = [foreign(run)[0] for run in runs]
    assert [one["value"] for one in found] == [*values[:-1], "NaN"]
    assert found[-1]["unscored"] is True


def test_tool_calls_long_texts_limits_and_errors_are_read(tmp_path: Path) -> None:
    call: Json = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    said: list[JsonValue] = [
        {"role": "user", "content": "attachment://0a1b"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "file.txt"},
        {"role": "assistant", "content": "done"},
    ]
    sample = inspect_sample(
        1, 1, "", input="tc://0a1b", attachments={"0a1b": "Look around"}, messages=said,
        error={"message": "out of time", "traceback": "…"}, limit={"type": "time", "limit": 5},
    )  # fmt: skip
    (case,), (run,) = kept(inspect_json(tmp_path / "a.json", sample))
    assert case.fields.inputs == {"input": "Look around"}
    assert run.fields.tool_calls_log is not None
    (step,) = run.fields.tool_calls_log
    assert (step.tool, step.arguments, step.result) == ("bash", {"cmd": "ls"}, "file.txt")
    assert (run.fields.status, run.fields.error_message, run.fields.stop_reason) == (
        "failed",
        "out of time",
        "time_limit",
    )


def test_the_log_is_read_where_its_header_stands_behind_its_samples_or_was_never_written(tmp_path: Path) -> None:
    turned = {"samples": FOUR, **INSPECT_HEADER}
    assert len(samples(written(tmp_path / "a.json", turned))) == 4
    crashed = inspect_archive(tmp_path / "a.eval", *FOUR, header="_journal/summaries/1.json")
    log, items = read(crashed)
    assert (log.task, len(items)) == ("capitals", 4)


HOSTILE = {
    "leads out of the archive": {"../../etc/passwd": "{}"},
    "it has no header.json": {"samples/1_epoch_1.json": "{}"},
    "no JSON": {"header.json": "{", "x": ""},
    "names no task": {"header.json": "{}"},
}


@pytest.mark.parametrize("reason", HOSTILE)
def test_a_harmful_or_foreign_archive_is_refused_by_name(tmp_path: Path, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason) as refusal:
        samples(packed(tmp_path / "bad.eval", HOSTILE[reason]))
    assert "bad.eval" in str(refusal.value)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    said = (4242).to_bytes(4, "little")
    for number, size, reason in ((1, (1 << 26) + 1, "is larger than"), (17, 1 << 26, "would unpack to")):
        path = packed(tmp_path / f"{number}.eval", {f"samples/{n}.json": "x" * 4242 for n in range(number)})
        path.write_bytes(path.read_bytes().replace(said, size.to_bytes(4, "little")))
        with pytest.raises(InvalidRecordError, match=reason):
            samples(path)


@pytest.mark.parametrize("zstd", [False, True])
def test_an_archive_cut_short_or_with_a_flipped_byte_is_refused(tmp_path: Path, zstd: bool) -> None:
    whole = inspect_archive(tmp_path / "a.eval", *FOUR, zstd=zstd).read_bytes()
    cut = tmp_path / "cut.eval"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidRecordError, match="no whole archive"):
        samples(cut)
    at = whole.index(b"samples/1_epoch_1.json") + 60
    flipped = tmp_path / "flipped.eval"
    flipped.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    with pytest.raises(InvalidRecordError, match=r"flipped.eval:samples/1_epoch_1.json: the member is damaged"):
        samples(flipped)


def test_a_member_that_unpacks_to_more_than_it_says_is_damaged(tmp_path: Path) -> None:
    path = inspect_archive(tmp_path / "a.eval", *FOUR)
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("samples/1_epoch_1.json").file_size
    raw = path.read_bytes().replace(size.to_bytes(4, "little"), (size - 1).to_bytes(4, "little"))
    path.write_bytes(raw)
    with pytest.raises(InvalidRecordError, match="is damaged"):
        samples(path)


def test_a_json_log_that_is_cut_short_names_the_place(tmp_path: Path) -> None:
    whole = inspect_json(tmp_path / "a.json", *FOUR).read_text("utf-8")
    cut = tmp_path / "cut.json"
    cut.write_text(whole[:-40], "utf-8")
    with pytest.raises(InvalidRecordError, match=r"cut.json: no JSON: it is cut off"):
        samples(cut)
