"""How a cluster would grow past one coordinator: a simulation of coordinators, workers and one shared store.

python -m tests.bench.growth [--unit-ms 500] [--back-ms 0.6] [--out-ms 2] [--seed 1]

Workers have 16 places and get chunks as `cluster/chunks.py` cuts them: ten units, at most 40 out. A coordinator handles one
message after the other: `--back-ms` of CPU for a unit that comes back (`tests.bench.cluster scale` measures it), `--out-ms` for
a chunk that goes out. Several coordinators would claim chunks in one database: a claim and a commit take a round trip each,
and the database writes so many units a second in all.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from minions_evals_mcp.cluster.chunks import HELD, LIVE

PLACES = 16
CHUNK, MOST = LIVE, HELD
ROUND_TRIP_S = 0.002
DATABASE_UNITS_S = 12_000
"""What one Postgres server takes of our rows (five a unit, grouped), to be set to what a server of one's own does."""
LEASE_S = 60.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds: what a unit takes at its worker on average, what it and its chunk take of a coordinator."""

    unit_s: float
    back_s: float
    out_s: float


@dataclass(slots=True)
class Server:
    """Something that does one thing after the other."""

    free_at: float = 0.0
    busy_s: float = 0.0

    def serve(self, at: float, takes: float) -> float:
        """When it is done with what arrives then."""
        self.free_at = max(at, self.free_at) + takes
        self.busy_s += takes
        return self.free_at


@dataclass(slots=True)
class Worker:
    """Places, units that wait for one, and units that are out there in all."""

    coordinator: int
    idle: int = PLACES
    waiting: int = 0
    missing: int = 0


@dataclass(slots=True)
class Sum:
    """What a simulation came to."""

    per_second: float
    ideal: float
    coordinator_busy: float


def simulated(  # noqa: C901  the events of one simulation, by kind
    units: int, workers: int, coordinators: int, costs: Costs, seed: int
) -> Sum:
    """Units a second with so many workers and coordinators."""
    draw = random.Random(seed)  # noqa: S311  draws durations, guards nothing
    bosses = [Server() for _ in range(coordinators)]
    database = Server()
    crew = [Worker(number % coordinators) for number in range(workers)]
    events: list[tuple[float, int, str, int]] = []
    number = sent = back = 0
    now = 0.0

    def push(at: float, what: str, worker: int) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (at, number, what, worker))

    def send(at: float, worker: int) -> None:
        nonlocal sent
        if sent >= units or crew[worker].missing + CHUNK > MOST:
            return
        sent += CHUNK
        crew[worker].missing += CHUNK
        done = bosses[crew[worker].coordinator].serve(at, costs.out_s)
        push(done + ROUND_TRIP_S * (1 if coordinators == 1 else 2), "arrives", worker)

    def begin(at: float, worker: int) -> None:
        one = crew[worker]
        while one.idle and one.waiting:
            one.idle -= 1
            one.waiting -= 1
            push(at + draw.expovariate(1 / costs.unit_s), "made", worker)

    for place in range(workers * MOST // CHUNK):
        send(0.0, place % workers)
    while events:
        now, _, what, worker = heapq.heappop(events)
        if what == "arrives":
            crew[worker].waiting += CHUNK
        elif what == "made":
            crew[worker].idle += 1
            push(now + ROUND_TRIP_S / 2, "back", worker)
        else:
            back += 1
            done = bosses[crew[worker].coordinator].serve(now, costs.back_s)
            if coordinators > 1:
                done = max(done, database.serve(now, 1 / DATABASE_UNITS_S))
            crew[worker].missing -= 1
            send(done, worker)
        begin(now, worker)
    ended = max(now, *(boss.free_at for boss in bosses), database.free_at)
    busy = max(boss.busy_s for boss in bosses) / ended
    return Sum(back / ended, workers * PLACES / costs.unit_s, busy)


def overshoot(coordinators: int, slices: int, seed: int, tries: int = 400) -> tuple[float, float]:
    """Of a cap that is handed out in slices: the share that is left unspent at the end, and what is exceeded (nothing)."""
    draw = random.Random(seed)  # noqa: S311  as above
    unspent = exceeded = 0.0
    for _ in range(tries):
        left, held = 1.0, [0.0] * coordinators
        open_to = list(range(coordinators))
        while open_to:
            one = draw.choice(open_to)
            call = draw.expovariate(20_000)
            if held[one] < call:
                taken = min(left, max(call, 1 / slices))
                left -= taken
                held[one] += taken
            if held[one] < call:
                open_to.remove(one)
                continue
            held[one] -= call
        unspent += sum(held) + left
        exceeded += max(0.0, -left)
    return unspent / tries, exceeded / tries


def lines(costs: Costs, seed: int) -> Iterator[str]:
    """The tables."""
    yield "workers  coordinators  units/s  of what the workers could  busiest coordinator"
    for workers in (4, 16, 64, 256):
        for coordinators in (1, 2, 4, 8):
            if coordinators > 1 and workers < 64:
                continue
            units = min(60_000, workers * PLACES * 60)
            found = simulated(units, workers, coordinators, costs, seed)
            share = found.per_second / found.ideal
            yield f"{workers:7d}  {coordinators:12d}  {found.per_second:7.0f}  {share:26.2f}  {found.coordinator_busy:19.2f}"
    for coordinators in (2, 4, 8):
        unspent, exceeded = overshoot(coordinators, 200, seed)
        yield f"{coordinators} coordinators, a cap in 200 slices: {unspent:.2%} left unspent, {exceeded:.0%} exceeded"
    yield f"a lost coordinator's chunks wait {LEASE_S:.0f} s at the most"


def main() -> None:
    """Says what came of it."""
    wanted = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted.add_argument("--unit-ms", type=float, default=500)
    wanted.add_argument("--back-ms", type=float, default=0.6)
    wanted.add_argument("--out-ms", type=float, default=2)
    wanted.add_argument("--seed", type=int, default=1)
    options = wanted.parse_args()
    costs = Costs(options.unit_ms / 1000, options.back_ms / 1000, options.out_ms / 1000)
    for line in lines(costs, options.seed):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
