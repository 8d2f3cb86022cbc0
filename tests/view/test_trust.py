"""What people's labels say stands where a run or a comparison is read: on the page and in reports."""

from __future__ import annotations

from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from tests.shared.engine.labelled import alternating, flipped, judged_run, labelled, suite
from tests.shared.report.hostile import written
from tests.shared.view.visitor import visitor
from tests.workshop import minion, save

SIZE = 60


async def test_a_comparison_shows_the_judge_and_the_corrected_figures_on_the_page_and_in_reports(
    engine: Engine,
) -> None:
    await suite(engine, SIZE, versions=["v1", "v2"])
    for number in (1, 2):
        await save(
            engine, minion(f"v{number}", "prompt-version", content=f"Say {number}.", versionNumber=number, promptId="p")
        )
    truth = alternating(SIZE)
    runs = [
        await judged_run(engine, flipped(truth, 13), prompt_version_ref="v1"),
        await judged_run(engine, [True] * SIZE, prompt_version_ref="v2"),
    ]
    for run in runs:
        await labelled(engine, run, truth)
    compared = await compare_runs(engine, runs[0].id, runs[1].id)
    async with visitor(engine) as client:
        page = (await client.get(f"/comparison?id={compared.id}")).text
    assert "corrected by people" in page
    assert "their difference" in page
    assert "120 labels" in page
    assert "The judge can" in page
    for form in (".html", ".md"):
        report = await written(engine, form, runs[1].id)
        assert "Corrected by 60 human labels, the pass rate is 50" in report.replace("\\", "")
        assert "The judge" in report
