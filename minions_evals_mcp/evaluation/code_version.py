"""Which version of the user's code ran: its commit, and a digest of the source that was evaluated."""

from __future__ import annotations

import inspect
import shutil
import subprocess
from functools import cache, partial
from pathlib import Path
from types import CodeType

from minions_evals_mcp.domain.digests import text_digest

DIGITS = 8
GIT_S = 5.0


def source_of(function: object) -> str:
    """The source of the function, or of the type whose object it is; without one, what its code consists of."""
    inner: object = inspect.unwrap(function) if callable(function) else function
    if isinstance(inner, partial):
        return f"{source_of(inner.func)}\n# called with {inner.args!r} {sorted(inner.keywords.items())!r}"  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  any partial
    if inspect.ismethod(inner):
        inner = type(inner.__self__) if not isinstance(inner.__self__, type) else inner.__self__
    elif not inspect.isroutine(inner) and not isinstance(inner, type):
        inner = type(inner)
    try:
        return inspect.getsource(inner)  # pyright: ignore[reportArgumentType]  a function, method or type
    except (OSError, TypeError):
        code = getattr(inner, "__code__", None)
        return _described(code) if isinstance(code, CodeType) else repr(getattr(inner, "__qualname__", inner))


def _described(code: CodeType) -> str:
    inner = [_described(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return f"{code.co_name} {code.co_names} {inner} {code.co_code.hex()}"


def source_digest(function: object) -> str:
    """The digest of the function's source."""
    return text_digest(source_of(function))[:DIGITS]


def version_label(function: object) -> str:
    """The version that an evaluation is kept under where none is named: commit and source, or the source alone."""
    commit = _commit(_folder(function))
    digest = source_digest(function)
    return f"{commit}-{digest}" if commit else digest


def _folder(function: object) -> Path:
    try:
        found = inspect.getsourcefile(inspect.unwrap(function))  # pyright: ignore[reportArgumentType]  refused below where it is no function
    except TypeError:
        found = None
    file = Path(found or "")
    return file.parent if found and file.is_file() else Path.cwd()


@cache
def _commit(folder: Path) -> str:
    """The commit that is checked out there, shortened; empty where there is none."""
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        ended = subprocess.run(  # noqa: S603  a fixed command
            [git, "rev-parse", "--short=7", "HEAD"], cwd=folder, capture_output=True, timeout=GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.decode().strip() if ended.returncode == 0 else ""
