"""The ids that a log has had so far."""

from __future__ import annotations

from minions_evals_mcp.interop.logs.seen_ids import FIRST, CountedIds, SeenIds


def test_an_id_is_new_once_however_many_come_between() -> None:
    seen, ids = SeenIds(), [f"id-{number}" for number in range(5 * FIRST)]
    assert all(seen.add(ident) for ident in ids)
    assert not any(seen.add(ident) for ident in ids)
    assert seen.add("another")


def test_each_id_is_counted_however_many_come_between() -> None:
    counted, ids = CountedIds(), [f"id-{number}" for number in range(3 * FIRST)]
    for ident in (*ids, *ids[:100]):
        counted.add(ident)
    assert [counted.count(ident) for ident in (ids[0], ids[99], ids[100], ids[-1], "nobody")] == [2, 2, 1, 1, 0]
