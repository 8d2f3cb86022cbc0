"""A copy of the store, made while others write."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from minions_evals_mcp.errors import ConflictError, StoreError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.private_files import create_private
from minions_evals_mcp.store.connection import Db, connect, translated
from minions_evals_mcp.store.migrate import require_store
from minions_evals_mcp.store.sealed_content import held


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy's size in bytes, and how many sealed cases it holds: a copy of the file holds what no door shows."""

    size: int
    sealed: int
    encrypted: int

    @property
    def warning(self) -> str:
        """Returns what its keeper must know; empty where nothing is sealed."""
        if not self.sealed:
            return ""
        rest = self.sealed - self.encrypted
        how = (
            "all encrypted"
            if not rest
            else f"{rest} in plain text"
            if not self.encrypted
            else f"{rest} of them in plain text"
        )
        return (
            f"it contains {self.sealed} sealed cases ({how}) with their outputs and judgments. Keep it away from everyone who must not see"
            " them"
        )


async def back_up(path: Path, target: Path) -> Copied:
    """Writes a consistent copy and says what it holds; a half-written one never bears the name.

    Raises `ConflictError` where the target exists, `StoreError` where either file cannot be used.
    """
    if await anyio.Path(target).exists():
        raise already_there(target)
    if not await anyio.Path(path).exists():
        raise StoreError(f"no store at {path}.", remedy=f"Name it with {argument('db')}.")
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    connection = connect(path, read_only=True)
    try:
        await connection
        await connection.run(lambda db: require_store(db, path))
        sealed, encrypted = await connection.run(held)
        with translated(target):
            await connection.run(lambda db: _copy(db, half))
            await anyio.to_thread.run_sync(settle, half, target)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()
            half.unlink(missing_ok=True)
    return Copied((await anyio.Path(target).stat()).st_size, sealed, int(encrypted))


def _copy(db: Db, half: Path) -> None:
    create_private(half)  # its owner's only, as the store is
    db.execute("PRAGMA query_only = OFF")  # it forbids the copy too; the file itself is open for reading only
    db.execute("VACUUM INTO ?", (str(half),))


def already_there(target: Path) -> ConflictError:
    """Returns why nothing is written there."""
    return ConflictError(f"{target} already exists.", remedy="Choose another name. Existing files are not overwritten.")


def settle(half: Path, target: Path) -> None:
    """Puts the file under its name, on the disk first; raises `ConflictError` where something bears the name by now."""
    with half.open("rb") as file:
        os.fsync(file.fileno())
    try:
        target.hardlink_to(
            half
        )  # a second name, unlike a renaming, is refused where one is there; who calls removes the first
    except FileExistsError:
        raise already_there(target) from None
    except OSError:  # a file system without second names
        if target.exists():
            raise already_there(target) from None
        half.rename(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
