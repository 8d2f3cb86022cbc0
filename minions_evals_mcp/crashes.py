"""The ending of a program that broke, or whose machine has run out of something: one line, a log file's name, exit 3.

Nothing is imported here that a process without memory or descriptors could fail to import.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.private_files import append_private

EXIT_CODE = 3
RUN_OUT = {
    errno.EMFILE: "this process may open no more files (ulimit -n)",
    errno.ENFILE: "the machine has no more files to open",
    errno.ENOMEM: "the machine has no more memory",
}
LONGEST = 300
ABANDONED = "AnyIO worker thread"
"""Threads of that name run what may be abandoned."""
ENDING_S = 1.0
"""So long such a thread may take to end."""


@contextmanager
def reported(program: str) -> Generator[None]:
    """Ends the process with 3 where anything breaks that nobody else has told; what breaks in passing goes to a file, too.

    A function of the user's that was given up and never returns does not keep the process.
    """
    sys.unraisablehook = lambda broken: _written(program, broken.exc_value)
    threading.excepthook = lambda broken: _written(program, broken.exc_value)
    code: object = EXIT_CODE
    try:
        yield
        code = 0
    except SystemExit as ended:
        code = ended.code
        raise
    except Exception as error:  # noqa: BLE001  the last one to catch anything: the file has all of it
        code = tell(program, error, as_json="--json" in sys.argv)
        sys.exit(code)
    finally:
        if _is_kept():
            _leave(code)


def _is_kept() -> bool:
    """Returns whether a thread is at work that the interpreter would wait for: anyio's end with their loop, unless abandoned."""
    until = time.monotonic() + ENDING_S
    at_work = [thread for thread in threading.enumerate() if thread.name.startswith(ABANDONED)]
    with suppress(KeyboardInterrupt):  # who interrupts once more waits no longer
        for thread in at_work:
            thread.join(max(0.0, until - time.monotonic()))
    return any(thread.is_alive() for thread in at_work)


def _leave(code: object) -> NoReturn:
    """Ends the process as the interpreter does, but waits for no thread."""
    atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  what the interpreter calls at its end
    with suppress(OSError, ValueError):  # the reader has gone, or the stream was closed for that
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else EXIT_CODE if code else 0)


def tell(program: str, error: Exception, *, as_json: bool) -> int:
    """Says what broke and where more is to be read; the exit code."""
    message, file = masked(f"{program}: {_reason(error)}"), _written(program, error)
    where = f"{file} has the details" if file else "no log file could be written"
    if as_json:
        wire = {"code": "internal-error", "message": message, "remedy": f"{where}. Committed data is safe."}
        sys.stdout.write(json.dumps({"error": wire}, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        sys.stderr.write(f"{message}; {where}. Committed data is safe.\n")
    return EXIT_CODE


def run_out(error: BaseException | None) -> str:
    """Returns what the machine has run out of, where that is behind the error; else empty."""
    while error is not None:
        if isinstance(error, MemoryError):
            return "out of memory"
        if isinstance(error, OSError) and error.errno in RUN_OUT:
            return RUN_OUT[error.errno]
        error = error.__cause__ or error.__context__
    return ""


def _reason(error: Exception) -> str:
    lacking = run_out(error)
    reason = "".join(
        filter(str.isprintable, " ".join(str(error).split())[:LONGEST])
    )  # a terminal acts on no error's words
    return lacking or f"it crashed ({type(error).__name__}{': ' if reason else ''}{reason})"


def _written(program: str, error: BaseException | None) -> Path | None:
    """The file that says where the error came from; none where none can be written."""
    if error is None:
        return None
    for folder in (_logs(), Path(tempfile.gettempdir())):
        file = folder / f"{program}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with append_private(file) as log:
                log.write(masked("".join(traceback.format_exception(error))))
        except (OSError, MemoryError):
            continue
        return file
    return None


def _logs() -> Path:
    try:
        from platformdirs import user_log_path  # noqa: PLC0415  it may be what could not be imported

        return user_log_path("minions-evals")
    except Exception:  # noqa: BLE001  whatever it is: the file goes elsewhere
        return Path(tempfile.gettempdir())
