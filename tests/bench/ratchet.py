"""What the engine costs beside its floors, measured in one run and held against the figures that are committed.

python -m tests.bench.ratchet [--only NAME …] [--runs 3] [--share 1.0] [--beside PYTHON] [--write]

Each figure is a ratio of CPU times (of wall times where that is said) of whole processes that are run one after the
other, so that a loaded machine changes both. A figure that is more than a tenth above the committed one got worse: it is
named, and the exit code is 1. `--write` keeps what was measured; `--share 0.1` takes a tenth of the work, for a look.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench import floor, score
from tests.bench.bare.recorded import WORD
from tests.bench.figures import server
from tests.shared.bench.process import PATH, Usage, measured, serving

KEPT = Path(__file__).with_name("ratchet.json")
SLACK = 1.10
LOW = 0.0
"""The goal of a figure that is to be as low as it goes."""
CLI = (sys.executable, "-m", "minions_evals_mcp.cli")


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured: `ratio` to the floor, the goal that it is to reach, and the absolute figures beside it."""

    ratio: float
    goal: float
    seconds: float
    floor_seconds: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where the measurements work, what share of the work is done, and a Python that has pydantic-evals, if there is one."""

    folder: Path
    share: float
    beside: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What the commands see."""
        return {"PATH": PATH, "HOME": str(self.folder)}

    def size(self, whole: int) -> int:
        """So many of the whole."""
        return max(20, round(whole * self.share))

    def ours(self, *command: str) -> Usage:
        """One command of ours, from its start to its end."""
        return measured([*CLI, *command], self.environment)

    def floor(self, module: str, *arguments: str, stdin: Path | None = None) -> Usage:
        """One floor."""
        return measured([sys.executable, "-m", f"tests.bench.{module}", *arguments], self.environment, stdin=stdin)

    def fresh(self, name: str) -> str:
        """A file that is not there yet."""
        for part in ("", "-wal", "-shm"):
            (self.folder / f"{name}{part}").unlink(missing_ok=True)
        return str(self.folder / name)


Measurement = Callable[[Place], Iterator[tuple[str, float, Usage, Usage, float, float]]]
"""Yields name, goal, ours, the floor, and the two amounts that make the ratio."""


def suite(size: int, *, guide: Sequence[Mapping[str, object]]) -> str:
    """Recorded outputs of about 400 characters, each with an expected text, judged by one criterion."""
    criterion = {"rubricId": "r", "name": "settled", "judgeType": "heuristic", "scoringGuide": json.dumps(guide)}
    head: list[object] = [
        {"id": "r", "type": "rubric", "fields": {"name": "Reply", "criteriaIds": ["c"], "passingThreshold": 0.5}},
        {"id": "c", "type": "rubric-criterion", "fields": criterion},
    ]
    lines = [json.dumps(one) for one in head]
    for n in range(size):
        inputs = {"question": f"What became of ticket REF-{n:06d}?"}
        state = "open" if n % 5 == 0 else WORD
        said = f"Ticket REF-{n:06d} state={state}. " + "The rollers were cleaned. " * 14
        expected = f"Ticket REF-{n:06d} state={WORD}. The rollers were cleaned, and the tray holds heavier paper."
        fields = {"name": f"Ticket {n}", "inputs": inputs, "rubricId": "r", "expectedOutputs": {"output": expected}}
        run = {"agentId": "desk", "inputs": inputs, "outputs": {"output": said}}
        lines += [
            json.dumps({"id": f"t{n}", "type": "test-case", "fields": fields}),
            json.dumps({"id": f"a{n}", "type": "agent-run", "fields": run}),
        ]
    benchmark = {"name": "Tickets", "testCaseIds": [f"t{n}" for n in range(size)]}
    lines.append(json.dumps({"id": "b", "type": "benchmark", "fields": benchmark}))
    return "".join(f"{line}\n" for line in lines)


RULE = ({"type": "icontains", "value": WORD},)
SIMILAR = (*RULE, {"type": "similar", "value": f"The ticket is {WORD}.", "threshold": 0.2, "weight": 0})


