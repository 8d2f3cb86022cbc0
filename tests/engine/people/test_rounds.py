"""Where a caller stands in for the model and a person keeps their criteria, each is asked for their own: the caller first."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.definitions import Rubric, RubricCriterion
from minions_evals_mcp.domain.neighbours import ApprovalRequest
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.domain.results import EvalJudgment
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.rounds import round_of, rounds
from minions_evals_mcp.engine.people.judge_queue import next_question
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.packets import Packet, Submission, packet_digest
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store.jobs import Job, UnitRow
from tests.workshop import Json, all_of, answer, bench, benchmark, case, outbox, rubric, save

MIXED: dict[str, Json] = {
    "tone": {"weight": 0.3, "description": "Is it kind?"},
    "taste": {"weight": 0.3, "description": "Do you like it?", "judgeType": "human"},
    "word": {"weight": 0.2, "judgeType": "heuristic", "scoringGuide": "[{type: icontains, value: hello}]"},
    "facts": {"weight": 0.2, "description": "Is it right?"},
}


async def waiting(engine: Engine) -> Job:
    """A run of one case whose rubric asks a model, a person and a rule."""
    await save(
        engine, rubric("r", 0.9, **MIXED), case("c", rubricId="r"), benchmark("b", "c"), answer("a", "c", "Hello.")
    )
    return await bench(engine, "b", judge="caller")


async def asked(engine: Engine, run_id: str) -> tuple[Packet, bool]:
    """The one request that waits, and whether a person must answer it."""
    summary = await summarize(engine, run_id)
    (packet,) = summary.packets
    return packet, packet.digest in summary.for_people


async def answer_all(engine: Engine, run_id: str, packet: Packet) -> Job:
    """Full marks for each criterion of the request."""
    given = [
        {"criterionId": one.criterion_id, "score": 1, "rationale": f"It says Hello: {one.name}."}
        for one in packet.criteria
    ]
    wire = {"runId": run_id, "judgedBy": "helper", "packets": [{"digest": packet.digest, "judgments": given}]}
    return await submit_judgments(engine, Submission.model_validate(wire))


async def test_the_caller_judges_the_models_criteria_and_a_person_their_own(engine: Engine) -> None:
    job = await waiting(engine)
    packet, for_person = await asked(engine, job.id)
    assert ([one.name for one in packet.criteria], for_person) == (["tone", "facts"], False)
    assert not await outbox(engine), "nothing is asked of a person yet"
    assert (await next_question(engine)).question is None
    job = await answer_all(engine, job.id, packet)
    assert job.state == "awaiting-judgments"
    second, for_person = await asked(engine, job.id)
    assert ([one.name for one in second.criteria], for_person) == (["taste"], True)
    (request,) = await outbox(engine)
    assert isinstance(request.record.fields, ApprovalRequest)
    with pytest.raises(BadInputError, match="asks a person"):
        await answer_all(engine, job.id, second)
    question = (await next_question(engine)).question
    assert question is not None
    assert question.digest == second.digest
    done = await answer_all(engine.speaking(person("anna")), job.id, second)
    assert done.state == "completed"
    kept = {one.fields.criterion_id: one.fields for one in await all_of(engine, EvalJudgment)}
    by = {ident: (one.judged_by, one.judged_by_type) for ident, one in kept.items()}
    assert by["r/tone"] == by["r/facts"] == ("helper", "llm")
    assert by["r/taste"] == ("anna", "human")
    assert by["r/word"][1] == "heuristic"


def test_a_request_of_an_earlier_version_that_asks_for_all_together_is_still_known() -> None:
    fields = [
        (name, RubricCriterion.model_validate({"rubricId": "r", "name": name, "judgeType": kind}))
        for name, kind in (("a", "llm"), ("b", "human"), ("c", "llm"))
    ]
    about = Rubric.model_validate({"name": "r", "passingThreshold": 1, "criteriaIds": ["a", "b", "c"]})
    in_use = RubricInUse("r", about, tuple(fields), "digest")
    work = Work({"q": 1}, None, Observed(output={"output": "x"}))
    key = UnitKey("run", 0, 1)
    whole = tuple(Criterion(name, one) for name, one in fields)
    parts = rounds(in_use, "caller", has_model=False)
    assert [[one.id for one in part.criteria] for part in parts] == [["a", "c"], ["b"]]
    row = UnitRow(key, "c", packet=packet_digest(key, whole, work))
    found = round_of(parts, row, work, in_use)
    assert (found.criteria, found.of_person) == (whole, True)
