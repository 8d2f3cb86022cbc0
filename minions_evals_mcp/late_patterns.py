"""Patterns that are compiled when they are first looked for: there are hundreds, of which most runs need a few."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


class _Late:
    """Has what a compiled pattern has, and is compiled by the first look at any of it but `pattern` and `flags`."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The same as `re.compile`, at the first search."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
