"""The rollouts of Codex's sub-agents: files of their own, in the folder of the day on which each began."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.sessions.conversation import plain_text

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST_HEAD = 4 << 20
_A_DAY = timedelta(days=1)


def rollout_of(ident: str, beside: Path) -> Path | None:
    """The file of the session with that id, where it lies with the given one. Links are not followed."""
    if _ID.fullmatch(ident) is None:
        return None
    found = (file for folder in _folders(ident, beside) for file in sorted(folder.glob(f"rollout-*-{ident}.jsonl")))
    return next((file for file in found if not file.is_symlink() and file != beside), None)


def _folders(ident: str, beside: Path) -> Iterator[Path]:
    """Where it can lie: beside the other, or under the day that its id (a UUID of version 7) tells, in any time zone."""
    yield beside.parent
    if not all(part.isdigit() for part in beside.parts[-4:-1]) or len(beside.parts) < 5:
        return
    try:
        began = datetime.fromtimestamp(int(ident.replace("-", "")[:12], 16) / 1000, UTC)
        days = [began + _A_DAY * shift for shift in (-1, 0, 1)]
    except (OverflowError, ValueError):
        return
    for day in days:
        yield beside.parents[3] / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}"


def parent_of(meta: Json) -> str:
    """The session that started the one whose `session_meta` this is; "" where a person did."""
    source: JsonValue = meta.get("source")
    spawned = obj(obj(obj(source).get("subagent")).get("thread_spawn"))
    return plain_text(spawned.get("parent_thread_id"))


def is_sub_agent(file: Path) -> bool:
    """Whether the file is a sub-agent's, whose session lies with it and is read with it."""
    if not file.name.startswith("rollout-") or file.suffix != ".jsonl":
        return False
    try:
        with file.open("rb") as opened:
            first = obj(json.loads(opened.readline(_LONGEST_HEAD)))
    except (OSError, ValueError, RecursionError):
        return False
    parent = parent_of(obj(first.get("payload")))
    return bool(parent) and rollout_of(parent, file) is not None
