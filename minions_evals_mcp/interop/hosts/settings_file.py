"""A host's settings file with our server in it: what it would hold, and writing it whole or not at all."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.interop.hosts.json_settings import with_json_entry
from minions_evals_mcp.interop.hosts.table import SERVER, Host
from minions_evals_mcp.interop.hosts.toml_settings import with_toml_entry
from minions_evals_mcp.private_files import write_private

MOST_BYTES = 64 * 2**20


@frozen_type
class SettingsChange:
    """A file as it is and as it would be."""

    file: Path
    before: str | None
    after: str
    snippet: str
    """Our entry alone, as it would stand in a new file."""


def change_of(host: Host, file: Path, entry: Json) -> SettingsChange:
    """What writing the entry into that file comes to; raises `BadInputError` where the file cannot be changed safely."""
    put = with_toml_entry if host.is_toml else with_json_entry
    snippet = put("", host.table, SERVER, entry)
    try:
        if file.exists() and file.stat().st_size > MOST_BYTES:
            raise BadInputError(f"{file} is larger than {MOST_BYTES} bytes.")
        before = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return SettingsChange(file, None, snippet, snippet)
    except (OSError, UnicodeDecodeError) as error:
        raise _by_hand(file, str(error), snippet) from None
    try:
        return SettingsChange(file, before, put(before, host.table, SERVER, entry), snippet)
    except BadInputError as error:
        raise _by_hand(file, error.message_text, snippet) from None


def _by_hand(file: Path, why: str, snippet: str) -> BadInputError:
    return BadInputError(f"{file} was not changed: {why}", remedy=f"Add this to it yourself:\n{snippet}")


def write_change(change: SettingsChange) -> None:
    """Replaces the file by its new text in one step. A link stays a link, and the file keeps its rights."""
    file = change.file.resolve()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        now = file.read_bytes().decode("utf-8") if file.exists() else None
        if now != change.before:
            raise BadInputError(f"{file} was changed meanwhile.", remedy="Run the command again.")
        mode = 0o600 if now is None else file.stat().st_mode & 0o777
        write_private(file, change.after, mode=mode)
    except OSError as error:
        raise _by_hand(file, f"{error.strerror or error}.", change.snippet) from None
