"""The score card of a benchmark-run: by columns or code that are given, else as its benchmark sets it, else its score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from minions_evals_mcp.domain.definitions import Benchmark, ScoreCardSetting
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.run_table import FALLING, FIGURES, run_rows
from minions_evals_mcp.engine.answers.scoring_code import TableScoringCode
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.scoring.score_card import ScoreCard, Tallies, custom_card, score_card
from minions_evals_mcp.scoring.score_changes import CardChanges, card_changes
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.connection import Db

FALLEN_BACK = ScoreCardSetting.trusted(columns=FIGURES[-1:])
"""The card of a run whose benchmark sets none: the score of its cases."""


class RunCard(Value):
    """The card of a run and, where another run was named, that one's and what changed since."""

    card: ScoreCard
    before: ScoreCard | None = None
    changes: CardChanges | None = None


async def setting_of(engine: Engine, run_id: str) -> ScoreCardSetting | None:
    """The score card that the benchmark of that run keeps; None where it keeps none."""
    ident = await find_benchmark_run(engine, run_id)
    return await engine.store.read(partial(_setting, run_id=ident))


def _setting(db: Db, *, run_id: str) -> ScoreCardSetting | None:
    run = runs.benchmark_run(db, run_id)
    benchmark = None if run is None else records.get(db, run.fields.benchmark_id, Benchmark)
    return None if benchmark is None else benchmark.fields.score_card


async def card_of_run(engine: Engine, run_id: str, setting: ScoreCardSetting | None = None) -> ScoreCard:
    """The card of the benchmark-run under that id or key; its code always runs confined."""
    chosen = setting or await setting_of(engine, run_id) or FALLEN_BACK
    rows = run_rows(engine, await find_benchmark_run(engine, run_id))
    if chosen.code is not None:
        code = TableScoringCode("scoreCard", chosen.language, chosen.code)
        return custom_card(await code.score([row async for row in rows]))
    tallies = Tallies()
    async for row in rows:
        tallies.add(row)
    return score_card(tallies.columns(falling=FALLING), chosen.columns)


async def run_card(
    engine: Engine,
    run_id: str,
    *,
    columns: Sequence[str] = (),
    code: str | None = None,
    language: str = "python",
    compare: str | None = None,
) -> RunCard:
    """The card of a benchmark-run: of those columns, by that code, or as its benchmark sets it; beside another run's."""
    if code is not None and columns:
        raise BadInputError("code scores the whole table; columns chooses from it.", remedy="Give one of the two.")
    given: dict[str, object] = {"columns": tuple(columns), "code": code, "language": language}
    setting = (
        ScoreCardSetting.model_validate(given) if columns or code is not None else await setting_of(engine, run_id)
    )
    card = await card_of_run(engine, run_id, setting)
    if compare is None:
        return RunCard(card=card)
    before = await card_of_run(engine, compare, setting)
    return RunCard(card=card, before=before, changes=card_changes(before, card))
