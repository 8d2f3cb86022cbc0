"""Targets that workers of a cluster call."""

from __future__ import annotations

import os
import time

from pydantic import JsonValue

NAP = "NAP_S"
"""The variable that says how long a nap is; else 50 ms."""
CALLS = "NAPS_FILE"
"""The variable that names a file in which each call is noted, as it begins."""
ENDS = ".ends"
"""Follows its name in that of the file that says who made which call, and when it ended: at `inf` while it has not."""


def nap(inputs: dict[str, JsonValue]) -> str:
    """Sleeps a little, and says good to all but every fifth."""
    time.sleep(float(os.environ.get(NAP, "0.05")))  # noqa: TID251  a user's target, not ours
    return _said(inputs)


def noted_nap(inputs: dict[str, JsonValue]) -> str:
    """The same; the call is written down, whatever becomes of this process, and its end beside it with this process and the time."""
    calls = os.environ[CALLS]  # noqa: TID251  a user's target, not ours
    _note(calls, f"{inputs['q']}")
    _note(f"{calls}{ENDS}", f"{inputs['q']} {os.getpid()} inf")
    said = nap(inputs)
    _note(f"{calls}{ENDS}", f"{inputs['q']} {os.getpid()} {time.time()}")
    return said


def deadly_nap(inputs: dict[str, JsonValue]) -> str:
    """The same; one case takes the whole process down with it."""
    if inputs["q"] == "c7":
        os._exit(1)
    return noted_nap(inputs)


def _note(path: str, line: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def _said(inputs: dict[str, JsonValue]) -> str:
    return "bad" if str(inputs["q"]).endswith(("3", "8")) else "good"
