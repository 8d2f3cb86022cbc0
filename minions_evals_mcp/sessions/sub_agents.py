"""The transcripts of sub-agents that Claude Code keeps in a folder beside the file of their session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.sessions.conversation import count, plain_text
from minions_evals_mcp.sessions.rollouts import is_sub_agent

FOLDER = "subagents"


@dataclass(frozen=True, slots=True)
class SubAgent:
    """One sub-agent: its transcript, the call that started it and how deep it is nested, where that is written down."""

    id: str
    file: Path
    call_id: str
    kind: str
    depth: int


def sub_agents_of(session: Path) -> list[SubAgent]:
    """Those of the session in that file; each comes after the one that started it. Links are not followed."""
    return sorted(_found(session.with_suffix("") / FOLDER), key=lambda one: (one.depth, one.id))


def _found(folder: Path) -> Iterator[SubAgent]:
    for file in folder.glob("agent-*.jsonl"):
        if file.is_symlink():
            continue
        said = _said(file.with_name(f"{file.stem}.meta.json"))
        yield SubAgent(
            file.stem.removeprefix("agent-"), file, plain_text(said.get("toolUseId")), plain_text(said.get("agentType")),
            count(said.get("spawnDepth")) or 1,
        )  # fmt: skip


def _said(about: Path) -> Json:
    """What the program wrote down of a sub-agent; nothing where it cannot be read."""
    if about.is_symlink():
        return {}
    try:
        return obj(json.loads(bounded_files.read_text(about)))
    except (EvalsError, OSError, ValueError, RecursionError):
        return {}


def is_of_a_session(file: Path) -> bool:
    """Whether the file is of a sub-agent whose session lies beside it, and is read with that."""
    folder = file.parent
    is_claudes = folder.name == FOLDER and folder.parent.with_name(f"{folder.parent.name}.jsonl").is_file()
    return is_claudes or is_sub_agent(file)
