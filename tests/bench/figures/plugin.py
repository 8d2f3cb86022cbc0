"""What the pytest plugin adds to a pytest start that does not use it, in pairs: with it, and without it.

python -m tests.bench.figures.plugin [--runs 15]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from tests.shared.bench.process import PATH, measured


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        test = Path(name) / "test_nothing.py"
        test.write_text("def test_nothing():\n    pass\n")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            "/dev/null",
            "--rootdir",
            name,
            str(test),
        ]
        pairs = [
            (measured(command, {"PATH": PATH}), measured([*command, "-p", "no:minions-evals"], {"PATH": PATH}))
            for _ in range(asked.runs)
        ]
    added = statistics.median(one.cpu_s - other.cpu_s for one, other in pairs) * 1000
    ratio = statistics.median(one.cpu_s / other.cpu_s for one, other in pairs)
    wall = statistics.median(one.wall_s - other.wall_s for one, other in pairs) * 1000
    sys.stdout.write(
        f"the plugin adds {added:.1f} ms of CPU ({ratio:.3f} x), {wall:.1f} ms wall (medians of {asked.runs} pairs)\n"
    )


if __name__ == "__main__":
    main()
