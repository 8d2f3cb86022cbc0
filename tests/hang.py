"""When a test says that something hangs: late enough for a machine under load, for it times nothing."""

from __future__ import annotations

HANG_S = 300
