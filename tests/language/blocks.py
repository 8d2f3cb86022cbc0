"""The code blocks of a page: files that it writes, commands and programs that it runs, and what they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"(?:^`(?P<file>[\w./-]+)`[^\n]*:\n\n)?"
    r"(?:^<!-- (?P<mark>fragment|needs|exit)(?:: (?P<why>[^\n]*?))? -->\n)?"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
INDENTED = re.compile(r"(?:\A|\n\n)( {4}\S)")
RULE = "=== block {} ==="
ANY = "…"
NORMAL = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}\b"), "UUID"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|minutes?)\b"), "DURATION"),
    (re.compile(r"person-[\w-]+"), "person-TOKEN"),
    (re.compile(r"\b\d+ bytes\b"), "SIZE"),
    (re.compile(r"/(?:tmp|dev/shm|root|home)/\S*"), "PATH"),
)
"""Ids and times are put aside before outputs are compared."""


@dataclass(frozen=True)
class Block:
    """A fenced block: `mark` is fragment, needs or exit; `file` is the name under which it is written."""

    number: int
    language: str
    code: str
    file: str | None
    mark: str | None
    why: str | None
    span: tuple[int, int]

    @property
    def is_run(self) -> bool:
        """Whether the block is a step of the page: a file, a script or a program."""
        return self.mark in {None, "exit"} and (self.file is not None or self.language in {"sh", "python"})

    @property
    def is_output(self) -> bool:
        """Whether the block shows what the step before it prints."""
        return self.language == "text" and self.mark is None and self.file is None


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in their order."""
    return [
        Block(number, match["language"], match["code"], match["file"], match["mark"], match["why"], match.span("code"))
        for number, match in enumerate(FENCE.finditer(page))
    ]


def script(steps: Sequence[Block]) -> str:
    """The page as one script; each step's output begins with a rule that has its number."""
    return "\n".join(["set -eu", *(line for step in steps for line in _step(step))])


def _step(step: Block) -> list[str]:
    end = f"END_OF_BLOCK_{step.number}"
    rule = [f"echo {shlex.quote(RULE.format(step.number))}"]
    if step.file is not None:
        folder = [f"mkdir -p {shlex.quote(str(Path(step.file).parent))}"]
        return [*rule, *folder, f"cat > {shlex.quote(step.file)} <<'{end}'", step.code.rstrip("\n"), end]
    run = [step.code.rstrip("\n")]
    if step.language == "python":
        name = f"program_{step.number}.py"
        run = [f"cat > {name} <<'{end}'", step.code.rstrip("\n"), end, f"python {name}"]
    if step.mark == "exit":
        *first, last = run
        wanted = step.why or "1"
        run = [
            *first,
            f"code=0; {last} 2> stderr.txt || code=$?",
            f'[ "$code" = {wanted} ] || {{ cat stderr.txt >&2; exit 99; }}',
        ]
    return [*rule, *run]


def parted(out: str, steps: Sequence[Block]) -> dict[int, str]:
    """What each step printed."""
    found: dict[int, str] = {}
    for step in reversed(steps):
        out, _, found[step.number] = out.rpartition(RULE.format(step.number) + "\n")
    return found


def normal(text: str) -> list[str]:
    """Lines with ids, times and paths put aside, and without trailing white space."""
    for pattern, name in NORMAL:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def agrees(shown: str, printed: str) -> bool:
    """Whether the output on the page is what was printed; a line `…` stands for any lines."""
    wanted = [f"(?:{re.escape(line)}\n)" if line.strip() != ANY else r"(?:[^\n]*\n)*?" for line in normal(shown)]
    return re.fullmatch("".join(wanted), "\n".join(normal(printed)) + "\n") is not None
