"""The daemon is killed at random moments: nothing is lost and nothing is done twice."""

from __future__ import annotations

from pathlib import Path

from tests.shared.agent.crash import crashed, verify
from tests.shared.agent.desk import Desk

MESSAGES = 32


def test_five_kills_lose_no_message_and_repeat_no_effect(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    crashed(desk, messages=MESSAGES, kills=5, seed=7)
    verify(desk, MESSAGES)
