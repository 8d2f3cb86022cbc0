"""What people and production add to a store: labels beside a model's, notes, a draft, a conversation under way, judged traces."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.cases.promote import promote_failure
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.labels.output_notes import note_output
from minions_evals_mcp.engine.people.judge_queue import say
from minions_evals_mcp.engine.people.persons import token_hash
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.operations.engine import wall_clock
from minions_evals_mcp.operations.submit_judgments import going_on
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.speakers import save_person
from tests.workshop import START, Json, answer, bench, benchmark, case, rubric, save, says, try_case

LABELLED, TALKS = "support/kindness", "support/phone"
TARGET = "python:tests.conversations.desk:desk"
TALK: Json = {
    "player": "person", "goal": "Get the money back for order A1.", "persona": "In a hurry, and polite.",
    "knows": {"order number": "A1"}, "ends": {"says": "Goodbye"},
}  # fmt: skip
TOKENS = {"anna": "person-anna", "Björn Åkesson": "person-bjorn"}
QUESTIONS = (
    "Where is my parcel?", "The lid is cracked.", "I was charged twice.", "Cancel it, please.", "How do I descale it?",
    "Third time I ask!", "Is there a student price?", "My address has changed.", "The invoice is wrong.", "Thank you!",
)  # fmt: skip
MODEL = (5, 4, 2, 5, 3, 1, 4, 5, 3, 5)
ANNA = (5, 4, 1, 5, 3, 1, 5, 5, 4, 2)
BJORN = (5, 4, 2, 5, 4, 1, 4, 5, 4, 2)
"""The scores for kindness, by the model and by two people, of which some differ."""


async def added(engine: Engine) -> None:
    """All of it, after whatever the store holds."""
    for name, token in TOKENS.items():
        await engine.store.write(partial(save_person, name=name, token_hash=token_hash(token), at=START))
    run = await _labelled(engine)
    for place, good, reason in (
        ((2, 1), False, "Says “as I told you” to somebody who was charged twice. That is not kind at all."),
        ((2, 1), True, "The refund itself is right, and it comes on the same day."),
        ((0, 1), True, "Short, warm, and it answers the question."),
    ):
        await note_output(engine.speaking(person("anna")), run.id, place, good=good, reason=reason)
    await promote_failure(engine, f"{run.id}:3.1", why="It blames the customer.")
    await _talking(engine)
    await _production(engine)


async def _labelled(engine: Engine) -> Job:
    """A run that a model judged, and both people after it; who judges the rest is shared out."""
    kind: Json = {"name": "Stays kind", "description": "Is it kind to the customer?", "maxScore": 5, "weight": 0.6}
    right: Json = {"name": "Answers the question", "description": "Does it answer?", "weight": 0.4}
    names = [f"kind{number}" for number in range(len(QUESTIONS))]
    asked = [
        case(name, name=QUESTIONS[at], rubricId="kind", inputs={"message": QUESTIONS[at]})
        for at, name in enumerate(names)
    ]
    outputs = [answer(f"kind/{name}", name, f"Thank you for asking. This is reply {at}.", promptVersionRef="support@2",
                      inputs={"message": QUESTIONS[at]}) for at, name in enumerate(names)]  # fmt: skip
    await save(engine, rubric("kind", 2.4, kind=kind, right=right), asked, outputs)
    await save(engine, benchmark(LABELLED, *names, name="Kindness of replies"))
    run = await bench(engine, LABELLED, judge="caller", key="labelled", fresh=True)
    await _handed_in(engine, run, MODEL, by="openai:gpt-4o")
    for name, scores in (("anna", ANNA), ("Björn Åkesson", BJORN)):
        again = await rejudge_request(engine, run.id, judge="human", triggered_by="command-line")
        await _handed_in(engine, await run_benchmark(engine, again.model_copy(update={"fresh": True})), scores, by=name)
    return run


async def _handed_in(engine: Engine, job: Job, scores: tuple[int, ...], *, by: str) -> None:
    given: list[AnsweredPacket] = []
    for packet in (await summarize(engine, job.id, limit=100)).packets:
        score = scores[int(packet.test_case_id.removeprefix("kind"))]
        reason = f"The tone of this reply earns {score} of 5: it thanks first and blames nobody."
        kept = (
            GivenJudgment(criterion_id="kind/kind", score=score, rationale=reason),
            GivenJudgment(criterion_id="kind/right", score=float(score > 2), rationale="It says what happens next."),
        )
        given.append(AnsweredPacket(digest=packet.digest, judgments=kept))
    is_model = ":" in by
    speaking = engine if is_model else engine.speaking(person(by))
    await submit_judgments(
        speaking, Submission(run_id=job.id, judged_by=by if is_model else None, packets=tuple(given))
    )


async def _talking(engine: Engine) -> None:
    """A conversation whose user a person plays, in which the agent has answered."""
    talk = case("phone", name="Refund by phone", conversation=TALK, assertions=[{"type": "contains", "value": "R-7"}])
    await save(engine, talk, benchmark(TALKS, "phone", name="Calls about refunds"))
    run = await bench(engine, TALKS, target=TARGET, key=TALKS)
    packet = (await summarize(engine, run.id)).user_packets[0]
    said = AnsweredPacket(digest=packet.digest, message="Good morning. I would like my money back, please.")
    run = await say(engine, run.id, packet.digest, said.message or "", by=person("anna"))
    further = await going_on(engine, Submission(run_id=run.id, packets=(said,)), run, by_person=True)
    assert further is not None
    await (await further.starting()).finish(silent)


async def _production(engine: Engine) -> None:
    """Traces of two agents, judged by a rule over the last days, of which some failed."""
    await save(engine, rubric("place", 1, says=says("here", name="Says where the parcel is")))
    now = wall_clock()
    for number in range(14):
        agent, at = ("mail", now) if number in {5, 11} else ("desk", now)
        engine.clock = lambda at=at - timedelta(hours=9 * (14 - number)): at
        asked: Json = {"message": f"Where is parcel {number}?"}
        text = "I cannot say." if number in {3, 8, 9} else "Here it is: in Leith."
        run = answer(
            f"otel:{number:04x}/1", "", text, agentId=agent, inputs=asked, promptVersionRef="desk@2" if number > 6 else "desk@1",
            cost=0.0021, triggeredAt=iso(engine.clock()), extra={"models": ["small-1" if number % 2 else "large-2"]},
        )  # fmt: skip
        traced = f"otel:{number:04x}"
        await save(
            engine, run, case(traced, name=f"{agent}: Where is parcel {number}?", inputs=asked, rubricId="place")
        )
        await try_case(engine, traced, agent_run_id=run.id, key=f"message:{number}:{traced}", triggered_by=agent)
