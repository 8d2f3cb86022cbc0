"""A run of conversations may be killed at any moment: a few of those that `tests.bench.conversations.kills` draws."""

from __future__ import annotations

from pathlib import Path

from tests.bench.conversations.kills import AGENT, USER, Ledger
from tests.shared.store.command_line import told

KILLS = 3


async def test_no_conversation_begins_again_and_no_call_is_paid_for_twice(tmp_path: Path) -> None:
    said = await told(
        tmp_path, "-m", "tests.bench.conversations.kills", "--kills", str(KILLS), "--seed", "7", program="python"
    )
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{KILLS} kills of ")


def test_the_ledger_tells_a_call_that_was_made_twice_and_one_that_went_back() -> None:
    ledger = Ledger()
    for call in ((USER, 1), (AGENT, 1)):
        ledger.hear("amber", call)
    ledger.killed()
    ledger.hear("amber", (AGENT, 1))
    assert ledger.said == [], "it was in flight"
    ledger.hear("amber", (AGENT, 1))
    ledger.hear("amber", (USER, 1))
    assert len(ledger.said) == 2
