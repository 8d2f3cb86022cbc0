"""The person who looks at a page: known to everything that answers one request, and to nothing else."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from minions_evals_mcp.domain.speaker import Role, Speaker

_VISITOR: ContextVar[Speaker | None] = ContextVar("visitor", default=None)


def visitor() -> Speaker | None:
    """The person who signed in and asks; None on a page that this machine's own browser opens with its key."""
    return _VISITOR.get()


def lets_in(person: Speaker) -> None:
    """Has the request be that person's."""
    _VISITOR.set(person)


def may(needed: Role) -> bool:
    """Whether the page offers what needs that role; without sign-in it offers everything."""
    person = visitor()
    return person is None or person.may(needed)


@contextmanager
def nobody() -> Generator[None]:
    """Around a request: nobody is known before its door lets somebody in."""
    kept = _VISITOR.set(None)
    try:
        yield
    finally:
        _VISITOR.reset(kept)
