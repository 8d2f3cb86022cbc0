"""Other tools' logs beside independent counts, and the memory of a large one.

    python -m tests.bench.logs FOLDER            every file of the folder: samples and scores, ours and a plain script's
    … --own PYTHON [--own PYTHON]                and those of the format's own reader, where that environment has it (own_readers.py)
    python -m tests.bench.logs --big FORMAT [--megabytes 1000] [--sample 30000]
                                                 a log of that size (all: of every format), taken in by `import`: its peak memory

The plain script reads a file with nothing but `json` and `zipfile` (a member packed with zstd by `zstandard`).
"""

from __future__ import annotations

import argparse
import json
import sqlite3  # noqa: TID251  a store that nobody writes any more is only counted
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from minions_evals_mcp.interop.log_formats.table import matching, opened, sniff
from minions_evals_mcp.interop.log_intake.intake import Counted
from tests.bench.readers.large_logs import BIG, write
from tests.shared.bench.process import PATH, measured


def counted(path: Path) -> tuple[str, int, int]:
    """The format, and how many samples and scores our reader finds."""
    form = matching(sniff(path))
    if form is None:
        return "none", 0, 0
    _, items = opened(form, path)
    found = Counted()
    for item in items:
        found.take(item)
    return form.name, found.samples, found.scores.total()


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _whole(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _inspect(samples: list[Any]) -> tuple[int, int]:
    return len(samples), sum(len(cast("dict[str, Any]", one.get("scores") or {})) for one in samples)


def _archive(path: Path) -> list[Any]:
    """The samples of an archive, by the directory's offsets alone where a member is packed with zstd."""
    import zipfile  # noqa: PLC0415  the script's own

    import zstandard  # noqa: PLC0415  as above

    found: list[Any] = []
    with zipfile.ZipFile(path) as archive, path.open("rb") as raw:
        for info in archive.infolist():
            if not info.filename.startswith("samples/"):
                continue
            if info.compress_type != 93:
                found.append(json.loads(archive.read(info)))
                continue
            raw.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(raw.read(2), "little") for _ in range(2))
            raw.seek(name + extra, 1)
            with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False) as unpacking:
                found.append(json.loads(unpacking.read(info.file_size)))
    return found


def _promptfoo(said: Any) -> tuple[int, int]:
    cells = said["results"]["results"]
    return len(cells), sum(
        1
        + len(cast("dict[str, Any]", one.get("namedScores") or {}))
        + len(cast("list[Any]", (one.get("gradingResult") or {}).get("componentResults") or []))
        for one in cells
    )


def _langfuse(rows: list[Any]) -> tuple[int, int]:
    return len({one["traceId"] for one in rows if "traceId" in one}), sum("dataType" in one for one in rows)


def _deepeval(said: Any) -> tuple[int, int]:
    cases = said["testCases"] + said.get("conversationalTestCases", [])
    return len(cases), sum(len(cast("list[Any]", one.get("metricsData") or [])) for one in cases)


def _mlflow(traces: list[Any]) -> tuple[int, int]:
    return len(traces), sum("feedback" in one for trace in traces for one in trace["info"].get("assessments", []))


def _langsmith(rows: list[Any]) -> tuple[int, int]:
    roots = [one for one in rows if not one.get("parent_run_id")]
    return len(roots), sum(len(cast("dict[str, Any]", one.get("feedback_stats") or {})) for one in roots)


def _oai(rows: list[Any]) -> tuple[int, int]:
    events = [one for one in rows if "sample_id" in one]
    scored = sum(
        1 if one["type"] == "match" else len(one["data"]) for one in events if one["type"] in ("match", "metrics")
    )
    return len({one["sample_id"] for one in events}), scored


def _evals(said: Any) -> int:
    return len(cast("list[Any]", said["evals"] if isinstance(said, dict) else said))


def _parquet(path: Path) -> tuple[int, int]:
    from pyarrow import parquet  # noqa: PLC0415  as above

    return int(parquet.read_metadata(path).num_rows), 0  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  it brings no types


