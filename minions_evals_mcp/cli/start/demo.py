"""The demo: a suite of recorded agent-runs judged twice by rule; the second run has a regression to catch."""

from __future__ import annotations

from platformdirs import user_data_path

from minions_evals_mcp.cli.keep.suites import import_file
from minions_evals_mcp.cli.session import DEFAULTS, Common, say
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.operations import get_run, run_benchmark
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from minions_evals_mcp.settings import read_settings
from minions_evals_mcp.shipped import shipped_folder

SUITE = "support-agent.yaml"
BENCHMARK = "support/quality"
RUNS = (("demo-before", "support/prompt@1"), ("demo-after", "support/prompt@2"))


async def demo(*, common: Common = DEFAULTS) -> int:
    """See it work: import a suite, judge it under two prompt versions, and detect the regression between them.

    Rules judge, even if an API key is set. The demo uses a separate store (--db chooses another). You can run it
    again.
    Example: minions-evals demo
    """
    read_settings()  # an unknown MINIONS_EVALS_* name is refused here too; none of the known ones matters
    suite = shipped_folder("fixtures") / SUITE
    # Another version of the demo has a store of its own: records that a run rests on are never edited.
    version = text_digest(suite.read_text("utf-8") + SCORER_VERSION)[:8]
    db = common.db or user_data_path("minions-evals") / f"demo-{version}.db"
    summaries: list[get_run.Summary] = []
    async with open_engine(EngineConfig(db=db, skills=shipped_folder("skills"))) as engine:
        saved, _ = await import_file(engine, suite)
        before = [await get_run.of_key(engine, key) for key, _ in RUNS]
        for key, version in RUNS:
            request = run_benchmark.Request(
                benchmark_id=BENCHMARK, prompt_version_ref=version, judge="heuristic", triggered_by="demo", key=key
            )
            summaries.append(await get_run.summary(engine, (await run_benchmark.run(engine, request)).id))
    if common.json:
        say({"db": str(db), "runs": [summary.model_dump(mode="json") for summary in summaries]})
        return 0
    from minions_evals_mcp.report.tables import show_demo  # noqa: PLC0415  rich is imported where a person looks

    if all(job is not None and job.state == "completed" for job in before):
        tell("This store already has the demo. These are the saved results; nothing was re-run.\n")
    elif any(before):
        tell("An earlier demo was interrupted. It resumed from there; nothing was judged twice.\n")
    show_demo(summaries, records=saved.new + saved.changed + saved.unchanged, db=str(db))
    return 0
