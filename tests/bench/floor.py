"""Engine against floor: N cases × (1 target call + 1 judge call), 100 at once, whole processes, in turn.

    python -m tests.bench.floor [--cases 1000] [--runs 5] [--latency 0,50]

Prints wall and CPU of each pair and the ratios' medians, also beside a loop without the provider's SDK.
All talk to tests/shared/fakes/llm_server.py on loopback.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.shared.bench.process import PATH, Usage, measured, serving

CONCURRENCY = 100


def suite(cases: int) -> dict[str, object]:
    """Cases of about 500 characters, one rubric of one model-judged criterion, one prompt version, one benchmark."""
    rubric = {"name": "Settled", "criteriaIds": ["c"], "passingThreshold": 0.5}
    criterion = {
        "rubricId": "r", "name": "Settled", "description": "The answer says that the matter is settled.",
        "scoringGuide": "1 if it names what was done and that it is settled, 0 if it leaves it open.",
    }  # fmt: skip
    minions: list[dict[str, object]] = [
        {"id": "r", "type": "rubric", "fields": rubric},
        {"id": "c", "type": "rubric-criterion", "fields": criterion},
        {"id": "p@1", "type": "prompt-version", "fields": {"content": "{{question}}", "versionNumber": 1}},
    ]
    for n in range(cases):
        question = (
            f"In two sentences, report what was done about ticket REF-{n:06d}. "
            + f"Branch {n % 37} reports a jam. " * 14
        )
        minions.append(
            {
                "id": f"t{n}",
                "type": "test-case",
                "fields": {"name": f"Ticket {n}", "inputs": {"question": question}, "rubricId": "r"},
            }
        )
    ids = [f"t{n}" for n in range(cases)]
    minions.append({"id": "b", "type": "benchmark", "fields": {"name": "Tickets", "testCaseIds": ids}})
    return {"minions": minions}


@dataclass(frozen=True, slots=True)
class Pair:
    """One measurement of each, taken one after the other."""

    engine: Usage
    floor: Usage
    without_sdk: Usage


def pair(work: Path, url: str, number: int) -> Pair:
    """The engine's run and the bare loop's, each from a fresh store."""
    db, bare = work / f"{number}.db", work / f"{number}-bare.db"
    environment = {
        "PATH": PATH, "HOME": str(work), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url,
        "MINIONS_EVALS_JUDGE_MODEL": "anthropic:fake-judge",
    }  # fmt: skip
    cli = [sys.executable, "-m", "minions_evals_mcp.cli"]
    subprocess.run(
        [*cli, "import", str(work / "suite.json"), "--db", str(db)],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    command = [*cli, "run-benchmark", "b", "--db", str(db), "--json", "--judge", "llm", "--prompt-version", "p@1",
               "--target", "anthropic:fake-target", "--concurrency", str(CONCURRENCY)]  # fmt: skip
    floor = [
        sys.executable,
        "-m",
        "tests.bench.bare.loop",
        str(work / "suite.json"),
        str(bare),
        url,
        str(CONCURRENCY),
    ]
    bare_environment = {**environment, "PYTHONPATH": str(Path.cwd())}
    engine, with_sdk = measured(command, environment), measured(floor, bare_environment)
    for part in ("", "-wal", "-shm"):
        bare.with_name(f"{bare.name}{part}").unlink(missing_ok=True)
    return Pair(engine, with_sdk, measured([*floor, "without-sdk"], bare_environment))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--latency", default="0,50")
    options = parser.parse_args()
    for latency in map(float, options.latency.split(",")):
        with tempfile.TemporaryDirectory() as folder, serving(latency) as url:
            work = Path(folder)
            (work / "suite.json").write_text(json.dumps(suite(options.cases)))
            pairs = [pair(work, url, number) for number in range(options.runs)]
        for one in pairs:
            sys.stdout.write(
                f"latency {latency:g} ms: engine {one.engine.wall_s:.2f} s wall {one.engine.cpu_s:.2f} s CPU {one.engine.rss_mb:.0f} MB;"
                f" floor {one.floor.wall_s:.2f} s wall {one.floor.cpu_s:.2f} s CPU {one.floor.rss_mb:.0f} MB\n"
            )
        wall = statistics.median(one.engine.wall_s / one.floor.wall_s for one in pairs)
        cpu = statistics.median(one.engine.cpu_s / one.floor.cpu_s for one in pairs)
        without = statistics.median(one.engine.cpu_s / one.without_sdk.cpu_s for one in pairs)
        sys.stdout.write(
            f"latency {latency:g} ms: median ratio wall {wall:.2f}, CPU {cpu:.2f}; CPU beside aiohttp alone {without:.2f}\n"
        )
        time.sleep(0.5)


if __name__ == "__main__":
    main()
