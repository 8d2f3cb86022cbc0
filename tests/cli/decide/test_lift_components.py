"""Which component of a plugin helps or harms: what counts as one, what is left out of an arm, and what the budget buys."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import cast

import pytest

from minions_evals_mcp.engine.lift.components import Component, groups_in
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.lifts.plugin_components import components_of, files_without
from minions_evals_mcp.targets.workspace import Workspaces, laid_at
from tests.cli.decide.test_lift_plugin import host, lift, plugin, put
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.planted_plugins import lifted, planted

AT = PurePosixPath("plugin")
FILES: dict[str, object] = {
    ".claude-plugin/plugin.json": {"name": "p", "mcpServers": {"inline": {"command": "x"}}, "hooks": "./more.json"},
    ".mcp.json": {"flat": {"command": "x"}, "other": {"command": "y"}},
    "hooks/hooks.json": {"description": "d", "hooks": {"Stop": [], "PreToolUse": [{"hooks": []}]}},
    "skills/units/SKILL.md": "s",
    "skills/units/scripts/run.py": "print()",
    "skills/README.md": "no skill",
    "agents/team/reader.md": "a",
    "commands/check.md": "c",
    "commands/data.txt": "no command",
    "lib/shared.py": "x",
}
NAMED = ["skill units", "agent team/reader", "command check", "hook PreToolUse", "hook Stop",
         "MCP server flat", "MCP server inline", "MCP server other"]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return tmp_path


def test_skills_agents_commands_hooks_and_servers_are_components(folder: Path) -> None:
    assert [str(component) for component in components_of(laid_at(folder, AT), AT)] == NAMED


@pytest.mark.parametrize("name", NAMED)
def test_an_arm_lacks_what_was_left_out_and_nothing_else(folder: Path, name: str) -> None:
    files = laid_at(folder, AT)
    kept = files_without(files, AT, [one for one in components_of(files, AT) if str(one) == name])
    assert [str(one) for one in components_of(kept, AT)] == [other for other in NAMED if other != name]
    with Workspaces({"v": kept}).opened({}, "v") as workspace:
        again = laid_at(workspace / "plugin", AT)
        assert [str(one) for one in components_of(again, AT)] == [other for other in NAMED if other != name]
        assert {"plugin/skills/README.md", "plugin/lib/shared.py"} <= {str(file.place) for file in again}
        assert json.loads((workspace / "plugin/hooks/hooks.json").read_text("utf-8"))["description"] == "d"


def test_groups_are_halves_down_to_single_components() -> None:
    a, b, c = (Component("skill", name) for name in "abc")
    assert list(groups_in((a, b, c))) == [(a,), (b, c), (b,), (c,)]


async def test_a_budget_for_some_arms_halves_the_components_until_one_is_left() -> None:
    plugin = planted("one helps", 8, changed=1.0, noise=0)
    found = await lifted(plugin, cases=14, outputs=4 * 14 + 13)
    assert found.verdict == "helps", found.in_words
    assert plugin.is_found(found), found.components
    assert sorted(len(one.components) for one in found.components) == [1, 2, 2], "one half was opened"


async def test_a_budget_that_tells_no_two_components_apart_is_refused_before_anything_runs() -> None:
    with pytest.raises(BadInputError, match="31 outputs tell no two components apart: an arm of 16 cases") as refused:
        await lifted(planted("nothing", 0), cases=16, outputs=31)
    assert "Give 32 to try each half of the 5 components, 80 to try each component" in str(refused.value)


def test_the_component_is_said_in_words_and_json(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=3)
    ended = lift(at, folder, "--components", "1")
    assert ended.code == 0, ended.err
    (only,) = cast("list[Json]", ended.one()["components"])
    assert only["components"] == ["skill answers"]
    put(at, "rules.md", "x")
    refused = at.run("lift", "rules.md", "--components", "9", "--target", "claude", "--json")
    assert refused.code == 2
    assert "--components needs the folder of a plugin with its own cases" in str(refused.error())
