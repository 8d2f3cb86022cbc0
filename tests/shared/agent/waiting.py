"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.hang import HANG_S


def until(has_come: Callable[[], bool], limit_s: float = HANG_S) -> None:
    """Returns once it holds: another process's work calls nobody here."""
    end = time.monotonic() + limit_s
    while not has_come():
        assert time.monotonic() < end
        time.sleep(0.01)
