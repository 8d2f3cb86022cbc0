"""The request of a run, and what it turned out to be."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from minions_evals_mcp.domain.definitions import Ids, Json
from minions_evals_mcp.domain.providers import examples
from minions_evals_mcp.domain.request_fields import (
    NAME_SAYS_IT,
    OF_A_CONFIG,
    AgentRunId,
    Asker,
    BenchmarkId,
    Dollars,
    More,
    Repeats,
    Seconds,
    VersionRef,
    WorldId,
)
from minions_evals_mcp.domain.values import Count, Id, Text, Value
from minions_evals_mcp.domain.worlds import WrittenFault

JudgeChoice = Literal["auto", "heuristic", "llm", "human", "caller"]
JudgeKind = Literal["heuristic", "llm", "human", "caller"]


MOST_CASES = 1000
"""The most test cases that a request names."""
MOST_FAULTS = 100
"""The most faults that a request names."""
MOST_CONDITIONS = 100
"""The most conditions that choose cases."""
Cases = Annotated[int, Field(ge=1)]
"""A number of cases."""
_BETWEEN = re.compile(r",(?=\s*(?:tag=|skill=|status=|text~))")
PromptVersionChoice = Annotated[
    VersionRef | None,
    Field(description="The prompt version"),
    NAME_SAYS_IT,
    More(
        "The prompt version: id, PROMPT@NUMBER, PROMPT@latest, or the number alone. Default: each case's own version, or the latest of"
        " its prompt."
    ),
]
"""The version that a run is of."""
JudgedBy = Annotated[
    JudgeChoice,
    Field(description="auto: each criterion's own; caller: you judge"),
    More("auto (each criterion's own), heuristic (rules), llm, human, or caller (returns prompts for you to judge)."),
]
"""Who judges."""
NoCachedJudgments = Annotated[bool, Field(description="Reuse no judgment"), More("Ignore cached judgments.")]
"""Whether everything is judged anew."""
RunKey = Annotated[
    Text | None,
    Field(description="Same key, same run"),
    More("Names the run. The same key resumes it without judging twice."),
]
"""The run's own key."""
CostCap = Annotated[Dollars | None, Field(description="Maximum cost in US dollars"), NAME_SAYS_IT]
"""What models may cost."""
SecondsCap = Annotated[Seconds | None, Field(description="Start no further call after this many seconds"), NAME_SAYS_IT]
"""How long calls may be started."""


class RunSettings(Value):
    """The settings of a run, whatever is run: who judges, what makes outputs, how often, where it stops, and in which world.

    `faults` are what agents meet there, besides the case's and the world's own.
    """

    judge: JudgedBy = "auto"
    target: Annotated[
        str | None,
        Field(description="Makes the outputs, e.g. anthropic:MODEL"),
        More(
            f"Makes the outputs: {examples()}, python:module:function,"
            " http://HOST/PATH, 'command:PROGRAM ARGUMENTS' (your own application: JSON in, JSON or text out)."
        ),
    ] = None
    recorded: Annotated[
        bool,
        Field(description="Recorded outputs first"),
        More("Use recorded outputs first. The target generates only missing ones."),
    ] = False
    trials: Annotated[Repeats, Field(description="Repetitions of each case"), NAME_SAYS_IT] = 1
    fresh: NoCachedJudgments = False
    triggered_by: Asker = "command-line"
    key: RunKey = None
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        NAME_SAYS_IT,
        More("Stop before spending more US dollars on models, or on your own application if it reports its costs."),
    ] = None
    max_seconds: SecondsCap = None
    world: Annotated[
        WorldId | None,
        Field(description="A world for every case"),
        NAME_SAYS_IT,
        More("The id of a world for every case, replacing the case's own."),
    ] = None
    faults: Annotated[
        tuple[WrittenFault, ...],
        Field(strict=False, max_length=MOST_FAULTS, description="KIND:TOOL@NTH"),
        More(
            "A fault of the world's tools: KIND[:TOOL][@NTH], or @0.2 for a probability. Kinds: timeout, protocol-error,"
            " tool-error, empty, truncated, stale, slow, duplicate. May be repeated."
        ),
    ] = ()

    @classmethod
    def asked_by(cls, model: BaseModel, **own: object) -> Self:
        """The request with what an edge's model says under the same names, and with what is given beside it."""
        same = cls.model_fields.keys() & type(model).model_fields.keys()
        return cls.model_validate({**{name: getattr(model, name) for name in same}, **own})

    @classmethod
    def asked_with_default(cls, model: BaseModel, default_target: str | None, **own: object) -> Self:
        """As `asked_by`. Where the caller names no target, the operator's default makes what is not recorded."""
        asked = cls.asked_by(model, **own)
        if asked.target is not None or default_target is None:
            return asked
        return asked.model_copy(update={"target": default_target, "recorded": True})

    def makes_outputs(self) -> bool:
        """Tells whether the target makes every output: a target that was named does, unless `recorded` is set."""
        return self.target is not None and not self.recorded

    def frozen(self) -> Json:
        """Returns what must be the same when the run is resumed under its key."""
        asked = self.model_dump(mode="json", exclude={"key", "max_cost_usd", "max_seconds"})
        if not self.recorded:
            del asked["recorded"]  # runs that were begun before there was such a setting are resumed
        for name in ("world", "faults", "attacks"):
            if not asked.get(name):
                asked.pop(name, None)  # the same
        return asked


