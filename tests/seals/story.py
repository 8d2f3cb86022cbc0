"""A store in which everything happened to a benchmark before it was sealed, with a mark in every field that a seal hides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.engine.audit.suite import audit_suite, keep_audit, subject_of
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.engine.trials.trial import compare_sealed
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.messages.send_message import Letter, send_message
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.rows import insert
from tests.workshop import START, bench, benchmark, config_in, minion, opened, rubric, save, says

MARK = "Zq7x"
"""Begins every word that a seal hides; nothing else says it."""
SIZE = 12
RAISING = "python:tests.seals.story:raising"


def raising(inputs: dict[str, JsonValue]) -> str:
    """A target that fails, and quotes what it was asked."""
    raise RuntimeError(f"no answer to {inputs['q']}")


def saying(inputs: dict[str, JsonValue]) -> str:
    """A target that answers, and quotes what it was asked."""
    return f"{MARK}target says {inputs['q']}"


def _case(number: int) -> Record[Fields]:
    asks: dict[str, JsonValue] = {"rubricId": "r"} if number % 3 == 0 else {}
    if number % 3 == 1:
        asks = {"assertions": [{"type": "icontains", "value": f"{MARK}asserted{number}"}]}
    fields: dict[str, JsonValue] = {
        "name": f"{MARK}name{number}", "description": f"{MARK}described{number}", "inputs": {"q": f"{MARK}input{number}"},
        "expectedOutputs": {"output": f"{MARK}expected{number}"}, "passRule": "max_score", "promptId": "p",
        "tags": [f"{MARK}tag{number}"], **asks,
    }  # fmt: skip
    return minion(f"c{number}", "test-case", **fields)


def _answers(version: str, good: int) -> Iterator[Record[Fields]]:
    for number in range(SIZE):
        said = f"{MARK}asserted{number} {MARK}expected{number}" if number < good else f"{MARK}wrong output{number}"
        outputs: JsonValue = {"output": said}
        log: JsonValue = [
            {"tool": "look", "arguments": {"q": f"{MARK}argument{number}"}, "result": f"{MARK}found{number}"}
        ]
        yield minion(
            f"{version}/{number}", "agent-run", agentId="agent", inputs={"q": f"{MARK}input{number}"}, outputs=outputs,
            promptVersionRef=version, toolCallsLog=log,
        )  # fmt: skip


async def story(folder: Path) -> None:
    """Runs, failures, a regression, a comparison, judgments, what waits for callers and people, branches; then the seal."""
    async with opened(config_in(folder)) as engine:
        await _before(engine)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        await compare_sealed(engine, _asked("v1", "v2", key="told"))
        for number, target in enumerate((RAISING, "python:tests.seals.story:saying")):
            with suppress(EvalsError):
                await compare_sealed(engine, _asked("v2", "v3", target=target, key=f"made{number}"))


def _asked(a: str, b: str, **more: JsonValue) -> ComparisonRequest:
    return ComparisonRequest.model_validate({"benchmark_id": "b", "version_a": a, "version_b": b, **more})


async def _before(engine: Engine) -> None:
    idents = [f"c{number}" for number in range(SIZE)]
    versions = [
        minion(f"v{n}", "prompt-version", content=f"Say {n}: {{{{q}}}}", versionNumber=n, promptId="p")
        for n in (1, 2, 3)
    ]
    await save(
        engine, rubric("r", 0.5, good=says("expected")), [_case(number) for number in range(SIZE)],
        benchmark("b", *idents, passingThreshold=0.9), versions,
        minion("open", "test-case", name="open", inputs={"q": "open"}, expectedOutputs={"output": "yes"}, promptId="p"),
        benchmark("open-b", "open"),
        minion("a-open", "agent-run", agentId="agent", inputs={"q": "open"}, outputs={"output": "yes"}),
        minion("br", "test-branch", testCaseId="c1", name="br", provider="openai", model="m"),
        minion("draft", "proposal-draft", title=f"{MARK}draft", content=f"{MARK}draft", agentRunId="v1/1"),
        relations=[Relation("v2", "v1", "follows"), Relation("v3", "v2", "follows")],
    )  # fmt: skip
    for version, good in (("v1", SIZE), ("v2", SIZE - 6)):
        await save(engine, list(_answers(version, good)))
        await bench(engine, "b", prompt_version_ref=version, key=f"run-{version}")
    await bench(engine, "open-b", key="run-open")
    await keep_audit(engine, await audit_suite(engine, await subject_of(engine, "b")))
    await compare_prompt_versions(engine, _asked("v1", "v2"))
    await _waiting(engine)
    ran = TestBranchExecution(
        branch_id="br", output=f"{MARK}branch", status="success", latency_ms=1, input_tokens=1, output_tokens=1,
        total_tokens=2, test_case_id="c1",
    )  # fmt: skip
    await engine.store.write(lambda db: insert(db, Record("br-run", ran, "br", START, START)))
    told = {"agentRunId": "v1/1", "testCaseId": "c1"}
    await send_message(engine, Letter(type="agent-run-completed", payload={**told}, id="letter"))


async def _waiting(engine: Engine) -> None:
    """Outputs that wait for a caller and for a person, and a caller's judgment with its rationale."""
    await save(engine, rubric("r", 0.5, good={"judgeType": "llm"}))
    job = await bench(engine, "b", judge="caller", prompt_version_ref="v1", key="run-caller")
    rows = await engine.store.read(lambda db: jobs.units_with(db, job.id, ("awaiting-judgments",), limit=1))
    given = {"criterionId": "r/good", "score": 0, "rationale": f"it says {MARK}rationale", "confidence": 1}
    answer = {"runId": job.id, "judgedBy": "agent"}
    packets = [{"digest": rows[0].packet, "judgments": [given]}]
    await submit_judgments(engine, Submission.model_validate({**answer, "packets": packets}))
    await bench(engine, "b", judge="human", prompt_version_ref="v1", key="run-human")
    await save(engine, rubric("r", 0.5, good=says("expected")))
