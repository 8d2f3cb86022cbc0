"""Score cards of files and benchmark-runs."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, say, session
from minions_evals_mcp.domain.definitions import ScoreCardSetting
from minions_evals_mcp.engine.answers.scoring_code import TableScoringCode, read_scoring_code
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.score_table import read_table
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.operations.views.run_card import setting_of
from minions_evals_mcp.operations.views.run_table import FALLING, FIGURES
from minions_evals_mcp.operations.views.run_table import rows as run_rows
from minions_evals_mcp.scoring.score_card import Row, ScoreCard, Tallies, custom_card, score_card
from minions_evals_mcp.scoring.score_changes import card_changes
from minions_evals_mcp.scoring.score_matrix import CustomScore

SHOWN = 20
TABLES = frozenset({".csv", ".tsv", ".json", ".jsonl"})


async def scorecard(
    source: str,
    /,
    *,
    columns: str = "",
    code: Path | None = None,
    trust_code: Annotated[bool, Parameter(negative="")] = False,
    compare: str | None = None,
    limit: Limit = SHOWN,
    common: Common = DEFAULTS,
) -> int:
    """Reduce a table of results to one score, and show what changed since another. Nothing is saved.

    Booleans give the percentage of true, numbers their mean, several columns the mean of their figures. Without
    --columns and --code, the benchmark's scoreCard decides, or else the run's score, or the last column of a table. A
    run has a column for each criterion, then latency (ms), cost (US dollars), passed and score.
    Example: minions-evals scorecard results.csv --columns correct,tone --compare last-week.csv

    Parameters
    ----------
    source
        A benchmark-run's id or key, or a file: .csv, .tsv, .json (a list of rows, or {score, score_matrix}) or JSON
        lines.
    columns
        The columns that count, separated by commas.
    code
        A .py or .js file that scores the table. It gets the rows as `data`, a list of {column: cell}, and returns
        {score, score_matrix?}. It runs in a sandbox without files and network.
    trust_code
        Run the code outside the sandbox, with all your permissions.
    compare
        An earlier run or file. Both cards and score matrices are shown, with the sign of every change.
    limit
        Maximum number of rows shown.
    """
    chosen = tuple(name.strip() for names in csv.reader([columns]) for name in names)
    if code is not None and chosen:
        raise BadInputError("--code scores the whole table; --columns chooses from it.", remedy="Give one of the two.")
    scoring = None if code is None else read_scoring_code(code, trusted=trust_code)
    request = CardOptions(chosen, scoring, limit, common)
    source, card, rows = await _card(source, request)
    if compare is None:
        if common.json:
            say(card.model_dump(mode="json"))
            return 0
        from minions_evals_mcp.report.score_cards import show_card  # noqa: PLC0415  rich is imported where a person looks

        show_card(source, card, rows)
        return 0
    compare, before, _ = await _card(compare, request)
    changes = card_changes(before, card)
    if common.json:
        say(
            {
                name: fields.model_dump(mode="json")
                for name, fields in (("card", card), ("before", before), ("changes", changes))
            }
        )
        return 0
    from minions_evals_mcp.report.score_cards import show_changes  # noqa: PLC0415  as above

    show_changes(compare, source, card, changes)
    return 0


@dataclass(frozen=True, slots=True)
class CardOptions:
    """The scoring of a source and its showing."""

    chosen: tuple[str, ...]
    code: TableScoringCode | None
    limit: int
    common: Common


async def _card(source: str, request: CardOptions) -> tuple[str, ScoreCard, list[Row]]:
    """The source by its whole name, its card and its first rows."""
    if not _is_file(source):
        async with session(replace(request.common, read_only=True)) as engine:
            run_id = await whole_id(engine, source, "benchmark-run")
            if not request.chosen and request.code is None:
                request = _as_set(request, await setting_of(engine, run_id))
            return run_id, *await _scored(run_rows(engine, run_id), request, last=FIGURES[-1:], falling=FALLING)
    table = read_table(Path(source))
    if isinstance(table, CustomScore):
        if request.chosen:
            raise BadInputError(f"{source} has a score and no columns.", remedy="Leave --columns out.")
        return source, custom_card(table), []
    return source, *await _scored(_each(table), request)


def _as_set(request: CardOptions, setting: ScoreCardSetting | None) -> CardOptions:
    """The request with the columns or the code that the benchmark of the run keeps."""
    if setting is None:
        return request
    code = None if setting.code is None else TableScoringCode("scoreCard", setting.language, setting.code)
    return replace(request, chosen=setting.columns, code=code)


async def _scored(
    rows: AsyncIterator[Row], request: CardOptions, *, last: Sequence[str] = (), falling: frozenset[str] = frozenset()
) -> tuple[ScoreCard, list[Row]]:
    if request.code is not None:
        return custom_card(await request.code.score([row async for row in rows])), []
    tallies, shown = await _counted(rows, request.limit)
    return score_card(tallies.columns(falling=falling), request.chosen or last), shown


def _is_file(source: str) -> bool:
    """Returns whether a file is meant; one that is missing is then told as that."""
    path = Path(source)
    try:
        return path.suffix.lower() in TABLES or path.is_file()
    except (OSError, ValueError):  # no name that a file can have
        return False


async def _each(rows: Iterator[Row]) -> AsyncIterator[Row]:
    for row in rows:
        yield row


async def _counted(rows: AsyncIterator[Row], limit: int) -> tuple[Tallies, list[Row]]:
    tallies, shown = Tallies(), list[Row]()
    async for row in rows:
        tallies.add(row)
        if len(shown) < limit:
            shown.append(row)
    return tallies, shown