class Selection(Value):
    """The choice of cases to run: those of `rerun_failed` for which every condition holds; of them a sample; of it the first."""

    filter: Annotated[
        tuple[Text, ...],
        Field(strict=False, max_length=MOST_CONDITIONS, description="tag=, skill=, status= or text~; all must match"),
        More(
            "Run only cases with tag=TAG, skill=SKILL, status=passed|failed|new, text~WORDS. Separate with commas. All must"
            " match."
        ),
    ] = ()
    rerun_failed: Annotated[
        Text | None,
        Field(description="Only what failed in this run"),
        More("Run only what failed or was not scored in this run, under its prompt version."),
    ] = None
    sample: Annotated[
        Cases | None,
        Field(description="Draw this many cases"),
        More("Run only this many cases, drawn at random."),
    ] = None
    seed: Annotated[
        Count | None,
        Field(description="Draws the sample"),
        More("Seed of the sample. The same seed draws the same cases (default 0)."),
    ] = None
    limit: Annotated[Cases | None, Field(description="Only the first cases"), More("Run only the first N cases.")] = (
        None
    )

    @model_validator(mode="after")
    def _seed_draws_a_sample(self) -> Self:
        if self.seed is not None and self.sample is None:
            raise ValueError("seed: needs sample")
        return self

    def conditions(self) -> tuple[str, ...]:
        """The conditions, each by itself.

        One is `tag=TAG`, `skill=SKILL` (its `skillId`), `status=passed|failed|new` (in the case's newest run) or
        `text~WORDS` (in its id, name, description or inputs, in any case).
        """
        return tuple(condition for written in self.filter for condition in _BETWEEN.split(written))

    def in_words(self) -> str:
        """The selection in words; empty where it selects nothing."""
        parts = [text.strip() for text in self.conditions()]
        if self.rerun_failed is not None:
            parts.insert(0, f"failed or not scored in {self.rerun_failed}")
        if self.sample is not None:
            parts.append(f"a sample of {self.sample} (seed {self.seed or 0})")
        if self.limit is not None:
            parts.append(f"the first {self.limit}")
        return ", ".join(parts)


class RunRequest(RunSettings):
    """A benchmark or a test case to be run.

    `prompt_version_ref`: else each case is run with the version that it names, else with the latest of its prompt.
    `rejudge_run_id`: the outputs of that benchmark-run are judged anew; no target is called.
    `comparison_id`: the run is one side of that comparison, which is recorded with the second side's end.
    `order_seed`: the cases run in that random order.
    `case_ids`: only these of the benchmark's cases, chosen as `selection` says; such a run is no measure of the benchmark.
    `label_chance`: with which each of those cases was drawn at random, for people to label.
    `cache`: an output that the same target made from the same prompt version and inputs in the same trial is used again.
    `attacks`: ids of shipped attack texts; each trial plants the next.
    """

    subject_id: Id
    agent_run_id: AgentRunId | None = None
    rejudge_run_id: Id | None = None
    prompt_version_ref: VersionRef | None = None
    comparison_id: Id | None = None
    order_seed: int | None = None
    case_ids: Ids | None = None
    selection: Text | None = None
    label_chance: Annotated[float, Field(gt=0, le=1)] | None = None
    cache: bool = False
    attacks: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    purpose: Literal["scheduled", "manual", "comparison"] = "manual"

    def judged_anew(self, run_id: str, **own: object) -> RunRequest:
        """What judges the outputs of that run, which this request made, once more: in the same world, under the same faults."""
        kept = {name: getattr(self, name) for name in ("world", "faults", "attacks", "case_ids", "selection")}
        return RunRequest.model_validate({**kept, "rejudge_run_id": run_id, "purpose": "comparison", **own})

    @model_validator(mode="after")
    def _can_be_carried_out(self) -> Self:
        is_of_config = (self.target or "").startswith(
            OF_A_CONFIG
        )  # its outputs are of one trial each, as those in the cache
        if self.cache and self.trials > 1 and not is_of_config:
            raise ValueError("cache: cannot be combined with trials, which measure how much outputs differ")
        if (self.case_ids is None) != (self.selection is None):
            raise ValueError("selection: describes how caseIds were chosen; give both or neither")
        return self


class ComparisonRequest(RunSettings):
    """A benchmark to be run under two prompt versions, A (the current one) and B (the candidate), on the same cases.

    A named target makes the outputs of both versions; without one, and with `recorded`, recorded agent-runs come first.
    `sequential`: looks after every case, in random order, and stops once the passes decide; it errs as rarely as one look.
    """

    benchmark_id: BenchmarkId
    version_a: VersionRef
    version_b: VersionRef
    sequential: bool = False
    tie_threshold: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        if self.version_a == self.version_b:
            raise ValueError("versionB: same as versionA; name two versions")
        if self.sequential and self.trials > 1:
            raise ValueError("sequential: works with one trial per case; leave trials out")
        return self
