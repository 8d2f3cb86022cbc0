"""Logs of other tools, small, as their tools write them; and what a reading of one gives."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import zstandard
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire
from minions_evals_mcp.interop.log_formats.table import matching, named, opened, sniff
from minions_evals_mcp.interop.logs.records import records, version
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample, Recorded

Json = dict[str, Any]
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def written(path: Path, value: object) -> Path:
    """The file with that value as JSON; a list of lines where its name says so. NaN is written as the tools write it."""
    lines = path.suffix == ".jsonl" and isinstance(value, list)
    text = "".join(json.dumps(line) + "\n" for line in cast("list[object]", value)) if lines else json.dumps(value)
    path.write_text(text, "utf-8")
    return path


def read(path: Path, form: str | None = None) -> tuple[EvaluationLog, list[Item]]:
    """The log and all that it holds; of the format that the file looks like, which is asserted where one is named."""
    sniffed = matching(sniff(path))
    assert sniffed is not None, f"{path.name} looks like nothing"
    assert form is None or sniffed.name == form, sniffed.name
    log, items = opened(named(sniffed.name), path)
    return log, list(items)


def samples(path: Path, form: str | None = None) -> list[LogSample]:
    """The samples of the log."""
    return [item for item in read(path, form)[1] if isinstance(item, LogSample)]


def kept(path: Path, form: str | None = None) -> tuple[list[Record[TestCase]], list[Record[AgentRun]]]:
    """The cases and the agent-runs that the log becomes, each fitting its type."""
    log, items = read(path, form)
    wires = [wire for item in items if isinstance(item, LogSample) for wire in records(log, item)]
    wires += [item.wire for item in items if isinstance(item, Recorded)]
    record_from_wire(version(log), new_id="v", now=NOW)
    found = [record_from_wire(wire, new_id="none", now=NOW) for wire in wires]
    cases = [case for one in found if (case := of_type(one, TestCase)) is not None]
    return cases, [run for one in found if (run := of_type(one, AgentRun)) is not None]


def extra(run: Record[AgentRun]) -> Json:
    """What an agent-run says beside its fields."""
    return cast("Json", run.fields.extra)


def foreign(run: Record[AgentRun]) -> list[Json]:
    """The foreign scores of an agent-run."""
    return cast("list[Json]", extra(run).get("foreignScores", []))


INSPECT_HEADER: Json = {
    "version": 2, "status": "success",
    "eval": {
        "run_id": "run1", "eval_id": "eval1", "created": "2026-11-20T10:00:00+00:00", "task": "capitals",
        "dataset": {"name": "capitals", "samples": 2}, "model": "openai/gpt-x", "config": {"epochs": 2},
        "scorers": [{"name": "includes", "options": {}}],
    },
    "plan": {"name": "plan", "steps": []}, "stats": {"started_at": "2026-11-20T10:00:00+00:00"},
}  # fmt: skip


def inspect_sample(ident: JsonValue, epoch: int, answer: str, value: JsonValue = "C", **more: JsonValue) -> Json:
    """One sample of Inspect's."""
    return {
        "id": ident, "epoch": epoch, "input": f"Capital {ident}?", "target": "Paris",
        "messages": [
            {"id": "m1", "role": "user", "content": f"Capital {ident}?", "source": "input"},
            {"id": "m2", "role": "assistant", "content": answer, "source": "generate"},
        ],
        "output": {"model": "gpt-x", "choices": [{"message": {"role": "assistant", "content": answer}, "stop_reason": "stop"}]},
        "scores": {"includes": {"value": value, "answer": answer, "explanation": f"it says {answer}", "history": []}},
        "metadata": {"level": 3}, "store": {}, "events": [{"event": "model"}], "uuid": f"u{ident}-{epoch}",
        "model_usage": {"openai/gpt-x": {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}},
        "started_at": "2026-11-20T10:00:01+00:00", "completed_at": "2026-11-20T10:00:03+00:00", "total_time": 2.0,
        **more,
    }  # fmt: skip


def inspect_json(path: Path, *of: Json) -> Path:
    """A `.json` log of Inspect's."""
    return written(path, {**INSPECT_HEADER, "samples": list(of)})


def inspect_archive(path: Path, *of: Json, zstd: bool = False, header: str = "header.json") -> Path:
    """An `.eval` log, its members packed with deflate or with zstd."""
    members = {f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one) for one in of}
    members = {"_journal/start.json": json.dumps(INSPECT_HEADER), **members, header: json.dumps(INSPECT_HEADER)}
    return packed(path, members, zstd=zstd)


def packed(path: Path, members: dict[str, str], *, zstd: bool = False) -> Path:
    """A ZIP of those members."""
    if zstd:
        path.write_bytes(_zstd_zip(members))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def _zstd_zip(members: dict[str, str]) -> bytes:
    """A ZIP whose members are packed by method 93, which Python writes from 3.14 on only."""
    out, directory = io.BytesIO(), b""
    for name, text in members.items():
        raw, at, label = text.encode(), out.tell(), name.encode()
        body = zstandard.compress(raw[: len(raw) // 2]) + zstandard.compress(
            raw[len(raw) // 2 :]
        )  # two frames, as Inspect
        sizes = (zlib.crc32(raw), len(body), len(raw), len(label), 0)
        out.write(struct.pack("<4s5H3L2H", b"PK\x03\x04", 63, 0, 93, 0, 33, *sizes) + label + body)
        directory += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 63, 63, 0, 93, 0, 33, *sizes, 0, 0, 0, 0, at) + label
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), out.tell(), 0)
    return out.getvalue() + directory + end
