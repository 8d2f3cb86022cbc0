"""Fuzzes the command line: arguments of every command, files for every reader, and project files."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from minions_evals_mcp.cli.commands import COMMANDS, NOUNS
from tests.bench.fuzz.finds import Finds, held_against
from tests.bench.fuzz.mutations import EVIL_TEXTS, spoilt
from tests.shared.cli.terminal import Ended, Terminal
from tests.shared.interop.whole_files import WHOLE

SLOW_S = 10.0
"""Wall time on a loaded machine; what grows without bound takes far more."""
LAST_CODE = 10
WAITS = frozenset({"view", "watch", "demo", "judge", "serve", "live", "label", "label-user", "install", "mcp"})
"""Commands that wait for somebody, or write outside of their folder."""
FLAGS = (
    "--json", "--limit", "--format", "-o", "--type", "--filter", "--judge", "--target", "--trials", "--key", "--from", "--to",
    "--by", "--dry-run",
    "--max-cost", "--max-seconds", "--since", "--until", "--agent", "--cases", "--with", "--reason", "--share", "--deep", "--yes",
    "--subject", "--before",
    "--record", "--days", "--hours", "--once", "--prompt-version", "--effect", "--power", "--detail", "--store", "--db",
    "--verbose", "--help",
)  # fmt: skip
SUITE = (
    '{"id":"c1","type":"test-case","fields":{"name":"c1","inputs":{"q":"x"},"expectedOutputs":{"output":"y"}}}\n'
    '{"id":"b","type":"benchmark","fields":{"name":"b","testCaseIds":["c1"]}}\n'
    '{"id":"o1","type":"agent-run","fields":{"agentId":"a","inputs":{"q":"x"},"outputs":{"output":"y"}}}\n'
)
ROWS = '{"id":"1","output":"Paris","assert":[{"type":"contains","value":"Paris"}]}\n'
CONFIG = (
    "prompts: ['Say {{q}}']\nproviders: [echo]\ntests:\n- vars: {q: hi}\n  assert:\n  - {type: contains, value: hi}\n"
    "  - {type: javascript, value: output.length > 1}\n"
)
PROJECT = (
    'store = "evals.db"\nsuites = ["suite.jsonl"]\ntarget = "command:cat"\njudge = "llm"\n'
    "[thresholds]\nmin-score = 0.5\nfail-on-regression = true\n[caps]\nmax-cost-usd = 1.0\n[retention]\noutputs = 90\n"
)
DOTENV = "OPENAI_API_KEY=x\nexport A='b'\n# note\nB=\"c\\n\"\n"
READERS: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "suite": ("suite.jsonl", SUITE.encode(), ("import", "suite.jsonl")),
    "table": ("t.csv", b"id,input,expected\n1,a,b\n2,c,d\n", ("import", "t.csv")),
    "yaml": ("s.yaml", b"- id: c1\n  type: test-case\n  fields: {name: c, inputs: {q: x}}\n", ("import", "s.yaml")),
    "rows": ("rows.jsonl", ROWS.encode(), ("score", "rows.jsonl")),
    "row table": ("rows.csv", b"id,output,expected\n1,Paris,Paris\n2,Rome,Paris\n", ("score", "rows.csv")),
    "config": ("promptfooconfig.yaml", CONFIG.encode(), ("eval", "promptfooconfig.yaml", "--yes")),
    "project": ("minions-evals.toml", PROJECT.encode(), ("doctor",)),
    "pyproject": ("pyproject.toml", f"[tool.minions-evals]\n{PROJECT.partition('[')[0]}".encode(), ("list", "test-case")),
    "dotenv": (".env", DOTENV.encode(), ("doctor",)),
    "labels": ("labels.csv", b"testRunId,criterionId,score,rationale\na,b,1,x\n", ("label", "b", "--import", "labels.csv")),
    "answers": ("answers.json", b'{"runId":"r","judgedBy":"x","packets":[{"digest":"d","judgments":[]}]}', ("submit", "answers.json")),
    "lift": ("evals.json", b'{"skill_name":"s","evals":[{"prompt":"p","expected_output":"e"}]}', ("lift", ".", "--cases",
    "evals.json", "--target", "command:cat")),
}  # fmt: skip
"""By the name of the reader: its file, a whole one, and the command that reads it."""


def names() -> list[str]:
    """Every command that neither waits nor writes elsewhere."""
    under = {f"{noun} {verb}" for noun, (_, verbs) in NOUNS.items() for verb in verbs}
    return sorted(name for name in {*COMMANDS, *under} if name.rpartition(" ")[2] not in WAITS)


def arguments(draw: random.Random) -> list[str]:
    """A command with words that fit it more or less."""
    words = draw.choice(names()).split()
    for _ in range(draw.choice((0, 1, 1, 2, 3, 6))):
        words.append(draw.choice(FLAGS) if draw.random() < 0.5 else draw.choice(EVIL_TEXTS))
    return words


class Bench:
    """A folder with a suite, made anew now and then."""

    def __init__(self, finds: Finds, draw: random.Random) -> None:
        self.finds, self.draw = finds, draw
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz"))
        self.rounds = 0

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def fresh(self) -> Terminal:
        """A terminal in an emptied folder with the suite imported."""
        for file in self.folder.iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        at = Terminal(self.folder)
        at.file("suite.jsonl", SUITE)
        at.file("rows.jsonl", ROWS)
        at.asked(["import", "suite.jsonl"])
        return at

    def command_lines(self) -> None:
        """Ten command lines."""
        at = self.fresh()
        lines = [arguments(self.draw) for _ in range(10)]
        for words, ended, took in _carried_out(at, lines):
            self._judge("arguments", repr(words), ended, took)

    def files(self) -> None:
        """Spoilt files of our own readers and of project files, one command each."""
        at = self.fresh()
        for kind in self.draw.sample(sorted(READERS), 4):
            name, whole, command = READERS[kind]
            raw = spoilt(whole, self.draw)
            at.file(name, raw)
            for _, ended, took in _carried_out(at, [[*command]]):
                self._judge(f"reader {kind}", repr(raw), ended, took, raw)
            (self.folder / name).unlink(missing_ok=True)

    def logs(self) -> None:
        """Spoilt files of the formats of others."""
        at = self.fresh()
        lines: list[list[str]] = []
        raws: list[bytes] = []
        for number, kind in enumerate(self.draw.sample(sorted(WHOLE), 5)):
            name, write = WHOLE[kind]
            place = self.folder / f"l{number}"
            place.mkdir()
            raws.append(spoilt(write(place / name).read_bytes(), self.draw))
            (place / name).write_bytes(raws[-1])
            lines.append(["import", f"l{number}/{name}"])
        for (words, ended, took), raw in zip(_carried_out(at, lines), raws, strict=True):
            self._judge(f"log {words[1].rpartition('/')[2]}", repr(raw[:300]), ended, took, raw)

    def _judge(self, kind: str, what: str, ended: Ended | str, took: float, raw: bytes = b"") -> None:
        self.finds.tried(kind.partition(" ")[0], took, f"{kind} {what}")
        if isinstance(ended, str):
            self.finds.fault(kind, ended, what, raw)
            return
        why = held_against(ended.out + ended.err, for_terminal=True)
        if not 0 <= ended.code <= LAST_CODE and ended.code not in {64, 130}:
            why.append(f"exit {ended.code}")
        if took > SLOW_S:
            why.append(f"{took:.1f} s")
        if why:
            self.finds.fault(kind, ", ".join(why), f"{what} → {(ended.err or ended.out)[-400:]}", raw)


def _carried_out(at: Terminal, lines: list[list[str]]) -> list[tuple[list[str], Ended | str, float]]:
    """Each line with how it ended; one by one where they cannot be carried out together."""
    began = time.perf_counter()
    try:
        ended = at.asked(*lines)
    except Exception as error:  # noqa: BLE001  whatever it is, one of them is the find
        if len(lines) > 1:
            return [one for line in lines for one in _carried_out(at, [line])]
        return [(lines[0], f"no end: {type(error).__name__}: {str(error)[-500:]}", time.perf_counter() - began)]
    took = (time.perf_counter() - began) / len(lines)
    if took * len(lines) > SLOW_S and len(lines) > 1:
        return [one for line in lines for one in _carried_out(at, [line])]
    return [(line, one, took) for line, one in zip(lines, ended, strict=True)]


def rounds(bench: Bench) -> tuple[Callable[[], None], ...]:
    """What may be tried, each in turn."""
    return bench.command_lines, bench.files, bench.logs
