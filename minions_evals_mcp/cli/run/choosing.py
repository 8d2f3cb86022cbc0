"""Options for a quick look at some of a benchmark's cases."""

from __future__ import annotations

import re
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.derived import help_of
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.selection import Selection, select_cases
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.operations.table import TABLE

BETWEEN = re.compile(r",(?=\s*(?:tag=|skill=|status=|text~))")
Cases = Annotated[int, Parameter(validator=validators.Number(gte=1))]


@Parameter(name="*")
@frozen_type
class Choice:
    """The choice of a benchmark's cases to run, and whether outputs are made anew."""

    filter: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="Run only cases with tag=TAG, skill=SKILL, status=passed|failed|new, text~WORDS. Separate by commas; all must match.",
        ),
    ] = ()
    rerun_failed: Annotated[
        str | None, Parameter(help="Run only what failed or was not scored in this run, under its prompt version.")
    ] = None
    sample: Annotated[Cases | None, Parameter(help="Run only so many cases, drawn at random.")] = None
    seed: Annotated[int | None, Parameter(help="Draws the sample. The same seed draws the same cases (0).")] = None
    limit: Annotated[Cases | None, Parameter(help="Run only the first so many cases.")] = None
    cache: Annotated[
        bool,
        Parameter(help=help_of(TABLE["run_benchmark"], "cache"), negative=""),
    ] = False

    def selection(self) -> Selection:
        """The selection that these options ask for."""
        if self.seed is not None and (self.sample is None or self.seed < 0):
            raise BadInputError("--seed draws a --sample.", remedy="Give both, the seed as a number from 0.")
        return Selection(
            conditions=tuple(condition for filter_text in self.filter for condition in BETWEEN.split(filter_text)),
            rerun_failed=self.rerun_failed,
            sample=self.sample,
            seed=self.seed or 0,
            limit=self.limit,
        )

    async def narrowed(self, engine: Engine, request: RunRequest) -> RunRequest:
        """The request for the chosen cases; raises as `select_cases` does."""
        return await select_cases(engine, request, self.selection())


WHOLE = Choice()