def _recorded_runs(place: Place) -> Iterator[tuple[str, float, Usage, Usage, float, float]]:
    """A benchmark over recorded outputs; and what it costs more to ask for a similarity."""
    size = place.size(10_000)
    plain, file = _ran(place, size, RULE)
    bare = place.floor("bare.recorded", str(file), place.fresh("bare.db"), "judge")
    yield "recorded outputs by rule", 12.0, plain, bare, plain.cpu_s, bare.cpu_s
    if place.beside is not None:
        theirs = measured([place.beside, "-m", "tests.bench.readers.recorded_elsewhere", str(file)], place.environment)
        yield "recorded outputs, pydantic-evals", LOW, plain, theirs, plain.cpu_s, theirs.cpu_s
    similar, file = _ran(place, size, SIMILAR)
    embedder = place.floor("bare.recorded", str(file), "-", "embed")
    yield "recorded outputs, similarity", 2.0, similar, embedder, similar.cpu_s - plain.cpu_s, embedder.cpu_s


def _ran(place: Place, size: int, guide: Sequence[Mapping[str, object]]) -> tuple[Usage, Path]:
    file, db = place.folder / "recorded.jsonl", place.fresh("recorded.db")
    file.write_text(suite(size, guide=guide))
    place.ours("import", str(file), "--db", db)
    return place.ours("run-benchmark", "b", "--db", db, "--json"), file


def _import(place: Place) -> Iterator[tuple[str, float, Usage, Usage, float, float]]:
    """Records taken in."""
    file = place.folder / "import.jsonl"
    file.write_text(suite(place.size(50_000), guide=RULE))
    ours = place.ours("import", str(file), "--db", place.fresh("import.db"))
    bare = place.floor("bare.recorded", str(file), place.fresh("bare.db"), "import")
    yield "import", 8.0, ours, bare, ours.cpu_s, bare.cpu_s
    yield "import, memory in MB", 150.0, ours, bare, ours.rss_mb, 1.0


def _score(place: Place) -> Iterator[tuple[str, float, Usage, Usage, float, float]]:
    """Rows scored at the command line."""
    file = place.folder / "rows.jsonl"
    file.write_text("".join(score.row(n) + "\n" for n in range(place.size(20_000))))
    ours, bare = place.ours("score", str(file)), place.floor("bare.score", stdin=file)
    yield "score", 2.0, ours, bare, ours.cpu_s, bare.cpu_s


def _judged(place: Place) -> Iterator[tuple[str, float, Usage, Usage, float, float]]:
    """Outputs made and judged by a model, a hundred at once."""
    (place.folder / "suite.json").write_text(json.dumps(floor.suite(place.size(1000))))
    with serving(50) as url:
        pair = floor.pair(place.folder, url, 0)
    for part in ("0.db", "0.db-wal", "0.db-shm", "0-bare.db", "0-bare.db-wal", "0-bare.db-shm"):
        (place.folder / part).unlink(missing_ok=True)
    yield "judged by model, wall", 1.10, pair.engine, pair.floor, pair.engine.wall_s, pair.floor.wall_s
    yield "judged by model, CPU", 1.15, pair.engine, pair.floor, pair.engine.cpu_s, pair.floor.cpu_s
    bare = pair.without_sdk
    yield "judged by model, wall without SDK", LOW, pair.engine, bare, pair.engine.wall_s, bare.wall_s
    yield "judged by model, CPU without SDK", LOW, pair.engine, bare, pair.engine.cpu_s, bare.cpu_s


