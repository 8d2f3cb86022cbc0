"""`minions-evals score` beside promptfoo: 10 assertion types on outputs of 1 KB, the same rows, one after the other.

python -m tests.bench.promptfoo.mix FOLDER [--node PATH] [--rows 20000] [--theirs 2000]

FOLDER and PATH as in `record.py`. promptfoo is asked in two ways: `promptfoo eval` with its `echo` provider,
as a user runs it, and its bare `runAssertions` in a loop, without its pipeline. Times are whole processes; start-up is
measured with one row and taken off both rates.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from tests.shared.bench.process import PATH, Usage, measured

HERE = Path(__file__).parent
SCHEMA: JsonValue = {
    "type": "object",
    "required": ["ref", "tokens"],
    "properties": {"ref": {"type": "string", "pattern": "^REF-"}, "tokens": {"type": "integer", "minimum": 80}},
}
SENTENCE = (
    "Customer {n} in branch {b} reports that printer {p} on floor {f} jams whenever duplex is on and the second tray holds "
    "the heavier paper. The driver was reinstalled, the rollers were cleaned, and the firmware was brought to version 4.{f}. "
)


def output(n: int) -> str:
    """A recorded output of 1 KB: JSON with a ticket in it; every tenth lacks its reference, every tenth is cut off."""
    ticket = (SENTENCE.format(n=n, b=n % 37, p=n % 11, f=n % 7) * 5)[:930]
    found = {"ref": "none" if n % 10 == 3 else f"REF-{n:06d}", "summary": ticket, "tokens": 80 + n % 40}
    text = json.dumps(found)
    return text[:-1] if n % 10 == 7 else text


def checks(n: int) -> list[JsonValue]:
    """Ten types."""
    return [
        {"type": "contains", "value": f"REF-{n:06d}"},
        {"type": "not-contains", "value": "as an AI"},
        {"type": "icontains-any", "value": ["PRINTER", "scanner"]},
        {"type": "contains-all", "value": ["duplex", "rollers", "firmware"]},
        {"type": "starts-with", "value": '{"ref"'},
        {"type": "regex", "value": "version \\d\\.\\d+"},
        {"type": "is-json", "value": SCHEMA},
        {"type": "contains-json"},
        {"type": "word-count", "value": {"min": 50, "max": 400}},
        {"type": "levenshtein", "value": output(n), "threshold": 3},
    ]


def written(folder: Path, rows: int) -> tuple[Path, Path]:
    """The rows as `score` reads them, and the config that `promptfoo eval` reads."""
    ours, theirs = folder / f"{rows}.jsonl", folder / f"{rows}.json"
    # A line at a time: what this process holds counts in the peak memory of those that it starts.
    with ours.open("w") as lines, theirs.open("w") as config:
        config.write('{"prompts": ["{{output}}"], "providers": ["echo"], "tests": [')
        for n in range(rows):
            lines.write(json.dumps({"id": str(n), "output": output(n), "assert": checks(n)}) + "\n")
            config.write(", " * (n > 0) + json.dumps({"vars": {"output": output(n)}, "assert": checks(n)}))
        config.write("]}")
    return ours, theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--node", default="node")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--theirs", type=int, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        environment = {
            "PATH": f"{Path(options.node).parent}:{PATH}", "HOME": home, "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_FAILED_TEST_EXIT_CODE": "0",
        }  # fmt: skip
        ours, _ = written(folder, options.rows)
        few, theirs = written(folder, options.theirs)
        one, single = written(folder, 1)
        score = [sys.executable, "-m", "minions_evals_mcp.cli", "score"]
        entry = options.folder / "node_modules" / "promptfoo" / "dist" / "src" / "entrypoint.js"
        eval_ = [options.node, str(entry), "eval", "--no-cache", "--no-progress-bar", "--no-table", "-c"]
        loop = [options.node, str(HERE / "ask_promptfoo.mjs"), str(options.folder)]
        _tell("minions-evals score", options.rows, _timed([*score, str(ours)], [*score, str(one)], environment))
        _tell("promptfoo eval", options.theirs, _timed([*eval_, str(theirs)], [*eval_, str(single)], environment))
        _tell("promptfoo runAssertions", options.theirs, _timed(loop, loop, environment, (few, one)))


def _timed(
    command: Sequence[str], bare: Sequence[str], environment: dict[str, str], stdin: tuple[Path, Path] | None = None
) -> tuple[Usage, Usage]:
    """All rows, and one row."""
    many, single = stdin or (None, None)
    return measured(command, environment, stdin=many), measured(bare, environment, stdin=single)


def _tell(name: str, rows: int, times: tuple[Usage, Usage]) -> None:
    many, one = times
    wall, cpu = (rows / max(taken, 1e-9) for taken in (many.wall_s - one.wall_s, many.cpu_s - one.cpu_s))
    sys.stdout.write(
        f"{name}: {rows:,} rows in {many.wall_s:.2f} s wall {many.cpu_s:.2f} s CPU, one row in {one.wall_s:.2f} s wall "
        f"{one.cpu_s:.2f} s CPU; {wall:,.0f} rows/s of wall time, {cpu:,.0f} of CPU time; {many.rss_mb:.0f} MB\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
