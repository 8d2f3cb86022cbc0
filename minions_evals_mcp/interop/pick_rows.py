"""The rows of `minions-evals pick`: `{id, outputs: […], assert: […]}` in, the selected output of each row out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.score_rows import (
    ALSO,
    Answer,
    listed,
    read_assertion,
    read_object,
    row_id,
    subject_of,
    vetted,
)
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Evidence, Need, Subject, Unchecked
from minions_evals_mcp.scoring.max_score import MAX_SCORE, MaxScore, SelectedOutput, max_score_of
from minions_evals_mcp.scoring.verdicts.examination import Contest, Spoilt

KEYS = frozenset({"id", "outputs", "assert"})
MEASURED = frozenset({"output", "latencyMs", "cost", "toolCalls"})
"""An output with no keys but these is its text with what was measured; any other object is a record."""


@dataclass(frozen=True, slots=True)
class PickRow:
    """Recorded outputs of one test, the checks that score each, and how the best is chosen."""

    id: str
    contest: Contest

    def needs(self) -> Sequence[Need]:
        """Returns what its checks need of the outside."""
        return self.contest.needs()

    def answer(self, evidence: Evidence = NO_EVIDENCE) -> Answer:
        """Returns which output is selected and every aggregate; where a check could not be carried out, an error and no choice."""
        match self.contest.answer(evidence):
            case Spoilt(index, why):
                return {"id": self.id, "error": f"outputs.{index}: {why.type}: {why.reason}"}
            case Unchecked() as nothing:
                return {"id": self.id, "error": f"{nothing.type}: {nothing.reason}"}
            case SelectedOutput() as selection:
                return _picked(self.id, selection)


def _picked(ident: str, selection: SelectedOutput) -> Answer:
    aggregates: list[JsonValue] = [standing.named_scores.max_score for standing in selection.standings]
    reasons: list[JsonValue] = [standing.verdict.reason for standing in selection.standings]
    named: list[JsonValue] = [standing.named_scores.model_dump(mode="json") for standing in selection.standings]
    return {
        "id": ident, "selected": selection.selected, "scores": aggregates, "reasons": reasons, "namedScores": named,
    }  # fmt: skip


def read_pick_row(line: str | bytes) -> PickRow:
    """The row in a line; raises `InvalidRecordError` naming the field that does not fit."""
    row = read_object(line, KEYS, ("outputs", "assert"), also=ALSO)
    subjects = tuple(map(_subject, listed(row["outputs"], "outputs")))
    assertions, config = _divided(listed(row["assert"], "assert"))
    return PickRow(row_id(row), Contest(assertions, subjects, config))


def _subject(output: JsonValue) -> Subject:
    if isinstance(output, dict) and "output" in output and output.keys() <= MEASURED:
        return subject_of(output["output"], output)
    return subject_of(output, {})


def _divided(values: list[JsonValue]) -> tuple[tuple[Assertion, ...], MaxScore]:
    """The checks, and what the row's `max-score` asks for; `select-best` needs a model and chooses by itself."""
    checks: list[Assertion] = []
    config: MaxScore | None = None
    for number, row in enumerate(values):
        match row:
            case {"type": "max-score"}:
                if config is not None:
                    raise InvalidRecordError(f"only one {MAX_SCORE} check is allowed", field=f"assert.{number}")
                config = _config(read_assertion(row, number), number)
            case {"type": "select-best"}:
                read_assertion(row, number)
            case _:
                checks.append(vetted(row, number))
    return tuple(checks), config or MaxScore()


def _config(assertion: Assertion, number: int) -> MaxScore:
    try:
        return max_score_of(assertion)
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field=f"assert.{number}.{error.field}") from None
