"""The inputs and results of a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.outputs import is_envelope
from minions_evals_mcp.frozen_types import frozen_type

if TYPE_CHECKING:
    from minions_evals_mcp.domain.neighbours import ToolCall

_NOTHING: Mapping[str, JsonValue] = {}


class SpokenTurn(NamedTuple):
    """One turn of a conversation: what the user said, what the agent answered, and the calls that it made; None is unknown."""

    user: str
    agent: str
    tool_calls: tuple[ToolCall, ...] | None = None
    latency_ms: float | None = None


class Subject(NamedTuple):
    """The output under test and what was measured while it was made. Times in ms, cost in US dollars; None is unknown."""

    text: str
    latency_ms: float | None = None
    cost_usd: float | None = None
    variables: Mapping[str, JsonValue] = _NOTHING
    tool_calls: tuple[ToolCall, ...] | None = None
    """None where nobody recorded them."""
    finish_reason: str | None = None
    prompt: str = ""
    value: JsonValue = None
    """What the output says where that is no text: code is given it as it is."""
    tell: Callable[[], Mapping[str, JsonValue]] = dict
    """Returns what `told` is: most outputs are judged without it."""
    offered: Mapping[str, JsonValue] = _NOTHING
    """The `tools` and `functions` that its provider offered the model."""
    whole_response: bool = False
    """Whether all that its provider answered is in `told`, so that what is missing there was not said."""
    of_config: bool = False
    """Whether a config of promptfoo's asked for it: code that goes wrong fails it then, as it does there."""
    record: dict[str, JsonValue] | None = None
    """The whole record that a program answered with, of which `text` may be a part; None where that is not known."""
    recorded_scores: tuple[Mapping[str, JsonValue], ...] = ()
    """The scores that another tool recorded for this output, as its log wrote them."""
    state: Mapping[str, JsonValue] | None = None
    """The final state of the world that the agent acted on; None where it had none."""
    ask: Callable[[str], JsonValue] | None = None
    """Asks the final database of that world in SQL, raising `QueryError`; None where it had none."""
    files: Mapping[str, str | None] | None = None
    """The final files of that world's folder, None for those whose content was not kept."""
    unreached: bool = False
    """Whether the agent connected to no server of that world."""
    turns: tuple[SpokenTurn, ...] = ()
    """The turns of an output that is a conversation; `text` is then its last answer."""

    @property
    def read(self) -> str:
        """What a judge reads: the whole conversation where the output is one, else its text."""
        if not self.turns:
            return self.text
        return "\n".join(
            f"[{at}] User: {turn.user}\n[{at}] Agent: {turn.agent}" for at, turn in enumerate(self.turns, 1)
        )

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        """What code is told of the output and its test beside the variables, by its name in `context`."""
        return self.tell()

    @property
    def printed(self) -> str:
        """What the program printed, for checks of its form: the text, unless that is a part taken out of a record.

        A record whose keys all belong to an envelope (`output`, `usage`, …) only wraps its text.
        """
        record = self.record
        return self.text if record is None or is_envelope(record) else canonical(record)


@frozen_type
class RegexNeed:
    """A pattern that the linear-time engine refuses: it is searched elsewhere, under a time limit, and handed in."""

    pattern: str
    text: str


Likeness = Literal["cosine", "dot", "euclidean"]
"""How two vectors are compared."""


@frozen_type
class SimilarityNeed:
    """Two texts whose likeness in meaning is measured by an embedder and handed in.

    `embedder` names one of the assertion's own (`Grader.name`); without, it is the run's. The measure is the cosine
    (0–1), the dot product or the distance of the two vectors.
    """

    text: str
    other: str
    embedder: str = ""
    measure: Likeness = "cosine"


Language = Literal["python", "javascript"]
Guards = tuple[tuple[str, tuple[str, ...]], ...]
"""Objects by their path (`context.provider`), each with the names that are known to stand for nothing in it.

Code that reads any other name that is not there gives no value: what it would say of an output is not known.
"""


@frozen_type
class SnippetNeed:
    """Code that a user wrote: it runs elsewhere, confined, with `variables` (a JSON object) and after `before`.

    `before` is code under test; what goes wrong in it is no fault of the snippet. `guards` are the objects among the
    variables of which code may read only what is there.
    """

    language: Language
    code: str
    variables: str
    before: str = ""
    guards: Guards = ()


@frozen_type
class Ran:
    """The return of a snippet, or the value of its last expression."""

    value: JsonValue


@frozen_type
class SnippetError:
    """The reason why a snippet gave nothing back: what it raised (`name` is its type), a limit, or what is not supported."""

    kind: Literal["raised", "time-limit", "memory-limit", "output-limit", "unsupported", "syntax", "died", "missing"]
    error: str
    name: str = ""


@frozen_type
class Unmet:
    """Evidence that could not be had, and why (time limit, engine died).

    `fatal`: no other call to what should give it can succeed either; `unanswered`: nothing about the output explains it.
    `not_judgeable`: the output lacks what the check looks at, and so it would be for any judge.
    """

    reason: str
    fatal: bool = False
    unanswered: bool = False
    not_judgeable: bool = False


