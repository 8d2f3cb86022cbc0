"""Plugins whose effect is planted, a scripted host that loads them, and what `lift` finds.

A table tells for each component which cases it makes right or wrong. The host is a program that is started for each output. It
looks which components the plugin in its workspace has, and flips some answers by case and components, as a
model does that is asked again.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from minions_evals_mcp.engine.context import EngineConfig, open_engine, wall_clock
from minions_evals_mcp.engine.lift.result import LiftResult
from minions_evals_mcp.engine.lift.run_lift import run_lift
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.interop.lifts.lift_file import LiftRequest, lift_plan
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.targets.coding_agents.host_commands import host_command
from minions_evals_mcp.targets.own import OwnTarget

CHANGED, NOISE = 0.75, 0.06
"""Of the cases that a component can change, half of all, how many it does (two that help share them); and the answers that flip."""
HOST = r"""#!/bin/bash
read -r asked
number=${asked##*case }; number=${number%%[^0-9]*}
while [ "$1" != --plugin-dir ]; do shift; done
cd "$2"
all=(skills/*/ agents/*.md commands/*.md)
has="${all[*]} $(< hooks/hooks.json) $(< .mcp.json)"
read -r none < TABLES/alone
answer=${none:number:1}
for table in TABLES/of/*; do
  { read -r key; read -r does; } < "$table"
  [[ $has == *$key* && ${does:number:1} != . ]] && answer=${does:number:1}
done
RANDOM=$((SEED * 7919 + number * 104729 + ${#has} * 1299709))
drawn=$RANDOM$RANDOM
[ $((10#$drawn % 100)) -lt NOISE ] && answer=$((1 - answer))
[ "$answer" = 1 ] && said=right || said=wrong
echo '{"type": "system", "subtype": "init", "model": "m", "tools": [], "session_id": "s"}'
echo '{"type": "assistant", "session_id": "s", "message": {"id": "m", "type": "message", "content": [{"type": "text", "text": "'$said'"}]}}'
"""
KINDS = ("helps", "one helps", "nothing", "harmful")


@dataclass(frozen=True)
class PlantedPlugin:
    """A plugin: its components, and those that are planted to help or to harm."""

    kind: str
    seed: int
    components: Sequence[str]
    helps: frozenset[str]
    harms: frozenset[str]
    changed: float = CHANGED
    noise: float = NOISE

    def is_wrong(self, found: LiftResult) -> bool:
        """Whether the verdict on the whole is not what was planted; nothing planted must not be told from nothing."""
        if self.kind == "nothing":
            return found.verdict in {"helps", "harmful"}
        return found.verdict != ("harmful" if self.harms else "helps")

    def is_found(self, found: LiftResult) -> bool:
        """Whether the components that help and harm are those that were planted, each told apart from the others."""
        told = {verdict: {one.components for one in found.components if one.verdict == verdict} for verdict in SURE}
        return told == {"helps": {(name,) for name in self.helps}, "harmful": {(name,) for name in self.harms}}


SURE = ("helps", "harmful")
NAMES = {"skill": "answers", "agent": "reader", "command": "check", "hook": "Stop", "MCP server": "tools"}


def planted(kind: str, seed: int, number: int = 5, *, changed: float = CHANGED, noise: float = NOISE) -> PlantedPlugin:
    """A plugin of that kind with so many components, which change that share of the cases that they can change."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311  a simulation
    kinds = list(NAMES)
    components = [f"{kinds[at % 5]} {NAMES[kinds[at % 5]]}{at}" for at in range(number)]
    one, other = draw.sample(components, 2)
    helps = {"helps": {one, other}, "one helps": {one}}.get(kind, set[str]())
    harms = {one} if kind == "harmful" else set[str]()
    return PlantedPlugin(kind, seed, components, frozenset(helps), frozenset(harms), changed, noise)


def _key(component: str) -> str:
    """What the host finds in the workspace where the component is there."""
    kind, name = component.rsplit(" ", 1)
    files = {"skill": f"skills/{name}/", "agent": f"agents/{name}.md", "command": f"commands/{name}.md"}
    return files.get(kind, f'"{name}"')


def _write(folder: Path, plugin: PlantedPlugin, cases: int) -> None:
    """Writes the plugin with its cases, and the tables that the host reads."""
    files: dict[str, str] = {".claude-plugin/plugin.json": json.dumps({"name": "planted"}), "lib/shared.py": "print()"}
    hooks, servers = dict[str, object](), dict[str, object]()
    for component in plugin.components:
        kind, name = component.rsplit(" ", 1)
        if kind == "skill":
            files[f"skills/{name}/SKILL.md"] = f"---\nname: {name}\ndescription: {name}.\n---\nAnswer.\n"
        elif kind == "hook":
            hooks[name] = [{"hooks": [{"type": "command", "command": "true"}]}]
        elif kind == "MCP server":
            servers[name] = {"command": "true"}
        else:
            files[_key(component)] = "---\ndescription: x\n---\n"
    files["hooks/hooks.json"] = json.dumps({"hooks": hooks})
    files[".mcp.json"] = json.dumps({"mcpServers": servers})
    for number in range(cases):
        files[f"evals/c{number}/prompt.md"] = f"---\nruns: 1\n---\ncase {number}"
        files[f"evals/c{number}/graders/right.md"] = "---\ntype: regex\npattern: right\n---\n"
    for path, content in files.items():
        (folder / "plugin" / path).parent.mkdir(parents=True, exist_ok=True)
        _ = (folder / "plugin" / path).write_text(content, "utf-8")
    draw = random.Random(f"{plugin.kind} {plugin.seed} tables")  # noqa: S311  a simulation
    (folder / "tables" / "of").mkdir(parents=True)
    right = set(draw.sample(range(cases), cases // 2))
    _ = (folder / "tables" / "alone").write_text("".join("01"[at in right] for at in range(cases)) + "\n", "utf-8")
    to = "0" if plugin.harms else "1"
    changeable = sorted(right if plugin.harms else set(range(cases)) - right)
    draw.shuffle(changeable)
    planted_ones = sorted(plugin.helps | plugin.harms)
    for number, component in enumerate(planted_ones):
        moved = changeable[number :: len(planted_ones)]
        moved = moved[: round(len(moved) * (plugin.changed if len(planted_ones) == 1 else 1))]
        does = "".join(to if at in moved else "." for at in range(cases))
        _ = (folder / "tables" / "of" / str(number)).write_text(f"{_key(component)}\n{does}\n", "utf-8")
    host = folder / "claude"
    said = {"TABLES": str(folder / "tables"), "SEED": str(plugin.seed), "NOISE": str(round(100 * plugin.noise))}
    _ = host.write_text(reduce(lambda text, name: text.replace(name, said[name]), said, HOST), "utf-8")
    host.chmod(0o755)


async def lifted(plugin: PlantedPlugin, *, cases: int, outputs: int | None) -> LiftResult:
    """The lift of that plugin in a store of its own, by component within so many outputs more."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _write(folder, plugin, cases)
        plan = lift_plan(LiftRequest(subject=str(folder / "plugin"), components=outputs), at=wall_clock())
        command = host_command("claude", plugin="plugin")
        assert command is not None
        target = command.model_copy(update={"run": (str(folder / "claude"), *command.run[1:])})
        config = EngineConfig(
            db=folder / "evals.db",
            skills=shipped_folder("skills"),
            own_target=OwnTarget(target, workspaces=plan.workspaces()),
        )
        async with open_engine(config) as engine:
            found = await run_lift(engine, plan, RunRequest(subject_id=plan.subject_id, target=target.name))
        assert found is not None
        return found
