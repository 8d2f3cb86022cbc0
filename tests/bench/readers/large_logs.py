"""Logs of any size, of every format: a small whole one's sample again and again, each with an id and texts of its own."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import parquet

from tests.shared.agent.traces import document, span
from tests.shared.interop.log_parts import (
    CHAT,
    CHECKS,
    DEEPEVAL,
    SPEC,
    TAU,
    TRACE,
    event,
    line,
    observation,
    result,
    results,
    sampling,
)
from tests.shared.interop.makers import INSPECT_HEADER, Json, inspect_sample
from tests.shared.interop.whole_files import ITEM, RUN, TRAJECTORY

ROWS = 2000
"""So many rows a Parquet file's group holds."""


@dataclass(frozen=True, slots=True)
class Big:
    """A format: the file's name, what stands before and behind its samples, and what the sample of a number and a text says."""

    file: str
    of: Callable[[int, str], list[Json]]
    before: str = ""
    after: str = ""
    between: str = "\n"


def _inspect(number: int, text: str) -> list[Json]:
    half = len(text) // 2
    return [{**inspect_sample(number, 1, text[:half]), "events": [{"event": "model", "text": text[half:]}]}]


def _promptfoo(number: int, text: str) -> list[Json]:
    made: Any = result(0, 0, CHECKS[0])
    said = {"country": f"{number} {text[: len(text) // 2]}"}
    made |= {"testIdx": number, "id": f"r{number}", "vars": said, "response": {"output": text[len(text) // 2 :]}}
    return [{**made, "testCase": {**made["testCase"], "vars": said}}]


def _spans(number: int, text: str) -> list[Json]:
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
    attributes = {**CHAT, "gen_ai.output.messages": said}
    return [cast("Json", document(span(f"{number:016x}", "chat m", attributes, trace=f"{number + 1:032x}")))]


def _mlflow(number: int, text: str) -> list[Json]:
    trace: Any = json.loads(json.dumps(TRACE))
    trace["info"]["trace_id"] = f"tr-{number}"
    asked = {"messages": [{"role": "user", "content": f"{number}: {text[: len(text) // 2]}"}]}
    trace["data"]["spans"][0]["attributes"]["mlflow.spanInputs"] = json.dumps(asked)
    trace["data"]["spans"][1]["attributes"]["mlflow.spanOutputs"] = json.dumps(text[len(text) // 2 :])
    return [trace]


def _header(value: object, behind: int, key: str) -> str:
    """The document's beginning, up to its list of samples; `behind` so many brackets close it."""
    text = json.dumps(value)
    return f'{text[: len(text) - behind]}, "{key}": ['


def _promptfoo_header() -> str:
    """The list of results comes last, in what comes last."""
    whole = results()
    held = whole.pop("results")
    held.pop("results")
    return _header({**whole, "results": held}, 2, "results")


LIST = {"between": ",\n", "before": "[", "after": "]"}
BIG: dict[str, Big] = {
    "inspect-json": Big("a.json", _inspect, _header(INSPECT_HEADER, 1, "samples"), "]}", ",\n"),
    "inspect-eval": Big("a.eval", _inspect),
    "promptfoo": Big("r.json", _promptfoo, _promptfoo_header(), "]}}", ",\n"),
    "openai-evals": Big("run.jsonl", lambda n, text: [
        sampling(n, f"a.dev.{n}", text), event(n, f"a.dev.{n}", "match", {"correct": True, "expected": "Paris", "sampled": "Paris"}),
    ], json.dumps(SPEC) + "\n"),
    "openai-evals-samples": Big("samples.jsonl", lambda n, text: [{"input": f"{n} {text}", "ideal": "Paris"}]),
    "openai-evals-items": Big("items.jsonl", lambda n, text: [
        {**ITEM, "data_source_idx": n, "item": {"q": text[:200]}, "sample": {"output_text": text, "model": "m"}}
    ]),
    "otel": Big("o.jsonl", _spans),
    "otel-document": Big("o.json", lambda n, text: _spans(n, text)[0]["resourceSpans"], '{"resourceSpans": [', "]}", ",\n"),
    "tau-bench": Big("m-airline.json", lambda n, text: [
        {**TAU, "task_id": n, "traj": [*TAU["traj"], {"role": "assistant", "content": text}]}
    ], **LIST),
    "deepeval": Big("d.json", lambda n, text: [
        {**DEEPEVAL["testCases"][0], "name": f"case {n}", "order": n, "actualOutput": text}
    ], '{"testFile": "x", "testCases": [', "]}", ",\n"),
    "atif": Big("t.jsonl", lambda n, text: [{**TRAJECTORY, "trajectory_id": f"t{n}", "steps": [
        {"step_id": 1, "source": "user", "message": text[:200]}, {"step_id": 2, "source": "agent", "message": text},
    ]}]),
    "every-eval-ever": Big("x_samples.jsonl", lambda n, text: [line(f"s{n}", "exact", 1.0, output={"raw": [text]})]),
    "mlflow": Big("m.jsonl", _mlflow),
    "langsmith": Big("ls.jsonl", lambda n, text: [
        {**RUN, "id": f"r{n}", "trace_id": f"r{n}", "inputs": {"q": f"{n} {text[:200]}"}, "outputs": {"answer": text}}
    ]),
    "langfuse": Big("lf.jsonl", lambda n, text: [
        observation(f"o{n}", traceId=f"t{n}", input=text[: len(text) // 2], output=text[len(text) // 2 :])
    ]),
    "skill-evals": Big("evals.json", lambda n, text: [
        {"id": n, "prompt": text, "expectations": ["x"]}
    ], '{"skill_name": "x", "evals": [', "]}", ",\n"),
    "parquet": Big("t.parquet", lambda n, text: [{"id": str(n), "question": text, "answer": "x"}]),
}  # fmt: skip
"""By the name of the format; `otel-document` is spans as one document."""


def write(name: str, folder: Path, *, megabytes: int, sample_bytes: int) -> tuple[Path, int]:
    """A file of that format and about that size, whose samples have about so many characters each; how many they are."""
    big = BIG[name]
    path, most = folder / big.file, megabytes * 1_000_000
    texts = _texts(sample_bytes)
    if name == "parquet":
        return path, _table(path, most, texts)
    if name == "inspect-eval":
        return path, _archive(path, most, texts)
    number = size = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(big.before)
        while size < most:
            for sample in big.of(number, next(texts)):
                size += file.write((big.between if size else "") + json.dumps(sample))
            number += 1
        file.write(big.after)
    return path, number


def _texts(length: int) -> Iterator[str]:
    """Texts of that length, which differ and pack as prose does."""
    drawn = random.Random(7)  # noqa: S311  no secret
    words = "".join(f"w{drawn.randrange(10**6)} " for _ in range(700_000))
    while True:
        at = drawn.randrange(len(words) - length)
        yield words[at : at + length]


def _archive(path: Path, most: int, texts: Iterator[str]) -> int:
    number = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(INSPECT_HEADER))
        while archive.start_dir < most:  # where the next member goes
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(_inspect(number, next(texts))[0]))
            number += 1
    return number


def _table(path: Path, most: int, texts: Iterator[str]) -> int:
    arrow, number = cast("Any", pa), 0  # pyarrow brings no types
    schema = arrow.schema([(name, arrow.string()) for name in ("id", "question", "answer")])
    with cast("Any", parquet).ParquetWriter(path, schema, compression="zstd") as writer:
        while path.stat().st_size < most:
            rows = [BIG["parquet"].of(number + place, next(texts))[0] for place in range(ROWS)]
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            number += ROWS
    return number
