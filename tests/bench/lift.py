"""Whether `lift` tells help from none: python -m tests.bench.lift [lifts of each kind] [kinds…]

Each lift starts in a store of its own. A scripted agent answers 80 cases right or wrong, as a table says that is drawn by lot
for the lift: without the subject each case is right with a chance of 60 %. Help: with it, a case that was wrong becomes
right so often that 20 % of all are gained, and 4 % of all are lost. Nothing: 8 % are gained and 8 % lost. Harm: the help
turned round. The agent is a program that is started for every output in a fresh workspace and looks whether the subject is
there, as a user's would.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import anyio
from pydantic import JsonValue

from minions_evals_mcp.engine.context import EngineConfig, open_engine, wall_clock
from minions_evals_mcp.engine.lift.result import LiftVerdict
from minions_evals_mcp.engine.lift.run_lift import run_lift
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.interop.lifts.lift_file import LiftRequest, lift_plan
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.targets.command import CommandSettings
from minions_evals_mcp.targets.own import OwnTarget

LIFTS, CASES, RIGHT = 100, 80, 0.6
KINDS: Mapping[str, tuple[float, float]] = {"help": (0.20, 0.04), "nothing": (0.08, 0.08), "harm": (0.04, 0.20)}
"""The shares of all cases that are gained and lost."""
NEEDED: Mapping[str, tuple[LiftVerdict, float]] = {"help": ("helps", 0.8), "harm": ("harmful", 0.8)}
WRONG_OF_NOTHING = 0.10
AGENT = r"""
read -r asked
number=${asked##*case }; number=${number%%[^0-9]*}
row=without; [ -f AGENTS.md ] && row=with
table=$(cat "$1/$row")
[ "${table:$number:1}" = 1 ] && echo right || echo wrong
"""


def drawn(kind: str, seed: int) -> tuple[str, str]:
    """Which cases are right without the subject, and with it."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311  a simulation
    gained, lost = KINDS[kind]
    without = [draw.random() < RIGHT for _ in range(CASES)]
    with_ = [draw.random() >= lost / RIGHT if was else draw.random() < gained / (1 - RIGHT) for was in without]
    return "".join(map(str, map(int, without))), "".join(map(str, map(int, with_)))


async def verdict(kind: str, seed: int) -> LiftVerdict:
    """The verdict of one lift from an empty store."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        without, with_ = drawn(kind, seed)
        _ = (folder / "without").write_text(without, "utf-8"), (folder / "with").write_text(with_, "utf-8")
        (folder / "AGENTS.md").write_text("Be right.", "utf-8")
        evals: list[JsonValue] = [
            {"id": one, "prompt": f"case {one}", "assertions": [{"type": "equals", "value": "right"}]}
            for one in range(CASES)
        ]
        (folder / "evals.json").write_text(json.dumps(evals), "utf-8")
        asked = LiftRequest(subject=str(folder / "AGENTS.md"), cases=str(folder / "evals.json"), name="rules")
        plan = lift_plan(asked, at=wall_clock())
        target = CommandSettings(run=("bash", "-c", AGENT, "agent", str(folder)))
        config = EngineConfig(
            db=folder / "evals.db",
            skills=shipped_folder("skills"),
            own_target=OwnTarget(target, workspaces=plan.workspaces()),
        )
        async with open_engine(config) as engine:
            found = await run_lift(engine, plan, RunRequest(subject_id=plan.subject_id, target=target.name))
        assert found is not None
        assert found.verdict is not None
        return found.verdict


async def main(lifts: int, *kinds: str) -> bool:
    """Prints the verdicts of each kind; whether they are as they should be."""
    holds = True
    for kind in kinds or KINDS:
        counted = Counter[str]()
        for seed in range(lifts):
            counted[await verdict(kind, seed)] += 1
        if kind in NEEDED:
            wanted, share = NEEDED[kind]
            fits = counted[wanted] >= share * lifts
        else:
            fits = counted["helps"] + counted["harmful"] <= WRONG_OF_NOTHING * lifts
        holds = holds and fits
        sys.stdout.write(f"{kind:8} {dict(counted)} of {lifts}: {'holds' if fits else 'DOES NOT HOLD'}\n")
        sys.stdout.flush()
    return holds


if __name__ == "__main__":
    sys.exit(0 if anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else LIFTS, *sys.argv[2:]) else 1)
