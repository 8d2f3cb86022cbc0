"""The progress of a command, from its first second: on a terminal one line that moves, else a line every few seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.engine.standing import RunProgress

BAR = 20
LIVE_S = 0.1
LINE_S = 5.0
NARROW = 60


@dataclass(slots=True)
class Shown:
    """The part of the work that is shown: its phase, and how far its runs are."""

    phase: str = "starting"
    since: float = 0.0
    runs: dict[str, RunProgress] = field(default_factory=dict[str, RunProgress])
    began_with: int | None = None
    """How many units were done when the first run was taken up: the rate counts those that came since."""

    def total(self) -> int:
        """The units of all runs that have begun."""
        return sum(run.total for run in self.runs.values())

    def done(self) -> int:
        """Those that have ended."""
        return sum(run.done for run in self.runs.values())


def progress_text(shown: Shown, *, now: float, width: int) -> str:
    """The line: phase, bar, done of total, failed so far, rate, time left, cost so far; what fits into the width."""
    total, done = shown.total(), shown.done()
    if not total:
        return f"{shown.phase} … {_time(now - shown.since)}"
    parts = [f"{shown.phase} {_bar(done, total)}" if width >= NARROW else shown.phase, f"{done} of {total}"]
    failed = sum(run.failed for run in shown.runs.values())
    unscored = sum(run.unscored for run in shown.runs.values())
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{unscored} not scored"] if unscored else []
    parts += _pace(shown, done, total, now)
    parts += _cost(list(shown.runs.values()))
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 3 > width:
            break
        line += (" " if line is parts[0] else " · ") + part
    return line


def _bar(done: int, total: int) -> str:
    full = round(BAR * done / total)
    return "█" * full + "░" * (BAR - full)


def _pace(shown: Shown, done: int, total: int, now: float) -> list[str]:
    elapsed = now - shown.since
    made = done - (shown.began_with or 0)
    if made <= 0 or elapsed <= 0:
        return [_time(elapsed)]
    rate = made / elapsed
    pace = f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    return [pace] if done >= total else [pace, f"{_time((total - done) / rate)} left"]


def _cost(runs: list[RunProgress]) -> list[str]:
    known = [run.spent_usd for run in runs if run.spent_usd is not None]
    if len(known) < len(runs):
        return ["price unknown"]
    return [f"${sum(known):.4f}"] if sum(known) else []


def _time(seconds: float) -> str:
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min" if minutes else f"{rest} s"


@dataclass(eq=False)
class ProgressShown:
    """The progress of one command; `stands` and `ended` are told by the engine, `phase` by the command."""

    out: TextIO | None
    live: bool
    width: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    shown: Shown = field(default_factory=Shown)
    _told: str = ""
    _at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.shown.since = self._at = self.clock()

    def phase(self, name: str, *, total: int | None = None) -> None:
        """Shows the phase that has begun."""
        del total  # the run itself says how many units it has
        with self._lock:
            self.shown.phase, self.shown.since = name, self.clock()
        self.tell()

    def stands(self, standing: RunProgress) -> None:
        """Shows how far a run is."""
        with self._lock:
            if not self.shown.runs:
                self.shown.phase, self.shown.since = "running", self.clock()
                self.shown.began_with = standing.done
            self.shown.runs[standing.run_id] = standing

    async def ended(self, outcome: Outcome) -> None:
        """A unit has ended; a run that says nothing of its standing is counted by these."""
        del outcome

    def tell(self) -> None:
        """Writes the line where it is time to."""
        if self.out is None:
            return
        with self._lock:
            now = self.clock()
            if not self.live and now - self._at < LINE_S:
                return
            text = progress_text(self.shown, now=now, width=self.width() - 1 if self.live else 200)
            self._at = now
            self.out.write(f"\r\x1b[K{text}" if self.live else f"{text}\n")
            self.out.flush()

    def clear(self) -> None:
        """Takes the moving line away."""
        if self.out is not None and self.live:
            self.out.write("\r\x1b[K")
            self.out.flush()


@contextmanager
def shown_progress(*, shown: bool | None = None) -> Generator[ProgressShown]:
    """Progress on standard error while the block runs; `shown=False` is silent."""
    progress = ProgressShown(None if shown is False else sys.stderr, sys.stderr.isatty(), _columns)
    if progress.out is None:
        yield progress
        return
    over = threading.Event()
    ticker = threading.Thread(target=_tick, args=(progress, over), daemon=True)
    ticker.start()
    try:
        yield progress
    finally:
        over.set()
        ticker.join()
        progress.clear()


def _columns() -> int:
    import shutil  # noqa: PLC0415  asked on a terminal only

    return shutil.get_terminal_size().columns


def _tick(progress: ProgressShown, over: threading.Event) -> None:
    while not over.wait(LIVE_S):
        progress.tell()
