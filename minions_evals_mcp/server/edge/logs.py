"""Logging: one JSON object a line on stderr, for stdout is the wire.

structlog is imported at the first line: it brings what draws in terminals, and most servers have nothing to say at their start.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minions_evals_mcp.known_secrets import masked

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger
    from structlog.types import Processor

_unconfigured: list[Callable[[], None]] = []


def configure_logs() -> None:
    """Sends our events and the libraries' warnings to stderr; call it before the SDK sets up logging of its own."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    handler.addFilter(Sparing())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _unconfigured.append(_configure_events)


def log() -> BoundLogger:
    """The server's log; once it was asked for, the engine's modules log as it does."""
    import structlog  # noqa: PLC0415  0.06 s of the start

    while _unconfigured:
        _unconfigured.pop()()
    return structlog.get_logger("minions_evals_mcp.server")


def _shared() -> list[Processor]:
    import structlog  # noqa: PLC0415  as above

    return [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]


def _configure_events() -> None:
    import structlog  # noqa: PLC0415  as above

    structlog.configure(
        processors=[*_shared(), structlog.processors.JSONRenderer(serializer=as_line)],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def as_line(event: object, **how: Any) -> str:
    """The event as one line of JSON, with marks in place of the secrets that this process knows."""
    return masked(json.dumps(event, **how))


class Sparing(logging.Filter):
    """Lets a few lines of each place in the code through in a while; the next one after it says how many were left out.

    Whoever makes a library complain with every byte that he sends would else fill the disk.
    """

    def __init__(self, lines: int = 5, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._lines, self._seconds, self._clock = lines, seconds, clock
        self._written: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether the line is written."""
        place, now = (record.pathname, record.lineno), self._clock()
        since, count = self._written.get(place, (now, 0))
        if now - since >= self._seconds:
            left_out = max(0, count - self._lines)
            if left_out:
                record.msg, record.args = f"{record.getMessage()} ({left_out} similar messages omitted)", None
            since, count = now, 0
        self._written[place] = since, count + 1
        return count < self._lines


class _Line(logging.Formatter):
    """A library's record as one of our lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's line."""
        import structlog  # noqa: PLC0415  as above

        line = structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_shared(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
        return masked(line.format(record))
