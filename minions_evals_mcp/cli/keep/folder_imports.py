"""The summary of a folder's import: what was read by format, and what was not by the ends of the files' names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.report.plain import printable

EACH_UP_TO = 20
"""Each file of a folder has lines of its own where there are no more; else only those of which something is to be noted."""
SHOWN = 8
NO_END = "without an extension"


@dataclass(slots=True)
class FolderTally:
    """The files of a folder so far, by format."""

    folder: Path
    files: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    records: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """New, changed and unchanged records of each format."""
    not_read: Counter[str] = field(default_factory=Counter[str])

    def took(self, form: str, **records: int) -> None:
        """Counts a file that was taken in, with its records."""
        self.files[form] += 1
        self.records.setdefault(form, Counter()).update(records)

    def left(self, others: Iterable[Path]) -> None:
        """Counts files of an unsupported format."""
        self.not_read.update(file.suffix.lower() or NO_END for file in others)

    def wire(self) -> Json:
        """The summary for a program."""
        formats: Json = {
            form: {"taken": self.files[form], "refused": self.refused[form], **self.records.get(form, {})}
            for form in sorted({*self.files, *self.refused})
        }
        return {
            "folder": str(self.folder), "taken": self.files.total(), "refused": self.refused.total(),
            "others": self.not_read.total(), "formats": formats, "notRead": dict(self.not_read.most_common()),
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """The summary for a person."""
        yield (
            f"{self.folder}: {self.files.total()} files imported, {self.refused.total()} refused,"
            f" {self.not_read.total()} of an unsupported format"
        )
        for form, count in self.files.most_common():
            figures = ", ".join(f"{number} {name}" for name, number in self.records[form].items())
            files = "1 file" if count == 1 else f"{count} files"
            yield f"  {form}: {files}, {figures}"
        if self.refused:
            yield f"  refused: {_counted(self.refused)}"
        if self.not_read:
            yield f"  not read: {_counted(self.not_read)}"


def _counted(counts: Counter[str]) -> str:
    shown = ", ".join(f"{number} {printable(name, 30)}" for name, number in counts.most_common(SHOWN))
    more = len(counts) - SHOWN
    return f"{shown} and {more} more kinds" if more > 0 else shown
