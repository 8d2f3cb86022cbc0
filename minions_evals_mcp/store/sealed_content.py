"""Sealed cases at rest: encrypted where a key is set, so that the file alone does not tell them (Fernet: AES and HMAC)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.seals import SHOWN_OF_A_CASE
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store.connection import Db

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

VARIABLE = "MINIONS_EVALS_SEAL_KEY"
_HELD = "sealed"
_BEGINS = f'{{"{_HELD}":'
_KEYS: list[Fernet] = []
"""The key of this process, at most one: every store that it opens is sealed and opened with it."""


def use_key(key: str | None) -> None:
    """Encrypts and decrypts with that key from now on; raises `BadInputError` for one that is none, or without the library."""
    _KEYS.clear()
    if key is None:
        return
    try:
        from cryptography.fernet import Fernet  # noqa: PLC0415  an extra, imported where it is used
    except ImportError:
        raise BadInputError(
            f"{VARIABLE} is set, but the package cryptography is not installed.",
            remedy="pip install 'minions-evals-mcp[seal]'",
        ) from None
    try:
        _KEYS.append(Fernet(key))
    except ValueError:
        raise BadInputError(
            f"{VARIABLE} is not a key. A key is 32 bytes in URL-safe base64.",
            remedy='python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())" generates one.',
        ) from None


def has_key() -> bool:
    """Returns whether what is sealed from now on is encrypted."""
    return bool(_KEYS)


def is_encrypted(fields: str) -> bool:
    """Returns whether those fields of a case, as they are kept, are encrypted."""
    return fields.startswith(_BEGINS)


def opened(fields: str, *, record: str) -> tuple[str, str, str]:
    """Fields, title and tags of an encrypted case, as JSON; raises `BadInputError` without the key that it was sealed with."""
    content = _decrypted(json.loads(fields)[_HELD]) if _KEYS else None
    if content is None:
        raise BadInputError(
            f"test-case {record} is encryptedwith another key than {VARIABLE}.",
            remedy=f"Set {VARIABLE} to the key it was sealed with.",
        )
    return content["fields"], content["title"], content["tags"]


def _decrypted(token: str) -> dict[str, str] | None:
    """Returns what the token holds; None where it was made with another key."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415  as above

    try:
        return json.loads(_KEYS[0].decrypt(token))
    except InvalidToken:
        return None


def encrypt(db: Db, case_ids: Iterable[str]) -> None:
    """Encrypts those cases where they are kept, with the key of this process; before they are sealed, after that nothing changes them."""
    db.execute("PRAGMA secure_delete = ON")  # what stood there is overwritten, not only let go
    for ident in case_ids:
        row = db.execute(
            "SELECT fields, title, tags FROM minion WHERE id = ? AND type = 'test-case'", (ident,)
        ).fetchone()
        if row is None or is_encrypted(row[0]):
            continue
        fields, title, tags = row
        content = json.dumps({"fields": fields, "title": title, "tags": tags})
        known = json.loads(fields)
        shown = {name: known[name] for name in SHOWN_OF_A_CASE if known.get(name) is not None}
        sealed_fields = json.dumps({_HELD: _KEYS[0].encrypt(content.encode()).decode(), **shown}, separators=(",", ":"))
        db.execute(
            "UPDATE minion SET fields = ?, title = 'sealed case', tags = '[]' WHERE id = ?", (sealed_fields, ident)
        )


def decrypt(db: Db, case_ids: Iterable[str]) -> None:
    """Puts those cases back as they were; once their seal has ended."""
    for ident in case_ids:
        row = db.execute("SELECT fields FROM minion WHERE id = ?", (ident,)).fetchone()
        if row is not None and is_encrypted(row[0]):
            db.execute(
                "UPDATE minion SET fields = ?, title = ?, tags = ? WHERE id = ?", (*opened(row[0], record=ident), ident)
            )


def held(db: Db) -> tuple[int, int]:
    """Returns how many sealed cases the store holds, and how many of them are encrypted."""
    return db.execute(
        "SELECT count(*), total(m.fields GLOB ?) FROM main.sealed_case c JOIN main.minion m ON m.id = c.case_id"
        " WHERE c.ended_at IS NULL",
        (f"{_BEGINS}*",),
    ).fetchone()
