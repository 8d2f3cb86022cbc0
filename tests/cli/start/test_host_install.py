"""`mcp install HOST`: the server's entry in a host's settings file, which keeps everything else."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.hosts.json_settings import with_json_entry
from minions_evals_mcp.interop.hosts.table import HOSTS, HostName, StartCommand
from minions_evals_mcp.interop.hosts.toml_settings import with_toml_entry
from tests.shared.cli.standby import Asked
from tests.shared.cli.terminal import Terminal, shown_on_terminal

ENTRY: dict[str, JsonValue] = {
    "command": "/bin/minions-evals-mcp",
    "args": [],
    "env": {"MINIONS_EVALS_DB": '/home/me/a "b".db'},
}
WITH_COMMENTS = """{
    // what I like
    "theme": "dark", /* not "light" */
    "mcpServers": {
        "other": {"command": "o", "args": ["//", "/* no comment */"]}, // mine
    },
    "url": "https://example.org",
}
"""


def plain(text: str, *, is_toml: bool) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", tomllib.loads(text) if is_toml else json.loads(text))


def test_every_host_of_the_documentation_is_here() -> None:
    assert set(get_args(HostName)) == HOSTS.keys()
    assert len(HOSTS) == 8


@pytest.mark.parametrize("host", HOSTS)
def test_each_host_gets_its_entry_after_consent_and_what_was_there_stays(at: Terminal, host: HostName) -> None:
    row = HOSTS[host]
    file = row.file(at.folder, at.folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = (
        '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "o"\n'
        if row.is_toml
        else json.dumps({"a": [1], row.table: {"b": {}}})
    )
    file.write_text(before, "utf-8")
    refused = at.run("mcp", "install", host)
    assert (refused.code, file.read_text("utf-8")) == (2, before)
    assert "--yes" in refused.err
    printed = at.run("mcp", "install", host, "--print")
    assert (printed.code, file.read_text("utf-8")) == (0, before)
    assert row.table in printed.out
    assert "minions-evals-mcp" in printed.out
    written = at.run("mcp", "install", host, "--yes", "--db", "here.db", "--json")
    assert (written.code, written.one()["written"]) == (0, True)
    after = plain(file.read_text("utf-8"), is_toml=row.is_toml)
    servers = after[row.table]
    assert isinstance(servers, dict)
    entry = servers.pop("minions-evals")
    assert isinstance(entry, dict)
    assert after == plain(before, is_toml=row.is_toml)
    assert str(at.folder / "here.db") in json.dumps(entry)
    command = entry["command"]
    program = str(command[0] if isinstance(command, list) else command)
    assert Path(program).is_absolute()
    assert Path(program).exists()
    again = at.run("mcp", "install", host, "--yes", "--db", "here.db", "--json")
    assert again.one()["written"] is False
    moved = at.run("mcp", "install", host, "--yes", "--db", "there.db")
    assert moved.code == 0
    assert file.read_text("utf-8").count("there.db") == 1
    assert "here.db" not in file.read_text("utf-8").replace("there.db", "")


def test_a_missing_file_is_made_for_its_owner_only(at: Terminal) -> None:
    file = at.folder / ".cursor" / "mcp.json"
    assert at.run("mcp", "install", "cursor", "--yes").code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_at_a_terminal_it_shows_the_entry_and_asks(at: Terminal) -> None:
    file = at.folder / ".codex" / "config.toml"
    asked = Asked(["mcp", "install", "codex"], str(at.folder), at.environment)
    shown = shown_on_terminal(asked, "n")
    assert "[mcp_servers.minions-evals]" in shown
    assert "Write it?" in shown
    assert not file.exists()
    shown_on_terminal(asked, "y")
    assert file.exists()


@pytest.mark.parametrize(
    ("host", "text", "why"),
    [
        ("cursor", "[]", "no JSON object"), ("cursor", '{"a": }', "line 1"), ("cursor", '{"mcpServers": []}', "mcpServers is no object"),
        ("cursor", "[" * 100_000, "nested too deeply"), ("cursor", b"\xff\xfe", "decode"), ("codex", "a = ", "TOML"),
        ("codex", "mcp_servers = {minions-evals = {command = 'x'}}", "does not change"), ("codex", "mcp_servers = 3", "no table"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_changed_safely_stays_as_it_is(
    at: Terminal, host: str, text: str | bytes, why: str
) -> None:
    file = at.folder / "settings"
    raw = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(raw)
    refused = at.run("mcp", "install", host, "--file", str(file), "--yes")
    assert refused.code == 2, refused
    assert why in refused.err
    assert "Add this to it yourself" in refused.err
    assert file.read_bytes() == raw


def test_a_link_stays_a_link_and_the_file_keeps_its_rights(at: Terminal) -> None:
    real, link = at.folder / "dotfiles.json", at.folder / ".cursor" / "mcp.json"
    real.write_text("{}", "utf-8")
    real.chmod(0o640)
    link.parent.mkdir()
    link.symlink_to(real)
    assert at.run("mcp", "install", "cursor", "--yes").code == 0
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "minions-evals" in real.read_text("utf-8")


def test_comments_order_and_trailing_commas_stay() -> None:
    after = with_json_entry(WITH_COMMENTS, "mcpServers", "minions-evals", ENTRY)
    lines = after.splitlines()
    assert [line for line in WITH_COMMENTS.splitlines() if line not in lines] == []
    assert with_json_entry(after, "mcpServers", "minions-evals", ENTRY) == after
    other = with_json_entry(after, "mcpServers", "minions-evals", {"command": "new"})
    assert [line for line in WITH_COMMENTS.splitlines() if line not in other.splitlines()] == []
    assert "/bin/minions-evals-mcp" not in other


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
SETTINGS = st.dictionaries(st.text(), VALUES)


@given(
    SETTINGS,
    st.dictionaries(st.sampled_from(["a", "minions-evals"]), SETTINGS),
    st.sampled_from([None, 2, "\t"]),
    st.booleans(),
)
def test_any_json_file_keeps_all_else(
    rest: dict[str, object], servers: dict[str, object], indent: int | str | None, has_table: bool
) -> None:
    before: dict[str, object] = {**rest, **({"mcpServers": servers} if has_table else {})}
    if not isinstance(before.get("mcpServers", {}), dict):
        return
    after = json.loads(with_json_entry(json.dumps(before, indent=indent), "mcpServers", "minions-evals", ENTRY))
    assert after["mcpServers"]["minions-evals"] == ENTRY
    inner = before.get("mcpServers", {})
    assert isinstance(inner, dict)
    assert after == {**before, "mcpServers": {**inner, "minions-evals": ENTRY}}


@pytest.mark.parametrize(
    "text",
    [
        "", 'a = 1\n[mcp_servers.minions-evals]\ncommand = "old"\n[mcp_servers.minions-evals.env]\nA = "b"\n[z]\nq = 1 # c\n',
        '[mcp_servers."minions-evals"] # mine\ncommand = "old"\nargs = [\n  "[z]",\n]\n', "[[list]]\na = 1\n[[list]]\na = 2",
    ],
)  # fmt: skip
def test_a_toml_file_keeps_all_else_or_is_refused(text: str) -> None:
    before = tomllib.loads(text)
    try:
        after = tomllib.loads(with_toml_entry(text, "mcp_servers", "minions-evals", ENTRY))
    except BadInputError as refused:
        assert "does not change" in refused.message
        return
    before.setdefault("mcp_servers", {})["minions-evals"] = ENTRY
    assert after == before


def test_a_start_without_variables_names_none() -> None:
    assert all(
        "env" not in row.entry(StartCommand("/p", {})) and "environment" not in row.entry(StartCommand("/p", {}))
        for row in HOSTS.values()
    )
