"""Shared by the daemon's tests: its log goes nowhere, in the form in which the process writes it."""

from __future__ import annotations

import pytest
import structlog


@pytest.fixture(autouse=True, scope="session")
def _quiet_log() -> None:
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        logger_factory=structlog.ReturnLoggerFactory(),
    )
