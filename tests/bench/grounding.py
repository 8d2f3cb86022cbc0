"""How well the rules tell a summary that says what its source does not, against what people marked in FaithBench.

    python -m tests.bench.grounding FOLDER

FOLDER is a checkout of github.com/vectara/FaithBench (CC BY-NC 4.0 in parts): nothing of it is kept here. A source whose SHA-256
is even is for tuning. Beside the rules stand a rule of one line (any new number or capitalised word) and the detectors whose
verdicts the data hold. The intervals are by bootstrap over sources, for the summaries of one source resemble each other.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.grounding import hallucination_signals
from minions_evals_mcp.scoring.failures.material import material
from minions_evals_mcp.scoring.failures.own_words import own_wording
from minions_evals_mcp.scoring.failures.texts import prose, straight

ROUNDS = 2_000
DETECTORS = ("hhemv1", "hhem-2.1", "trueteacher", "true_nli", "gpt-4-turbo", "gpt_4o")
_TOKEN = re.compile(r"\w+(?:[.,]\d+)*")


class Summary(NamedTuple):
    """A summary of a source, how people marked it, and what the recorded detectors say of it."""

    source: str
    text: str
    is_unwanted: bool
    is_questionable: bool
    detected: dict[str, bool]

    @property
    def is_for_tuning(self) -> bool:
        """Whether the source's digest is even."""
        return int(hashlib.sha256(self.source.encode()).hexdigest(), 16) % 2 == 0


def summaries(folder: Path) -> Iterator[Summary]:
    """Every summary of the release."""
    for path in sorted(folder.glob("data_for_release/*.json")):
        for sample in json.loads(path.read_text(encoding="utf-8"))["samples"]:
            labels = {label.partition(".")[0] for mark in sample["annotations"] for label in mark["label"]}
            given = sample["metadata"]
            detected = {name: given[name] is not None and given[name] < 0.5 for name in DETECTORS}
            questionable = not labels.isdisjoint({"Unwanted", "Questionable"})
            yield Summary(sample["source"], sample["summary"], "Unwanted" in labels, questionable, detected)


def by_one_line(summary: Summary) -> bool:
    """Whether the summary has a number or a capitalised word that its source lacks."""
    known = set(_TOKEN.findall(summary.source.lower()))
    return any(
        (word[0].isdigit() or word[0].isupper()) and word.lower() not in known for word in _TOKEN.findall(summary.text)
    )


def by_rules(least: float) -> Callable[[Summary], bool]:
    """Whether the rules find a sign of at least that confidence."""

    def told(summary: Summary) -> bool:
        failed = FailedOutput(
            output={"output": summary.text}, text=summary.text, inputs={"question": "Summarise.", "context": summary.source},
            expected=None, tool_calls=(), has_log=False, timed_out=False, stop_reason=None, wants_json=False, agent_error=None,
            score_fraction=0.0, criteria=(),
        )  # fmt: skip
        return any(signal.confidence >= least for signal in hallucination_signals(failed))

    return told


def by_wording(summary: Summary) -> bool:
    """Whether more than half of the summary's pairs of words stand nowhere in its source."""
    return any(own_wording(straight(prose(summary.text)), [material([summary.source])]))


def balanced(pairs: Sequence[tuple[bool, bool]]) -> float:
    """The mean of the two rates at which (label, told) agree; 0.5 where one label is missing."""
    rates = [[label == told for label, told in pairs if label is one] for one in (True, False)]
    return sum(sum(rate) / len(rate) if rate else 0.5 for rate in rates) / 2


def interval(rows: Sequence[tuple[str, bool, bool, bool]]) -> tuple[float, float]:
    """The 95 % interval of the difference between two rules: rows of source, label, ours, theirs."""
    chance = random.Random(1)  # noqa: S311  a bootstrap
    by_source: dict[str, list[tuple[str, bool, bool, bool]]] = defaultdict(list)
    for row in rows:
        by_source[row[0]].append(row)
    groups = list(by_source.values())
    differences: list[float] = []
    for _ in range(ROUNDS):
        drawn = [row for group in chance.choices(groups, k=len(groups)) for row in group]
        ours = balanced([(label, told) for _, label, told, _ in drawn])
        differences.append(ours - balanced([(label, told) for _, label, _, told in drawn]))
    differences.sort()
    return differences[ROUNDS // 40], differences[-ROUNDS // 40]


def _unwanted(summary: Summary) -> bool:
    return summary.is_unwanted


def _questionable(summary: Summary) -> bool:
    return summary.is_questionable


def main(folder: Path) -> None:
    """Prints the balanced accuracy of every rule and detector on both halves, for both readings of the labels."""
    every = list(summaries(folder))
    rules: dict[str, Callable[[Summary], bool]] = {
        "wording": by_wording, "decides": by_rules(0.5), "any sign": by_rules(0.0),
    }  # fmt: skip
    verdicts = {name: [rule(summary) for summary in every] for name, rule in rules.items()}
    one_line = [by_one_line(summary) for summary in every]
    for half in (True, False):
        at = [place for place, summary in enumerate(every) if summary.is_for_tuning is half]
        for label, marked in (("unwanted", _unwanted), ("or questionable", _questionable)):
            labels = [marked(every[place]) for place in at]
            print(f"{'tuning' if half else 'measured'}: {len(at)} summaries, {sum(labels)} {label}")  # noqa: T201  the figures
            print(f"  one line   {balanced(list(zip(labels, [one_line[place] for place in at], strict=True))):.3f}")  # noqa: T201
            for name, told in verdicts.items():
                rows = [(every[p].source, mark, told[p], one_line[p]) for p, mark in zip(at, labels, strict=True)]
                low, high = interval(rows)
                figure = balanced([(row[1], row[2]) for row in rows])
                print(f"  {name:10} {figure:.3f}, difference from one line {low:+.3f} to {high:+.3f}")  # noqa: T201
            for name in DETECTORS:
                rows = [
                    (every[p].source, m, every[p].detected[name], one_line[p]) for p, m in zip(at, labels, strict=True)
                ]
                low, high = interval(rows)
                figure = balanced([(row[1], row[2]) for row in rows])
                print(f"  {name:14} {figure:.3f}, difference from one line {low:+.3f} to {high:+.3f}")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
