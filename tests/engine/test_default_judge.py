"""Who judges where no model is named: the provider whose key is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.default_judge import DEFAULT_MODEL, OPENAI_MODEL, default_judge, how_to_have_a_judge
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from minions_evals_mcp.models.prices import price_known
from minions_evals_mcp.models.registry import ProviderSettings, parse_model
from minions_evals_mcp.report.matrix.cells import notes
from minions_evals_mcp.server.answers.run import run_told
from tests.shared.fakes.llm_server import serving
from tests.workshop import START, config_in, opened

KEY = ProviderAccess("key", None)


@pytest.mark.parametrize(
    ("access", "model", "why"),
    [
        ({"anthropic": KEY}, DEFAULT_MODEL, "ANTHROPIC_API_KEY is set"),
        ({"openai": KEY}, OPENAI_MODEL, "OPENAI_API_KEY is set, ANTHROPIC_API_KEY is not"),
        ({"openai": ProviderAccess("key", "https://api.openai.com/v1/")}, OPENAI_MODEL, "OPENAI_API_KEY is set"),
        ({"anthropic": KEY, "openai": KEY}, DEFAULT_MODEL, "Anthropic comes first"),
        (
            {"anthropic": KEY, "openai": ProviderAccess("key", "http://127.0.0.1:9/v1")},
            DEFAULT_MODEL,
            "ANTHROPIC_API_KEY is set",
        ),
    ],
)
def test_the_provider_whose_key_is_there_judges(access: Mapping[str, ProviderAccess], model: str, why: str) -> None:
    found = default_judge(ProviderSettings(access=access))
    assert found is not None
    assert str(found.model) == model
    assert why in found.why


@pytest.mark.parametrize(
    "access",
    [
        {},
        {"gemini": KEY},
        {"openai": ProviderAccess(None, None)},
        {"openai": ProviderAccess("key", "http://127.0.0.1:9/v1")},
    ],
)
def test_without_a_key_or_with_a_server_of_ones_own_no_model_judges(access: Mapping[str, ProviderAccess]) -> None:
    providers = ProviderSettings(access=access)
    assert default_judge(providers) is None
    assert ("OPENAI_API_KEY" in how_to_have_a_judge(providers)) is not providers.has_key(OPENAI_MODEL)


@pytest.mark.parametrize("model", [DEFAULT_MODEL, OPENAI_MODEL])
def test_what_a_default_judge_costs_is_known(model: str) -> None:
    ref = parse_model(model)
    assert price_known(ref.provider, ref.model)


@pytest.mark.anyio
async def test_an_evaluation_and_a_runs_answer_say_which_model_judged_by_default_and_why(tmp_path: Path) -> None:
    async with serving() as server:
        named = config_in(tmp_path, model_url=server.url)
        config = tmp_path / "c.yaml"
        config.write_text(
            "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: llm-rubric, value: kind}]}, {vars: {x: 1}}]\n"
        )
        said = "anthropic:claude-sonnet-5-5, the default: ANTHROPIC_API_KEY is set"
        for judge_model, wanted in ((None, said), ("anthropic:fake-judge", "")):
            async with opened(replace(named, judge_model=judge_model)) as engine:
                engine.new_id = lambda which=judge_model: f"job-{which}"
                matrix = await evaluate(engine, read_config(config, now=START), EvalOptions(), environment={})
                summary = await summarize(engine, matrix.columns[0].run_id or "")
                assert (matrix.judge, summary.default_judge) == (wanted, wanted)
                assert run_told(summary, {}, offset=0, limit=1, store=None).default_judge == wanted
                assert any(line == f"the judge was {wanted}" for line in notes(matrix, 9)) == bool(wanted)


@pytest.mark.anyio
async def test_the_model_that_judges_plays_a_simulated_user_who_names_no_other(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    user = "{id: 'promptfoo:simulated-user', config: {instructions: You want tea, maxTurns: 1}}"
    config.write_text(f"prompts: [You sell tea.]\nproviders: [echo]\ntests: [{{provider: {user}}}]\n")
    evaluation = read_config(config, now=START)
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        matrix = await evaluate(engine, evaluation, EvalOptions(), environment={})
        assert "You sell tea." in str(matrix.rows[0].cells[0].output)
        assert server.stats()["requests"] == 1
    async with opened(config_in(tmp_path)) as engine:
        with pytest.raises(UnsupportedError, match="a simulated user needs a model"):
            await evaluate(engine, evaluation, EvalOptions(), environment={})
