"""How often a step of a log is accused, and how often rightly: the figures behind `scoring/failures/log/chances.py`.

    python -m tests.bench.verdicts.accused_steps --agentrx FOLDER --tau FOLDER --who FOLDER

FOLDERs are checkouts of github.com/microsoft/AgentRx, sierra-research/tau-bench and mingyin1/Agents_Failure_Attribution, all
MIT: nothing of them is kept here. tau-bench's trajectories come in through the importer; those with reward 1 are sound, and
each is read as if it had failed. Of AgentRx the failed retail trajectories have a labelled root cause. Halves: even task
numbers and even digests of questions are counted in the table, the others check it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.engine.judge.compose import failed_output
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, Measure
from minions_evals_mcp.interop.log_formats.state_rule import STATE_RULE
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.log import NAMED_FROM, Log, chance, most_likely, shape_of
from minions_evals_mcp.targets.recorded import observed_run
from tests.bench.root_cause import run_of, runs
from tests.shared.interop.makers import foreign, kept

RETAIL, LABELS = "data/tau_retail", "data/ground_truth/tau_ground_truth.json"
MAGENTIC = "data/ground_truth/magentic_one_ground_truth.json"


class Labelled(NamedTuple):
    """A failed run with the messages of its steps and the message that people call the cause."""

    failed: FailedOutput
    messages: list[int]
    cause: int
    is_even: bool


class Told(NamedTuple):
    """What stands out in a run: the chance that it is the cause, and whether it is."""

    shape: str
    chance: float
    right: bool
    is_even: bool


def trajectories(path: Path) -> Iterator[tuple[dict[str, Any], FailedOutput]]:
    """The rows of a file of tau-bench, each with what its importer makes of it, as a failed output."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    cases, outputs = kept(path, "tau-bench")
    by_name = {case.id: case for case in cases}
    for row, run in zip(rows, outputs, strict=True):
        case = by_name[str(obj(obj(run.fields.extra).get("log")).get("case"))]
        seen = observed_run(run, timeout_ms=None)
        assert isinstance(seen, Observed)
        measure = Measure(case, ByAssertions(case.fields.assertions, case.fields.threshold))
        work = Work(case.fields.inputs, case.fields.expected_outputs, seen)
        yield row, failed_output(measure, work, [], wants_json=False)


def agreement(path: Path) -> str:
    """How many trials the state rule judges as tau-bench's own reward does."""
    verdicts = [
        {str(score["name"]): score["value"] == 1 for score in foreign(run)} for run in kept(path, "tau-bench")[1]
    ]
    return f"{sum(one['reward'] == one[STATE_RULE] for one in verdicts)} of {len(verdicts)}"


def accused(failed: FailedOutput) -> bool:
    """Whether a step of the log is named as the cause."""
    return most_likely(failed, ()) is not None and chance(Log(failed)) >= NAMED_FROM


def labelled_retail(folder: Path) -> Iterator[Labelled]:
    """AgentRx's failed retail runs: message numbers begin with 1, and a call is labelled at its own or at its result."""
    labels = {label["trajectory_id"]: label for label in json.loads((folder / LABELS).read_text(encoding="utf-8"))}
    for row, failed in trajectories(folder / RETAIL / "tau_dataset_failed.json"):
        label = labels[row["task_id"]]
        root = label["root_cause"]["failure_id"]
        cause = next(one["step_number"] for one in label["failures"] if one["failure_id"] == root)
        calls = [
            place for place, message in enumerate(row["traj"], 1) for _ in message.get("tool_calls") or ()
        ]  # fmt: skip
        yield Labelled(failed, calls, cause, row["task_id"] % 2 == 0)


def labelled_magentic(folder: Path) -> Iterator[Labelled]:
    """AgentRx's runs of Magentic-One, most of them of Who&When's questions, with labels of its own."""
    labels = {one["trajectory_id"]: one for one in json.loads((folder / MAGENTIC).read_text(encoding="utf-8"))}
    for path in sorted(folder.glob("data/magentic_dataset*/*.json")):
        label = labels.pop(path.stem, None)
        root = None if label is None else label["root_cause"].get("failure_id")
        causes = [] if label is None else [one["step_number"] for one in label["failures"] if one["failure_id"] == root]
        if causes:
            history = json.loads(path.read_text(encoding="utf-8"))
            run = run_of(
                {
                    "history": history,
                    "question": history[0]["content"],
                    "ground_truth": "",
                    "mistake_step": int(causes[0]) - 1,
                }
            )
            yield Labelled(run.failed, run.messages, run.mistake, run.is_even)


