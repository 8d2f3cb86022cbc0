"""Skills over MCP (SEP-2640), by a client that declares the extension: listed with digests, read, and nothing beside them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
import yaml
from mcp import Client
from mcp.client.extension import ClientExtension
from mcp.shared.exceptions import MCPError

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.resources.skill_files import EXTENSION, MOST_FILES, skill_entry
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.skills import NAMES
from tests.workshop import config_in, opened

USERS = "evaluate-my-change"


class Skills(ClientExtension):
    """A client that knows skills."""

    identifier = EXTENSION


class Listed(types.PaginatedResult, types.CacheableResult):
    """What `skills/list` answers."""

    skills: list[dict[str, Any]]


class Told(types.CacheableResult):
    """What `skills/get` answers."""

    skill: dict[str, Any]


class _Wanted(types.RequestParams):
    uri: str


class _List(types.Request[types.PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: types.PaginatedRequestParams


class _Get(types.Request[_Wanted, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: _Wanted


@asynccontextmanager
async def client(folder: Path) -> AsyncGenerator[Client]:
    """A client of a server on an empty store."""
    server = build_server(ServerSession(lambda: opened(config_in(folder))), ServerOptions())
    async with Client(server, extensions=[Skills()]) as connected:
        yield connected


async def listed(at: Client, cursor: str | None = None) -> Listed:
    return await at.session.send_request(_List(params=types.PaginatedRequestParams(cursor=cursor)), Listed)


async def get(at: Client, uri: str) -> Told:
    return await at.session.send_request(_Get(params=_Wanted(uri=uri)), Told)


def text_of(found: types.ReadResourceResult) -> str:
    (content,) = found.contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


async def test_six_skills_are_listed_with_what_their_files_say_and_hold(tmp_path: Path) -> None:
    async with client(tmp_path) as at:
        found = await listed(at)
        assert {one["frontmatter"]["name"] for one in found.skills} == {*NAMES, USERS}
        for one in found.skills:
            name = one["frontmatter"]["name"]
            assert one["uri"] == f"skill://{name}/SKILL.md"
            (file,) = one["resources"]
            said = text_of(await at.read_resource(file["uri"])).encode()
            assert file == {
                "uri": one["uri"], "digest": f"sha256:{hashlib.sha256(said).hexdigest()}", "size": len(said),
            }  # fmt: skip
            assert one["frontmatter"] == yaml.safe_load(said.decode().split("---\n")[1])
            assert (await get(at, one["uri"])).skill == one


def test_their_front_matter_is_what_agent_skills_allow() -> None:
    for folder in (
        *(shipped_folder("skills") / name for name in NAMES),
        shipped_folder("skills") / "for-users" / USERS,
    ):
        front = skill_entry(folder)["frontmatter"]
        assert isinstance(front, dict)
        assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
        assert re.fullmatch(r"(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)", str(front["name"]))
        assert 1 <= len(str(front["description"])) <= 1024
        metadata = front.get("metadata") or {}
        assert isinstance(metadata, dict)
        assert all(isinstance(value, str) for value in metadata.values())


@pytest.mark.parametrize(
    "uri",
    [
        "skill://run-benchmark/../hard-rules.md",
        "skill://run-benchmark/%2e%2e/hard-rules.md",
        "skill://for-users/evaluate-my-change/SKILL.md",
        "skill://hard-rules.md/SKILL.md",
        "skill://run-benchmark/none.md",
        "skill://run-benchmark//etc/passwd",
    ],
)
async def test_nothing_beside_a_skills_own_files_is_read(tmp_path: Path, uri: str) -> None:
    async with client(tmp_path) as at:
        with pytest.raises(MCPError):
            await at.read_resource(uri)


async def test_a_skill_or_a_page_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    async with client(tmp_path) as at:
        with pytest.raises(MCPError, match="no skill at 'skill://other/SKILL"):
            await get(at, "skill://other/SKILL.md")
        with pytest.raises(MCPError, match="cursor"):
            await listed(at, "next")


def test_a_skill_that_holds_too_much_is_refused_and_links_are_no_part_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "big"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: big\ndescription: d\n---\n", "utf-8")
    (folder / "link.md").symlink_to("/etc/hostname")
    entry = skill_entry(folder)
    assert isinstance(entry["resources"], list)
    assert len(entry["resources"]) == 1
    for number in range(MOST_FILES):
        (folder / f"{number}.txt").write_text("", "utf-8")
    with pytest.raises(Exception, match="over 512 files"):
        skill_entry(folder)


def test_a_skill_with_the_line_ends_of_windows_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "win"
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(b"---\r\nname: win\r\ndescription: d\r\n---\r\n# Win\r\n")
    assert skill_entry(folder)["frontmatter"] == {"name": "win", "description": "d"}
