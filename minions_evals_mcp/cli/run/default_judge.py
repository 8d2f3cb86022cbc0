"""What a run at the command line says of the model that judged it, where nobody named one."""

from __future__ import annotations

from minions_evals_mcp.cli.session import Common
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.default_judge import default_judge
from minions_evals_mcp.engine.run.planning import model_of
from minions_evals_mcp.store.jobs import Job


def say_default_judge(engine: Engine, job: Job, common: Common) -> None:
    """Says on standard error which model judged by default and why; nothing where rules did, or a model was named."""
    default = default_judge(engine.config.providers)
    if common.quiet or engine.config.judge_model is not None or default is None or model_of(job) != default.model:
        return
    tell(f"the judge was {default.model}, the default: {default.why}\n", aside=True)
