"""The table of what commands reach, compared with what each is seen to do."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.cli.access import OWN, access_of
from minions_evals_mcp.engine.seals.seal import unseal
from minions_evals_mcp.operations.table import TABLE, Offer
from minions_evals_mcp.store.connection import open_raw
from tests.reference.pages import every_command
from tests.reference.traced import Traced, traced
from tests.seals.doors import OF_COMMANDS
from tests.seals.story import story
from tests.workshop import config_in, opened

NEVER_SEEN = frozenset({"watch", "view", "demo", "init", "eval", "score", "pick"})


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which everything happened."""
    folder = tmp_path_factory.mktemp("reached")
    anyio.run(_made, folder)
    return folder / "evals.db"


async def _made(folder: Path) -> None:
    await story(folder)
    async with opened(config_in(folder)) as engine:
        await unseal(engine, "b", "so that every command finds something", by="agent")


def contents(path: Path) -> str:
    """A digest of all that the store holds."""
    summed = hashlib.sha256()
    with closing(open_raw(path, read_only=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                summed.update(repr((table, row)).encode())
    return summed.hexdigest()


def strangers(folder: Path, seen: Traced, command: str) -> list[str]:
    """The files that were written beside the store, without Python's own."""
    own = (str(folder / "evals.db"), str(folder / "home"), "/dev/", f"{tempfile.gettempdir()}/")
    if access_of(command).files:
        own += (f"{folder}/",)
    return [
        path
        for path in seen.writes
        if path not in {str(folder), tempfile.gettempdir()} and not path.startswith(own) and "__pycache__" not in path
    ]


@pytest.mark.parametrize("command", sorted(OF_COMMANDS))
def test_a_command_does_what_the_table_says_and_no_more(stored: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "answers.json").write_text(json.dumps({"runId": "run-caller", "judgedBy": "x", "packets": []}))
    row = access_of(command)
    for arguments in OF_COMMANDS[command][:2]:
        shutil.copy(stored, tmp_path / "evals.db")
        for beside in tmp_path.glob("evals.db-*"):
            beside.unlink()
        before = contents(tmp_path / "evals.db")
        seen = traced(tmp_path, *command.split(), *arguments)
        assert seen.code in range(4), seen
        assert strangers(tmp_path, seen, command) == []
        assert [*seen.connects] == [] or row.connects, seen
        assert [*seen.runs] == [] or row.runs, seen
        if row.store != "writes":
            assert contents(tmp_path / "evals.db") == before, f"{command} changed the store"


def test_every_command_has_a_row_and_every_row_a_command() -> None:
    assert set(OWN) <= set(every_command())
    offered = {row.cli.name for row in TABLE.values() if isinstance(row.cli, Offer)}
    assert offered <= set(every_command())
    assert set(every_command()) - set(OF_COMMANDS) >= NEVER_SEEN
