"""Counts samples and scores with the reader that each format's own package brings; runs in an environment that holds those packages.

    PYTHON tests/bench/readers/own_readers.py FORMAT=FILE …      a line of JSON for each file: what was counted, and by which reader

It stands alone: `python -m tests.bench.logs FOLDER --own PYTHON` runs it, for the packages do not live together with ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

Counts = tuple[int, int]


def _rows(path: Path) -> list[Any]:
    """A row a line, or a document: its rows."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    said: Any = json.loads(text)
    held: Any = said.get("data", said) if isinstance(said, dict) else said  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  any JSON
    return held if isinstance(held, list) else [held]  # pyright: ignore[reportUnknownVariableType]  as above


def _inspect(path: Path) -> Counts:
    samples: list[Any] = import_module("inspect_ai.log").read_eval_log(str(path)).samples or []
    return len(samples), sum(len(sample.scores or {}) for sample in samples)


def _deepeval(path: Path) -> Counts:
    said: Any = json.loads(path.read_text("utf-8"))
    run: Any = import_module("deepeval.test_run.test_run").TestRun(**said.get("testRunData", said))
    cases = [*run.test_cases, *run.conversational_test_cases]
    return len(cases), sum(len(case.metrics_data or []) for case in cases)


def _mlflow(path: Path) -> Counts:
    entities = import_module("mlflow.entities")
    traces = [entities.Trace.from_dict(row) for row in _rows(path)]
    feedback = import_module("mlflow.entities.assessment").Feedback
    return len(traces), sum(isinstance(one, feedback) for trace in traces for one in trace.info.assessments)


def _langsmith(path: Path) -> Counts:
    schemas, rows = import_module("langsmith.schemas"), _rows(path)
    if "run_type" not in rows[0]:
        return len([schemas.Example(**row) for row in rows]), 0
    roots = [run for run in (schemas.Run(**row) for row in rows) if run.parent_run_id is None]
    return len(roots), sum(len(run.feedback_stats or {}) for run in roots)


def _langfuse(path: Path) -> Counts:
    api, parsed = import_module("langfuse.api"), import_module("langfuse.api.core.pydantic_utilities").parse_obj_as
    rows = _rows(path)
    if "expectedOutput" in rows[0]:
        return len([parsed(api.DatasetItem, row) for row in rows]), 0
    scores = [parsed(api.ScoreV3, row) for row in rows if "dataType" in row]
    observations = [parsed(api.ObservationV2, row) for row in rows if "dataType" not in row]
    return len({one.trace_id for one in observations}), len(scores)


def _parquet(path: Path) -> Counts:
    with tempfile.TemporaryDirectory() as folder:
        rows: Any = import_module("datasets").Dataset.from_parquet(str(path), cache_dir=folder)
        return len(rows), 0


def _atif(path: Path) -> Counts:
    return len([import_module("atif").Trajectory(**row) for row in _rows(path)]), 0


def _every_eval_ever(path: Path) -> Counts:
    lines = [
        import_module("every_eval_ever.instance_level_types").InstanceLevelEvaluationLog(**row) for row in _rows(path)
    ]
    return len({(line.model_id, line.sample_id) for line in lines}), len(lines)


def _aggregate(path: Path) -> Counts:
    import_module("every_eval_ever.eval_types").EvaluationLog(**_rows(path)[0])
    return 0, 0


def _otel(path: Path) -> Counts | None:
    parse = import_module("google.protobuf.json_format").ParseDict
    data = import_module("opentelemetry.proto.trace.v1.trace_pb2").TracesData
    rows = _rows(path)
    if any("resourceSpans" not in row for row in rows):
        return None  # a span's attributes alone are no document of OTLP's
    documents = [parse(row, data()) for row in rows]
    spans: Iterable[Any] = (
        span for said in documents for one in said.resource_spans for scope in one.scope_spans for span in scope.spans
    )
    return len({bytes(span.trace_id) for span in spans}), 0


def _junit(path: Path) -> Counts:
    read: Any = import_module("junitparser").JUnitXml.fromfile(str(path))
    return int(read.tests), int(read.failures)


def _promptfoo(path: Path) -> Counts:
    """Imports and exports by the program itself; `PROMPTFOO` is where npm installed it, `NODE` a Node for it."""
    folder_of, node = os.environ.get("PROMPTFOO", "."), os.environ.get("NODE", "node")  # noqa: TID251  it runs without ours
    program = [node, str(Path(folder_of).resolve() / "node_modules" / "promptfoo" / "dist" / "src" / "entrypoint.js")]
    with tempfile.TemporaryDirectory() as folder:
        quiet = {"PROMPTFOO_CONFIG_DIR": folder, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
        around = {**os.environ, **quiet}  # noqa: TID251  as above
        subprocess.run(
            [*program, "import", str(path.resolve())], check=True, capture_output=True, env=around, cwd=folder
        )
        out = Path(folder) / "out.json"
        subprocess.run(
            [*program, "export", "eval", "latest", "-o", str(out)],
            check=True,
            capture_output=True,
            env=around,
            cwd=folder,
        )
        cells: list[Any] = json.loads(out.read_text("utf-8"))["results"]["results"]
    parts: list[list[Any]] = [(cell.get("gradingResult") or {}).get("componentResults") or [] for cell in cells]
    return len(cells), sum(1 + len(cell.get("namedScores") or {}) for cell in cells) + sum(map(len, parts))


READERS: dict[str, tuple[str, Callable[[Path], Counts | None]]] = {
    "inspect-eval": ("inspect_ai", _inspect), "inspect-json": ("inspect_ai", _inspect), "deepeval": ("deepeval", _deepeval),
    "mlflow": ("mlflow", _mlflow), "langsmith": ("langsmith", _langsmith), "langfuse": ("langfuse", _langfuse),
    "parquet": ("datasets", _parquet), "atif": ("atif", _atif), "every-eval-ever": ("every_eval_ever", _every_eval_ever),
    "every-eval-ever-results": ("every_eval_ever", _aggregate), "otel": ("opentelemetry-proto", _otel),
    "promptfoo": ("promptfoo", _promptfoo), "junit": ("junitparser", _junit),
}  # fmt: skip
"""By format: the package, and what reads a file with it."""


def main() -> None:
    """Reads each file that is named with its format."""
    for asked in sys.argv[1:]:
        name, _, file = asked.partition("=")
        package, read = READERS.get(name, ("", None))
        said: dict[str, object] = {"file": file}
        try:
            if read is not None and (counts := read(Path(file))) is not None:
                number = version(package) if package != "promptfoo" else "by npm"
                said |= {"samples": counts[0], "scores": counts[1], "reader": f"{package} {number}"}
        except (ImportError, FileNotFoundError):
            pass  # another environment may have it
        except Exception as error:  # noqa: BLE001  whatever a package raises says that it cannot read the file
            said |= {"refused": f"{type(error).__name__}: {error}"[:300], "reader": package}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
