"""Every Eval Ever 0.3: an aggregate file, and beside it a line for each score of each output."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import fmean

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.tagged_values import obj, without_none
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.log_exports.conversations import conversation
from minions_evals_mcp.interop.log_exports.exported_outputs import Export, ExportedOutput, ExportedScore, worth
from minions_evals_mcp.interop.log_exports.writing import text
from minions_evals_mcp.sessions.conversation import message_text, objects

SCHEMA = "0.3.0"


def rows_file(path: Path) -> Path:
    """Returns where the lines stand, beside the aggregate file."""
    return path.with_name(f"{path.stem}_samples.jsonl")


@dataclass(slots=True)
class _Sums:
    """The sums of the lines: the scores by name, and how many lines there are."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict[str, list[float]](list))
    lines: int = 0


async def write_every_eval_ever(export: Export, *, lines: Path, now: datetime) -> str:
    """Writes the lines; the aggregate's text. Scores that are no numbers are left out: the format has no place for them.

    Raises `BadInputError` where none is left: the format is of scores.
    """
    sums = _Sums()
    checksum = hashlib.sha256()
    with lines.open("w", encoding="utf-8", newline="\n") as file:
        async for output in export.outputs:
            for row in rows(output, export):
                line = text(row) + "\n"
                file.write(line)
                checksum.update(line.encode())
                sums.lines += 1
                sums.values[str(row["evaluation_name"])].append(float(str(obj(row["evaluation"])["score"])))
    if not sums.lines:
        raise BadInputError(
            f"no output of {export.version or export.id} has a score that is a number.",
            remedy="Judge them first: run-benchmark.",
        )
    return text(_aggregate(export, sums, checksum.hexdigest(), now)) + "\n"


def _aggregate(export: Export, sums: _Sums, checksum: str, now: datetime) -> Json:
    results: list[JsonValue] = [
        {
            "evaluation_result_id": f"{evaluation_id(export)}#{name}", "evaluation_name": name,
            "source_data": {"dataset_name": export.task, "source_type": "other"},
            "metric_config": {
                "metric_name": name, "lower_is_better": False, "score_type": "continuous", "min_score": min(0.0, *values),
                "max_score": max(1.0, *values),
            },
            "score_details": {"score": fmean(values), "uncertainty": {"num_samples": len(values)}},
        }
        for name, values in sums.values.items()
    ]  # fmt: skip
    return {
        "schema_version": SCHEMA, "evaluation_id": evaluation_id(export), "evaluation_timestamp": _seconds(export.created, now),
        "retrieved_timestamp": str(int(now.timestamp())),
        "source_metadata": {
            "source_name": "minions-evals", "source_type": "evaluation_run", "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "minions-evals", "version": "unknown"},
        "model_info": {
            "name": model(export), "id": model(export),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": place(export), "hash_algorithm": "sha256", "checksum": checksum, "total_rows": sums.lines,
        },
    }  # fmt: skip


def place(export: Export) -> str:
    """Returns where the lines stand in a repository of such files: the format's own path, which the file is moved to there."""
    developer, _, name = model(export).rpartition("/")
    parts = (_part(developer or "unknown"), _part(name))
    ident = uuid.UUID(bytes=hashlib.sha256(evaluation_id(export).encode()).digest()[:16], version=4)
    return f"data/minions-evals/{'/'.join(parts)}/{ident}_samples.jsonl"


def _part(name: str) -> str:
    """The name as that of a folder anywhere."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unknown"


def evaluation_id(export: Export) -> str:
    """The id that ties the lines to the aggregate."""
    return f"{export.task}/{model(export)}/{export.id}"


def model(export: Export) -> str:
    """Returns what was tried."""
    return export.subject or "unknown"


def _seconds(seconds_text: str, now: datetime) -> str:
    try:
        return str(int(datetime.fromisoformat(seconds_text).timestamp()))
    except ValueError:
        return seconds_text if seconds_text.isdigit() else str(int(now.timestamp()))


def rows(output: ExportedOutput, export: Export) -> Iterator[Json]:
    """A line for each score of the output that is a number."""
    for score in output.scores:
        value = worth(score)
        if value is not None:
            yield _row(output, export, score, value)


def _row(output: ExportedOutput, export: Export, score: ExportedScore, value: float) -> Json:
    raw = value_text(output.inputs.get("input", output.inputs))
    answer = "" if output.output is None else value_text(output.output)
    agentic = bool(output.steps)
    messages = [*_messages(output)] if agentic else []
    usage: Json | None = None
    if output.input_tokens is not None or output.output_tokens is not None:
        put, got = output.input_tokens or 0, output.output_tokens or 0
        usage = {"input_tokens": put, "output_tokens": got, "total_tokens": put + got}
    source = "messages[-1].content" if agentic else "output.raw"
    extracted = score.about.get("answer")
    attributed: list[JsonValue] = [] if not isinstance(extracted, str) else [
        {"turn_idx": 0, "source": source, "extracted_value": extracted, "extraction_method": score.name, "is_terminal": True}
    ]  # fmt: skip
    evaluation: Json = {"score": value, "is_correct": score.passed if score.passed is not None else value >= 1.0}
    if agentic:
        evaluation |= {"tool_calls_count": len(output.steps), "num_turns": len(messages)}
    reference: list[JsonValue] = [*output.targets]
    choices = output.inputs.get("choices")
    about = {
        "epoch": str(output.epoch),
        "foreign": str(score.foreign).lower(),
        "test_case_id": output.case_id,
        "reason": score.reason,
    }
    return without_none({
        "schema_version": SCHEMA, "evaluation_id": evaluation_id(export), "model_id": model(export),
        "evaluation_name": score.name, "evaluation_result_id": f"{evaluation_id(export)}#{score.name}",
        "sample_id": value_text(output.sample),
        "sample_hash": hashlib.sha256((raw + "".join(output.targets)).encode("utf-8", "surrogatepass")).hexdigest(),
        "interaction_type": "agentic" if agentic else "single_turn",
        "input": {"raw": raw, "reference": reference, **({"choices": choices} if _are_texts(choices) else {})},
        "output": None if agentic else {"raw": [answer]},
        "messages": [*messages] if agentic else None,
        "answer_attribution": attributed, "evaluation": evaluation, "token_usage": usage,
        "performance": None if output.latency_ms is None else {"latency_ms": output.latency_ms},
        "error": output.error, "metadata": {key: held for key, held in about.items() if held},
    })  # fmt: skip


def _are_texts(listed: JsonValue) -> bool:
    return isinstance(listed, list) and all(isinstance(item, str) for item in listed)


def _messages(output: ExportedOutput) -> Iterator[Json]:
    """The conversation, numbered; of a call's arguments the format knows texts alone."""
    for place, message in enumerate(conversation(output)):
        calls: list[JsonValue] = [_call(call) for call in objects(message.get("tool_calls"))]
        ident = message.get("tool_call_id")
        yield without_none({
            "turn_idx": place, "role": str(message.get("role", "user")), "content": message_text(message) or None,
            "tool_calls": calls or None, "tool_call_id": [ident] if isinstance(ident, str) else None,
        })  # fmt: skip


def _call(call: Json) -> Json:
    arguments: Json = {key: value_text(value) for key, value in obj(call.get("arguments")).items()}
    return {"id": str(call.get("id")), "name": str(call.get("name")), "arguments": arguments}
