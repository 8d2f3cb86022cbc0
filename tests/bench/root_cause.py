"""How often the rules name the step at which a run of several agents went wrong, and how often rightly.

    python -m tests.bench.root_cause FOLDER

FOLDER is a checkout of github.com/mingyin1/Agents_Failure_Attribution (MIT): nothing of it is kept here. The hand-crafted half of
Who&When: each message of an agent that was asked to do something is a step, with what it was asked for; a message of the planner
is none, so that a mistake of the planner (a third of the labels) cannot be named.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import FailedOutput

_STEP = re.compile(r"\bstep (\d+)\b")


class Run(NamedTuple):
    """A failed run, which message each of its steps was, and the message that people call the mistake."""

    failed: FailedOutput
    messages: list[int]
    mistake: int
    is_even: bool


def runs(folder: Path) -> Iterator[Run]:
    """The hand-crafted runs."""
    for path in sorted(folder.glob("Who&When/Hand-Crafted/*.json")):
        yield run_of(json.loads(path.read_text(encoding="utf-8")))


def run_of(record: dict[str, JsonValue]) -> Run:
    """A run from its messages, question, right answer and labelled message."""
    history = record["history"]
    assert isinstance(history, list)
    calls: list[ToolCall] = []
    messages: list[int] = []
    request = ""
    for place, message in enumerate(history):
        assert isinstance(message, dict)
        role, content = str(message["role"]), str(message["content"])
        if "(->" in role:
            request = content
        elif role != "human" and not role.startswith("Orchestrator"):
            calls.append(ToolCall(tool=role, arguments={"request": request}, result=content, agent=role))
            messages.append(place)
    last = history[-1]
    assert isinstance(last, dict)
    answer = str(last["content"]).partition("FINAL ANSWER:")[2].partition("SCENARIO.PY")[0].strip()
    failed = FailedOutput(
        output={"output": answer}, text=answer, inputs={"question": record["question"]},
        expected={"output": str(record["ground_truth"])}, tool_calls=tuple(calls), has_log=True, timed_out=False, stop_reason=None,
        wants_json=False, agent_error=None, score_fraction=0.0, criteria=(),
    )  # fmt: skip
    even = int(hashlib.sha256(str(record["question"]).encode()).hexdigest(), 16) % 2 == 0
    return Run(failed, messages, int(str(record["mistake_step"])), even)


def named(run: Run) -> int | None:
    """The message that the root cause names, if it names one."""
    cause = classify(run.failed).root_cause
    found = _STEP.search(cause)
    if found is None or "shows no fault" in cause or cause.startswith("Nothing wrong"):
        return None
    return run.messages[int(found[1]) - 1]


def main(folder: Path) -> None:
    """Prints how many steps are named, and how many rightly, of all runs and of each half."""
    every = [(run, named(run)) for run in runs(folder)]
    halves = {"all": every, "even": [p for p in every if p[0].is_even], "odd": [p for p in every if not p[0].is_even]}
    for name, pairs in halves.items():
        told = [(run, place) for run, place in pairs if place is not None]
        right = sum(place == run.mistake for run, place in told)
        rates = f"accuracy {right / len(pairs):.3f}, precision {right / max(1, len(told)):.3f}"
        print(f"{name:5} {len(pairs)} runs, {len(told)} named, {right} right: {rates}")  # noqa: T201  the figures are the point


if __name__ == "__main__":
    main(Path(sys.argv[1]))
