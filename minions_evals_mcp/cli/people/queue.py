"""People as judges: what waits, one output at a time, in the terminal."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from pydantic import JsonValue, ValidationError

from minions_evals_mcp.cli.session import DEFAULTS, Common, run, say, session
from minions_evals_mcp.cli.speaking import person_at
from minions_evals_mcp.cli.telling import as_typed, rendered
from minions_evals_mcp.domain.conversations import as_read
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.engine.people.judge_queue import UNASKED, JudgeQuestion, QueueLook, hand_in, next_question
from minions_evals_mcp.errors import BadInputError, BusyError, EvalsError
from minions_evals_mcp.judges.packets import GivenJudgment
from minions_evals_mcp.judges.rationales import weakness
from minions_evals_mcp.judges.task import Criterion
from minions_evals_mcp.report.plain import printable, revealed
from minions_evals_mcp.settings import read_settings

INDENT = "  "
LONG = 6_000
"""A text is shown up to so many characters; `m` shows all of it."""
HOW = (
    "You see neither the version of an output nor what others said.\n"
    "u goes back, s skips, m shows long texts whole, q leaves. A judgment is kept\n"
    "once all criteria of its output are judged and you hand it in; what you have\n"
    "begun when you leave is not saved.\n"
)
Word = Literal["undo", "skip", "more", "leave"]
WORDS: dict[str, Word] = {"u": "undo", "s": "skip", "m": "more", "q": "leave"}


def judge(run_id: str | None = None, /, *, by: str = "", common: Common = DEFAULTS) -> int:
    """Judge the outputs that wait for a person, one at a time: a score and a reason for each criterion.

    You see the criterion, its guide, the input, the output and the expected output, but neither the version nor other
    verdicts. You can stop at any time. What you submitted is saved, and the next `judge` continues.
    Example: minions-evals judge --by anna

    Parameters
    ----------
    run_id
        Only outputs that wait in this run (its id or key).
    by
        The person who judges, saved with every judgment. They need a token, or confirm their name at a terminal.
    """
    if common.json:
        say(_wire(run(partial(_next, run_id, "", common))))
        return 0
    speaker = run(partial(_speaker, by, common))
    try:
        return _session(run_id, speaker, common)
    except KeyboardInterrupt:
        sys.stdout.write(as_typed("\nYour submitted judgments are saved. Continue with: minions-evals judge\n"))
        return 0


async def _speaker(by: str, common: Common) -> Speaker:
    if is_blank(by) and read_settings().person_token is None:
        raise BadInputError("a judgment needs your name.", remedy="minions-evals judge --by YOUR-NAME")
    async with session(common) as engine:
        return await person_at(engine, by)


async def _next(run_id: str | None, after: str, common: Common, person: str | None = None) -> QueueLook:
    async with session(common) as engine:
        return await next_question(engine, run_id=run_id, after=after, person=person)


def _wire(question: QueueLook) -> dict[str, JsonValue]:
    return {
        "waiting": question.waiting,
        "question": None
        if question.question is None
        else {"runId": question.question.run_id, **question.question.packet.model_dump(mode="json")},
        "unasked": {**question.unasked},
    }


def _session(run_id: str | None, by: Speaker, common: Common) -> int:
    """Asks until nothing is left or the person leaves. Between two outputs the store is closed: a person takes their time."""
    after, judged, skipped = "", 0, 0
    asking = partial(_next, run_id, common=common, person=by.name)
    question = run(partial(asking, after))
    if question.question is not None:
        sys.stdout.write(f"{question.waiting} to be judged. {HOW}")
    while question.question is not None:
        answer = _Asking(question.question).answer()
        if answer == "leave":
            break
        if answer == "skip":
            skipped += 1
        else:
            judged += _saved(question.question, answer, by, common)
        after = question.question.digest
        question = run(partial(asking, after))
    _close(question, judged, skipped)
    return 0


def _saved(question: JudgeQuestion, judgments: Sequence[GivenJudgment], by: Speaker, common: Common) -> bool:
    """Returns whether the judgment was kept; where somebody else was first, or works on the run right now, that is told."""
    while True:
        try:
            run(partial(_hand_in, question, judgments, by, common))
        except EvalsError as error:
            sys.stdout.write(f"\nNot saved: {printable(rendered(error.text), 500)}\n")
            if not isinstance(error, BusyError) or _typed("Press Enter to try again, q to discard it: ") == "q":
                return False
        else:
            return True


async def _hand_in(question: JudgeQuestion, judgments: Sequence[GivenJudgment], by: Speaker, common: Common) -> None:
    async with session(common) as engine:
        await hand_in(engine, question.run_id, question.digest, judgments, by=by)


def _close(question: QueueLook, judged: int, skipped: int) -> None:
    closing = [f"{judged} submitted."] if judged else []
    if question.question is not None or skipped:
        closing.append(as_typed("Continue with: minions-evals judge"))
    else:
        closing.append("Nothing more can be judged here:" if question.unasked else "No more outputs wait for a person.")
    lines = [
        " ".join(closing),
        *(as_typed(f"  {number} {UNASKED[reason]}") for reason, number in question.unasked.items()),
    ]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


@dataclass(slots=True, eq=False)
class _Asking:
    """One output in front of a person: the judgments given so far, which nobody else sees."""

    question: JudgeQuestion
    given: list[GivenJudgment] = field(default_factory=list[GivenJudgment])

    def answer(self) -> Sequence[GivenJudgment] | Literal["skip", "leave"]:
        """All judgments once they are handed in, or how the person went on."""
        sys.stdout.write("\n".join(_output_lines(self.question, LONG)) + "\n")
        while True:
            word = self._criterion() if len(self.given) < len(self.question.criteria) else self._last_look()
            match word:
                case "undo":
                    self._undo()
                case "more":
                    sys.stdout.write("\n".join(_output_lines(self.question, None)) + "\n")
                case "skip" | "leave":
                    return word
                case "hand-in":
                    return self.given
                case None:
                    pass

    def _undo(self) -> None:
        if self.given:
            self.given.pop()
        else:
            sys.stdout.write("This is the first criterion. Submitted judgments cannot be changed.\n")

    def _criterion(self) -> Word | None:
        """Asks for the next criterion's score and reason; a word where the person typed one."""
        criterion = self.question.criteria[len(self.given)]
        sys.stdout.write("\n".join(_question_lines(criterion, len(self.given) + 1, len(self.question.criteria))) + "\n")
        score = _typed(f"score from {criterion.fields.min_score:g} to {criterion.fields.max_score:g}: ")
        if score in WORDS:
            return WORDS[score]
        number = _score(criterion, score)
        if number is None:
            return None
        reason = _typed("why: ")
        if reason in WORDS:
            return None if reason == "u" else WORDS[reason]
        if is_blank(reason):
            sys.stdout.write("A score needs a reason.\n")
            return None
        if weak := weakness(reason):
            sys.stdout.write(f"{weak}\n")
            return None
        self.given.append(GivenJudgment(criterion_id=criterion.id, score=number, rationale=reason))
        return None

    def _last_look(self) -> Word | Literal["hand-in"] | None:
        scores = ", ".join(
            f"{printable(criterion.fields.name, 40)} {judgment.score:g}"
            for criterion, judgment in zip(self.question.criteria, self.given, strict=True)
        )
        typed = _typed(f"{scores}. Press Enter to submit, u to go back: ")
        return "hand-in" if not typed else WORDS.get(typed)


