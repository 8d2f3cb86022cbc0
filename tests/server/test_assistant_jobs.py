"""Three jobs of an assistant over stdio: few calls, each as the answer before it names it, and few tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import Client, stdio_client

from minions_evals_mcp.next_steps import is_rendered
from tests.hang import HANG_S
from tests.shared.server.hosts import part, rows, suite, text_of, tokens_in
from tests.shared.server.wire import forked
from tests.workshop import Json

SIZE = 24
ASKED = (
    ("My order 41 has not arrived.", "I am sorry about that. Order 41 left our warehouse and arrives on Friday."),
    ("I want my money back for the lamp.", "I am sorry that the lamp broke. I have refunded 30 euros to your card."),
    ("How do I change my password?", "Open Settings, then Security, and choose Change password."),
    ("You charged me twice!", "Thank you for telling us. The second charge of 12 euros is on its way back."),
    ("Can you cancel my subscription?", "Of course. Your subscription ends on the 31st, and nothing more is charged."),
    ("Is the shop open on Sunday?", "Read the website, it is not my job to tell you."),
)


@dataclass(slots=True)
class Assistant:
    """A client that counts what it is handed: calls and tokens by job."""

    client: Client
    calls: list[str] = field(default_factory=list[str])
    tokens: int = 0
    told: str = ""

    async def call(self, tool: str, **arguments: Any) -> Json:
        """The structured answer of a call that counts."""
        result = await self.client.call_tool(tool, arguments)
        text = text_of(result)
        assert is_rendered(text)
        assert not result.is_error, text
        self.calls.append(tool)
        self.tokens += tokens_in(text)
        self.told += text
        return cast("Json", result.structured_content)

    def done(self, at_most: int, *facts: str) -> None:
        """Ends a job: it took few calls, and its answers state the facts."""
        assert len(self.calls) <= at_most, self.calls
        for fact in facts:
            assert re.search(fact, self.told), (fact, self.told)
        self.calls, self.told = [], ""


def tickets() -> list[Json]:
    """Six answers of a support agent, under a rubric that no rule judges; the last is rude."""
    tone: Json = {
        "rubricId": "r", "name": "Tone", "description": "Is the answer kind and does it help?", "minScore": 1, "maxScore": 5,
        "scoringGuide": "1 rude or useless, 3 correct but curt, 5 kind and helpful",
    }  # fmt: skip
    rubric: Json = {"name": "Support", "passingThreshold": 3, "criteriaIds": ["r/tone"]}
    benchmark: Json = {"name": "tone", "testCaseIds": [f"t{number}" for number in range(len(ASKED))]}
    records: list[Json] = [
        {"id": "r", "type": "rubric", "fields": rubric},
        {"id": "r/tone", "type": "rubric-criterion", "fields": tone},
        {"id": "tone", "type": "benchmark", "fields": benchmark},
    ]
    for number, (question, answer) in enumerate(ASKED):
        inputs: Json = {"q": question}
        case: Json = {"name": f"ticket {number}", "inputs": inputs, "rubricId": "r"}
        run: Json = {"agentId": "support", "inputs": inputs, "outputs": {"output": answer}}
        records.append({"id": f"t{number}", "type": "test-case", "fields": case})
        records.append({"id": f"at{number}", "type": "agent-run", "fields": run})
    return records


def versions() -> list[Json]:
    """Recorded outputs of two versions: the first fails two cases, the second ten more."""
    records = [one for one in cast("list[Json]", suite(SIZE, bad=0)) if one["type"] != "agent-run"]
    for version, bad in (("v1", 2), ("v2", 12)):
        number = int(version[1:])
        fields: Json = {"content": f"Say {number}.", "versionNumber": number, "promptId": "p"}
        records.append({"id": version, "type": "prompt-version", "fields": fields})
        for case in range(SIZE):
            run: Json = {
                "agentId": "agent", "inputs": {"q": f"c{case}"}, "outputs": {"output": "bad" if case < bad else "good"},
                "promptVersionRef": version,
            }  # fmt: skip
            records.append({"id": f"a-c{case}/{version}", "type": "agent-run", "fields": run})
    return records


def verdicts(packets: list[Json], *, from_number: int) -> list[Json]:
    """What a reader of the outputs says of them."""
    said: list[Json] = []
    for number, packet in enumerate(packets, from_number):
        rude = "not my job" in str(part(packet, "output")["output"])
        why = f"Ticket {number}: " + ("it sends the user away" if rude else "kind, and says what happens next")
        judgment: Json = {"criterionId": "r/tone", "score": 1 if rude else 5, "rationale": why}
        said.append({"digest": packet["digest"], "judgments": [judgment]})
    return said


async def test_an_assistant_judges_explains_and_decides_in_few_calls_and_tokens(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            assistant = Assistant(client)
            await client.call_tool("save_records", {"records": tickets()})
            answer = await assistant.call("run_benchmark", benchmarkId="tone", judge="caller", waitSeconds=20)
            given = 0
            while answer["state"] == "awaiting-judgments":
                assert cast("list[str]", answer["next"])[0].startswith("submit_judgments {")
                packets = rows(answer, "packets")
                answer = await assistant.call(
                    "submit_judgments",
                    runId=answer["runId"],
                    judgedBy="assistant",
                    packets=verdicts(packets, from_number=given),
                )
                given += len(packets)
            assert given == len(ASKED)
            assistant.done(3, r"5 of 6 passed", r"it sends the user away", r"judgedBy\":\[\"assistant\"\]")

            relations = [{"sourceId": "v2", "targetId": "v1"}]
            await client.call_tool("save_records", {"records": versions(), "relations": relations})
            for version in ("v1", "v2"):
                asked = {"benchmarkId": "b", "promptVersionRef": version, "waitSeconds": 20}
                await client.call_tool("run_benchmark", asked)
            trend = await assistant.call("detect_trend", benchmarkId="b", whatChanged=True)
            (drop,) = rows(trend, "drops")
            run = await assistant.call("get_run", runId=drop["runId"])
            named = [step for step in cast("list[str]", run["next"]) if step.startswith("classify_failure")]
            assert named == [f'classify_failure {{"id": "{drop["runId"]}"}}']
            causes = rows(await assistant.call("classify_failure", id=drop["runId"]), "causes")
            assert (causes[0]["new"], causes[0]["cases"]) == (10, 12)
            assistant.done(3, r"the version: v1 → v2", r"10 cases worse", r"Expected “good”, got “bad”")

            await assistant.call(
                "compare_prompt_versions", benchmarkId="b", versionA="v1", versionB="v2", waitSeconds=20
            )
            assistant.done(2, r"regressed", r"Hold p@2", r"statistically significant")
            assert assistant.tokens <= 5000
