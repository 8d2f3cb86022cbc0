"""When a chunk of which nothing is heard is given up."""

from __future__ import annotations

from minions_evals_mcp.cluster.chunks import Outgoing
from minions_evals_mcp.cluster.out import LONGEST_LOOK_S, Out, SentChunk, listening_s
from minions_evals_mcp.store.leases import ChunkLease

LEASE_S = 60.0


def _out() -> tuple[Out, SentChunk]:
    out = Out(LEASE_S)
    sent = out.add(Outgoing(1, 1, (), is_live=True), ChunkLease("j", 1, 1, "tcp://w", []))
    sent.went = True
    return out, sent


def test_a_chunk_is_given_up_once_its_worker_did_not_name_it_for_a_lease() -> None:
    out, sent = _out()
    looks = int(LEASE_S / LONGEST_LOOK_S)
    assert not any(out.listened(LONGEST_LOOK_S) for _ in range(looks))
    assert out.listened(LONGEST_LOOK_S) == [sent]


def test_what_was_said_while_the_coordinator_could_not_listen_counts() -> None:
    out, sent = _out()
    for _ in range(100):  # an hour each, in which this process was stopped
        assert out.listened(listening_s(3600)) == []
        out.heard([sent.lease.id])


def test_a_chunk_that_waits_to_be_sent_is_not_silent() -> None:
    out, sent = _out()
    sent.went = False
    assert not any(out.listened(LONGEST_LOOK_S) for _ in range(1000))
