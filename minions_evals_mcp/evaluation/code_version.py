"""The version of the user's code that ran: its commit, and a digest of its source and of what that reaches."""

from __future__ import annotations

import inspect
import shutil
import subprocess
from functools import cache, partial
from pathlib import Path
from types import CodeType

from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.evaluation.reached_code import DIGITS, code_text, reached_sources, source_text
from minions_evals_mcp.sandbox.child_environment import child_environment

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
    source = source_text(inner)
    if source is not None:
        return source
    code = getattr(inner, "__code__", None)
    return code_text(code) if isinstance(code, CodeType) else repr(getattr(inner, "__qualname__", inner))


def whole_source(function: object) -> str:
    """The function's source, and after it that of everything of the user's own code that it reaches."""
    own = source_of(function)
    return "\n\n".join([own, *(source for source in reached_sources(function) if source != own)])


def source_digest(source: str) -> str:
    """The digest that a version is named by."""
    return text_digest(source)[:DIGITS]


def version_label(function: object, source: str) -> str:
    """The version that an evaluation is kept under where none is named: commit and source, or the source alone."""
    commit = _commit(_folder(function))
    digest = source_digest(source)
    return f"{commit}-{digest}" if commit else digest


def _folder(function: object) -> Path:
    try:
        source_file = inspect.getsourcefile(inspect.unwrap(function))  # pyright: ignore[reportArgumentType]  refused below where it is no function
    except TypeError:
        source_file = None
    file = Path(source_file or "")
    return file.parent if source_file and file.is_file() else Path.cwd()


@cache
def _commit(folder: Path) -> str:
    """The commit that is checked out there, shortened; empty where there is none."""
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        ended = subprocess.run(  # noqa: S603  a fixed command
            [git, "rev-parse", "--short=7", "HEAD"],
            cwd=folder,
            capture_output=True,
            timeout=GIT_S,
            check=False,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.decode().strip() if ended.returncode == 0 else ""
