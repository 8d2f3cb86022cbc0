"""Skills over MCP (SEP-2640): the skills as the files that they are, listed with digests and read at `skill://NAME/FILE`."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio.to_thread
import yaml
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams, RequestParams
from pydantic import Field, JsonValue, TypeAdapter

from minions_evals_mcp.server.edge.guard import EvalsServer
from minions_evals_mcp.skills.front_matter import closing_line

EXTENSION = "io.modelcontextprotocol/skills"
SKILL_FILE = "SKILL.md"
FILES = "skill://{name}/{+path}"
FOR_USERS = "for-users"
"""Where in the folder of skills those stand that are for whoever uses Minions Evals; the others are what it follows itself."""
MOST_FILES, MOST_BYTES = 512, 16 * 1024**2
"""What one skill may hold, by the extension."""
PAGE = 50
FRESH_MS = 60_000
Json = dict[str, JsonValue]
_FRONT: TypeAdapter[Json] = TypeAdapter(Json)


class _Wanted(RequestParams):
    uri: str = Field(min_length=1, max_length=500)


def skill_folders(root: Path) -> dict[str, Path]:
    """The folders of the skills by name."""
    files = [*root.glob(f"*/{SKILL_FILE}"), *(root / FOR_USERS).glob(f"*/{SKILL_FILE}")]
    return {path.parent.name: path.parent for path in sorted(files)}


def skill_entry(folder: Path) -> Json:
    """A skill as the extension lists it: its front matter as it stands, each file with its digest and size.

    Raises `ResourceError` for a skill that is larger than the extension allows.
    """
    files = _files(folder)
    held = {path: path.read_bytes() for path in files}
    if len(held) > MOST_FILES or sum(map(len, held.values())) > MOST_BYTES:
        raise ResourceError(f"the skill {folder.name} holds over {MOST_FILES} files or {MOST_BYTES} bytes")
    return {
        "uri": address(folder, folder / SKILL_FILE),
        "frontmatter": _front_matter(held[folder / SKILL_FILE].decode("utf-8-sig")),
        "resources": [
            {
                "uri": address(folder, path),
                "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
                "size": len(content),
            }
            for path, content in held.items()
        ],
    }


def address(folder: Path, path: Path) -> str:
    """Returns where a file of a skill is read."""
    return f"skill://{folder.name}/{quote(path.relative_to(folder).as_posix())}"


def _files(folder: Path) -> list[Path]:
    """The files of a skill; links are no part of it, for they may lead out of it."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def _front_matter(text: str) -> Json:
    lines = text.splitlines()
    return _FRONT.validate_python(yaml.safe_load("\n".join(lines[1 : closing_line(lines)])))


class SkillFiles(Extension):
    """Lists the skills for clients that take them from a server."""

    identifier = EXTENSION

    def __init__(self, root: Callable[[], Awaitable[Path]]) -> None:
        self._root = root

    def methods(self) -> Sequence[MethodBinding]:
        """The two requests about skills; their files are read as resources."""
        modern = frozenset({"2026-07-28"})
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list, modern),
            MethodBinding("skills/get", _Wanted, self._get, modern),
        )

    async def _list(self, ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> HandlerResult:
        del ctx
        begin = params.cursor or "0"
        if not begin.isdecimal():
            raise MCPError(INVALID_PARAMS, f"cursor: {begin!r} is not valid")
        at = int(begin)
        folders = [*skill_folders(await self._root()).values()]
        entries = [await anyio.to_thread.run_sync(skill_entry, folder) for folder in folders[at : at + PAGE]]
        more: Json = {"nextCursor": str(at + PAGE)} if len(folders) > at + PAGE else {}
        return {"resultType": "complete", "skills": entries, "ttlMs": FRESH_MS, "cacheScope": "private", **more}

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: _Wanted) -> HandlerResult:
        del ctx
        for folder in skill_folders(await self._root()).values():
            if params.uri == address(folder, folder / SKILL_FILE):
                entry = await anyio.to_thread.run_sync(skill_entry, folder)
                return {"resultType": "complete", "skill": entry, "ttlMs": FRESH_MS, "cacheScope": "private"}
        raise MCPError(INVALID_PARAMS, f"no skill at {params.uri!r}; skills/list shows all")


def register_skill_files(server: EvalsServer, root: Callable[[], Awaitable[Path]]) -> None:
    """Offers the files of the skills; what leads out of a skill's folder is no file of it."""

    @server.resource(
        FILES, name="skill-file", mime_type="text/markdown", description="A file of a skill (skills/list)."
    )
    async def skill_file(name: str, path: str) -> str | bytes:
        folder = skill_folders(await root()).get(name)
        wanted = None if folder is None else next((file for file in _files(folder) if file == folder / path), None)
        if wanted is None:
            raise ResourceNotFoundError(f"no file {path!r} in a skill {name!r}; skills/list names all")
        held = await anyio.Path(wanted).read_bytes()
        try:
            return held.decode()
        except UnicodeDecodeError:
            return held

    _ = skill_file
