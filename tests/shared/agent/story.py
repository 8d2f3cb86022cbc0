"""A suite and the messages about it that bring every skill into play."""

from __future__ import annotations

from pydantic import JsonValue

from tests.shared.agent.desk import Desk, Json, message, record

FALLING = (10, 9, 8, 7, 6, 5, 4)
"""How many of ten cases pass under each version of the benchmark `falling`."""
RISING = (1, 2, 3, 4, 5)
"""How many of five cases pass under each version of the benchmark `rising`; `flat` is run as often under one version."""
LOG: JsonValue = [{"tool": "lookup", "arguments": {"id": 7}, "error": "no such order"}]


def case(ident: str, **fields: JsonValue) -> Json:
    """A test case under the rubric `r`."""
    usual: Json = {"name": ident, "inputs": {"q": ident}, "rubricId": "r"}
    return record(ident, "test-case", **{**usual, **fields})


def answer(ident: str, case_id: str, text: str, **fields: JsonValue) -> Json:
    """What the agent `writer` said to the case."""
    usual: Json = {"agentId": "writer", "inputs": {"q": case_id}, "outputs": {"output": text}}
    return record(ident, "agent-run", **{**usual, **fields})


def criterion(rubric: str, name: str, **fields: JsonValue) -> Json:
    """A criterion of that rubric."""
    return record(f"{rubric}/{name}", "rubric-criterion", **{"rubricId": rubric, "name": name, **fields})


def by_rule(word: str, weight: float) -> Json:
    """A criterion that asks for the word."""
    return {"judgeType": "heuristic", "weight": weight, "scoringGuide": f"[{{type: icontains, value: {word}}}]"}


def rubrics() -> list[Json]:
    """`r` asks for two words, `person` asks a person, `draft` takes a score from a proposal."""
    return [
        record("r", "rubric", name="r", passingThreshold=0.75, criteriaIds=["r/word", "r/tone"]),
        criterion("r", "word", **by_rule("good", 0.75)),
        criterion("r", "tone", **by_rule("kind", 0.25)),
        record("person", "rubric", name="person", passingThreshold=3, criteriaIds=["person/taste"]),
        criterion("person", "taste", judgeType="human", maxScore=5),
        record("draft", "rubric", name="draft", passingThreshold=0.5, criteriaIds=["draft/relevance"]),
        criterion("draft", "relevance", judgeType="heuristic", scoringGuide="fromProposal: relevance"),
    ]


def measured(ident: str, size: int, passing: dict[str, int], **fields: JsonValue) -> list[Json]:
    """A benchmark over so many cases, and an answer to each under each version, of which so many pass."""
    names = [f"{ident}{number}" for number in range(size)]
    answers = [
        answer(f"{version}/{name}", name, "good" if number < passes else "bad", promptVersionRef=version)
        for version, passes in passing.items()
        for number, name in enumerate(names)
    ]
    listed: list[JsonValue] = list(names)
    named = {"name": ident, "dimension": "quality", "testCaseIds": listed, **fields}
    return [*map(case, names), *answers, record(ident, "benchmark", **named)]


def suite() -> list[Json]:
    """All records of the story."""
    versions = [
        record(f"p@{number}", "prompt-version", content=f"Say {number}", versionNumber=number) for number in (1, 2)
    ]
    falling = {f"f@{number}": passes for number, passes in enumerate(FALLING, 1)}
    rising = {f"r@{number}": passes for number, passes in enumerate(RISING, 1)}
    return [
        *rubrics(),
        *versions,
        {"sourceId": "p@2", "targetId": "p@1", "type": "follows"},
        *measured("b", 8, {"b@1": 8, "b@2": 2}, passingThreshold=0.5, schedule="0 6 * * *"),
        *measured("falling", 10, falling),
        *measured("rising", 5, rising),
        *measured("flat", 2, {"flat@1": 1}),
        *measured("cmp", 12, {"p@1": 2, "p@2": 12}),
        case("edge"),
        answer("edge-run", "edge", "good"),
        case("lost"),
        answer("lost-run", "lost", "bad", toolCallsLog=LOG),
        case("taste", rubricId="person"),
        answer("taste-run", "taste", "A poem."),
        case("proposal", rubricId="draft"),
        answer("proposal-run", "proposal", "A plan."),
        record("the-draft", "proposal-draft", title="Plan", content="A plan.", scores={"relevance": 0.9}, agentRunId="proposal-run"),
        record("writing", "skill-definition", name="Writing", promptRef="p@1", qualityGates=[{"benchmarkId": "b", "minScore": 0.5}]),
    ]  # fmt: skip


def first_messages() -> list[Json]:
    """What the orchestrator asks for first."""
    return [
        message("edge", "run-test-case", testCaseId="edge", agentRunId="edge-run", triggeredBy="anna"),
        message("lost", "run-test-case", testCaseId="lost", agentRunId="lost-run"),
        message("taste", "run-test-case", testCaseId="taste"),
        message("proposal", "run-test-case", testCaseId="proposal"),
        message("b-before", "run-benchmark", benchmarkId="b", promptVersionRef="b@1"),
        message("b-after", "run-benchmark", benchmarkId="b", promptVersionRef="b@2"),
        *(
            message(f"falling-{number}", "run-benchmark", benchmarkId="falling", promptVersionRef=f"f@{number}")
            for number in range(1, len(FALLING) + 1)
        ),
        *(
            message(f"{name}-{number}", "run-benchmark", benchmarkId=name, promptVersionRef=version.format(number))
            for name, version in (("rising", "r@{}"), ("flat", "flat@1"))
            for number in range(1, len(RISING) + 1)
        ),
        message("compare", "compare-prompts", benchmarkId="cmp", promptVersionA="p@1", promptVersionB="p@2"),
        message("done", "agent-run-completed", agentRun={"type": "agent-run", "fields": {
            "agentId": "writer", "inputs": {"q": "edge"}, "outputs": {"output": "good and kind"}}}),
    ]  # fmt: skip


def second_messages(desk: Desk) -> list[Json]:
    """What can be asked only once the first are done."""
    ((request,),) = desk.rows("SELECT id FROM outbox WHERE type = 'approval-request'")
    given: JsonValue = [{"criterionId": "person/taste", "score": 4, "rationale": "It rhymes well."}]
    return [
        by_people("answered", "approval-decided", approvalRequestId=request, decidedBy="ben", judgments=given),
        by_people("approve", "approve-prompt-version", promptVersionRef="p@2", decidedBy="lead"),
        message("classify", "classify-failure", runId=str(desk.result("lost")["runId"])),
        message("trend", "detect-trend", benchmarkId="falling"),
    ]


def by_people(ident: str, kind: str, **payload: JsonValue) -> Json:
    """A message of the addressee whose answers the operator's file says are a person's."""
    return {**message(ident, kind, **payload), "fromAgentId": "people"}


NEIGHBOURS = "tell:\n  '*': {pulls: true}\npeople: [people]\n"
"""The operator's file: everybody pulls what is for them, and `people` are people."""