def _score(criterion: Criterion, typed: str) -> float | None:
    fields = criterion.fields
    try:
        judgment = GivenJudgment.model_validate({"criterionId": criterion.id, "score": float(typed), "rationale": "-"})
    except (ValueError, ValidationError):
        sys.stdout.write(f"{printable(typed, 60)!r} is not a number.\n")
        return None
    if fields.min_score <= judgment.score <= fields.max_score:
        return judgment.score
    sys.stdout.write(f"{judgment.score:g} is outside {fields.min_score:g} to {fields.max_score:g}.\n")
    return None


def _typed(text: str) -> str:
    """A line that the person typed; `q` where nothing more comes."""
    sys.stdout.write(text)
    sys.stdout.flush()
    line = sys.stdin.readline()
    return line.strip() if line else "q"


def _output_lines(question: JudgeQuestion, limit: int | None) -> Iterator[str]:
    yield f"\n── {printable(question.title, 120)} " + "─" * 20
    output = as_read(question.output)
    for name, values in (
        ("input", question.inputs),
        ("expected", question.expected or {}),
        ("output", output if isinstance(output, dict) else {"conversation": output}),
    ):
        for key, value in values.items():
            yield f"{name} · {printable(key, 60)}"
            yield from _indented(_text(value, limit))


def _text(value: JsonValue, limit: int | None) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    if limit is None or len(text) <= limit:
        return revealed(text)
    return f"{revealed(text[:limit])}\n… {len(text) - limit} more characters (m shows them)"


def _question_lines(criterion: Criterion, number: int, of: int) -> Iterator[str]:
    fields = criterion.fields
    yield f"\ncriterion {number} of {of}: {printable(fields.name, 120)}"
    for text in (fields.description, fields.scoring_guide):
        if text:
            yield from _indented(revealed(text))


def _indented(text: str) -> Iterator[str]:
    """The lines, indented, none longer than the terminal; only a word that is longer itself is broken."""
    width = shutil.get_terminal_size().columns - len(INDENT)
    for line in text.split("\n"):
        yield from (f"{INDENT}{part}" for part in textwrap.wrap(line, width, drop_whitespace=False) or [""])
