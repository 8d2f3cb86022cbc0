"""How values travel between coordinator and workers: pickled, without any secret that the sender knows.

Only trusted hosts may take part: whoever can reach the scheduler can have code run by the workers.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from minions_evals_mcp.known_secrets import masked, spellings


def packed(value: object) -> bytes:
    """The value's bytes; a secret that an application or a model said stands in them as its mark."""
    plain = pickle.dumps(value)
    if not _says_secret(plain):
        return plain
    out = io.BytesIO()
    _Masking(out).dump(value)
    return out.getvalue()


def unpacked(content: bytes) -> Any:
    """The value of those bytes, which come from our own side."""
    return _Unmasking(io.BytesIO(content)).load()


def taken(content: bytes) -> Any:
    """The same of bytes from elsewhere: a secret that is known here, and was not there, stands in it as its mark."""
    value = unpacked(content)
    return unpacked(packed(value)) if _says_secret(content) else value


def _says_secret(content: bytes) -> bool:
    return any(spelling.encode("utf-8", "surrogatepass") in content for spelling in spellings())


class _Masking(pickle.Pickler):
    """Writes a text that holds a secret as the text with the mark."""

    def persistent_id(self, obj: object) -> str | None:
        """The text that stands for another."""
        if not isinstance(obj, str) or type(obj) is not str:
            return None
        clean = masked(obj)
        return None if clean == obj else clean


class _Unmasking(pickle.Unpickler):
    """Reads it."""

    def persistent_load(self, pid: str) -> str:
        """The text as it stands."""
        return pid
