"""Targets that workers of a cluster call."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pydantic import JsonValue

NAP = "NAP_S"
"""The variable that says how long a nap is; else 50 ms."""
CALLS = "NAPS_FILE"
"""The variable that names a file in which each call is noted as it begins, and as it ends."""
GATE = "NAPS_GATE"
"""The variable that names a file: while it is there, only calls end that stand in it, by case or by process."""


def nap(inputs: dict[str, JsonValue]) -> str:
    """Sleeps a little, and says good to all but every fifth."""
    time.sleep(float(os.environ.get(NAP, "0.05")))  # noqa: TID251  a user's target, not ours
    return _said(inputs)


def noted_nap(inputs: dict[str, JsonValue]) -> str:
    """The same; where a file is named for it, the call is written down with this process, whatever becomes of that."""
    name = str(inputs["q"])
    _note(name, "inf")
    said = nap(inputs)
    while not _may_end(name):
        time.sleep(0.02)
    _note(name, str(time.time()))
    return said


def _note(name: str, end: str) -> None:
    path = os.environ.get(CALLS)  # noqa: TID251  a user's target, not ours
    if path is None:
        return
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{name} {os.getpid()} {end}\n".encode())
    finally:
        os.close(file)


def _may_end(name: str) -> bool:
    gate = os.environ.get(GATE)  # noqa: TID251  as above
    if gate is None:
        return True
    try:
        return not {name, str(os.getpid())}.isdisjoint(Path(gate).read_text().split())
    except FileNotFoundError:
        return True


def _said(inputs: dict[str, JsonValue]) -> str:
    return "bad" if str(inputs["q"]).endswith(("3", "8")) else "good"


def talks(message: str, session: dict[str, list[str]]) -> str:
    """What was said so far in this conversation."""
    told = session.setdefault("told", [])
    told.append(message)
    return f"{len(told)}: {' '.join(told)}"
