"""`minions-evals score` beside a bare loop over the same checks, its memory at 1,000 and 20,000 rows, and the start of `--help`.

python -m tests.bench.score [--runs 5]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from tests.shared.bench.process import PATH, Usage, measured

TICKET = (
    "Customer {n} in branch {b} reports that printer {p} on floor {f} jams whenever duplex is on and the second tray "
    "holds the heavier paper. The driver was reinstalled, the rollers were cleaned, and the firmware was brought to "
    "version 4.{f}.{p}. After that, {k} test pages went through, {f} of them with a grey stripe near the left edge."
)


def row(n: int) -> str:
    """A recorded output of about 400 characters with three assertions; every tenth lacks its reference, every tenth is no JSON."""
    ticket = TICKET.format(n=n, b=n % 37, p=n % 11, f=n % 7, k=20 + n % 50)
    reference = f"REF-{n:06d}"
    text = json.dumps({"ref": "REF-XXXXXX" if n % 10 == 3 else reference, "summary": ticket, "tokens": 80 + n % 40})
    checks = [{"type": "contains", "value": reference}, {"type": "regex", "value": r"REF-\d{6}"}, {"type": "is-json"}]
    return json.dumps({"id": str(n), "output": text[:-1] if n % 10 == 7 else text, "assert": checks})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.jsonl", Path(folder) / "large.jsonl"
        small.write_text("".join(row(n) + "\n" for n in range(1000)))
        large.write_text("".join(row(n) + "\n" for n in range(20_000)))
        environment = {"PATH": PATH, "HOME": folder}
        score = [sys.executable, "-m", "minions_evals_mcp.cli", "score"]
        bare = [sys.executable, "-m", "tests.bench.bare.score"]
        pairs = [
            (measured([*score, str(large)], environment), measured(bare, environment, stdin=large)) for _ in range(runs)
        ]
        _tell("score, 20,000 rows × 3 assertions", "bare loop", pairs)
        few = measured([*score, str(small)], environment)
        sys.stdout.write(f"peak memory: {few.rss_mb:.0f} MB at 1,000 rows, {pairs[0][0].rss_mb:.0f} MB at 20,000\n")
        start = [sys.executable, "-m", "minions_evals_mcp.cli", "--help"]
        nothing = [sys.executable, "-c", "pass"]
        _tell(
            "--help",
            "python -c pass",
            [(measured(start, environment), measured(nothing, environment)) for _ in range(runs)],
        )


def _tell(name: str, floor: str, pairs: list[tuple[Usage, Usage]]) -> None:
    for ours, theirs in pairs:
        sys.stdout.write(
            f"{name}: {ours.wall_s:.3f} s wall {ours.cpu_s:.3f} s CPU; {floor}: {theirs.wall_s:.3f} s wall {theirs.cpu_s:.3f} s CPU\n"
        )
    wall = statistics.median(ours.wall_s / theirs.wall_s for ours, theirs in pairs)
    cpu = statistics.median(ours.cpu_s / theirs.cpu_s for ours, theirs in pairs)
    sys.stdout.write(f"{name} / {floor}: median ratio wall {wall:.2f}, CPU {cpu:.2f}\n")


if __name__ == "__main__":
    main()
