"""The arguments and answer of the tool that scores without keeping."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from minions_evals_mcp.server.edge.answer import Object, Objects, ToolAnswer
from minions_evals_mcp.server.edge.argument_types import ROWS_AT_ONCE, Cursor, Detail, Json, Name
from minions_evals_mcp.server.edge.guard import ToolArguments

Rows = Annotated[list[Json], Field(min_length=1, max_length=ROWS_AT_ONCE)]


Table = Annotated[list[Json], Field(min_length=1, max_length=2000)]


class ScoreOutputs(ToolArguments):
    """score_outputs"""

    rows: (
        Annotated[Rows, Field(description="{id, output, assert: [{type, value, …}], threshold?, latencyMs?, cost?}")]
        | None
    ) = None
    picks: (
        Annotated[Rows, Field(description="{id, outputs: […], assert: […]}: selects the best (max-score)")] | None
    ) = None
    table: Annotated[Table, Field(description="Rows {column: cell}: a score card")] | None = None
    run_id: Annotated[Name | None, Field(description="A benchmark-run: its score card")] = None
    columns: Annotated[list[Name], Field(max_length=50, description="Of the card")] = []
    code: Annotated[
        Annotated[str, Field(min_length=1, max_length=20_000)] | None,
        Field(description="Scores `data` (the rows) and returns {score}, in a sandbox"),
    ] = None
    language: Annotated[Literal["python", "javascript"], Field(description="Of code")] = "python"
    compare_table: Table | None = None
    compare_run_id: Annotated[Name | None, Field(description="The earlier run")] = None
    cursor: Cursor | None = None
    detail: Detail = "summary"

    @model_validator(mode="after")
    def _one_question(self) -> ScoreOutputs:
        given = [self.rows, self.picks, self.table, self.run_id]
        if sum(question is not None for question in given) != 1:
            raise ValueError("give exactly one of rows, picks, table, runId")
        if (self.compare_table or self.compare_run_id) and not (self.table or self.run_id):
            raise ValueError("compareTable and compareRunId need table or runId")
        if self.code is not None and (self.columns or not (self.table or self.run_id)):
            raise ValueError("code: scores a whole table or run, without columns")
        if self.compare_table and self.compare_run_id:
            raise ValueError("give compareTable or compareRunId, not both")
        return self


class ScoresAnswer(ToolAnswer):
    """Verdicts of rows, selections of picks, or the card of a table; nothing is kept."""

    results: Objects = []
    card: Object | None = None
    before: Object | None = None
    changes: Object | None = None
