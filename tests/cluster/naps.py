"""What the targets of `napping` noted, and the gate at which their calls wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from tests.cluster.napping import CALLS, GATE


@dataclass(frozen=True, slots=True)
class Naps:
    """The calls that workers made, whatever became of them."""

    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """What workers must be told of."""
        return {CALLS: str(self._calls), GATE: str(self._gate)}

    @property
    def _calls(self) -> Path:
        return self.folder / "calls.txt"

    @property
    def _gate(self) -> Path:
        return self.folder / "gate.txt"

    @contextmanager
    def gated(self) -> Generator[None]:
        """While this holds, only those calls end that are let; those made so far are forgotten."""
        self._calls.unlink(missing_ok=True)
        self._gate.touch()
        try:
            yield
        finally:
            self._gate.unlink(missing_ok=True)

    def let(self, *names: object) -> None:
        """Lets the calls of these cases, or processes, end."""
        with self._gate.open("a") as gate:
            gate.write("".join(f"{name}\n" for name in names))

    def let_all(self) -> None:
        """Lets every call end."""
        self._gate.unlink()

    def ends(self, pid: int | None = None) -> dict[str, float]:
        """When the calls ended that a process made, by case, `inf` for those that have not; of all processes where none is named."""
        return {case: end for case, by, end in self._lines() if pid in {None, by}}

    def newest(self, pid: int) -> set[str]:
        """The cases that a process called last."""
        return {case for case, by in {case: by for case, by, _ in self._lines()}.items() if by == pid}

    def under_way(self, pid: int) -> set[str]:
        """The cases that a process is calling."""
        return {case for case, end in self.ends(pid).items() if end == math.inf}

    def begun(self) -> Counter[str]:
        """How often each case was called."""
        return Counter(case for case, _, end in self._lines() if end == math.inf)

    def _lines(self) -> list[tuple[str, int, float]]:
        if not self._calls.exists():
            return []
        lines = (line.split() for line in self._calls.read_text().splitlines())
        return [(case, int(pid), float(end)) for case, pid, end in lines]

    async def are_under_way(self, count: int, *pids: int) -> None:
        """Waits until each of these processes makes so many calls that are not let."""
        while any(len(self.under_way(pid) - self._let()) < count for pid in pids):  # noqa: ASYNC110  other processes write it
            await anyio.sleep(0.02)

    async def have_ended(self, count: int, pid: int) -> None:
        """Waits until a process has ended so many calls."""
        while len(self.ends(pid).keys() - self.under_way(pid)) < count:  # noqa: ASYNC110  as above
            await anyio.sleep(0.02)

    async def have_begun(self, count: int) -> None:
        """Waits until so many calls were made."""
        while self.begun().total() < count:  # noqa: ASYNC110  as above
            await anyio.sleep(0.02)

    def _let(self) -> set[str]:
        return set(self._gate.read_text().split())
