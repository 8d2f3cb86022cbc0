"""What mocked tools act on beside JSON: a database and a folder of files, in each unit a copy of its own.

Both follow from the journal, too: its entries say what they changed. A change is written once its entry is in the journal. What
a killed process had journalled and not written is written by whoever comes next.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp import bounded_files
from minions_evals_mcp.confined_paths import (
    confined_path,
    copy_confined,
    is_free,
    opened_confined,
    remove_confined,
    write_confined,
)
from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.querying.queries import filled
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.domain.worlds import DatabaseState, FolderState, MockRule
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store.worlds.databases import FILE_HEAD, MAX_BYTES, SqlError, WorldDatabase, bound, opened
from minions_evals_mcp.world.calls import CallAnswer, SqlRun

DATABASE, FILES, WRITTEN = "state.sqlite", "files", "files.written"
MAX_FILES, MAX_FILE, MAX_KEPT = 1000, 1_000_000, 1_000_000
"""How many files a folder may hold, how long one may be that a tool reads or writes, and how much of all of them is kept."""


class RefusedChangeError(Exception):
    """What the agent asks for is not possible: a path leads out of the folder, or a constraint of the database forbids it."""


class ChangeError(Exception):
    """A change that the state does not allow, such as one below a key that is not there."""


class Holdings:
    """The database and the folder of one unit. What a call does is pending until `commit`."""

    def __init__(self, folder: Path, world: World) -> None:
        self._folder = folder
        self._has_files = world.folder is not None
        self._has_database = world.database is not None
        self._database: WorldDatabase | None = None
        self._began = False
        self._runs: list[SqlRun] = []
        self._pending: dict[str, str | None] = {}
        self._earlier: Sequence[CallAnswer] = ()
        self._before, self._saved = (self._runs, self._pending), False

    @property
    def files(self) -> Path | None:
        """The folder of files, if the world has one."""
        return self._folder / FILES if self._has_files else None

    @property
    def database(self) -> Path | None:
        """The database's file, if the world has one."""
        return self._folder / DATABASE if self._has_database else None

    @property
    def has_changed(self) -> bool:
        """Whether the call changed something."""
        return bool(self._runs or self._pending)

    def take_turn(self, earlier: Sequence[CallAnswer]) -> None:
        """Begins with a call, after those answers."""
        self._earlier = earlier
        self._runs, self._pending = [], {}
        self._before, self._saved = (self._runs, self._pending), False

    def seen_before(self, rule: MockRule, data: Json) -> Json:
        """What `when` sees of database and folder."""
        seen: Json = {}
        if rule.select is not None:
            rows, _ = self._asked(rule.select, data, reads=True)
            seen["rows"] = [*rows]
        if self._has_files:
            self._catch_up_files()
            seen["files"] = [*self._paths()]
        if rule.file is not None:
            seen["file"] = self._read(_path(rule.file, data))
        return seen

    def changed_by(self, rule: MockRule, data: Json) -> Json:
        """Does what the rule says, and tells what its result sees of that; where it cannot be done whole, `take_back` follows."""
        seen: Json = {}
        self._before, self._saved = (self._runs, self._pending), False
        if rule.sql:
            rows, changed = self._changed(rule.sql, data)
            seen = {"rows": [*rows], "changed": changed} if rows or "rows" not in data else {"changed": changed}
        if rule.writes:
            pending = {**self._pending}
            for change in rule.writes:
                path = _path(change.path, {**data, **seen})
                if not is_free(self._folder / FILES, PurePosixPath(path)):
                    raise RefusedChangeError(f"{path} cannot be a file: a folder or a link is in the way")
                text = filled(change.content, {**data, **seen})
                text = text if isinstance(text, str) else "" if text is None else canonical(text)
                before = pending[path] if path in pending else self._read(path) if change.op == "append" else None
                pending[path] = (
                    None if change.op == "remove" else (before or "") + text if change.op == "append" else text
                )
                if len((pending[path] or "").encode()) > MAX_FILE:
                    raise RefusedChangeError(f"{path} would be longer than {MAX_FILE} bytes")
            if len({*self._paths(), *pending}) > MAX_FILES:
                raise RefusedChangeError(f"the folder would have more than {MAX_FILES} files")
            self._pending = pending
        return seen

    def take_back(self) -> None:
        """Forgets what the last rule did."""
        (self._runs, self._pending), was_saved = self._before, self._saved
        if was_saved:
            self._opened().undo()

    def told(self, answer: CallAnswer) -> CallAnswer:
        """The answer with what the call changed."""
        if not self.has_changed:
            return answer
        return answer.model_copy(update={"sql": tuple(self._runs), "files": self._pending})

    def commit(self, entries: int) -> None:
        """Writes what is pending; the journal has so many entries."""
        if self._pending:
            self._write(self._pending)
            (self._folder / WRITTEN).write_text(str(entries), "utf-8")
        if self._began:
            self._resume()
            self._opened().commit(entries)
            self._began = False

    def _resume(self) -> None:
        """Begins again where an error of a statement ended the transaction, with what was done in it before."""
        if self._opened().is_in_transaction:
            return
        self._began = False
        self._begin()
        for run in self._runs:
            self._opened().run(run.statement, run.values, reads=False)

    def rollback(self) -> None:
        """Forgets what is pending."""
        self._runs, self._pending = [], {}
        if self._began:
            self._opened().rollback()
            self._began = False

    def dump(self) -> str | None:
        """The database as a script."""
        if not self._has_database:
            return None
        try:
            self._begin()
            return self._opened().dump()
        except (SqlError, ChangeError):  # whoever acts on the file itself may spoil it
            return None
        finally:
            self.commit(len(self._earlier))

    def contents(self) -> dict[str, str | None] | None:
        """The files and their contents, None for those that are no text or too long."""
        if not self._has_files:
            return None
        self._catch_up_files()
        kept: dict[str, str | None] = {}
        length = 0
        for path in self._paths()[:MAX_FILES]:
            text = self._text(path)
            length += len(text or "")
            kept[path] = None if length > MAX_KEPT else text
        return kept

    def close(self) -> None:
        """Closes the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _opened(self) -> WorldDatabase:
        if self._database is None:
            self._database = opened(self._folder / DATABASE)
        return self._database

    def _begin(self) -> None:
        if self._began:
            return
        try:
            database = self._opened()
            applied, self._began = database.begin(), True
        except SqlError as error:
            raise ChangeError(str(error)) from None
        for answer in self._earlier[applied:]:
            for run in answer.sql:
                database.run(run.statement, run.values, reads=False)

    def _asked(self, statement: str, data: Json, *, reads: bool) -> tuple[list[Json], int]:
        self._begin()
        arguments = cast("Json", data["arguments"])
        try:
            return self._opened().run(statement, arguments, reads=reads)
        except SqlError as error:
            raise (RefusedChangeError if error.by_data else ChangeError)(str(error)) from None

    def _changed(self, statements: Sequence[str], data: Json) -> tuple[list[Json], int]:
        """The rows of the last statement, and how many rows all of them changed."""
        self._begin()
        self._opened().savepoint()
        self._saved, total = True, 0
        rows: list[Json] = []
        for statement in statements:
            rows, changed = self._asked(statement, data, reads=False)
            total += changed
            run = SqlRun(statement=statement, values=bound(statement, cast("Json", data["arguments"])))
            self._runs = [*self._runs, run]
        return rows, total

    def _catch_up_files(self) -> None:
        written = self._folder / WRITTEN
        before = int(bounded_files.read_text(written)) if written.exists() else 0
        lacking = self._earlier[before:]
        for answer in lacking:
            self._write(answer.files)
        if lacking:
            written.write_text(str(len(self._earlier)), "utf-8")

    def _write(self, contents: dict[str, str | None]) -> None:
        for path, text in contents.items():
            place = confined_path(path, field="path")
            with suppress(BadInputError):  # whoever acts on the folder itself has since put something in the way
                if text is None:
                    remove_confined(self._folder / FILES, place)
                else:
                    write_confined(self._folder / FILES, place, text.encode())

    def _paths(self) -> list[str]:
        there = {*paths_in(self._folder / FILES)} | {path for path, text in self._pending.items() if text is not None}
        return sorted(there - {path for path, text in self._pending.items() if text is None})

    def _read(self, path: str) -> str | None:
        """The text of the file as the call sees it; None where it is not there."""
        if path in self._pending:
            return self._pending[path]
        if path not in self._paths():
            return None
        text = self._text(path)
        if text is None:
            raise RefusedChangeError(f"{path} is not a text of at most {MAX_FILE} bytes")
        return text

    def _text(self, path: str) -> str | None:
        root = self._folder / FILES
        try:
            with opened_confined(root / path, root) as file:
                content = file.read(MAX_FILE + 1)
            return content.decode() if len(content) <= MAX_FILE else None
        except (BadInputError, UnicodeDecodeError):
            return None


def paths_in(root: Path) -> list[str]:
    """The paths of the files below a folder, in their order; links to folders are not followed."""
    return sorted(
        (Path(folder) / name).relative_to(root).as_posix() for folder, _, names in os.walk(root) for name in names
    )


def _path(template: JsonValue, data: Json) -> str:
    path = filled(template, data)
    try:
        return str(confined_path(path if isinstance(path, str) else "", field="path"))
    except BadInputError as error:
        raise RefusedChangeError(error.message_text) from None


def placed(world: World, base: Path, folder: Path) -> None:
    """Makes the unit's copies of database and folder; raises `BadInputError` where they cannot be made."""
    if world.database is not None:
        _place_database(world.database, base, folder / DATABASE)
    if world.folder is not None:
        _place_files(world.folder, base, folder / FILES)


