"""The checks that stand for the scorers of another tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.logs.sample import ForeignScore
from minions_evals_mcp.scoring.assertions.kinds.foreign_scorer import FOREIGN_SCORER, INSPECT
from minions_evals_mcp.scoring.foreign.recorded import RecordedVerdict, may_judge, verdict_of
from minions_evals_mcp.sessions.conversation import finite


def recorded_checks(tool: str, scorers: Iterable[str]) -> tuple[Json, ...]:
    """A check for each scorer whose recorded score is the verdict."""
    names = dict.fromkeys(name for name in scorers if name)
    return tuple(_check({"tool": tool, "scorer": name}) for name in names)


def recorded_of(tool: str, scores: Iterable[ForeignScore]) -> tuple[Json, ...]:
    """The same of those scores that may be verdicts; of all, where none may, so that nothing else judges in their place."""
    listed = list(scores)
    judging = [score.name for score in listed if may_judge(score.wire())]
    return recorded_checks(tool, judging or [score.name for score in listed])


def grades(scores: Iterable[tuple[str, JsonValue]]) -> frozenset[str]:
    """The scorers that give more than 0 and 1, of a tool that knows no pass mark: what they give is a grade, and no verdict."""
    return frozenset(name for name, value in scores if value not in (None, 0, 1))


@dataclass(frozen=True, slots=True)
class GivenScores:
    """What the scorers of a whole file gave: those that give verdicts, and those that give grades, for which nobody knows a pass mark."""

    deciding: tuple[str, ...]
    grades: frozenset[str]

    @classmethod
    def of(cls, scores: Iterable[ForeignScore]) -> GivenScores:
        """What the scorers gave in all of the file's rows."""
        graded, verdicts = frozenset[str](), dict[str, None]()
        for score in scores:
            graded |= grades([(score.name, score.value)])
            if _is_verdict(score):
                verdicts[score.name] = None
        return cls(tuple(name for name in verdicts if name not in graded), graded)

    def marked(self, scores: Iterable[ForeignScore]) -> tuple[ForeignScore, ...]:
        """The scores of a row; grades are marked."""
        return tuple(
            replace(score, about={**score.about, "isGrade": True}) if score.name in self.grades else score
            for score in scores
        )

    def checks(self, tool: str, scores: Iterable[ForeignScore]) -> tuple[Json, ...]:
        """The checks of a row: what gives verdicts in the file judges each row of it, also where it gave none."""
        return recorded_checks(tool, self.deciding) or recorded_of(tool, scores)


def _is_verdict(score: ForeignScore) -> bool:
    return isinstance(verdict_of(score.wire()), RecordedVerdict)


def inspect_check(
    scorer: str, *, score: str, options: Json, targets: Sequence[str], choices: int = 0, multiple: bool = False
) -> Json:
    """The check of Inspect's scorer, whose score in the log has the name `score`."""
    value: Json = {
        "tool": INSPECT, "scorer": scorer, "name": score if score != scorer else None, "options": finite(options) or None,
        "targets": [*targets], "choices": choices or None, "multiple": multiple or None,
    }  # fmt: skip
    return _check({key: part for key, part in value.items() if part is not None})


def _check(value: Json) -> Json:
    wire: JsonValue = value
    return {"type": FOREIGN_SCORER, "value": wire}
