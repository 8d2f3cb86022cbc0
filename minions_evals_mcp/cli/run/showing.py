"""What is shown of a run: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import datetime

from minions_evals_mcp.cli.session import Common, kept_in, say
from minions_evals_mcp.cli.telling import UNDER_WAY, tell
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.report.progress import shown_progress


def say_complete(job: get_run.Job, began: datetime, common: Common) -> None:
    """Says of a run that was complete before the command began that nothing was done for it now."""
    if job.state == "completed" and job.updated_at < began and not common.json:
        tell(
            f"The run under the key {job.key} was completed at {iso(job.updated_at)}. Nothing was re-run.\n",
            aside=True,
        )


@contextmanager
def progress_line(
    common: Common, engine: Engine, *, takes_key: bool = False
) -> Generator[Callable[[Outcome], Awaitable[None]]]:
    """Shows on standard error how far the engine's runs are; not for programs, nor with --quiet.

    `takes_key`: the command takes the key of what it carries out, which is told where that is interrupted.
    """

    def stands(standing: get_run.Standing) -> None:
        UNDER_WAY[:] = [standing.key]
        progress.stands(standing)

    with shown_progress(shown=False if common.json or common.quiet else None) as progress:
        engine.watch = stands if takes_key else progress.stands
        yield progress.ended
    UNDER_WAY.clear()


def show_summary(summary: get_run.Summary, common: Common) -> None:
    """A run's summary on stdout, for a program or for a person."""
    if common.json:
        say(summary.model_dump(mode="json"))
        return
    from minions_evals_mcp.report.tables import show_run  # noqa: PLC0415  rich is imported where a person looks

    show_run(summary, store=common.db, place=kept_in(common))
