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

    A row is {id, outputs: […], assert: […]}. Its answer {id, selected, scores, reasons, namedScores} or {id, error}. `selected` is
    the index of the output with the highest aggregate (the first of equals), null where none reaches the threshold of
    the row's max-score assertion: {"type":"max-score","value":{"method":"average"|"sum","weights":{TYPE:…},"threshold":…}}.
    An output is a text, a record, or {output, latencyMs, cost}. A select-best assertion has no part in it.
    The summary goes to standard error. Exit 3 if there was nothing to choose by, 1 with --fail if none was selected.
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
        Run the code of python and javascript assertions with the real interpreters, which can do whatever you can.
    judge_model
        Who grades llm-rubric and factuality, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    max_cost_usd
        Ask the judge no more before it might cost more than this. The rows that need it then say so.
    """
    how = RowScoring(read_pick_row, "selected", trust_code, judge_model, max_cost_usd)
    return answer_rows(file, how, fail=fail, json=json)
