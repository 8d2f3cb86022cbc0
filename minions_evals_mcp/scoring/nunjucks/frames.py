"""The look-up of a name in a template: the loops and macros around it, then the template's variables."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from minions_evals_mcp.scoring.nunjucks.values import UNDEFINED

_ABSENT = object()
"""No frame has the name; one may have it for nothing."""


class ScopeFrame:
    """The names of one loop or macro. A `set` changes the nearest frame that has the name, but none outside an isolated one."""

    __slots__ = ("around", "isolated", "values")

    def __init__(self, around: ScopeFrame | None = None, *, isolated: bool = False) -> None:
        self.values: dict[str, object] = {}
        self.around = around
        self.isolated = isolated

    def lookup(self, name: str) -> object:
        """Returns what the name stands for here or around here."""
        frame: ScopeFrame | None = self
        while frame is not None:
            if name in frame.values:
                return frame.values[name]
            frame = frame.around
        return _ABSENT

    def assign(self, name: str, value: object) -> None:
        """Gives the name that value where it stands already, else here."""
        frame: ScopeFrame | None = self
        while frame is not None:
            if frame.values.get(name, UNDEFINED) is not UNDEFINED:
                frame.values[name] = value
                return
            frame = None if frame.isolated else frame.around
        self.values[name] = value


class Scope:
    """The names of one rendering: `frame` is the innermost."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = dict(variables)
        self._top = self.frame = ScopeFrame()

    def lookup(self, name: str) -> object:
        """Returns what the name stands for."""
        value = self.frame.lookup(name)
        return self._variables.get(name, UNDEFINED) if value is _ABSENT else value

    def assign(self, name: str, value: object) -> None:
        """Sets a name as `set` does; outside of loops and macros, macros see it, too."""
        self.frame.assign(name, value)
        if self.frame is self._top:
            self._variables[name] = value

    def define(self, name: str, value: object) -> None:
        """Names a macro."""
        if self.frame is self._top:
            self._variables[name] = value
        else:
            self.frame.values[name] = value

    @contextmanager
    def within(self, frame: ScopeFrame) -> Generator[ScopeFrame]:
        """The frame is the innermost meanwhile."""
        outer, self.frame = self.frame, frame
        try:
            yield frame
        finally:
            self.frame = outer
