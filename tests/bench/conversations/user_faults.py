"""How many faults of a user's player the rules catch, and how many sound conversations they call spoiled.

python -m tests.bench.conversations.user_faults [open|untouched|third|fourth] [--each 40] [--sound 300] [--named]
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from typing import cast

from minions_evals_mcp.domain.conversations import UserFault
from minions_evals_mcp.scoring.conversations.user_checks import user_faults
from minions_evals_mcp.stats.intervals import wilson
from tests.bench.conversations.planted import KINDS, TOOLS, Made, all_planted, sound
from tests.bench.conversations.scenes import Half

LIKE = {"contradicted-fact": {"contradicted-fact", "invented-fact"}}
"""Kinds that count as caught by another name too: either way the conversation has no verdict."""


def faults(made: Made) -> tuple[UserFault, ...]:
    """What the rules say of it."""
    return user_faults(made.setup, made.turns, made.ended, tools=TOOLS)


def is_caught(made: Made) -> bool:
    """Whether the planted fault is found, by its kind."""
    return any(fault.kind in LIKE.get(made.planted, {made.planted}) for fault in faults(made))


def caught(half: Half, each: int) -> dict[str, int]:
    """How many of each kind are caught."""
    counts: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    counts.update(made.planted for made in all_planted(half, each) if is_caught(made))
    return dict(counts)


def false_alarms(half: Half, many: int) -> list[Made]:
    """The sound conversations that the rules call spoiled."""
    return [made for number in range(many) if faults(made := sound(half, number))]


def say(line: str) -> None:
    """A line of the answer."""
    print(line)  # noqa: T201  a command's output


def main() -> None:
    """Says the figures."""
    parser = ArgumentParser()
    parser.add_argument("half", nargs="?", default="fourth", choices=("open", "untouched", "third", "fourth"))
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--sound", type=int, default=300)
    parser.add_argument("--named", action="store_true")
    chosen = parser.parse_args()
    half = cast("Half", chosen.half)
    for kind, count in caught(half, chosen.each).items():
        say(f"{kind:<22} {count:>3} of {chosen.each}  {100 * count / chosen.each:5.1f} %")
    alarms = false_alarms(half, chosen.sound)
    low, high = wilson(len(alarms), chosen.sound) or (0.0, 1.0)
    share = f"{100 * len(alarms) / chosen.sound:.1f} % (95 %: {100 * low:.1f}-{100 * high:.1f} %)"
    say(f"false alarms           {len(alarms):>3} of {chosen.sound}  {share}")
    if chosen.named:
        missed = [made for made in all_planted(half, chosen.each) if not is_caught(made)]
        for made in (*missed, *alarms):
            said = " | ".join(f"{turn.user} > {turn.agent}" for turn in made.turns)
            say(f"- {made.planted or 'sound'} at {made.at}: {said}\n    {[one.sentence for one in faults(made)]}")


if __name__ == "__main__":
    main()
