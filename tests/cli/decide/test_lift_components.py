"""Which component of a plugin helps or harms: what counts as one, what is left out of an arm, and what the budget buys."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import cast

import pytest

from minions_evals_mcp.engine.lift.components import PluginComponent, groups_in
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.lifts import plugin_components
from minions_evals_mcp.interop.lifts.plugin_components import PluginFiles
from minions_evals_mcp.interop.parsing import parse_json
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


def laid(folder: Path) -> PluginFiles:
    """The plugin as it is laid in an arm."""
    return PluginFiles.at(laid_at(folder, AT), AT)


def test_skills_agents_commands_hooks_and_servers_are_components(folder: Path) -> None:
    assert [str(component) for component in laid(folder).components] == NAMED


@pytest.mark.parametrize("name", NAMED)
def test_an_arm_lacks_what_was_left_out_and_nothing_else(folder: Path, name: str) -> None:
    files = laid(folder)
    kept = files.without([one for one in files.components if str(one) == name])
    assert [str(one) for one in PluginFiles.at(kept, AT).components] == [other for other in NAMED if other != name]
    with Workspaces({"v": kept}).opened({}, "v") as workspace:
        again = laid(workspace / "plugin")
        assert [str(one) for one in again.components] == [other for other in NAMED if other != name]
        assert {"plugin/skills/README.md", "plugin/lib/shared.py"} <= {str(file.place) for file, _ in again.parts}
        assert json.loads((workspace / "plugin/hooks/hooks.json").read_text("utf-8"))["description"] == "d"


def test_groups_are_halves_down_to_single_components() -> None:
    a, b, c = (PluginComponent("skill", name) for name in "abc")
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


@pytest.mark.parametrize(
    ("path", "content", "why"),
    [
        (b".mcp.json", b'{"a\xe9": {"command": "x"}}', "cannot be read"),
        (b".mcp.json", b'{"a\\ud800": {"command": "x"}}', "half of a surrogate pair"),
        (b".mcp.json", b'{"a": {"n": 1' + b"0" * 5000 + b"}}", "more than 4,300 digits"),
        (b".mcp.json", b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
        (b"hooks/hooks.json", b"", "no JSON"),
        (b"commands/\xff.md", b"x", "it is not UTF-8"),
        (b"evals/case-0/prompt.md", b"---\nruns: 1\n---\n\xff", "cannot be read"),
    ],
)
def test_a_file_of_a_strangers_plugin_that_cannot_be_read_is_refused_by_name(
    at: Terminal, path: bytes, content: bytes, why: str
) -> None:
    file = os.path.join(os.fsencode(at.folder / plugin(host(at), cases=2)), path)  # noqa: PTH118  bytes that are no text
    os.makedirs(os.path.dirname(file), exist_ok=True)  # noqa: PTH103, PTH120  as above
    with open(file, "wb") as written:  # noqa: PTH123  as above
        written.write(content)
    refused = lift(at, "units", "--components", "4")
    assert (refused.code, why in str(refused.error())) == (2, True), refused.err


def test_a_plugin_of_too_many_components_is_refused_and_many_are_read_once(
    at: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plugin(host(at), cases=2)
    put(at, f"{folder}/.mcp.json", {f"s{number}": {"command": "x"} for number in range(201)})
    refused = lift(at, folder, "--components", "4")
    assert "the plugin has 202 components, and at most 200 can be tried separately" in str(refused.error())
    reads: list[str] = []

    def reading(text: str, path: str) -> object:
        reads.append(path)
        return parse_json(text, path)

    monkeypatch.setattr(plugin_components, "parse_json", reading)
    files = laid(at.folder / folder)
    for component in files.components[:20]:
        assert len(files.without([component])) == len(files.parts) - (component.kind == "skill")
    assert len(reads) <= 2 + 20, "once for its components, and once for each arm that leaves an entry out"


def test_what_a_manifest_names_by_path_is_said_to_be_in_every_arm(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=2)
    named: Json = {"name": "units", "version": "0.1.0", "commands": "./mine", "agents": ["./a.md"]}
    put(at, f"{folder}/.claude-plugin/plugin.json", named)
    notes = cast("list[str]", lift(at, folder, "--components", "4").one()["notes"])
    assert "not tried separately, because the manifest names them by path: ./a.md, ./mine" in notes


def test_names_of_components_bring_no_control_character_to_the_terminal(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=2)
    put(at, f"{folder}/.mcp.json", {"red\x1b[31m\x9b2J": {"command": "x"}})
    ended = at.run("lift", folder, "--target", "claude", "--components", "4")
    assert "MCP server red" in ended.out + ended.err
    assert not {"\x1b", "\x9b"} & set(ended.out + ended.err)