def _place_database(state: DatabaseState, base: Path, path: Path) -> None:
    script = state.sql
    if state.file is not None:
        with opened_confined(base / confined_path(state.file, field="database.file"), base) as read:
            content = read.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise BadInputError(
                f"database.file: {state.file} is longer than {MAX_BYTES} bytes.", remedy="Make it smaller."
            )
        if content.startswith(FILE_HEAD):
            path.write_bytes(content)
        else:
            script = content.decode("utf-8", "replace")
    database = opened(path)
    try:
        if script is not None:
            database.script(script)
        database.begin()
        database.commit(0)
    except SqlError as error:
        where = "sql" if state.file is None else f"file {state.file}"
        raise BadInputError(f"database.{where}: {error}.", remedy="Correct the script.") from None
    finally:
        database.close()


def _place_files(state: FolderState, base: Path, root: Path) -> None:
    root.mkdir(mode=0o700)
    if state.source is not None:
        source = base / confined_path(state.source, field="folder.source")
        paths = paths_in(source)
        if not paths or len(paths) > MAX_FILES:
            raise BadInputError(
                f"folder.source: {source} has {len(paths)} files.",
                remedy=f"Name a folder with 1 to {MAX_FILES} files.",
            )
        for path in paths:
            copy_confined(source / path, base, root, PurePosixPath(path))
    for path, text in state.files.items():
        write_confined(root, confined_path(path, field="folder.files"), text.encode())
