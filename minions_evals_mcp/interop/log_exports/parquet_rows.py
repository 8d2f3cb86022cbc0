"""Outputs and scores as a table: Parquet, a row an output."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.log_exports.exported_outputs import Export, ExportedOutput, ExportedScore
from minions_evals_mcp.interop.log_exports.writing import text

BATCH = 500
COLUMNS = {
    "id": "string", "epoch": "int64", "testCaseId": "string", "input": "string", "inputs": "string", "targets": "list",
    "output": "string", "passed": "bool", "score": "double", "reason": "string", "error": "string", "stopReason": "string",
    "scores": "string", "model": "string", "inputTokens": "int64", "outputTokens": "int64", "cost": "double",
    "latencyMs": "double", "startedAt": "string", "completedAt": "string", "agentRunId": "string", "testRunId": "string",
    "task": "string", "outputs": "string", "toolCalls": "string", "extra": "string",
}  # fmt: skip
"""The columns with their types; `inputs`, `outputs`, `scores`, `toolCalls` and `extra` are JSON, so that what was exact stays so."""


class _Writer(Protocol):
    def write_table(self, table: object) -> None: ...

    def close(self) -> None: ...


async def write_parquet(export: Export, path: Path) -> None:
    """Writes the table, some hundred rows at a time; raises `UnsupportedError` without the extra."""
    if find_spec("pyarrow") is None:
        raise UnsupportedError(
            "Parquet needs the package pyarrow, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[parquet]'",
        )
    import pyarrow as pa  # noqa: PLC0415  an extra, and slow: imported at first use
    from pyarrow import parquet  # noqa: PLC0415  as above

    kinds: dict[str, Any] = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}
    arrow = cast("Any", pa)  # pyarrow brings no types
    schema = arrow.schema([(name, kinds.get(kind, arrow.list_(arrow.string()))) for name, kind in COLUMNS.items()])
    writer = cast("_Writer", parquet.ParquetWriter(path, schema))
    try:
        rows: list[Json] = []
        async for output in export.outputs:
            rows.append(row(output, export))
            if len(rows) == BATCH:
                writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
                rows = []
        writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
    finally:
        writer.close()


def row(output: ExportedOutput, export: Export) -> Json:
    """One output as a row."""
    return {
        "id": value_text(output.sample), "epoch": output.epoch, "testCaseId": output.case_id,
        "input": value_text(output.inputs.get("input", output.inputs)), "inputs": text(output.inputs), "targets": [*output.targets],
        "output": None if output.output is None else value_text(output.output), "passed": output.passed, "score": output.score,
        "reason": output.reason, "error": output.error, "stopReason": output.stop_reason,
        "scores": text([*_scores(output.scores)]), "model": export.subject, "inputTokens": output.input_tokens,
        "outputTokens": output.output_tokens, "cost": output.cost, "latencyMs": output.latency_ms, "startedAt": output.started,
        "completedAt": output.completed, "agentRunId": output.agent_run_id, "testRunId": output.test_run_id, "task": export.task,
        "outputs": None if output.output is None else text(output.output), "toolCalls": text([*output.steps]), "extra": text(output.extra),
    }  # fmt: skip


def _scores(scores: tuple[ExportedScore, ...]) -> Iterator[Json]:
    for score in scores:
        yield {
            "name": score.name,
            "value": score.value,
            "passed": score.passed,
            "reason": score.reason,
            "foreign": score.foreign,
        }
