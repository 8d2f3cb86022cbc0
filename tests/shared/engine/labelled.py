"""A benchmark whose outputs a caller judges and people label, all in a few calls."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.store.jobs import Job
from tests.workshop import Json, answer, bench, benchmark, case, rubric, save

GOOD, BAD = True, False


async def suite(engine: Engine, size: int, *, wording: str = "Is it polite?", versions: Sequence[str] = ()) -> None:
    """The benchmark `b` of that many cases, whose outputs pass or fail by the criterion `r/tone`."""
    names = [f"c{n:03}" for n in range(size)]
    tone: Json = {"description": wording, "maxScore": 1, "weight": 1.0}
    await save(engine, rubric("r", 0.5, tone=tone), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    for version in versions or [""]:
        of = {"promptVersionRef": version} if version else {}
        await save(engine, [answer(f"a{name}{version}", name, f"Output {version} of {name}.", **of) for name in names])


async def hand_in_all(engine: Engine, job: Job, verdicts: Sequence[bool], *, by: str) -> None:
    """Hands in those verdicts for what waits in the run, by the number of its case."""
    packets = (await summarize(engine, job.id, limit=1000)).packets
    given: list[AnsweredPacket] = []
    for packet in packets:
        passes = verdicts[int(packet.test_case_id[1:])]
        judgment = GivenJudgment(criterion_id="r/tone", score=float(passes), rationale=f"{by} says so.")
        given.append(AnsweredPacket(digest=packet.digest, judgments=(judgment,)))
    is_model = ":" in by
    speaking = engine if is_model else engine.speaking(person(by))
    await submit_judgments(
        speaking, Submission(run_id=job.id, judged_by=by if is_model else None, packets=tuple(given))
    )


async def judged_run(engine: Engine, verdicts: Sequence[bool], *, by: str = "provider:judge", **request: str) -> Job:
    """A run of `b` that the caller judged."""
    job = await bench(engine, "b", judge="caller", fresh=True, **request)
    await hand_in_all(engine, job, verdicts, by=by)
    return job


async def labelled(engine: Engine, run: Job, verdicts: Sequence[bool], *, by: str = "anna") -> Job:
    """The run's outputs judged again, by a person."""
    asked = await rejudge_request(engine, run.id, judge="human", triggered_by="me")
    job = await run_benchmark(engine, asked.model_copy(update={"fresh": True}))
    await hand_in_all(engine, job, verdicts, by=by)
    return job


def alternating(size: int) -> list[bool]:
    """Every second output is good."""
    return [n % 2 == 0 for n in range(size)]


def flipped(verdicts: Sequence[bool], *every: int) -> list[bool]:
    """The verdicts, those whose number such a number divides turned round."""
    return [not verdict if any(n % one == 0 for one in every) else verdict for n, verdict in enumerate(verdicts)]
