"""A report into its file, whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

from minions_evals_mcp.bounded_files import vet_no_store
from minions_evals_mcp.errors import BadInputError


async def written(out: Path, pieces: AsyncIterator[str]) -> int:
    """The file's size in bytes, once it stands there whole: nobody ever reads half a report."""
    vet_no_store(out)
    part = out.with_name(f".{out.name[:40]}.{secrets.token_hex(4)}")
    try:
        try:
            with part.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
                async for piece in pieces:
                    file.write(piece)
                size = file.tell()
            part.replace(out)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise BadInputError(
            f"{out} cannot be written: {error.strerror or error}.", remedy="Check the path and its permissions."
        ) from error
    return size
