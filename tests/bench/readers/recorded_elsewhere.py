"""The recorded outputs of a suite judged by pydantic-evals, which keeps nothing: what stands beside ours.

PYTHON -m tests.bench.readers.recorded_elsewhere SUITE.jsonl

PYTHON is one in which pydantic-evals is installed; it is no dependency.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

WORD = "resolved"


def main(suite: str) -> None:
    """Judges each recorded output by the rule that ours is judged by, and says how many passed."""
    module: Any = importlib.import_module("pydantic_evals")
    evaluators: Any = importlib.import_module("pydantic_evals.evaluators")
    outputs: dict[str, str] = {}
    cases: list[Any] = []
    with Path(suite).open() as lines:
        for record in map(json.loads, lines):
            fields = record["fields"]
            if record["type"] == "agent-run":
                outputs[fields["inputs"]["question"]] = fields["outputs"]["output"]
            elif record["type"] == "test-case":
                expected = fields["expectedOutputs"]["output"]
                cases.append(
                    module.Case(name=record["id"], inputs=fields["inputs"]["question"], expected_output=expected)
                )
    rule = evaluators.Contains(value=WORD, case_sensitive=False)
    report = module.Dataset(name="tickets", cases=cases, evaluators=[rule]).evaluate_sync(
        outputs.__getitem__, progress=False
    )
    passed = sum(all(one.value for one in case.assertions.values()) for case in report.cases)
    sys.stdout.write(f"{passed} of {len(report.cases)} passed\n")


if __name__ == "__main__":
    main(sys.argv[1])