def labelled_relays(folder: Path) -> Iterator[Labelled]:
    """Who&When's hand-crafted runs."""
    for run in runs(folder):
        yield Labelled(run.failed, run.messages, run.mistake, run.is_even)


def labelled_generated(folder: Path) -> Iterator[Labelled]:
    """Who&When's generated runs: agents that write code, a terminal that runs it. A label is on the message with the code."""
    for path in sorted(folder.glob("Who&When/Algorithm-Generated/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        history: list[Any] = [{**message, "role": "human"} for message in record["history"]]
        run = run_of({**record, "history": history})
        calls: list[ToolCall] = []
        places: list[int] = []
        for place, message in enumerate(history[1:], 1):
            if message.get("name") == "Computer_terminal":
                before = history[place - 1]
                code: Json = {"code": before["content"]}
                agent = before.get("name")
                calls.append(ToolCall(tool="terminal", arguments=code, result=message["content"], agent=agent))
                places.append(place - 1)
        yield Labelled(replace(run.failed, tool_calls=tuple(calls)), places, run.mistake, run.is_even)


def told(run: Labelled) -> Told | None:
    """What stands out in the run, None for nothing."""
    finding = most_likely(run.failed, ())
    if finding is None:
        return None
    log = Log(run.failed)
    place = None if finding.place is None else run.messages[finding.place]
    right = place is not None and run.cause in ({place, place + 1} if shape_of(log) == "talk" else {place})
    return Told(shape_of(log), chance(log), right, run.is_even)


def brier(pairs: list[Told]) -> float:
    """The mean squared distance of the chance from what was so."""
    return sum((one.chance - one.right) ** 2 for one in pairs) / len(pairs)


def calibration_error(pairs: list[Told]) -> float:
    """The expected calibration error, over the chances that were given."""
    error = 0.0
    for given in {one.chance for one in pairs}:
        alike = [one for one in pairs if one.chance == given]
        error += abs(sum(one.right for one in alike) / len(alike) - given) * len(alike)
    return error / len(pairs)


def say(text: str) -> None:
    print(text)  # noqa: T201  the figures are what the command is for


def main() -> None:
    """Prints the shares."""
    asked = argparse.ArgumentParser()
    for name in ("agentrx", "tau", "who"):
        asked.add_argument(f"--{name}", type=Path, required=True)
    folders = asked.parse_args()
    for name, path in (
        ("airline", folders.tau / "historical_trajectories/gpt-4o-airline.json"),
        ("retail", folders.agentrx / RETAIL / "tau_dataset_full.json"),
    ):
        say(f"{name}: {agreement(path)} trials have the state rule's verdict as their reward")
        sound = [failed for row, failed in trajectories(path) if row["reward"] == 1]
        timeouts = sum(classify(failed).failure_type == "timeout" for failed in sound)
        say(f"{name}: {sum(map(accused, sound))} of {len(sound)} sound logs accused, {timeouts} called timeout")
    runs_of = {
        "AgentRx retail": [*labelled_retail(folders.agentrx)],
        "AgentRx Magentic-One": [*labelled_magentic(folders.agentrx)],
        "Who&When": [*labelled_relays(folders.who)],
        "Who&When generated": [*labelled_generated(folders.who)],
    }
    every: list[Told] = []
    for name, labelled in runs_of.items():
        pairs = [one for run in labelled if (one := told(run)) is not None]
        every += pairs
        for shape in sorted({one.shape for one in pairs}):
            halves = [[one for one in pairs if one.shape == shape and one.is_even is even] for even in (True, False)]
            counts = ", ".join(f"{sum(one.right for one in half)} of {len(half)}" for half in halves)
            say(f"{name}, {shape}: right (counted half, other half) {counts}")
        named = [one for one in pairs if one.chance >= NAMED_FROM]
        say(
            f"{name}: {len(labelled)} runs, {len(pairs)} with a finding, {len(named)} named, {sum(one.right for one in named)} right"
        )
    for name, pairs in (("all", every), ("other half", [one for one in every if not one.is_even])):
        base = sum(one.right for one in pairs) / len(pairs)
        error, squared = calibration_error(pairs), brier(pairs)
        say(
            f"{name}: {len(pairs)} findings, ECE {error:.3f}, Brier {squared:.4f}, of the base rate {base * (1 - base):.4f}"
        )


if __name__ == "__main__":
    main()
