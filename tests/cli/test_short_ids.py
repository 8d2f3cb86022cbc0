"""Every id that a command takes may be shortened: each argument of each command, given whole and by its first characters."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pytest
from pydantic import JsonValue

from minions_evals_mcp.cli.commands import COMMANDS, NOUNS
from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Ended, Json, Terminal

CASES = [f"case{number}/aa-long-name" for number in range(8)]
NAMED = {
    "case": CASES[0],
    "case2": CASES[1],
    "bench": "bench1/of-greens",
    "bench2": "bench2/other",
    "v1": "ver-1/zz-first",
    "v2": "ver-2/zz-second",
    "arun": "r3v1/out/aaaa",
    "branch": "bran-a/of-case",
    "branchb": "bran-b/of-case",
    "prompt": "prompt/of-greens",
    "world": "world1/of-tools",
}
LONG = 8
"""So many characters are given of an id."""
ROWS = """
show {case} | show {bench} | show {v1} | show {run} | show {comp} | show {arun} | show {branch}
export {run} --format inspect -o x.json
set {case} name=New | set {branch} name=New | delete {case2}
run {bench} --prompt-version {v1} --key k | run {case} --key k
run-test-case {case} --key k | run-test-case {case} --agent-run {arun} --key k
run-test-case {case} --prompt-version {v2} --key k | run-test-case {case} --world {world} --key k
run-benchmark {bench} --prompt-version {v2} --key k | run-benchmark {bench} --rerun-failed {run} --key k
batch-run-tests {prompt} {case} {case2} --prompt-version {v2} --recorded
compare {bench} --from {v1} --to {v2} --key k | compare {run1} {run}
try-version {bench} {v2} --against {v1} --recorded --key k | try-version {bench} {prompt} --content New --recorded --key k
cases {v1} | cases {prompt} | versions {v1} | versions {v1} {v2} | versions {prompt}
prompt use {v1} --by ada | prompt take new-prompt {bench} | approve {v2} --comparison {comp} --reason because --by ada
audit {bench} | trend {bench} | what-changed {bench} | plan {bench} | seal {bench} --share 0.5
calibrate {bench} --prompt-version {v1} --key k | rejudge {run} --key k
ab-test {case} --branch {branch} --branch {branchb} | ab-test {case} {case2} --branch {branch} --branch {branchb}
branches {case} | branches {case} --executions {branch}
classify {run} | promote {arun} --corrected blue | promote {arun} --corrected blue --into {bench2}
label {run} --draw 2 | label {bench} --draw 2 | judge {run} --by ada | judge-check {run} --dry-run | agreement {bench}
stats {case} | history {case} | accept {case} --output blue | accept {run} | runs {run}
report {run} -o r.json --compare {run1} | diff {run1} {run} | scorecard {run} --compare {run1}
lift a.md --cases {bench} | world show {run} | conversations {run} | world check {world} | world attack {bench} --key k
people assign {run} | label-user {run} --sound {case} --reason because --by ada
add test-branch testCaseId={case} name=x provider=openai model=gpt-4o
"""
COMMAND_LINES = [line.strip() for row in ROWS.strip().split("\n") for line in row.split("|")]

READING = {
    "show", "cases",
    "versions", "audit", "trend", "what-changed", "plan", "branches", "judge-check", "agreement", "stats", "history", "runs",
    "diff", "scorecard", "world", "conversations",
}  # fmt: skip
"""Commands that only read, all but `world attack`: carried out in one process."""
READ = [line for line in COMMAND_LINES if line.split(" ")[0] in READING and not line.startswith("world attack")]
WRITING = [line for line in COMMAND_LINES if line not in READ]

NO_IDS = {
    "demo", "init", "import", "list", "submit", "view", "outbox", "score", "eval", "pick", "doctor", "people add", "people role",
    "people remove", "people list", "db check", "db backup", "db salvage", "db path", "mcp install",
}  # fmt: skip
"""Commands none of whose arguments is the id of what is stored. `submit` takes a file that says whole ids."""
ELSEWHERE = {
    "watch": "it goes on until it is interrupted; `run` has its arguments",
    "world serve": "it serves until it is interrupted; `world check` has its argument",
    "live": "it goes on until it is interrupted, and filters by whole names",
    "suite from-traces": "it accepts the drafts that it made: tests/discovery",
    "suite from-prompt": "as above",
    "forget": "what is erased is named whole: see below",
}
NO_ID = {
    "fields", "other", "cases", "by", "reason", "key", "criteria", "judge", "judge_model", "target", "embedder", "triggered_by",
    "cluster", "min_score", "margin", "inline", "override_reason", "unseal", "columns", "code", "corrected", "why", "output",
    "name", "skills_at", "subject", "type", "format", "skill", "explain", "content", "purpose", "undecided", "source", "failure",
    "case", "executions", "against", "agent", "dimension",
    "accept", "prompt", "config", "benchmark", "fault", "with_", "without", "filter", "server",
    "rubric", "tag", "model", "raters", "adjudicate", "spoiled",
}  # fmt: skip


class Place(NamedTuple):
    """A store, and the ids in it that its runs have made."""

    folder: Path
    named: dict[str, str]


def records() -> Iterator[Json]:
    for number in (1, 2):
        version = NAMED[f"v{number}"]
        yield record(
            version, "prompt-version", content=f"Say it {number}.", versionNumber=number, promptId=NAMED["prompt"]
        )
    for number, ident in enumerate(CASES):
        yield case(ident, promptId=NAMED["prompt"])
        for version, passing in ((1, number < 2), (2, number != 0)):
            ref = NAMED[f"v{version}"]
            yield answer(f"r{number}v{version}/out/aaaa", ident, "green" if passing else "red", promptVersionRef=ref)
    for branch in (NAMED["branch"], NAMED["branchb"]):
        yield record(branch, "test-branch", testCaseId=CASES[0], name=branch, provider="openai", model="gpt-4o")
    yield benchmark(NAMED["bench"], *CASES)
    yield benchmark(NAMED["bench2"], *CASES[:2])
    yield record(NAMED["world"], "world", name="w", servers={"crm": {"tools": [{"name": "find"}]}})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store with two runs and a comparison of them."""
    at = Terminal(tmp_path_factory.mktemp("ids"))
    runs = [
        ["run-benchmark", NAMED["bench"], "--prompt-version", NAMED[f"v{number}"], "--key", f"key-{number}"]
        for number in (1, 2)
    ]
    compared = ["compare", NAMED["bench"], "--from", NAMED["v1"], "--to", NAMED["v2"]]
    for ended in at.many(["import", at.file("s.json", suite(*records()))], *runs, compared):
        assert ended.code == 0, ended.err
    (comparison,) = listed(at.run("list", "prompt-comparison", "--json").one()["records"])
    run1, run2 = (str(at.run("runs", f"key-{number}", "--json").one()["runId"]) for number in (1, 2))
    return Place(at.folder, {**NAMED, "run": run2, "run1": run1, "comp": str(comparison["id"])})


