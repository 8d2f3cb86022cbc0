"""A config as the engine carries it out: test cases, and columns of prompts and providers that they are run under."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.assertions import Grader
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.planning import CONFIG
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from minions_evals_mcp.scoring.max_score import MaxScore
from minions_evals_mcp.scoring.metrics import DerivedMetric
from minions_evals_mcp.targets.call_traces import HeldSpans
from minions_evals_mcp.targets.exchange import HostStream
from minions_evals_mcp.targets.prompted import PythonTransform

if TYPE_CHECKING:
    from minions_evals_mcp.engine.config_eval.matrix import Matrix
    from minions_evals_mcp.targets.hooks import BeforeEach


class EchoSpec(Value):
    """Answers with the prompt."""

    kind: Literal["echo"] = "echo"


class ModelSpec(Value):
    """`model` is `provider:model`; `params` join the request as they are. Key and address may hold `{{env.NAME}}`.

    `as_text`: a reply by the schema of those parameters stays a text, as in promptfoo where a file holds it.
    """

    kind: Literal["model"] = "model"
    model: Text
    max_tokens: Annotated[int, Field(ge=1)]
    params: Json = {}
    as_text: Annotated[bool, Field(exclude_if=lambda as_text: not as_text)] = False
    base_url: str | None = None
    api_key: Annotated[str | None, Field(exclude=True, repr=False)] = None


class GivenSpec(Value):
    """Answers with the output that stands in the test; `outputs` are by their digests, which the tests' inputs hold."""

    kind: Literal["given"] = "given"
    outputs: Annotated[Json, Field(exclude=True, repr=False)] = {}


class PythonSpec(Value):
    """A function in a file; `code` is the digest of the file and of what it imports.

    `offered` are the tools and functions of its config.
    """

    kind: Literal["python"] = "python"
    path: str
    function: str
    config: Json = {}
    code: str
    offered: Annotated[Json, Field(exclude_if=lambda held: not held)] = {}


class ModuleSpec(Value):
    """A class in a JavaScript module, run by node where the operator trusts it; `code` and `offered` as above."""

    kind: Literal["module"] = "module"
    path: str
    config: Json = {}
    code: str
    offered: Annotated[Json, Field(exclude_if=lambda held: not held)] = {}


class ProgramSpec(Value):
    """A program with its arguments, started without a shell in the config's folder; empty where that is the current one.

    `code` is the digest of the files that the command names, and of what they import.
    """

    kind: Literal["exec"] = "exec"
    command: tuple[str, ...]
    code: Annotated[str, Field(exclude_if=lambda held: not held)] = ""
    folder: Annotated[str, Field(exclude_if=lambda held: not held)] = ""
    config: Json = {}


class AgentSpec(Value):
    """A coding agent's program with its options, given the prompt as its input.

    It works in `folder`; empty: in an empty one of its own. `code` is the digest of what it finds there and in its plugins.
    `documents` are options whose value is JSON. Words, documents and variables may hold `{{env.NAME}}`.
    """

    kind: Literal["agent"] = "agent"
    run: tuple[str, ...]
    documents: Json = {}
    format: HostStream
    folder: str = ""
    environment: dict[str, str] = {}
    secrets: Annotated[dict[str, str], Field(exclude=True, repr=False)] = {}
    code: str
    installed_with: Annotated[str, Field(exclude=True)] = ""


class AddressSpec(Value):
    """An application behind an address; strings may hold `{{prompt}}`, variables of the test and `{{env.NAME}}`.

    A body that is no JSON, or is JSON only once it is filled, stands under `text`. `escaped`: values are filled in as they
    stand in a JSON string, wherever it is. `flat`: what a filled string says stays a text, also where it is JSON.
    `transform` is JavaScript that reads the answer, `asking` what makes the body's prompt, `will_do` whether a status will do.
    """

    kind: Literal["http"] = "http"
    url: Text
    method: Text
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    body: JsonValue = None
    text: Annotated[str | None, Field(exclude_if=lambda text: text is None)] = None
    transform: str | None = None
    asking: Annotated[str | None, Field(exclude_if=lambda asking: asking is None)] = None
    will_do: Annotated[str | None, Field(exclude_if=lambda will_do: will_do is None)] = None
    escaped: Annotated[bool, Field(exclude_if=lambda escaped: not escaped)] = False
    flat: Annotated[bool, Field(exclude_if=lambda flat: not flat)] = False


