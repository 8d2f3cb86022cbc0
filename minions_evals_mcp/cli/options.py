"""What cyclopts is told of a parameter: annotations are texts, so that nothing is made before a command line is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import Parameter


def file_name() -> Parameter:
    """A file's name, or `-` for standard input."""
    from cyclopts import Parameter  # noqa: PLC0415  a quarter of a short command's start

    return Parameter(allow_leading_hyphen=True)


def flag() -> Parameter:
    """A flag that is not turned off by another."""
    from cyclopts import Parameter  # noqa: PLC0415  as above

    return Parameter(negative="")
