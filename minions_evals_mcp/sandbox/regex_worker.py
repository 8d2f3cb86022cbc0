"""The process that searches patterns which may never end: one JSON request a line in, one JSON answer a line out.

It is started by path, imports only the standard library and `regex`, and is killed when it does not answer.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from typing import TextIO

MEMORY_LIMIT = 1 << 30
READY = "ready"
EXACT = re.compile(r"(?:\\.|[^\\{]|\{\d+(?:,\d*)?\})*+\\?", re.DOTALL)
"""A pattern whose braces are all escaped or counts: to `regex` any other begins the errors that a match may have."""


def answer(request: str) -> str:
    """The answer to one request {pattern, text, seconds}: {hit} or {unmet}."""
    import regex  # noqa: PLC0415  its folder is known only once the command line is read

    request_read = json.loads(request)
    if EXACT.fullmatch(request_read["pattern"]) is None:
        return json.dumps({"unmet": "bad pattern: approximate matching is not supported"})
    try:
        # ASCII classes and word boundaries, as in JavaScript and re2.
        pattern = regex.compile(request_read["pattern"], regex.ASCII)
        hit = pattern.search(request_read["text"], timeout=request_read["seconds"], concurrent=True) is not None
    except TimeoutError:
        return json.dumps({"unmet": f"time limit of {request_read['seconds']:g} s"})
    except regex.error as error:
        return json.dumps({"unmet": f"bad pattern: {error}"})
    return json.dumps({"hit": hit})


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answers every line until there are no more."""
    answers.write(READY + "\n")
    answers.flush()
    for request in requests:
        answers.write(answer(request) + "\n")
        answers.flush()


def limit_memory() -> None:
    """Caps this process's memory where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  not there on Windows

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


if __name__ == "__main__":  # pragma: no cover - runs in a process of its own, with an empty environment
    sys.path.append(sys.argv[1])
    limit_memory()
    serve(sys.stdin, sys.stdout)