AnsweringSpec = EchoSpec | ModelSpec | GivenSpec | PythonSpec | ModuleSpec | ProgramSpec | AgentSpec | AddressSpec


class SimulatedUserSpec(Value):
    """A user whom a model plays talks with `target`. `user` is that model; None: the model that judges the run."""

    kind: Literal["simulated-user"] = "simulated-user"
    target: AnsweringSpec = EchoSpec()
    user: ModelSpec | None = None
    instructions: str
    max_turns: Annotated[int, Field(ge=0)]
    initial: tuple[Json, ...] = ()
    stateful: bool = False


Spec = AnsweringSpec | SimulatedUserSpec


def models_of(spec: Spec) -> Iterator[ModelSpec]:
    """The models that are asked there."""
    match spec:
        case ModelSpec():
            yield spec
        case SimulatedUserSpec(target=target, user=user):
            yield from models_of(target)
            if user is not None:
                yield user
        case _:
            return


class Provider(Value):
    """The provider that answers the prompts of a column. `transforms` change `output`, one after the other; a text is JavaScript.

    `told` is what code that asks is told of it: `id`, `label`, `config`. `known_as` is what code that writes prompts is told for
    its id, where that is another.
    """

    id: Text
    label: Text
    spec: Spec
    transforms: tuple[str | PythonTransform, ...] = ()
    told: Json = {}
    delay_ms: float = 0.0
    after: Annotated[str, Field(exclude_if=lambda after: not after)] = ""
    """The digest of the tests before, of which its answers depend where tests remember them."""
    known_as: Annotated[str, Field(exclude_if=lambda known_as: not known_as)] = ""
    traced_as: Annotated[str, Field(exclude_if=lambda traced_as: not traced_as)] = ""
    """What the traces of its calls name, where they are traced: outputs that were made without are asked for again."""

    options: Annotated[Json, Field(exclude_if=lambda options: not options)] = {}
    """What its tests ask of it, over its own config and the prompt's."""

    def identity(self) -> str:
        """The digest of all that bears on its answers; no key is part of it, nor the folder in which a config lies."""
        transforms: list[JsonValue] = [
            transform if isinstance(transform, str) else transform.model_dump(mode="json")
            for transform in self.transforms
        ]
        beside: list[JsonValue] = [
            part for part in (self.told, self.after, self.known_as, self.traced_as, self.options) if part
        ]
        spec = self.spec.model_dump(mode="json", exclude={"folder": True, "target": {"folder"}})
        return digest([spec, transforms, *beside])


class SelectBest(Value):
    """`select-best`: a model chooses among a test's outputs by the criterion; its own model, in its own words, if it has any."""

    criterion: Text
    grader: Annotated[Grader | None, Field(exclude_if=lambda grader: grader is None)] = None
    rubric_prompt: Annotated[str | None, Field(exclude_if=lambda template: template is None)] = None
    quoted: Annotated[tuple[str, ...], Field(strict=False, exclude_if=lambda texts: not texts)] = ()


Chooser = MaxScore | SelectBest


class PromptCode(Value):
    """A file of code that writes the prompts: a function in it, or a program with its arguments. `code` is the digest of its text.

    With `filters`, files by the names of the filters that they hold, the prompt is the template that stands in `template`.
    """

    path: str
    function: str | None
    code: str
    arguments: Annotated[tuple[str, ...], Field(exclude_if=lambda held: not held)] = ()
    folder: Annotated[str, Field(exclude_if=lambda held: not held)] = ""
    config: Json = {}
    filters: Annotated[dict[str, str], Field(exclude_if=lambda held: not held)] = {}
    template: Annotated[str, Field(exclude_if=lambda held: not held)] = ""


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """The work of one kept run of a column: tests that are asked alike, as a benchmark of their own."""

    provider: Provider
    benchmark_id: str
    case_ids: tuple[str, ...]
    trials: int


@dataclass(frozen=True, slots=True)
class Column:
    """One prompt at one provider. `parts` hold the tests that ask for it; a test that does not is in none."""

    version_id: str
    prompt_label: str
    provider: Provider
    parts: tuple[ColumnPart, ...] = ()
    writer: PromptCode | None = None
    prompt_config: Json = field(default_factory=dict[str, JsonValue])
    """What the prompt asks of its model, over the provider's own config."""


