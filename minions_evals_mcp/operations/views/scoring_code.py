"""A table scored by code of the caller's own: always confined, without files and network."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.scoring_code import TableScoringCode
from minions_evals_mcp.scoring.checks import Language
from minions_evals_mcp.scoring.score_card import ScoreCard, custom_card

NAME = "code"


async def scored_by_code(code: str, rows: Sequence[Json], language: Language = "python") -> ScoreCard:
    """The card that the code makes of the rows, which it finds in `data`.

    Raises `BadInputError` where the code is at fault, `InstrumentError` with the limit that it exceeded.
    """
    return custom_card(await TableScoringCode(NAME, language, code).score(rows))
