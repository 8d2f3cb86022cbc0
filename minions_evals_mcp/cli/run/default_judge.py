"""The sentence of a run at the command line about the model that judged it, where nobody named one."""

from __future__ import annotations

from minions_evals_mcp.cli.session import Common
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.engine import Engine


def say_default_judge(engine: Engine, job: get_run.Job, common: Common) -> None:
    """Says on standard error which model judged by default and why; nothing where rules did, or a model was named."""
    from minions_evals_mcp.engine.run.planning import model_of  # noqa: PLC0415  only where a model judged

    sentence = engine.default_judge_said(model_of(job))
    if sentence and not common.quiet:
        tell(f"the judge was {sentence}\n", aside=True)
