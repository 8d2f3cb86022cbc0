"""What a fuzzer counts, and what it holds against an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SECRET = "planted-secret-7f3a"
_BROKEN = re.compile(
    r"broke inside|it crashed|Traceback \(most|internal-error|File \"/|the server failed|Internal Server Error"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass
class Finds:
    """The tries by kind, the slowest, and each fault with the input that shows it."""

    keep: Path | None = None
    tries: dict[str, int] = field(default_factory=dict[str, int])
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    faults: list[str] = field(default_factory=list[str])

    def tried(self, kind: str, took: float, what: str) -> None:
        """Counts a try."""
        self.tries[kind] = self.tries.get(kind, 0) + 1
        if took > self.slowest.get(kind, (0.0, ""))[0]:
            self.slowest[kind] = took, what[:200]

    def fault(self, kind: str, why: str, what: str, raw: bytes = b"") -> None:
        """Keeps a fault, with the bytes that show it."""
        self.faults.append(f"{kind}: {why}: {what[:700]}")
        if self.keep is not None:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{len(self.faults):03}.txt").write_text(self.faults[-1], "utf-8", "replace")
            if raw:
                (self.keep / f"{len(self.faults):03}.bin").write_bytes(raw)


def held_against(text: str, *, for_terminal: bool = False) -> list[str]:
    """What is wrong with an answer."""
    found = [f"broken ({match[0]})" for match in [_BROKEN.search(text)] if match]
    if for_terminal and (control := _CONTROL.search(text)):
        found.append(f"a control character {control[0]!r}")
    if SECRET in text:
        found.append("the secret")
    return found
