"""Records that a person or an agent writes down: test cases, rubrics, benchmarks, branches. Fields: docs/reference/records.md."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from minions_evals_mcp.domain.assertions import AGENT_TURNS, EVERY_TURN, TURN, Assertion, ScoringCode
from minions_evals_mcp.domain.conversations import Conversation
from minions_evals_mcp.domain.providers import Provider
from minions_evals_mcp.domain.values import Count, Id, Json, Text, Timestamp, Unit, Value
from minions_evals_mcp.domain.worlds import DatabaseState, Fault, FolderState, ServerName, WorldServer

JudgeType = Literal["llm", "heuristic", "human"]
PassRule = Literal["max_score", "similarity_0_8"]
SIMILARITY: PassRule = "similarity_0_8"
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Ids = Annotated[tuple[Id, ...], Field(strict=False)]
TurnNumber = Annotated[str, StringConstraints(pattern="^[1-9][0-9]{0,2}$")]
Checks = Annotated[tuple[Assertion, ...], Field(strict=False, min_length=1)]
EMPTY: Any = Field(default_factory=dict, json_schema_extra={"default": {}})
"""A mapping that is empty unless it is given: made anew each time, where a default would be copied at length."""


class Fields(Value):
    """The typed part of a record; `slug` is its type's name on the wire."""

    slug: ClassVar[str]