SCRIPTS: dict[str, Callable[[Path], tuple[int, int]]] = {
    "inspect-json": lambda path: _inspect(_whole(path).get("samples") or []),
    "inspect-eval": lambda path: _inspect(_archive(path)),
    "promptfoo": lambda path: _promptfoo(_whole(path)),
    "tau-bench": lambda path: (len(_whole(path)), sum("reward" in one for one in _whole(path))),
    "deepeval": lambda path: _deepeval(_whole(path)),
    "mlflow": lambda path: _mlflow(_lines(path) if path.suffix == ".jsonl" else _whole(path)),
    "langsmith": lambda path: _langsmith(_lines(path)),
    "langfuse": lambda path: _langfuse(_lines(path)) if path.suffix == ".jsonl" else (len(_whole(path)["data"]), 0),
    "openai-evals": lambda path: _oai(_lines(path)),
    "atif": lambda path: (len(_lines(path)), 0),
    "parquet": _parquet,
    "every-eval-ever": lambda path: (len({one["sample_id"] for one in _lines(path)}), len(_lines(path))),
    "skill-evals": lambda path: (_evals(_whole(path)), 0),
    "openai-evals-samples": lambda path: (len(_lines(path)), 0),
    "otel": lambda _: (1, 0),
    "every-eval-ever-results": lambda _: (0, 0),
}
"""What a plain script counts: samples and scores. A span's attributes alone are one sample; epochs of Every Eval Ever are not told."""


def compared(folder: Path, own: list[Path]) -> int:
    """Prints each file's counts beside the script's and its own reader's; how many differ."""
    files = {path: counted(path) for path in sorted(one for one in folder.rglob("*") if one.is_file())}
    files = {path: found for path, found in files.items() if found[0] != "none"}
    read = _own_counts(own, {path: found[0] for path, found in files.items()})
    wrong = 0
    for path, (name, samples, scores) in files.items():
        plain, theirs = SCRIPTS[name](path), read.get(path)
        same = (samples, scores) == plain and (theirs is None or theirs[:2] == (samples, scores))
        wrong += not same
        by = "no reader of its own" if theirs is None else f"{theirs[2]} {theirs[:2]}"
        sys.stdout.write(
            f"{'same ' if same else 'OTHER'} {name:<22} {samples:>6} samples {scores:>6} scores  script {plain}  {by}  {path.name}\n"
        )
    return wrong


def _own_counts(own: list[Path], files: dict[Path, str]) -> dict[Path, tuple[int, int, str]]:
    """What the formats' own readers count, as far as one of the environments has them; what one refuses counts as nothing."""
    found: dict[Path, tuple[int, int, str]] = {}
    script = Path(__file__).parent / "readers" / "own_readers.py"
    for python in own:
        asked = [f"{name}={path}" for path, name in files.items() if path not in found]
        ended = subprocess.run([str(python), str(script), *asked], stdout=subprocess.PIPE, text=True, check=True)
        for line in ended.stdout.splitlines():
            said = json.loads(line)
            if "reader" in said:
                reader = f"{said['reader']} refuses: {said['refused']}" if "refused" in said else said["reader"]
                found[Path(said["file"])] = (said.get("samples", -1), said.get("scores", -1), reader)
    return found


def big(name: str, *, megabytes: int, sample_bytes: int) -> None:
    """Takes a large log in, in a process of its own, and prints what that needed and what was kept."""
    with tempfile.TemporaryDirectory() as folder:
        path, number = write(name, Path(folder), megabytes=megabytes, sample_bytes=sample_bytes)
        store = Path(folder) / "x.db"
        used = measured(
            [sys.executable, "-m", "minions_evals_mcp.cli", "import", str(path), "--db", str(store)], {"PATH": PATH}
        )
        with closing(sqlite3.connect(store)) as db:
            kept = db.execute("SELECT type, count(*) FROM minion GROUP BY type ORDER BY type").fetchall()
        size = path.stat().st_size / 1e6
    records = ", ".join(f"{count} {kind}" for kind, count in kept)
    sys.stdout.write(
        f"{name:<21} {size:.0f} MB, {number} samples: peak {used.rss_mb:.0f} MB, CPU {used.cpu_s:.1f} s; kept {records}\n"
    )
    sys.stdout.flush()


def main() -> None:
    """Counts, or measures."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", nargs="?", type=Path)
    asked.add_argument("--big", choices=["all", *BIG])
    asked.add_argument("--megabytes", type=int, default=1000)
    asked.add_argument("--sample", type=int, default=30_000)
    asked.add_argument("--own", type=Path, action="append", default=[])
    said = asked.parse_args()
    for name in BIG if said.big == "all" else filter(None, [said.big]):
        big(name, megabytes=said.megabytes, sample_bytes=said.sample)
    if said.folder is not None:
        sys.exit(min(1, compared(said.folder, said.own)))


if __name__ == "__main__":
    main()
