"""The task that every judge is given, and how it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import messages_of
from minions_evals_mcp.domain.definitions import Json, RubricCriterion
from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, Observed, Verdict
from minions_evals_mcp.domain.outputs import answered_record, output_text, output_value
from minions_evals_mcp.frozen_types import frozen_type, once
from minions_evals_mcp.judges.code_facts import told_of
from minions_evals_mcp.known_secrets import masked_json
from minions_evals_mcp.scoring.assertions.trajectories.turns import spoken_turns
from minions_evals_mcp.scoring.checks import Subject
from minions_evals_mcp.scoring.rubric import criterion_digest
from minions_evals_mcp.scoring.values import searched_text
from minions_evals_mcp.scoring.verdicts.history import Likeness, RunSample

Said = Verdict | NotJudgeable | JudgeErrored


@frozen_type
class Work:
    """The output under judgment with the case that asked for it."""

    inputs: Json
    expected: Json | None
    observed: Observed
    proposal_scores: Mapping[str, float] = field(default_factory=dict[str, float])
    likeness: Likeness | None = None
    """How the output compares with what was expected; None where no text was."""
    earlier: tuple[RunSample, ...] = ()
    """The case's runs before this one, newest first; no judge is shown them."""
    prompt: str = ""
    """What the output was asked for with; empty where that is not known."""
    case_id: str = ""
    """The case that asked for it, where it is one."""
    written: Json = field(default_factory=dict[str, JsonValue])
    """The test as a config says it, where code asks."""

    @property
    def text(self) -> str:
        """The output's text."""
        return output_text(self.observed.output)

    @once
    def subject(self) -> Subject:
        """The output as assertions see it."""
        seen, value = self.observed, output_value(self.observed.output)
        return Subject(
            self.text
            if seen.told is None
            else searched_text(value),  # what a config asked for is searched as promptfoo does
            seen.latency_ms,
            seen.cost_usd,
            self.inputs,
            seen.tool_calls,
            seen.finish_reason,
            self.prompt,
            None if isinstance(value, str) else value,
            partial(told_of, seen, value, self.prompt, self.inputs, self.written),
            {} if seen.told is None else seen.told.offered,
            seen.told is not None and seen.told.whole,
            seen.told is not None,
            answered_record(seen.output) if seen.told is None and seen.agent_run_id is None else None,
            seen.recorded_scores,
            None if seen.world is None else seen.world.state,
            None if seen.world is None or seen.world.database is None else partial(_asked, seen.world.database),
            None if seen.world is None else seen.world.files,
            seen.world is not None and seen.world.unreached,
            spoken_turns(seen.output, seen.tool_calls, () if seen.conversation is None else seen.conversation.calls),
        )

    @property
    def read(self) -> str:
        """What a judge reads of the output: a conversation whole, turn by turn."""
        return self.subject.read if messages_of(self.observed.output) else self.text

    @once
    def digest(self) -> str:
        """The digest of all that a judge is shown of it: of the output as it is kept, so that it is the same after a restart."""
        return digest([self.inputs, self.expected, masked_json(self.observed.output)])


def _asked(dump: str, query: str) -> JsonValue:
    """What the query gives over the database of a world."""
    from minions_evals_mcp.store.worlds.databases import answer  # noqa: PLC0415  few cases have a world

    return answer(dump, query)


@frozen_type
class Criterion:
    """A criterion under its id."""

    id: str
    fields: RubricCriterion

    @once
    def digest(self) -> str:
        """The digest of all that a judge is told of it."""
        return criterion_digest(self.fields)

    def verdict(self, score: float, rationale: str, **by: object) -> Verdict:
        """A verdict on this criterion."""
        fields = self.fields
        return Verdict.model_validate(
            {"criterion_id": self.id, "score": score, "min_score": fields.min_score, "max_score": fields.max_score,
             "rationale": rationale, **by}
        )  # fmt: skip


def judge_text(value: Json) -> str:
    """A mapping as a judge reads it: the text alone where it has one key, else canonical JSON."""
    return output_text(value) if len(value) == 1 else canonical(value)