def listed(value: JsonValue) -> list[Json]:
    assert isinstance(value, list)
    return [row for row in value if isinstance(row, dict)]


def carried_out(place: Place, folder: Path, line: str, named: dict[str, str]) -> Ended:
    """The command on a copy of the store."""
    folder.mkdir()
    shutil.copy(place.folder / "evals.db", folder)
    (folder / "a.md").write_text("Be brief.", "utf-8")
    return Terminal(folder).run(*line.format(**named).split(" "))


def told(ended: Ended) -> tuple[int, str]:
    """The exit code and the text, without what differs from run to run."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8,12}\b", "ID", f"{ended.out}|{ended.err}")
    return ended.code, re.sub(r"\d\d:\d\d(:\d\d)?|\d+(\.\d+)? ?m?s\b|\s+|[─━]+", " ", text)


def test_commands_that_read_take_ids_by_their_first_characters(place: Place) -> None:
    at = Terminal(place.folder)
    whole, short = (
        at.asked(*(line.format(**named).split(" ") for line in READ)) for named in (place.named, shortened(place))
    )
    for line, ended, other in zip(READ, whole, short, strict=True):
        assert told(other) == told(ended), line
        assert "no record with" not in ended.err, line


def shortened(place: Place) -> dict[str, str]:
    return {name: ident[:LONG] for name, ident in place.named.items()}


@pytest.mark.parametrize("line", WRITING)
def test_commands_that_write_take_ids_by_their_first_characters(place: Place, tmp_path: Path, line: str) -> None:
    short = shortened(place)
    whole = carried_out(place, tmp_path / "whole", line, place.named)
    assert told(carried_out(place, tmp_path / "short", line, short)) == told(whole)
    assert "no record with" not in whole.err, "the whole id is not known either: the row says nothing"
    assert "--help" not in whole.err, f"the row's form is wrong: {whole.err}"


def test_what_is_erased_is_named_whole(place: Place, tmp_path: Path) -> None:
    refused = carried_out(
        place, tmp_path / "s", "forget --record {arun} --yes", {"arun": place.named["arun"][:LONG], "n": ""}
    )
    assert refused.code == 2
    assert "its full id" in refused.err


def functions() -> Iterator[tuple[str, Any]]:
    """Every command with its function."""
    rows = {name: target for name, (target, _) in COMMANDS.items()}
    for noun, (_, verbs) in NOUNS.items():
        rows |= {f"{noun} {verb}": target for verb, (target, _) in verbs.items() if target not in rows.values()}
    for name, target in rows.items():
        module, _, function = target.partition(":")
        yield name, getattr(import_module(f"minions_evals_mcp.cli.{module}"), function)


def test_every_command_is_tried_or_takes_no_id() -> None:
    tried = {
        line.split(" ")[0] if line.split(" ")[0] not in NOUNS else " ".join(line.split(" ")[:2])
        for line in COMMAND_LINES
    }
    assert {name for name, _ in functions()} - tried == NO_IDS | ELSEWHERE.keys()


def texts(function: Any) -> Iterator[str]:
    """The names of a command's arguments and options that take text, those of its groups of options too."""
    hints = get_type_hints(function)
    for parameter in inspect.signature(function).parameters:
        kind = hints[parameter]
        if is_dataclass(kind):
            yield from (part.name for part in fields(kind) if "str" in str(get_type_hints(kind).get(part.name, "")))
        elif "str" in str(kind):
            yield parameter


def test_every_argument_that_takes_text_is_known_here() -> None:
    """A new argument is one of an id, which a row above tries, or stands among those that are none."""
    with_ids = set(re.findall(r"--([a-z-]+) {", ROWS)) | {"id", "ids", "version", "run_id", "before", "after", "case"}
    of_ids = {name.replace("-", "_") for name in with_ids} | {
        "from_",
        "record",
        "comparison",
        "agent_run",
        "world",
        "compare",
        "into",
    }
    unknown = {
        f"{name}: {text}"
        for name, function in functions()
        if name not in NO_IDS
        for text in texts(function)
        if text not in of_ids | NO_ID
    }
    assert not unknown, json.dumps(sorted(unknown))
