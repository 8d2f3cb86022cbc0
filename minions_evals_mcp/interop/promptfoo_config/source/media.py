"""Pictures, sound and films as variables: in base64, as promptfoo hands them on."""

from __future__ import annotations

import base64
from pathlib import Path

from minions_evals_mcp import bounded_files
from minions_evals_mcp.errors import legible

PICTURES = {
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".gif": "image/gif", ".bmp": "image/bmp",
    ".webp": "image/webp", ".tif": "image/tiff", ".tiff": "image/tiff", ".avif": "image/avif", ".heic": "image/heic",
    ".heif": "image/heif", ".svg": "image/svg+xml",
}  # fmt: skip
FIRST_BYTES = {
    b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png", b"GIF87a": "image/gif", b"GIF89a": "image/gif",
    b"RIFF": "image/webp", b"BM": "image/bmp", b"II*\0": "image/tiff", b"MM\0*": "image/tiff",
}  # fmt: skip
"""What a picture begins with, and what it then is whatever its name says."""
SOUND_AND_FILMS = frozenset({
    ".mp4", ".mpeg", ".mpg", ".webm", ".ogg", ".mov", ".avi", ".flv", ".wmv", ".mkv", ".m4v", ".3gp", ".3gpp",
    ".wav", ".mp3", ".aac", ".m4a", ".flac", ".wma", ".aif", ".aiff", ".aifc", ".opus",
})  # fmt: skip


def media_text(path: Path) -> str | None:
    """The file in base64, a picture with its kind before it; None for a file that is neither picture, sound nor film."""
    suffix = path.suffix.lower()
    if suffix not in PICTURES.keys() | SOUND_AND_FILMS:
        return None
    with legible(path):
        held = bounded_files.read_bytes(path)
    text = base64.b64encode(held).decode()
    if suffix not in PICTURES:
        return text
    kind = next((kind for start, kind in FIRST_BYTES.items() if held.startswith(start)), PICTURES[suffix])
    return f"data:{kind};base64,{text}"