@dataclass(frozen=True, slots=True)
class Written:
    """A test as it stands in the config: whole, and its assertions and choosers in the order in which they are judged."""

    test: Json
    assertions: tuple[JsonValue, ...] = ()
    choosers: tuple[JsonValue, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationHooks:
    """The extension hooks of a config: what is called before each output, and what once all are judged."""

    before_each: BeforeEach
    after: Callable[[Evaluation, Matrix], Awaitable[Matrix]]


@dataclass(frozen=True, slots=True)
class EvaluationTraces:
    """The tracing of a config's calls: the spans that are held, and what listens for them, if anything does."""

    held: HeldSpans
    listening: Callable[[], AbstractAsyncContextManager[None]] | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A whole config. `choosers` and `written` are those of a case, by its id; `left_out` names what was not carried out.

    `rows` are the cases with their trials in the order in which they are told.
    """

    title: str
    arrivals: tuple[Arrival, ...]
    benchmark_id: str
    case_ids: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, int], ...]
    written: Mapping[str, Written] = field(default_factory=dict[str, Written])
    told_tests: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The tests that code is told, by the digests that stand among their inputs."""
    choosers: Mapping[str, tuple[Chooser, ...]] = field(default_factory=dict[str, tuple[Chooser, ...]])
    derived: tuple[DerivedMetric, ...] = ()
    delay_s: float = 0.0
    concurrency: int | None = None
    max_seconds: float | None = None
    pass_rate: float | None = None
    """The share of all outputs that are to pass by the environment, chance not weighed."""
    failed_exit: int | None = None
    """The exit code where fewer do, by the environment."""
    caches: bool = True
    judge_model: str | None = None
    graders: Mapping[str, AnsweringSpec] = field(default_factory=dict[str, AnsweringSpec])
    """Judges of single assertions that only the config can open, by `Grader.name`."""
    remembers: bool = False
    """Whether tests take over what those before them were answered: they are then asked one after the other."""
    stored: frozenset[str] = frozenset()
    """The names under which tests store their outputs."""
    variables: frozenset[str] = frozenset()
    given_variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    output_paths: tuple[str, ...] = ()
    hooks: EvaluationHooks | None = field(default=None, compare=False)
    traces: EvaluationTraces | None = field(default=None, compare=False)
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What the config says that changes nothing here."""

    @property
    def is_stateful(self) -> bool:
        """Whether an output depends on more than its prompt, variables and provider: on other tests, a hook or a trace."""
        return self.remembers or self.hooks is not None or self.traces is not None


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """The options of a config's evaluation this time."""

    key: str | None = None
    max_cost_usd: float | None = None
    max_seconds: float | None = None
    triggered_by: str = "command-line"
    cache: bool = False
    """Whether outputs that the same provider gave to the same prompt, variables and options are used again."""
    branch: str | None = None
    """The branch of the repository in which it is evaluated."""


def part_request(
    engine: Engine, evaluation: Evaluation, column: Column, part: ColumnPart, limits: EvalOptions
) -> RunRequest:
    """The run of that part of a column: the same tests, asked and judged alike, are the same run under the same key."""
    measured: JsonValue = [
        part.benchmark_id, column.version_id, target_identity(column, part), part.trials, SCORER_VERSION,
        str(engine.judge_model()), engine.config.embedder, engine.config.trust_code,
    ]  # fmt: skip
    cached = limits.cache and not evaluation.is_stateful
    own = digest([*measured, "cache"] if cached else measured)
    return RunRequest(
        subject_id=part.benchmark_id,
        prompt_version_ref=column.version_id,
        target=f"{CONFIG}:{part.provider.id}",
        trials=part.trials,
        triggered_by=limits.triggered_by,
        purpose="comparison",  # the columns are compared with each other: none is the history of another
        key=f"{limits.key}/{own}" if limits.key else f"eval/{own}",
        max_cost_usd=limits.max_cost_usd,
        max_seconds=limits.max_seconds or evaluation.max_seconds,
        cache=cached,
    )


def target_identity(column: Column, part: ColumnPart) -> str:
    """The digest of all that bears on a part's answers; code that writes the prompts is told the provider's id and label."""
    identity = part.provider.identity()
    if column.prompt_config:
        identity = digest([identity, column.prompt_config])
    if column.writer is None:
        return identity
    return digest([identity, column.writer.model_dump(mode="json"), column.provider.id, column.provider.label])
