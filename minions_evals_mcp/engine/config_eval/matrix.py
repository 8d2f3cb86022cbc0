"""The answer to a config: tests × columns, every output with every score, and which output each test selects."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.scoring.max_score import NamedScores
from minions_evals_mcp.stats.comparison import ComparisonVerdict

CellVerdict = Literal["passed", "failed", "error", "open", "not-asked"]
"""How a cell came out. Only `passed` is a pass: `error` and `open` are no verdict, because something failed or somebody has to judge."""
JUDGED: tuple[CellVerdict, ...] = ("passed", "failed")
RowVerdict = Literal["passed", "failed", "undecided", "not-asked"]


class AssertionScore(Value):
    """One assertion's verdict on one output; the parts of a set stand under it."""

    type: str
    passed: Annotated[bool, Field(alias="pass")]
    score: float
    reason: str
    weight: float = 1.0
    metric: str | None = None
    parts: tuple[AssertionScore, ...] = ()


class Cell(Value):
    """One output of one test. `passed` and `score` are its own assertions' verdict, as it is kept.

    `selected` says whether every `max-score` and `select-best` of the test chose it; `undecided` says why one of them came to
    no choice. `verdict` is all of them together, `success` whether that is a pass. An output that could not be made or judged
    has no verdict, and its `reason`. `asked` is false where the test does not ask
    for the column: nothing was run there. `prompt` is what was asked, rendered; `value` is the output where it is no text.
    `metrics` are the weighted means of the scores that bear each name, `metricWeights` what those weigh together.
    `cached`: the output was there before, nothing was asked for it. `recalled` are the
    variables that were others than the test's own: stored outputs, and what a hook changed.
    """

    column: int
    asked: bool = True
    prompt: str | None = None
    run_id: str | None = None
    outcome: Outcome | None = None
    output: str | None = None
    value: JsonValue = None
    passed: bool | None = None
    score: float | None = None
    selected: bool | None = None
    undecided: Annotated[str, Field(exclude_if=lambda why: not why)] = ""
    reason: str = ""
    latency_ms: float | None = None
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    scores: tuple[AssertionScore, ...] = ()
    metrics: dict[str, float] = {}
    metric_weights: dict[str, float] = {}
    recalled: Annotated[Json, Field(exclude_if=lambda held: not held)] = {}
    cached: Annotated[bool, Field(exclude_if=lambda cached: not cached)] = False

    @property
    def success(self) -> bool:
        """Whether its verdict is a pass."""
        return self.verdict == "passed"

    @property
    def counted(self) -> float | None:
        """The score that a column's figures count: 0 where another output was chosen."""
        return 0.0 if self.selected is False and self.score is not None else self.score

    @property
    def verdict(self) -> CellVerdict:
        """The verdict of its assertions and of what chose among the outputs."""
        if not self.asked:
            return "not-asked"
        if self.passed is False or self.selected is False:
            return "failed"
        if self.undecided:
            return "error"
        if self.passed is None:
            return "open" if self.outcome == "awaiting-judgments" else "error"
        return "passed"


class Selected(Value):
    """The choice of one `max-score` or `select-best`: the column, and of `max-score` each column's aggregate.

    `namedScores` of `max-score`: of each column the aggregate, how many assertions it is of, and what they weigh together.
    `problem` says why there was nothing to choose by.
    """

    type: str
    selected: int | None = None
    scores: tuple[float | None, ...] = ()
    named_scores: tuple[NamedScores | None, ...] = ()
    reasons: tuple[str, ...] = ()
    problem: str = ""


class ConfigTestRow(Value):
    """One test (and trial) under every column."""

    index: int
    case_id: str
    title: str
    variables: Json
    trial: int
    cells: tuple[Cell, ...]
    selections: tuple[Selected, ...] = ()
    group: Annotated[str, Field(exclude_if=lambda group: not group)] = ""

    @property
    def holds(self) -> bool:
        """Whether the test passed."""
        return self.verdict == "passed"

    @property
    def verdict(self) -> RowVerdict:
        """The verdict of the chosen output, where the test chooses; else that of all its outputs together."""
        verdicts = [cell.verdict for cell in self.cells if cell.asked]
        if self.selections and "passed" in verdicts:
            return "passed"
        if "failed" in verdicts and not (self.selections and {"error", "open"}.intersection(verdicts)):
            return "failed"
        if not verdicts:
            return "not-asked"
        return "passed" if set(verdicts) == {"passed"} else "undecided"


class ColumnFigures(Value):
    """One prompt at one provider: how many tests came out well there, and what they cost. `passRate` is 0–100.

    `runIds` are all its kept runs: one, unless tests ask for something of their own. `runId`, `key` and `state` are the
    first one's, `state` that of the first that is not completed. No test asks for a column without a run.
    `metrics` is each metric's mean over the tests that have it; `metricSums` is the sum of their weighted scores, from which
    `derived` is computed.
    """

    prompt: str
    provider: str
    provider_id: str
    run_id: str | None
    run_ids: tuple[str, ...]
    key: str | None
    prompt_version_ref: str
    state: str
    problem: str = ""
    passed: int
    failed: int
    errors: int
    open: int
    pass_rate: float | None
    score: float | None
    latency_ms: float | None
    cost_usd: float | None
    metrics: dict[str, float] = {}
    metric_sums: dict[str, float] = {}
    derived: dict[str, float | None] = {}


class ColumnBefore(Value):
    """The change of a column from the run that stood in its place when the same tests were last evaluated otherwise.

    `reworded`: the prompt is another one. `delta` is the rise of the score, the level of its interval shared by `tests`.
    """

    column: int
    run_id: str
    reworded: bool
    delta: float
    interval: tuple[float, float]
    p_value: float
    verdict: ComparisonVerdict
    cases: int
    tests: int


class Matrix(Value):
    """A config's answer. `leftOut` names what was not carried out, `notes` what changes nothing here.

    `judge` says which model judged, and why that one, where nobody named one.
    """

    title: str
    benchmark_id: str
    columns: tuple[ColumnFigures, ...]
    rows: tuple[ConfigTestRow, ...]
    spent_usd: float
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judge: str = ""
    before: tuple[ColumnBefore, ...] = ()
