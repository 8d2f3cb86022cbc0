"""Two questions about whole runs: does memory grow with the cases, and what do judge calls per criterion cost against one per run?

python -m tests.bench.pages.runs [--cases 1000,20000] [--judged 300]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.shared.bench.process import PATH, Usage, measured, serving

CLI = [sys.executable, "-m", "minions_evals_mcp.cli"]
CRITERIA = ("settled", "polite", "complete")


def recorded_suite(cases: int, *, judged_by: str) -> str:
    """Cases with recorded outputs of about 400 characters and a rubric of three criteria."""
    guide = json.dumps([{"type": "icontains", "value": "resolved"}])
    minions: list[dict[str, object]] = [
        {
            "id": "r",
            "type": "rubric",
            "fields": {"name": "Reply", "criteriaIds": list(CRITERIA), "passingThreshold": 1.5},
        }
    ]
    for name in CRITERIA:
        fields = {
            "rubricId": "r",
            "name": name,
            "description": f"The reply is {name}.",
            "scoringGuide": guide,
            "judgeType": judged_by,
        }
        minions.append({"id": name, "type": "rubric-criterion", "fields": fields})
    for n in range(cases):
        inputs = {"question": f"What became of ticket REF-{n:06d}?"}
        minions.append(
            {"id": f"t{n}", "type": "test-case", "fields": {"name": f"Ticket {n}", "inputs": inputs, "rubricId": "r"}}
        )
        output = {
            "output": f"Ticket REF-{n:06d} state={'open' if n % 5 == 0 else 'resolved'}. "
            + "The rollers were cleaned. " * 14
        }
        minions.append(
            {"id": f"a{n}", "type": "agent-run", "fields": {"agentId": "desk", "inputs": inputs, "outputs": output}}
        )
    ids = [f"t{n}" for n in range(cases)]
    minions.append({"id": "b", "type": "benchmark", "fields": {"name": "Tickets", "testCaseIds": ids}})
    return "".join(json.dumps(one) + "\n" for one in minions)


def run(folder: Path, suite: str, environment: Mapping[str, str], *options: str) -> Usage:
    """One benchmark over a fresh store."""
    file = folder / "suite.jsonl"
    file.write_text(suite)
    db = folder / "store.db"
    db.unlink(missing_ok=True)
    subprocess.run(
        [*CLI, "import", str(file), "--db", str(db)], check=True, env=dict(environment), stdout=subprocess.DEVNULL
    )
    return measured([*CLI, "run-benchmark", "b", "--db", str(db), "--json", *options], environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="1000,20000")
    parser.add_argument("--judged", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {"PATH": PATH, "HOME": name}
        for cases in map(int, options.cases.split(",")):
            used = run(folder, recorded_suite(cases, judged_by="heuristic"), environment)
            sys.stdout.write(
                f"{cases} cases by rule: {used.rss_mb:.0f} MB peak, {used.wall_s:.2f} s wall, {used.cpu_s:.2f} s CPU\n"
            )
        with serving(50) as url:
            model = {**environment, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url}
            for calls in ("per-criterion", "per-run"):
                settings = {
                    **model,
                    "MINIONS_EVALS_JUDGE_CALLS": calls,
                    "MINIONS_EVALS_JUDGE_MODEL": "anthropic:fake-judge",
                }
                used = run(
                    folder,
                    recorded_suite(options.judged, judged_by="llm"),
                    settings,
                    "--judge",
                    "llm",
                    "--concurrency",
                    "100",
                )
                sys.stdout.write(
                    f"{options.judged} cases × {len(CRITERIA)} criteria, judge calls {calls}:"
                    f" {used.wall_s:.2f} s wall, {used.cpu_s:.2f} s CPU\n"
                )


if __name__ == "__main__":
    main()
