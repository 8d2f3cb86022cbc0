"""Choosing among recorded outputs in bulk."""

from __future__ import annotations

from typing import Annotated

from minions_evals_mcp.cli.keep.scoring import RowScoring, answer_rows
from minions_evals_mcp.cli.options import file_name, flag
from minions_evals_mcp.interop.pick_rows import read_pick_row


def pick(
    file: Annotated[str, file_name()],
    /,
    *,
    fail: Annotated[bool, flag()] = False,
    json: Annotated[bool, flag()] = False,
    trust_code: Annotated[bool, flag()] = False,
    judge_model: str | None = None,
    max_cost_usd: float | None = None,
) -> int:
    """Select the best of several recorded outputs by their scores: one JSON row in, its selection out. Nothing is saved.

    A row is {id, outputs: […], assert: […]}. The answer is {id, selected, scores, reasons, namedScores} or
    {id, error}. `selected` is the index of the output with the highest aggregate (the first of equals). It is null if
    none reaches the threshold of the row's max-score assertion:
    {"type":"max-score","value":{"method":"average"|"sum","weights":{TYPE:…},"threshold":…}}.
    An output is a text, a record, or {output, latencyMs, cost}. select-best assertions are ignored. The summary goes
    to standard error. Exit 3 if nothing could be compared. With --fail, exit 1 if none was selected.
    Example: echo '{"id":"1","outputs":["Rome","Paris"],"assert":[{"type":"contains","value":"Paris"}]}' | minions-evals pick -

    Parameters
    ----------
    file
        JSON lines. `-` is standard input.
    fail
        Exit 1 if in any row no output is selected.
    json
        The rows are JSON in any case; with this the summary is too.
    trust_code
        Run the code of python and javascript assertions outside the sandbox, with all your permissions.
    judge_model
        Model that grades llm-rubric and factuality, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    max_cost_usd
        Stop calling the judge before it might cost more than this. Rows that still need it report that.
    """
    how = RowScoring(read_pick_row, "selected", trust_code, judge_model, max_cost_usd)
    return answer_rows(file, how, fail=fail, json=json)
