"""How long reports and diffs of a large benchmark take, how much memory, and how soon the HTML file opens.

python -m tests.bench.pages.report [--cases 10000] [--opened 1000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.pages.runs import recorded_suite
from tests.shared.bench.process import PATH, measured
from tests.shared.browser.driver import CHROMIUM, started, tab

CLI = [sys.executable, "-m", "minions_evals_mcp.cli"]
TIMES = 5


def two_versions(cases: int) -> str:
    """The cases of `runs.py`, answered by two prompt versions, of which the second is careless with every seventh."""
    rows = [json.loads(line) for line in recorded_suite(cases, judged_by="heuristic").splitlines()]
    answers = [row for row in rows if row["type"] == "agent-run"]
    for number, row in enumerate(answers):
        row["fields"]["promptVersionRef"] = "p@1"
        output = row["fields"]["outputs"]["output"]
        said = output.replace("resolved", "closed") if number % 7 == 0 else output.replace("cleaned", "washed")
        fields = {**row["fields"], "outputs": {"output": said}, "promptVersionRef": "p@2"}
        rows.append({"id": f"{row['id']}/2", "type": "agent-run", "fields": fields})
    return "".join(json.dumps(row) + "\n" for row in rows)


def store_of(folder: Path, cases: int, environment: dict[str, str]) -> Path:
    """A store with two runs of the benchmark, `one` and `two`."""
    db, suite = folder / f"{cases}.db", folder / "suite.jsonl"
    suite.write_text(two_versions(cases))
    commands = (
        ["import", str(suite)],
        ["run-benchmark", "b", "--prompt-version", "p@1", "--key", "one"],
        ["run-benchmark", "b", "--prompt-version", "p@2", "--key", "two"],
    )
    for command in commands:
        subprocess.run([*CLI, *command, "--db", str(db)], check=True, env=environment, stdout=subprocess.DEVNULL)
    return db


def beside_floor(folder: Path, db: Path, environment: dict[str, str]) -> None:
    """The CPU of the HTML report of two runs, and of a bare template with the same rows and differences, in turn."""
    ours, bare = (
        [*CLI, "report", "two", "--compare", "one", "-o", str(folder / "ours.html"), "--db", str(db)],
        [sys.executable, "-m", "tests.bench.bare.report", str(db), str(folder / "bare.html"), "one", "two"],
    )
    spent = [[measured(command, environment).cpu_s for command in (ours, bare)] for _ in range(TIMES)]
    own, floor = (statistics.median(column) for column in zip(*spent, strict=True))
    sys.stdout.write(f"both runs: {own:.2f} s CPU, a bare template {floor:.2f} s: {own / floor:.2f} x\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--opened", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, environment = Path(name), {"PATH": PATH, "HOME": name}
        db = store_of(folder, options.cases, environment)
        floor = measured([*CLI, "runs", "--db", str(db)], environment)
        sys.stdout.write(f"floor (runs): {floor.wall_s:.2f} s wall, {floor.rss_mb:.0f} MB\n")
        commands = [["diff", "one", "two"]]
        commands += [
            ["report", "two", "-o", str(folder / f"r.{form}")] for form in ("html", "md", "xml", "json", "csv")
        ]
        commands.append(["report", "two", "--compare", "one", "-o", str(folder / "both.html")])
        for command in commands:
            used = measured([*CLI, *command, "--db", str(db)], environment)
            said = " ".join(command[:1] + [part.rpartition("/")[2] for part in command[1:]])
            sys.stdout.write(
                f"{options.cases} cases, {said}: {used.wall_s:.2f} s wall, {used.cpu_s:.2f} s CPU, {used.rss_mb:.0f} MB\n"
            )
        beside_floor(folder, db, environment)
        if CHROMIUM is None:
            sys.stdout.write("no Chromium here: opening is not measured\n")
            return
        small = store_of(folder, options.opened, environment)
        blank, file = folder / "blank.html", folder / "opened.html"
        blank.write_text("<!doctype html><title>blank</title>")
        subprocess.run(
            [*CLI, "report", "two", "-o", str(file), "--db", str(small)],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        with started(folder) as browser, tab(browser) as at:
            for what in (blank, file, folder / "r.html", folder / "both.html"):
                begun = time.perf_counter()
                at.go(what.as_uri())
                taken = time.perf_counter() - begun
                sys.stdout.write(
                    f"opened in Chromium, {what.name} of {what.stat().st_size / 1e6:.1f} MB: {taken:.2f} s\n"
                )


if __name__ == "__main__":
    main()
