"""Code of the user's that this process loaded before and that was edited since: it is loaded anew, with all that it imports.

A server lives longer than a version of the code that it runs. What a module holds in memory is lost by an edit alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

_LOCK = Lock()
_LOADED: dict[Path, str] = {}
"""What stood in each file when code that is made of it was last loaded."""


def forget_edited(now: Mapping[Path, str]) -> bool:
    """Forgets the modules of those files, given with the digest of each, if any was edited since it was loaded; returns whether one was."""
    with _LOCK:
        edited = any(_LOADED.get(path, held) != held for path, held in now.items())
        _LOADED.update(now)
        if edited:
            _forget({path for path in now if path.suffix == ".py"})
        return edited


def _forget(files: set[Path]) -> None:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and isinstance(file, str) and Path(file).resolve() in files:
            sys.modules.pop(name, None)
            _without_bytecode(Path(file))
    importlib.invalidate_caches()


def _without_bytecode(file: Path) -> None:
    """Kept bytecode is told by size and whole second: it may be that of the text before the edit."""
    try:
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
    except (OSError, NotImplementedError):
        return
