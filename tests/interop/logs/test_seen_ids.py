"""The ids that a log has had so far."""

from __future__ import annotations

from minions_evals_mcp.interop.log_intake.seen_ids import FIRST, SeenIds


def test_an_id_is_new_once_however_many_come_between() -> None:
    seen, ids = SeenIds(), [f"id-{number}" for number in range(5 * FIRST)]
    assert all(seen.add(ident) for ident in ids)
    assert not any(seen.add(ident) for ident in ids)
    assert seen.add("another")
