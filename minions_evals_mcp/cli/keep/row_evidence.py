"""Rows that need evidence from outside: searches under a time limit, confined code, likeness in meaning, models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.engine.judge.door import Judges
from minions_evals_mcp.interop.score_rows import Answer, Asked, RowTally, answers
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import Evidence, GradeNeed, ServiceNeed
from minions_evals_mcp.scoring.verdicts.examination import Examination

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import EngineConfig
    from minions_evals_mcp.engine.judge.row_grades import RowGrades
    from minions_evals_mcp.models.registry import Models


async def answer_rows(
    pages: Iterable[Sequence[Asked]],
    tally: RowTally,
    write: Callable[[Sequence[Answer]], None],
    *,
    trusted: bool,
    judge_model: str | None,
    max_cost_usd: float | None,
) -> dict[str, float]:
    """Returns what the judge was paid, once every row is answered and written."""
    async with RegexSandbox() as regexes, Snippets(trusted=trusted) as snippets, AsyncExitStack() as opened:
        models = _Opened(opened, judge_model, max_cost_usd)
        judges = Judges(regexes, snippets, models.embedder, graders=models.graded)
        if judge_model is not None:
            models.grades()
        for page in pages:
            write(await answers(page, judges, tally))
        return models.spent()


class _Opened:
    """The models that the options or the environment name: opened once, where a row needs them, closed with the command."""

    def __init__(self, opened: AsyncExitStack, judge_model: str | None, max_cost_usd: float | None) -> None:
        self.opened = opened
        self.judge_model = judge_model
        self.max_cost_usd = max_cost_usd
        self.asked = False

    @cached_property
    def _models(self) -> tuple[EngineConfig, Models]:
        from minions_evals_mcp.cli.session import DEFAULTS, engine_config  # noqa: PLC0415  0.1 s that most rows do not need
        from minions_evals_mcp.models.registry import Models  # noqa: PLC0415  as above
        from minions_evals_mcp.settings import settings_here  # noqa: PLC0415  as above

        config = engine_config(DEFAULTS, settings_here(), judge_model=self.judge_model)
        models = Models(config.providers)
        self.opened.push_async_exit(models)
        return config, models

    @cached_property
    def _embedder(self) -> Embedder:
        from minions_evals_mcp.engine.embedders import open_embedder  # noqa: PLC0415  as above

        config, models = self._models
        return open_embedder(config.embedder, models)

    @cached_property
    def _grades(self) -> RowGrades:
        from minions_evals_mcp.engine.judge.row_grades import row_grades  # noqa: PLC0415  as above

        return row_grades(*self._models, max_cost_usd=self.max_cost_usd)

    def embedder(self) -> Embedder:
        """Returns what measures likeness in meaning."""
        return self._embedder

    async def graded(
        self, page: Sequence[tuple[Examination[Any], Sequence[GradeNeed | ServiceNeed]]], evidence: Evidence
    ) -> list[Evidence]:
        """The rows' evidence with what the judge says; services are not asked of rows."""
        if not any(isinstance(need, GradeNeed) for _, needs in page for need in needs):
            return [evidence] * len(page)
        return await self.grades().graded(page, evidence)

    def grades(self) -> RowGrades:
        """Returns what a model decides, or why there is none."""
        self.asked = True
        return self._grades

    def spent(self) -> dict[str, float]:
        """Calls, tokens and dollars."""
        return self._grades.budget.news() if self.asked else {}
