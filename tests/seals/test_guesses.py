"""No door answers a right guess at a sealed case otherwise than a wrong one: both are asked of two copies of one store."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from pydantic import JsonValue

from tests.seals.story import MARK, saying
from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import hosted, text_of
from tests.workshop import config_in

Json = dict[str, JsonValue]
SAYING = f"python:{saying.__module__}:saying"
CASE = 2
"""The sealed case that is guessed at: it is compared with an expected output."""
CHANGING = (
    r"[0-9a-f]{8}-[0-9a-f-]{9,}|\b[0-9a-f]{8}\b|[0-9a-f]{12,}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d+(\.\d+)?(e-\d+)? ?(ms|s)\b|\d+\.\d+|\b\d{9,}\b"
)
"""What no two runs of the same have in common: ids, moments, durations."""
PROGRESS = re.compile(r"^.* … \d+ s$\n?", re.MULTILINE)
"""What is said of a step while it takes long."""


def _wire(ident: str, kind: str, **fields: JsonValue) -> Json:
    return {"id": ident, "type": kind, "fields": {"name": ident, **fields} if kind != "agent-run" else {**fields}}


def records(asked: str, expected: str, said: str) -> list[Json]:
    """What is saved of a guess: outputs, an open case, and benchmarks, one of them sealed."""
    inputs: Json = {"q": asked}
    case: Json = {
        "inputs": inputs,
        "expectedOutputs": {"output": expected},
        "passRule": "max_score",
        "promptId": "p",
        "agentId": "agent",
    }
    own = [_wire(f"g{number}", "test-case", **case) for number in range(2)]
    return [
        _wire("o1", "agent-run", agentId="agent", inputs=inputs, outputs={"output": said}, promptVersionRef="v1"),
        _wire("o2", "agent-run", agentId="other", inputs=inputs, outputs={"output": said}, extra={"sealed": True}),
        *own,
        _wire("mine", "benchmark", testCaseIds=["g0"]),
        _wire("closed", "benchmark", testCaseIds=["g1"], sealed=True),
    ]


TOOLS: list[tuple[str, Json]] = [
    ("list_records", {"type": "agent-run", "detail": "full", "limit": 100}),
    ("get_record", {"id": "o1"}),
    ("get_record", {"id": "o2"}),
    ("get_record", {"id": "g0"}),
    ("run_test_case", {"testCaseId": "g0", "waitSeconds": 50}),
    ("run_test_case", {"testCaseId": "g0", "agentRunId": "o1", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "mine", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "mine", "promptVersionRef": "v2", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "mine", "target": SAYING, "cache": True, "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "mine", "dryRun": True}),
    ("audit_benchmark", {"benchmarkId": "mine", "detail": "full"}),
    ("plan_benchmark", {"benchmarkId": "mine"}),
    ("get_statistics", {"testCaseId": "g0", "detail": "full"}),
    ("get_statistics", {"promptId": "p", "detail": "full"}),
    ("promote_failure", {"id": "o1"}),
    ("suite_from_traces", {"agentId": "agent"}),
    ("suite_from_traces", {"agentId": "other", "reader": "caller"}),
    ("compare_prompt_versions", {"benchmarkId": "mine", "versionA": "v1", "versionB": "v2", "waitSeconds": 50}),
    ("compare_prompt_versions", {"benchmarkId": "closed", "versionA": "v1", "versionB": "v2", "waitSeconds": 50}),
    ("compare_prompt_versions", {"benchmarkId": "b", "versionA": "v1", "versionB": "v3", "waitSeconds": 50}),
    ("try_version", {"benchmarkId": "closed", "version": "v2", "sealed": True, "waitSeconds": 50}),
    ("list_records", {"type": "test-case", "detail": "full", "limit": 100}),
    ("list_records", {"type": "benchmark", "detail": "full", "limit": 100}),
    ("classify_failure", {"id": "latest"}),
]
EDITS = (
    {"id": f"c{CASE}", "type": "test-case"},
    {"id": f"v1/{CASE}", "type": "agent-run"},
)  # fmt: skip
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("import", "guess.jsonl"),
    ("import", "guess.jsonl"),
    ("show", "o1"),
    ("show", "o2"),
    ("list", "agent-run", "--json"),
    ("run-benchmark", "mine"),
    ("run-benchmark", "mine", "--prompt-version", "v2"),
    ("run-benchmark", "mine", "--target", SAYING, "--cache"),
    ("run-test-case", "g0", "--agent-run", "o1"),
    ("audit", "mine"),
    ("compare", "mine", "--from", "v1", "--to", "v2"),
    ("compare", "closed", "--from", "v1", "--to", "v2"),
    ("seal",),
    ("promote", "o1"),
    ("stats", "g0"),
    ("history", "g0"),
    ("cases", "p"),
    ("batch-run-tests", "p", "g0"),
    ("import", "edit.jsonl"),
    ("import", "edit.jsonl", "--json"),
    ("export", "--type", "agent-run"),
    ("run-benchmark", "b", "--filter", "text~ASKED"),
    ("run-benchmark", "b", "--filter", "text~EXPECTED", "--dry-run"),
    ("run-benchmark", "open-b", "--filter", "text~ASKED"),
    ("db", "check", "--deep"),
)


def comparable(text: str, guess: Sequence[str]) -> str:
    """The answer with the guess and what always differs taken out."""
    for place, word in enumerate(guess):
        text = text.replace(word, f"GUESS{place}")
    return re.sub(CHANGING, "~", PROGRESS.sub("", text))


def whole(guess: Sequence[str]) -> list[Json]:
    """The sealed case and its recorded output as the guess has them, under their own ids."""
    asked, expected, said = guess
    fields: Json = {
        "name": f"{MARK}name{CASE}", "description": f"{MARK}described{CASE}", "inputs": {"q": asked},
        "expectedOutputs": {"output": expected}, "passRule": "max_score", "promptId": "p", "tags": [f"{MARK}tag{CASE}"],
    }  # fmt: skip
    log: JsonValue = [{"tool": "look", "arguments": {"q": f"{MARK}argument{CASE}"}, "result": f"{MARK}found{CASE}"}]
    run: Json = {
        "agentId": "agent", "inputs": {"q": asked}, "outputs": {"output": said}, "promptVersionRef": "v1", "toolCallsLog": log,
    }  # fmt: skip
    return [
        {"id": f"c{CASE}", "type": "test-case", "fields": fields},
        {"id": f"v1/{CASE}", "type": "agent-run", "fields": run},
    ]


RIGHT = (f"{MARK}input{CASE}", f"{MARK}expected{CASE}", f"{MARK}asserted{CASE} {MARK}expected{CASE}")
WRONG = (f"{MARK}inpux{CASE}", f"{MARK}expectex{CASE}", f"{MARK}assertex{CASE} {MARK}expectex{CASE}")


async def _of_tools(folder: Path, guess: Sequence[str]) -> list[str]:
    answers: list[str] = []
    async with hosted(config_in(folder), target=SAYING) as host:

        async def ask(tool: str, **given: Any) -> None:
            answers.append(f"{tool} {json.dumps(given)[:90]}: {text_of(await host.raw(tool, **given))}")

        for record in records(*guess):
            await ask("save_records", records=[record])
        for tool, given in TOOLS:
            await ask(tool, **given)
        for record in whole(guess):
            await ask("save_records", records=[record])
    return [comparable(answer, guess) for answer in answers]


def test_no_tool_answers_a_right_guess_otherwise(sealed: Path, tmp_path: Path) -> None:
    said: list[list[str]] = []
    for name, guess in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / name).mkdir()
        shutil.copy(sealed, tmp_path / name / "evals.db")
        said.append(anyio.run(_of_tools, tmp_path / name, guess))
    differ = [(one, other) for one, other in zip(*said, strict=True) if one != other]
    assert not differ, "\n\n".join(f"RIGHT {one}\nWRONG {other}" for one, other in differ)


def test_no_command_answers_a_right_guess_otherwise(sealed: Path, tmp_path: Path) -> None:
    said: list[list[str]] = []
    for name, guess in (("right", RIGHT), ("wrong", WRONG)):
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(sealed, folder / "evals.db")
        for file, lines in (("guess.jsonl", records(*guess)), ("edit.jsonl", whole(guess))):
            (folder / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        meant: dict[str, str] = {"text~ASKED": f"text~{guess[0]}", "text~EXPECTED": f"text~{guess[1]}"}
        ended = Terminal(folder).asked(*([meant.get(word, word) for word in words] for words in COMMANDS))
        answers = [
            f"{' '.join(words)}: {one.code} {one.out}{one.err}" for words, one in zip(COMMANDS, ended, strict=True)
        ]
        said.append([comparable(answer.replace(str(folder), "HERE"), guess) for answer in answers])
    differ = [(one, other) for one, other in zip(*said, strict=True) if one != other]
    assert not differ, "\n\n".join(f"RIGHT {one}\nWRONG {other}" for one, other in differ)
