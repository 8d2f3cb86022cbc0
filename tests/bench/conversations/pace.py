"""How long conversations take beside a bare loop over the same SDK, and how much memory many of them need.

python -m tests.bench.conversations.pace [--talks 100] [--turns 12] [--latency 50] [--at-once 50] [--runs 3]
python -m tests.bench.conversations.pace --talks 5000 --turns 4 --latency 0 --runs 1

Both are whole processes from their start to their end, taken in turn, against the fake model on loopback.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tests.shared.bench.process import PATH, Usage, measured, serving

BARE = """
import asyncio, sys
from openai import AsyncOpenAI

async def main(talks, turns, at_once):
    client, places = AsyncOpenAI(), asyncio.Semaphore(at_once)

    async def talk(number):
        messages = []
        async with places:
            for turn in range(turns):
                messages.append({"role": "user", "content": f"talk {number} message {turn}"})
                reply = await client.chat.completions.create(model="agent", messages=messages, max_tokens=2048)
                messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        return messages

    kept = await asyncio.gather(*map(talk, range(talks)))
    assert all(len(one) == 2 * turns for one in kept)

asyncio.run(main(*map(int, sys.argv[1:])))
"""


def suite(chosen: Namespace) -> dict[str, object]:
    """Conversations by script, a check of every turn, and a benchmark of all."""
    ids = [f"t{number}" for number in range(chosen.talks)]
    checks = [{"type": "not-contains", "value": "BAD"}]
    cases = [
        {"id": ident, "type": "test-case", "fields": {"name": ident, "everyTurn": checks, "conversation": {
            "turns": [f"talk {ident} message {turn}" for turn in range(chosen.turns)], "maxTurns": chosen.turns,
        }}}
        for ident in ids
    ]  # fmt: skip
    return {"records": [*cases, {"id": "b", "type": "benchmark", "fields": {"name": "B", "testCaseIds": ids}}]}


def pair(work: Path, url: str, number: int, chosen: Namespace) -> tuple[Usage, Usage]:
    """The run's process, and the bare loop's."""
    environment = {"PATH": PATH, "HOME": str(work), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1"}
    cli = [sys.executable, "-m", "minions_evals_mcp.cli"]
    store = ["--db", str(work / f"{number}.db")]
    measured([*cli, "import", str(work / "suite.json"), *store], environment)
    run = [
        *cli,
        "run-benchmark",
        "b",
        *store,
        "--json",
        "--target",
        "openai:agent",
        "--concurrency",
        str(chosen.at_once),
    ]
    bare = [sys.executable, str(work / "bare.py"), *map(str, (chosen.talks, chosen.turns, chosen.at_once))]
    return measured(run, environment), measured(bare, environment)


def main() -> None:
    """Says wall, CPU and memory of each pair, and the medians of the ratios."""
    parser = ArgumentParser()
    for name, default in (("talks", 100), ("turns", 12), ("latency", 50), ("at-once", 50), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder, serving(chosen.latency) as url:
        work = Path(folder)
        (work / "suite.json").write_text(json.dumps(suite(chosen)), "utf-8")
        (work / "bare.py").write_text(BARE, "utf-8")
        for number in range(chosen.runs):
            ours, bare = pair(work, url, number, chosen)
            ratios.append(ours.wall_s / bare.wall_s)
            for name, usage in (("run", ours), ("bare", bare)):
                say(f"{name:<5} wall {usage.wall_s:6.2f} s  cpu {usage.cpu_s:6.2f} s  memory {usage.rss_mb:5.0f} MB")
    say(f"wall, run / bare: {statistics.median(ratios):.2f} (median of {chosen.runs})")


def say(line: str) -> None:
    """A line of the answer."""
    print(line, flush=True)  # noqa: T201  a command's output


if __name__ == "__main__":
    main()
