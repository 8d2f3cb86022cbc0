"""Fleets whose requests change: a share of them asks for what nobody asked before."""

from __future__ import annotations

import math
import random

from minions_evals_mcp.engine.discovery.drift import rise_of_requests
from minions_evals_mcp.scoring.discovery.strangeness import LEARNT
from tests.shared.production_traces import REQUESTS

BEFORE, AFTER = 1_000, 800


def requests(drawn: random.Random, *shares: tuple[int, float]) -> list[str]:
    """So many requests, of which each part asks for an invoice with that probability and for anything else otherwise."""
    texts: list[str] = []
    for number, share in shares:
        for _ in range(number):
            is_new = drawn.random() < share
            kind = drawn.choice([kind for kind in REQUESTS if (kind[0] == "invoice") is is_new])
            texts.append(drawn.choice(REQUESTS[kind]).format(n=drawn.randint(100, 9999)))
    return texts


def traces_to_alarm(drawn: random.Random, share: float, before: int = BEFORE) -> float:
    """After how many traces the change is seen, negative where there was an alarm before; infinite where it never is."""
    found = rise_of_requests(requests(drawn, (before, 0.0), (AFTER, share)))
    if found is None:
        return math.inf
    seen_at = LEARNT + found[1].seen_at
    return seen_at - before