GradeType = Literal[
    "llm-rubric", "factuality", "agent-rubric", "answer-relevance", "context-faithfulness", "context-recall",
    "context-relevance", "conversation-relevance", "g-eval", "model-graded-closedqa", "trajectory:goal-success",
]  # fmt: skip


@frozen_type
class GradeNeed:
    """An output that a model is to grade: by the rubric `asked`, or against the facts in `asked`.

    `judge` names a model of the assertion's own (`Grader.name`); without, it is the run's. `template` is what a person
    wrote to tell it, and `given` the values that fill it, as JSON. Without a template `given` is what else the judge is
    shown. `quoted` are texts in `asked` that are not its author's.
    """

    type: GradeType
    asked: str
    text: str
    judge: str = ""
    template: str = ""
    given: str = ""
    quoted: tuple[str, ...] = ()


ServiceKind = Literal["moderation", "classification", "webhook"]


@frozen_type
class ServiceNeed:
    """A text that a service is to moderate or classify, or what a webhook is to say of an output.

    `service` names it (`Grader.name`; empty: the one that moderates by default), or is the webhook's address. `given` is
    the prompt of a text that is moderated, and the JSON that a webhook is sent.
    """

    kind: ServiceKind
    service: str
    text: str
    given: str = ""


@frozen_type
class SynonymNeed:
    """Words whose synonyms are looked up elsewhere, and handed in."""

    words: tuple[str, ...]


class Grade(NamedTuple):
    """The finding of a model: `score` is 0–1. The tokens are what it cost when it was given."""

    passed: bool
    score: float
    reason: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    duration_ms: float | None = None


class OwnVerdict(NamedTuple):
    """The verdict of a function of the user's on an output. Without `passed` the score (0–1) decides.

    `parts` are the several scores that it gave, by their names.
    """

    passed: bool | None
    score: float | None = None
    reason: str = ""
    duration_ms: float | None = None
    cost_usd: float | None = None
    parts: tuple[tuple[str, OwnVerdict], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TransformedNeed:
    """The need of a check from the text that its transform makes: known once `snippet` has run."""

    snippet: SnippetNeed
    needs: Callable[[Ran], tuple[Need, ...]]


Need = RegexNeed | SimilarityNeed | SnippetNeed | GradeNeed | ServiceNeed | SynonymNeed | TransformedNeed
"""Whatever a check may need of the outside."""


def opened(wanted: Sequence[Need], evidence: Evidence) -> list[Need]:
    """The needs that stood behind transforms which have run; none of those that did not."""
    return [
        need
        for asked_need in wanted
        if isinstance(asked_need, TransformedNeed) and isinstance(ran := evidence.snippets.get(asked_need.snippet), Ran)
        for need in asked_need.needs(ran)
    ]


@frozen_type
class Evidence:
    """The evidence that checks need from the outside, fetched before they run."""

    regexes: Mapping[RegexNeed, bool | Unmet] = field(default_factory=dict[RegexNeed, bool | Unmet])
    snippets: Mapping[SnippetNeed, Ran | SnippetError] = field(default_factory=dict[SnippetNeed, Ran | SnippetError])
    similarities: Mapping[SimilarityNeed, float | Unmet] = field(default_factory=dict[SimilarityNeed, float | Unmet])
    grades: Mapping[GradeNeed, Grade] = field(default_factory=dict[GradeNeed, Grade])
    ungraded: Mapping[GradeNeed, Unmet] = field(default_factory=dict[GradeNeed, Unmet])
    services: Mapping[ServiceNeed, JsonValue | Unmet] = field(default_factory=dict[ServiceNeed, JsonValue | Unmet])
    """What services said, in the form that `models/services.py` gives each; of a webhook its JSON."""
    synonyms: Mapping[SynonymNeed, Mapping[str, frozenset[str]] | Unmet] = field(
        default_factory=dict[SynonymNeed, Mapping[str, frozenset[str]] | Unmet]
    )
    own: Mapping[str, OwnVerdict | Unmet] = field(default_factory=dict[str, OwnVerdict | Unmet])
    """What the user's functions said, by their names."""


NO_EVIDENCE = Evidence()


class Checked(NamedTuple):
    """A check's verdict: `score` is 0–1, `reason` says what matched or did not.

    `parts` are those of a set, or what code says that it looked at; `named` are the metrics that code gives.
    """

    type: str
    passed: bool
    score: float
    reason: str
    weight: float = 1.0
    metric: str | None = None
    parts: tuple[Checked, ...] = ()
    named: tuple[MetricScore, ...] = ()


@frozen_type
class Unchecked:
    """A check that could not be carried out: no verdict follows from it.

    `not_judgeable`: the output lacks what the check looks at; else the instrument failed.
    """

    type: str
    reason: str
    not_judgeable: bool = False


class Aggregate(NamedTuple):
    """All checks of one output together; `reason` and `named` are those of a person's code which made the verdict of them.

    `named` are then the output's metrics in place of its checks'; None where the code gives none.
    """

    passed: bool
    score: float
    results: tuple[Checked, ...]
    reason: str = ""
    named: tuple[MetricScore, ...] | None = None