class TestCase(Fields):
    """The inputs, what should come out, and how to judge it. `threshold` belongs to the assertions' aggregate.

    `scoring` is the code that makes their verdict in place of it; only a config that a person runs gives one. `written` is
    the test as such a config says it, where its code asks.
    `accepted_outputs` are other right answers that a person gave: an audit tries its suggestions on them, no verdict rests
    on them. No honest output passes a `canary`: a run that does is marked, and approves nothing. `extra` is what the
    file that the case came from says beside all that; nothing is judged by it. Cases of one `group` (the turns of a
    conversation, questions on one document) are not independent: intervals and tests count groups. `world` is what the agent
    under test acts on: each trial gets a fresh copy. It meets `faults` there, besides those of the world.
    `conversation`: the output is a whole conversation with a user who is played. `turns` are checks of what the agent says
    in single turns (by number, from 1), `everyTurn` of each of its answers, `agentTurns` of all its answers as one text.
    """

    __test__ = False
    slug: ClassVar[str] = "test-case"

    name: Text
    description: str = ""
    agent_id: Id | None = None
    skill_id: Id | None = None
    prompt_version_ref: Id | None = None
    prompt_id: Id | None = None
    inputs: Json = EMPTY
    expected_outputs: Json | None = None
    rubric_id: Id | None = None
    assertions: Annotated[tuple[Assertion, ...], Field(strict=False)] = ()
    threshold: float | None = None
    scoring: Annotated[ScoringCode | None, Field(exclude_if=lambda code: code is None)] = None
    written: Annotated[Json, Field(exclude_if=lambda held: not held)] = EMPTY
    pass_rule: PassRule | None = None
    max_score: Annotated[float, Field(gt=0)] = 1.0
    timeout_ms: Annotated[int, Field(gt=0)] | None = None
    accepted_outputs: Annotated[tuple[JsonValue, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    canary: Annotated[bool, Field(exclude_if=lambda canary: not canary)] = False
    tags: Texts = ()
    group: Annotated[Text | None, Field(exclude_if=lambda group: group is None)] = None
    world: Annotated[Id | None, Field(exclude_if=lambda world: world is None)] = None
    faults: Annotated[tuple[Fault, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    conversation: Annotated[Conversation | None, Field(exclude_if=lambda held: held is None)] = None
    turns: Annotated[dict[TurnNumber, Checks], Field(exclude_if=lambda held: not held)] = EMPTY
    every_turn: Annotated[tuple[Assertion, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    agent_turns: Annotated[tuple[Assertion, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    status: Literal["active", "draft", "deprecated"] = "active"
    created_at: Timestamp | None = None
    created_by: str | None = None
    extra: Annotated[Json, Field(exclude_if=lambda held: not held)] = EMPTY

    @model_validator(mode="after")
    def _expected_is_not_blank(self) -> Self:
        if self.expected_outputs is not None and "" in self.expected_outputs.values():
            raise ValueError('expectedOutputs: an expected output of "" matches everything; leave it out instead')
        return self

    @property
    def checks(self) -> tuple[Assertion, ...]:
        """All its assertions: those of the output, then those of single turns, of every turn, and of all answers together."""
        if not (self.turns or self.every_turn or self.agent_turns):
            return self.assertions
        numbered = sorted(self.turns.items(), key=lambda turn: int(turn[0]))
        of_turns = (Assertion(type=TURN, value=int(number), assertions=checks) for number, checks in numbered)
        every = (Assertion(type=EVERY_TURN, assertions=self.every_turn),) if self.every_turn else ()
        agents = (Assertion(type=AGENT_TURNS, assertions=self.agent_turns),) if self.agent_turns else ()
        return (*self.assertions, *of_turns, *every, *agents)

    @model_validator(mode="after")
    def _faults_are_of_a_world(self) -> Self:
        if self.faults and self.world is None:
            raise ValueError("faults: they are met in a world; name one under world")
        return self


class Rubric(Fields):
    """The criteria by which outputs are judged, in order, and the weighted total in points from which one passes."""

    slug: ClassVar[str] = "rubric"

    name: Text
    description: str = ""
    criteria_ids: Ids = ()
    passing_threshold: Annotated[
        float,
        Field(description="in points, not a share: passes at Σ weight·score >= it; the highest is Σ weight·maxScore"),
    ]
    version: Annotated[int, Field(ge=1)] = 1
    is_active: bool = True

    @model_validator(mode="after")
    def _criteria_are_distinct(self) -> Self:
        if len(set(self.criteria_ids)) < len(self.criteria_ids):
            raise ValueError("criteriaIds: a criterion is listed twice")
        return self


class RubricCriterion(Fields):
    """One dimension of a rubric. `weight` is 0–1, a score lies in [`minScore`, `maxScore`]."""

    slug: ClassVar[str] = "rubric-criterion"

    rubric_id: Id
    name: Text
    description: str = ""
    weight: Unit = 1.0
    scoring_guide: str = ""
    min_score: float = 0.0
    max_score: float = 1.0
    judge_type: JudgeType = "llm"

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.min_score >= self.max_score:
            raise ValueError(f"maxScore: {self.max_score:g} must be greater than minScore {self.min_score:g}")
        return self


class ScoreCardSetting(Value):
    """How the runs of a benchmark become one score: the mean of columns, or code that finds the rows in `data` and returns
    {score, score_matrix?}. The code runs confined: no files, no network.
    """

    columns: Texts = ()
    code: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None
    language: Literal["python", "javascript"] = "python"

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.code is None) == (not self.columns):
            raise ValueError("scoreCard: give columns or code, one of the two")
        return self


class Benchmark(Fields):
    """A named set of test cases that measures one dimension; `passingThreshold` and `lastScore` are 0–1.

    `lastJudgedBy`: who judged the run of `lastScore` instead of the rubric's own judge; empty where that did.
    `scoreCard`: how its runs become one score, {columns: […]} or {code, language: python or javascript}.
    `sealed`: no door shows what its cases say or how each fared; only comparisons run it, and answer with a verdict.
    """

    slug: ClassVar[str] = "benchmark"

    name: Text
    description: str = ""
    test_case_ids: Ids
    dimension: str = ""
    passing_threshold: Unit | None = None
    owner_id: str | None = None
    last_run_at: Timestamp | None = None
    last_score: Unit | None = None
    last_judged_by: Annotated[tuple[str, ...], Field(exclude_if=lambda judges: not judges)] = ()
    status: Literal["active", "retired"] = "active"
    schedule: str | None = None
    sealed: Annotated[bool, Field(exclude_if=lambda sealed: not sealed)] = False
    score_card: Annotated[ScoreCardSetting | None, Field(exclude_if=lambda card: card is None)] = None

    @model_validator(mode="after")
    def _cases_are_distinct(self) -> Self:
        if not self.test_case_ids:
            raise ValueError("testCaseIds: a benchmark needs at least one test case")
        if len(set(self.test_case_ids)) < len(self.test_case_ids):
            raise ValueError("testCaseIds: a test case is listed twice")
        return self


TEMPERATURE, TOP_P, MAX_TOKENS = 0.7, 1.0, 2048
"""What a branch is asked with where it does not say. A limit is always sent: Anthropic's API demands one, and a cap needs one."""


class TestBranch(Fields):
    """One model configuration of an A/B test; what is not given is sent with the documented default."""

    __test__ = False
    slug: ClassVar[str] = "test-branch"

    test_case_id: Id
    name: Text
    description: str = ""
    provider: Provider
    model: Text
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    top_p: Unit | None = None
    other_params: Json = {}
    is_control: bool = False
    is_active: bool = True
    total_runs: Count = 0
    error_count: Count = 0
    avg_latency: float | None = None
    avg_cost: float | None = None
    avg_quality_score: Unit | None = None
    avg_tokens_per_sec: float | None = None
    consistency_score: Unit | None = None
    pass_rate: Annotated[float, Field(ge=0, le=100)] | None = None

    def with_defaults(self) -> Self:
        """The branch as it is shown and asked: what it does not give has the documented default."""
        given = {"temperature": self.temperature, "top_p": self.top_p}
        defaults = {"temperature": TEMPERATURE, "top_p": TOP_P}
        shown = {
            name: self.other_params.get(name, defaults[name]) if value is None else value
            for name, value in given.items()
        }
        return self.model_copy(update={**shown, "max_tokens": self.max_tokens or MAX_TOKENS})


class World(Fields):
    """What an agent under test can act on. Each unit of a run gets a fresh copy of the state: of `state`, which is JSON, of the
    `database` and of the `folder`.

    `faults` are met by the agent of every unit. `seed` decides whatever is drawn at random: the same seed gives the same faults.
    """

    slug: ClassVar[str] = "world"

    name: Text
    description: str = ""
    servers: Annotated[dict[ServerName, WorldServer], Field(min_length=1)]
    state: Json = {}
    faults: Annotated[tuple[Fault, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    seed: int = 0
    database: Annotated[DatabaseState | None, Field(exclude_if=lambda held: held is None)] = None
    folder: Annotated[FolderState | None, Field(exclude_if=lambda held: held is None)] = None

    @model_validator(mode="after")
    def _rules_have_their_state(self) -> Self:
        for tool in (tool for server in self.servers.values() for tool in server.tools):
            if self.database is None and any(rule.needs_database for rule in tool.rules):
                raise ValueError(f"database: a rule of {tool.name} asks one; give the world a database")
            if self.folder is None and any(rule.needs_folder for rule in tool.rules):
                raise ValueError(f"folder: a rule of {tool.name} uses files; give the world a folder")
        return self

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The commands that the world starts, by the names of their servers."""
        return tuple(server.run for _, server in sorted(self.servers.items()) if server.may_start)
