"""A store as it looks after two weeks of use: runs twice a day, an agent with trajectories, a config, labels, a regression, an A/B test.

python -m tests.bench.pages.rich_store FOLDER makes it there, as evals.db.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, run_ab_test
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.engine.people.judge_queue import hand_in, next_question
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.interop.audit.audits import audit
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from tests.bench.pages.rich_words import BAD, CHANGES, GOOD, NAMES, PROVIDER, QUESTIONS, TEMPLATES, TOPICS, config_text
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.workshop import Json, answer, bench, benchmark, by_rule, case, config_in, minion, rubric, save, says

BEGINNING = datetime(2026, 11, 7, 7, tzinfo=UTC)
DAYS = 14
SUPPORT, AGENT, TONE, IDLE = "support", "research", "tone", "onboarding"
PROMPT = "support-reply"
RATES = {1: 0.6, 2: 0.93, 3: 0.3, 4: 0.97}
"""How often an answer of that version of the prompt is a good one."""


@dataclass
class Calendar:
    """A clock that stands where it is put and then goes on by the second."""

    now: datetime = BEGINNING

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class Ids:
    """Ids as long as real ones, and the same in every store that is made."""

    drawn: random.Random = field(default_factory=lambda: random.Random(11))  # noqa: S311  ids and answers of a store for looking at

    def __call__(self) -> str:
        return f"{self.drawn.getrandbits(128):032x}"


@dataclass(frozen=True)
class Fortnight:
    """Two weeks of work; `scale` 1 is all of it, less is a store for tests."""

    engine: Engine
    calendar: Calendar
    folder: Path
    scale: float = 1.0
    chance: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311  as above

    async def lived(self) -> None:
        """All that happened, in order."""
        await save(self.engine, *self._definitions(), relations=_chained())
        for day in range(self._scaled(DAYS, least=6)):
            for hour in (8, 16):
                self.calendar.now = BEGINNING + timedelta(days=day, hours=hour - 7)
                await self._support_run(day, hour)
            if day % 2 == 0:
                await self._agent_run(day)
        await self._compared()
        await audit(self.engine, "support")
        await self._labels()
        await self._config()
        await self._branches()

    async def _branches(self) -> None:
        """An A/B test of two models over a benchmark."""
        cases = [
            minion(
                f"mood/{n}",
                "test-case",
                name=f"Mood of guest {n}",
                inputs={"q": f"Guest {n}: how was it?"},
                expectedOutputs={"output": "happy am"},
            )
            for n in range(1, 13)
        ]
        await save(self.engine, cases, benchmark("moods", *(one.id for one in cases), name="Moods of guests"))
        self.engine.models, self.engine.opened_embedder = Scripted(Drawn("branches", every=2)), Words()
        branches = (
            InlineBranch(name="as it is", provider="openai", model="gpt-4o", is_control=True),
            InlineBranch(name="a cheaper model", provider="openai", model="gpt-4o-mini"),
        )
        await run_ab_test(self.engine, AbTestRequest(benchmark_id="moods", branches=branches))

    def _scaled(self, whole: int, *, least: int) -> int:
        return max(least, round(whole * self.scale))

    def _subjects(self) -> list[tuple[str, str]]:
        found = [(topic, what) for topic, whats in TOPICS.items() for what in whats]
        return found[:: max(1, round(1 / self.scale))]

    def _definitions(self) -> Iterator[Record[Fields] | list[Record[Fields]]]:
        for number, text in enumerate(TEMPLATES, 1):
            about: Json = {
                "content": text,
                "versionNumber": number,
                "promptId": PROMPT,
                "changelog": CHANGES[number - 1],
                "variables": ["message"],
            }
            yield minion(f"{PROMPT}/{number}", "prompt-version", **about)
        criteria = {
            "helps": says("refund", name="Says whether we can help", weight=0.5),
            "ticket": says("ticket", name="Quotes the ticket", weight=0.3),
            "kind": by_rule("[{type: not-icontains, value: calm down}]", name="Stays kind", weight=0.2, maxScore=5),
        }
        yield rubric("reply", 0.7, **criteria)
        subjects = self._subjects()
        for topic, what in subjects:
            about = {
                "name": f"{topic.title()} {what}",
                "rubricId": "reply",
                "inputs": {"message": f"About my {topic}: {what}."},
                "promptId": PROMPT,
            }
            yield minion(
                f"case/{topic}-{what.replace(' ', '-')}",
                "test-case",
                **about,
                tags=[topic, "hard" if len(what) > 12 else "easy"],
            )
        ids = [f"case/{topic}-{what.replace(' ', '-')}" for topic, what in subjects]
        yield benchmark(SUPPORT, *ids, name="Support answers", passingThreshold=0.75)
        yield benchmark(IDLE, ids[0], name="Onboarding mails")
        questions = [f"q{number}" for number in range(self._scaled(12, least=4))]
        yield [
            case(
                f"agent/{one}",
                name=f"Research question {number + 1}: {QUESTIONS[number]}",
                inputs={"question": QUESTIONS[number]},
                expectedOutputs={"output": f"{number + 3} units"},
                tags=["research"],
                passRule="similarity_0_8",
            )
            for number, one in enumerate(questions)
        ]
        yield benchmark(AGENT, *(f"agent/{one}" for one in questions), name="Research agent")
        manners: dict[str, Json] = {
            "tone": {
                "name": "Tone",
                "description": "Is it kind and calm?",
                "scoringGuide": "1 cold, 3 correct, 5 warm",
                "minScore": 1,
                "maxScore": 5,
                "weight": 0.5,
                "judgeType": "llm",
            },
            "right": {
                "name": "Right",
                "description": "Is every claim right?",
                "scoringGuide": "1 wrong, 5 right",
                "minScore": 1,
                "maxScore": 5,
                "weight": 0.5,
                "judgeType": "llm",
            },
        }
        yield rubric("manners", 0.6, **manners)
        yield [
            case(
                f"tone/{number}",
                name=f"Reply to {NAMES[number % len(NAMES)]} ({number + 1})",
                rubricId="manners",
                inputs={"message": f"Message {number + 1}"},
            )
            for number in range(self._scaled(16, least=6))
        ]
        yield benchmark(TONE, *(f"tone/{number}" for number in range(self._scaled(16, least=6))), name="Tone of voice")

    def _version(self, day: int) -> int:
        """Which version was in use: the second from day 4, the third, which is worse, from three days before the end."""
        days = self._scaled(DAYS, least=6)
        return 3 if day >= days - 2 else 2 if day >= days // 3 else 1

    def _answers(self, version: int, tag: str) -> list[Record[Fields]]:
        made: list[Record[Fields]] = []
        for number, (topic, what) in enumerate(self._subjects()):
            hard = 0.12 if len(what) > 12 or topic == "angry" else 0.0
            flaky = number % 11 == 5
            good = self.chance.random() < (0.5 if flaky else RATES[version] - hard + 0.06)
            text = (
                GOOD.format(what=what, number=1000 + number)
                if good
                else self.chance.choice(BAD).format(what=what, number=1000 + number)
            )
            about: Json = {
                "promptVersionRef": f"{PROMPT}/{version}",
                "cost": round(self.chance.uniform(0.0011, 0.0034) * (1.4 if version == 4 else 1), 6),
                "tokensUsed": self.chance.randint(210, 640),
            }
            seconds = self.chance.uniform(0.6, 2.8)
            at = self.calendar.now
            about |= {"triggeredAt": _iso(at - timedelta(seconds=seconds)), "completedAt": _iso(at)}
            made.append(
                answer(f"reply/{tag}/{number}", "", text, inputs={"message": f"About my {topic}: {what}."}, **about)
            )
        return made

    async def _support_run(self, day: int, hour: int) -> None:
        version = self._version(day)
        await save(self.engine, self._answers(version, f"{day}-{hour}"))
        await bench(
            self.engine,
            SUPPORT,
            prompt_version_ref=f"{PROMPT}/{version}",
            fresh=True,
            purpose="scheduled",
            triggered_by="schedule",
        )

    async def _agent_run(self, day: int) -> None:
        made: list[Record[Fields]] = []
        for number in range(self._scaled(12, least=4)):
            fault = self.chance.choice(("", "", "", "error", "loop", "wrong"))
            text = (
                f"{number + 3} units"
                if not fault
                else "I could not find that out, sorry."
                if fault == "loop"
                else f"{number + 9} units"
            )
            about: Json = {
                "toolCallsLog": [*_steps(self.chance, number, fault)],
                "cost": round(self.chance.uniform(0.01, 0.05), 5),
                "tokensUsed": self.chance.randint(2400, 9800),
            }
            made.append(
                answer(
                    f"agent/{day}/{number}",
                    "",
                    text,
                    inputs={"question": QUESTIONS[number]},
                    promptVersionRef="research@1",
                    **about,
                )
            )
        await save(self.engine, made)
        await bench(
            self.engine,
            AGENT,
            prompt_version_ref="research@1",
            fresh=True,
            purpose="scheduled",
            triggered_by="schedule",
        )

    async def _compared(self) -> None:
        """The third version against the second, and the fourth, which is approved."""
        for version in (3, 4):
            before = 1 if version == 4 else 2
            await save(self.engine, self._answers(before, f"c{version}-a"), self._answers(version, f"c{version}-b"))
            asked = ComparisonRequest(
                benchmark_id=SUPPORT,
                version_a=f"{PROMPT}/{before}",
                version_b=f"{PROMPT}/{version}",
                key=f"{version}-against",
                fresh=True,
            )
            await compare_prompt_versions(self.engine, asked)
        approval = ApprovalAsked(
            prompt_version_ref=f"{PROMPT}/4",
            decided_by="anna",
            decided_by_type="human",
            reason="Better and kinder.",
            override_reason="Seen by the team.",
        )
        if self.scale == 1:
            await approve_prompt_version(self.engine, approval)

    async def _labels(self) -> None:
        """A run that an agent judged, the same outputs judged by a person, and a run of which some outputs still wait."""
        size = self._scaled(16, least=6)
        await save(
            self.engine,
            [
                answer(
                    f"tone/a/{number}",
                    "",
                    f"Dear {NAMES[number % len(NAMES)]}, thank you for writing. "
                    + ("We will sort it out today." if number % 3 else "Please calm down."),
                    inputs={"message": f"Message {number + 1}"},
                    promptVersionRef="tone@3",
                )
                for number in range(size)
            ],
        )
        by_agent = await bench(self.engine, TONE, judge="caller", key="by-agent")
        await self._judged(by_agent.id, "claude", slip=0.25)
        waiting = await bench(self.engine, TONE, judge="human", key="by-people", fresh=True)
        anna = self.engine.speaking(person("anna"))
        for _ in range(size // 2):
            found = (await next_question(self.engine, run_id=waiting.id)).question
            assert found is not None
            given = [
                GivenJudgment(criterion_id=one.id, score=float(self.chance.randint(2, 5)), rationale="Read it twice.")
                for one in found.criteria
            ]
            await hand_in(anna, waiting.id, found.digest, given, by=person("anna"))

    async def _judged(self, run_id: str, by: str, *, slip: float) -> None:
        from minions_evals_mcp.engine.answers.run_summary import summarize  # noqa: PLC0415  used once

        while packets := (await summarize(self.engine, run_id, limit=50)).packets:
            answered: list[AnsweredPacket] = []
            for packet in packets:
                judged = [
                    GivenJudgment(
                        criterion_id=asked.criterion_id,
                        score=float(self.chance.randint(1 if self.chance.random() < slip else 3, 5)),
                        rationale="It greets, thanks and promises a date.",
                    )
                    for asked in packet.criteria
                ]
                answered.append(AnsweredPacket(digest=packet.digest, judgments=tuple(judged)))
            await submit_judgments(self.engine, Submission(run_id=run_id, judged_by=by, packets=tuple(answered)))

    async def _config(self) -> None:
        """A config of three prompts at three providers on sixty tests."""
        (self.folder / "answers.py").write_text(PROVIDER)
        (self.folder / "promptfooconfig.yaml").write_text(config_text(self._scaled(60, least=6)))
        evaluation = read_config(self.folder / "promptfooconfig.yaml", now=self.calendar())
        await evaluate(self.engine, evaluation, EvalOptions(), environment={})


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def _chained() -> list[Relation]:
    return [
        Relation(source_id=f"{PROMPT}/{number + 1}", target_id=f"{PROMPT}/{number}", type="follows")
        for number in (1, 2, 3)
    ]


def _steps(chance: random.Random, number: int, fault: str) -> Iterator[Json]:
    """The steps of an agent that looks something up; `fault` is what went wrong on the way."""
    query = QUESTIONS[number]
    yield {
        "tool": "search",
        "arguments": {"query": query},
        "result": {
            "hits": [{"title": f"About {query}", "id": f"doc-{number}"}, {"title": "Something else", "id": "doc-x"}]
        },
        "durationMs": chance.randint(200, 900),
    }
    if fault == "error":
        yield {
            "tool": "read_page",
            "arguments": {"id": f"doc-{number}"},
            "error": "503 Service Unavailable",
            "durationMs": 3000,
        }
    if fault == "loop":
        for _ in range(4):
            yield {
                "tool": "search",
                "arguments": {"query": query},
                "result": {"hits": []},
                "durationMs": chance.randint(200, 900),
            }
        return
    text = f"{query} The figure is {number + 3} units. " + "The page goes on for long about its history. " * 30
    yield {
        "tool": "read_page",
        "arguments": {"id": "doc-x" if fault == "wrong" else f"doc-{number}"},
        "result": {"text": text},
        "durationMs": chance.randint(300, 1600),
    }
    yield {
        "tool": "calculate",
        "arguments": {"expression": f"{number} + {9 if fault == 'wrong' else 3}"},
        "result": number + (9 if fault == "wrong" else 3),
        "durationMs": 12,
    }


async def rich_store(folder: Path, *, scale: float = 1.0) -> None:
    """Makes the store `evals.db` in that folder."""
    async with open_engine(config_in(folder)) as engine:
        calendar = Calendar()
        engine.clock, engine.new_id = calendar, Ids()
        await Fortnight(engine, calendar, folder, scale).lived()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    anyio.run(partial(rich_store, folder))


if __name__ == "__main__":
    main()
