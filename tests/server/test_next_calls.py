"""The calls that answers and refusals name are made, as an assistant makes them: each is taken as it stands.

From a handful of calls on, every call that an answer names is made in turn, until no new one is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from mcp_types import CallToolResult
from pydantic import JsonValue

from minions_evals_mcp.server.catalogue import CATALOGUE
from tests.shared.server.hosts import Host, hosted, read_by_people, suite, text_of
from tests.workshop import Json, config_in

TOOLS = 5
"""So many tools are named at the least."""
MOST = 150
"""So many calls at the most."""
OPEN = re.compile(r"[A-Z]{3,}|…")
"""A word that whoever calls fills in: `YOUR-ID`, `TEXT`."""
NAMES = "|".join(sorted(CATALOGUE, key=len, reverse=True))
CALL = re.compile(rf"(?<![\w/])({NAMES}) (?=\{{)")
FORM = ("bad-arguments", "bad-input", "not-found", "unsupported", "invalid-record", "conflict")
"""Refusals of the call as it stands. A hard rule, a missing judge and a stopped run are answers about the world."""
VERSIONS: list[JsonValue] = [
    {"id": f"v{number}", "type": "prompt-version", "fields": {"content": f"Say {number}.", "versionNumber": number, "promptId": "p"}}
    for number in (1, 2)
]  # fmt: skip
STARTS: list[tuple[str, Json]] = [
    ("list_records", {"type": "run"}),
    ("list_records", {"type": "benchmark"}),
    ("run_benchmark", {"benchmarkId": "b", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "b", "promptVersionRef": "v1", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "b", "promptVersionRef": "v3", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "nobody"}),
    ("run_benchmark", {"benchmarkId": "b", "dryRun": True}),
    ("run_benchmark", {"benchmarkId": "people", "judge": "caller", "waitSeconds": 50}),
    ("run_test_case", {"testCaseId": "c0", "waitSeconds": 50}),
    ("run_test_case", {"testCaseId": "c1", "waitSeconds": 50}),
    ("compare_prompt_versions", {"benchmarkId": "b", "versionA": "v1", "versionB": "v2", "waitSeconds": 50}),
    ("approve_prompt_version", {"promptVersionRef": "v2", "decidedBy": "ada", "reason": "better"}),
    ("try_version", {"benchmarkId": "b", "version": "v2", "against": "v1", "waitSeconds": 50}),
    ("classify_failure", {"id": "latest"}),
    ("detect_trend", {"benchmarkId": "b"}),
    ("audit_benchmark", {"benchmarkId": "b"}),
    ("plan_benchmark", {"benchmarkId": "b"}),
    ("promote_failure", {"id": "latest"}),
    ("suite_from_traces", {"agentId": "nobody"}),
    ("suite_from_prompt", {"documents": []}),
    ("get_statistics", {"testCaseId": "c0"}),
    ("get_statistics", {"promptId": "p"}),
    ("get_record", {"id": "b"}),
    ("score_outputs", {"runId": "latest"}),
    ("get_run", {"runId": "latest"}),
    ("get_run", {"runId": "nobody"}),
    ("save_records", {"records": [{"id": "x", "type": "benchmark", "fields": {"name": "x", "testCaseIds": ["gone"]}}]}),
    ("run_benchmark", {"benchmarkId": "b", "target": "anthropic:m"}),
    ("run_benchmark", {"benchmarkId": "people", "judge": "llm", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "people", "judge": "human", "waitSeconds": 50}),
    ("run_benchmark", {"benchmarkId": "b", "rejudgeRunId": "latest", "waitSeconds": 50}),
    ("compare_prompt_versions", {"benchmarkId": "b", "versionA": "v2", "versionB": "v1", "waitSeconds": 50}),
    ("compare_prompt_versions", {"runIds": ["gone", "lost"]}),
    ("run_test_case", {"promptId": "p", "waitSeconds": 50}),
    ("run_ab_test", {"testCaseId": "c0", "branchIds": ["x", "y"]}),
    ("cancel_run", {"runId": "latest"}),
    ("delete_record", {"id": "c"}),
    ("get_statistics", {"skillId": "nobody"}),
    ("get_statistics", {"branchId": "nobody"}),
]


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[Host]:
    """A host on a store with a suite whose answers two versions gave, and another that waits to be judged."""
    async with hosted(config_in(tmp_path)) as found:
        records = cast("list[Any]", suite(12, bad=2))
        runs = [record for record in records if record["type"] == "agent-run"]
        for version, outputs in (("v1", {"output": "wrong"}), ("v2", None)):
            records += [
                {**run, "id": f"{run['id']}/{version}", "fields": {**run["fields"], "outputs": outputs or run["fields"]["outputs"],
                 "promptVersionRef": version}}
                for run in runs
            ]  # fmt: skip
        others = json.loads(
            re.sub(r'"(a-)?c(\d)"', r'"\1w\2"', json.dumps(read_by_people(2))).replace('"b"', '"people"')
        )
        await found.call(
            "save_records", records=[*VERSIONS, *records, *others], relations=[{"sourceId": "v2", "targetId": "v1"}]
        )
        yield found


def named_in(result: CallToolResult) -> Iterator[tuple[str, Json]]:
    """The calls that an answer or refusal names, whole: those with a word to be filled in are none yet."""
    wire: Json = result.structured_content or {}
    texts = [text_of(result), *(str(step) for step in cast("list[JsonValue]", wire.get("next", [])))]
    for text in map(_filled(wire), texts):
        for match in CALL.finditer(text):
            try:
                arguments, _ = json.JSONDecoder().raw_decode(text[match.end() :])
            except ValueError:
                continue
            if not OPEN.search(json.dumps(arguments, ensure_ascii=False)):
                yield match[1], cast("Json", arguments)


def _filled(wire: Json) -> Callable[[str], str]:
    """Fills in what the answer leaves to whoever judges: who that is, which request, which criterion, and why."""
    packets = cast("list[Any]", wire.get("packets") or [])
    packet = packets[0] if packets else {"digest": "…", "criterionIds": ["…"]}
    values = {
        '"YOUR-ID"': '"ada"', '"digest": "…"': f'"digest": "{packet["digest"]}"', '"rationale": "…"': '"rationale": "It is kind enough."',
        '"criterionId": "…"': f'"criterionId": "{packet["criterionIds"][0]}"', '"score": 0': '"score": 4',
    }  # fmt: skip

    def filled(text: str) -> str:
        for left, right in values.items():
            text = text.replace(left, right)
        return text

    return filled


async def test_every_call_that_an_answer_names_is_taken(host: Host) -> None:
    waiting, made, followed, refused = [*STARTS], set[str](), set[str](), list[str]()
    starts = len(STARTS)
    for place in range(MOST):
        if place >= len(waiting):
            break
        tool, arguments = waiting[place]
        made.add(f"{tool} {json.dumps(arguments, sort_keys=True)}")
        result = await host.raw(tool, **arguments)
        if place >= starts:
            followed.add(tool)
            if result.is_error and text_of(result).startswith(FORM):
                refused.append(f"{tool} {json.dumps(arguments)}: {text_of(result)}")
        for step in named_in(result):
            if f"{step[0]} {json.dumps(step[1], sort_keys=True)}" not in made and step not in waiting:
                waiting.append(step)
    assert not refused, "\n".join(refused)
    assert len(followed) >= TOOLS, f"too few tools are named by answers: {sorted(followed)}"