def _starts(place: Place) -> Iterator[tuple[str, float, Usage, Usage, float, float]]:
    """A command that does nothing, beside a Python that does nothing: the seconds between them are the figure."""
    nothing = measured([sys.executable, "-c", "pass"], place.environment)
    shown = place.ours("--help")
    yield "--help, seconds more", 0.10, shown, nothing, shown.cpu_s - nothing.cpu_s, 1.0
    loaded = measured([sys.executable, "-c", "import minions_evals_mcp"], place.environment)
    yield "import minions_evals_mcp, seconds more", 0.05, loaded, nothing, loaded.cpu_s - nothing.cpu_s, 1.0
    bare, ours = server.started(server.BARE, place.folder), server.started(server.OURS, place.folder)
    pair = Usage(*ours, 0, 0), Usage(*bare, 0, 0)
    yield "first tools/list, seconds more", 0.15, pair[0], pair[1], ours[1] - bare[1], 1.0


def _reads(place: Place) -> Iterator[tuple[str, float, Usage, Usage, float, float]]:
    """The slowest reads of a store with a million test-runs: the milliseconds of their p95 are the figures."""
    kept = place.folder / "reads.json"
    ours = place.floor("figures.reads", str(place.size(1_000_000)), "--keep", str(kept))
    said = json.loads(kept.read_text())
    yield "db check beside quick_check", 2.0, ours, ours, said["check"], said["quick_check"]
    found: dict[str, dict[str, dict[str, float]]] = said
    for what, part, goal in (
        ("lookups", "lookups", 10.0),
        ("a page's data", "data", 10.0),
        ("whole pages", "pages", 50.0),
    ):
        yield f"{what}, p95 in ms of CPU", goal, ours, ours, max(one["cpu_p95"] for one in found[part].values()), 1.0


MEASUREMENTS: dict[str, Measurement] = {
    "recorded": _recorded_runs, "reads": _reads, "import": _import, "score": _score, "judged": _judged, "start": _starts,
}  # fmt: skip


def figures(names: Sequence[str], *, runs: int, share: float, beside: str | None = None) -> dict[str, Figure]:
    """Each figure, the median of so many runs."""
    seen: dict[str, list[Figure]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), share, beside)
        for name in names:
            for _ in range(runs):
                for figure, goal, ours, bare, amount, other in MEASUREMENTS[name](place):
                    one = Figure(amount / other, goal, ours.cpu_s, bare.cpu_s, ours.rss_mb)
                    seen.setdefault(figure, []).append(one)
    return {name: sorted(several, key=_ratio)[len(several) // 2] for name, several in seen.items()}


def _ratio(figure: Figure) -> float:
    return figure.ratio


def worse(now: Mapping[str, Figure], kept: Mapping[str, Figure]) -> list[str]:
    """What got worse by more than a tenth, in words; what is not kept yet cannot."""
    return [
        f"{name}: {figure.ratio:.2f}, {kept[name].ratio:.2f} was kept"
        for name, figure in now.items()
        if name in kept and figure.ratio > kept[name].ratio * SLACK
    ]


def kept_figures(file: Path = KEPT) -> dict[str, Figure]:
    """The committed figures."""
    return {name: Figure(**one) for name, one in json.loads(file.read_text()).items()} if file.exists() else {}


def keep(now: Mapping[str, Figure], file: Path = KEPT) -> None:
    """Commits to these figures; others stay as they were."""
    together = {**kept_figures(file), **now}
    rounded = {
        name: {key: round(value, 3) for key, value in asdict(one).items()} for name, one in sorted(together.items())
    }
    file.write_text(json.dumps(rounded, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=tuple(MEASUREMENTS), default=list(MEASUREMENTS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--beside", metavar="PYTHON", help="one with pydantic-evals, which is no dependency")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    kept = kept_figures()
    now = figures(options.only, runs=options.runs, share=options.share, beside=options.beside)
    for name, one in now.items():
        was = f", {kept[name].ratio:.2f} is kept" if name in kept else ""
        sys.stdout.write(
            f"{name}: {one.ratio:.2f} (goal {one.goal:g}{was}); {one.seconds:.2f} s CPU beside {one.floor_seconds:.2f} s,"
            f" {one.memory_mb:.0f} MB\n"
        )
    lost = worse(now, kept)
    for line in lost:
        sys.stdout.write(f"worse: {line}\n")
    if options.write:
        keep(now)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
