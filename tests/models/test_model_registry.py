"""Which client a name leads to, and what is said where none can be made."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from minions_evals_mcp.domain.providers import PROVIDERS, ProviderAccess
from minions_evals_mcp.errors import BadInputError, EvalsError, UnsupportedError
from minions_evals_mcp.models import prices
from minions_evals_mcp.models.registry import ModelRef, Models, ProviderSettings, parse_model
from minions_evals_mcp.models.replies import Completion, TokenUsage
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import serving
from tests.shared.models.asking import ask


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("claude-sonnet-4-5", ModelRef("anthropic", "claude-sonnet-4-5")),
        (" anthropic:claude-opus-4-7 ", ModelRef("anthropic", "claude-opus-4-7")),
        ("openai:llama3:8b", ModelRef("openai", "llama3:8b")),
        ("gemini:models/gemini-2.5-pro", ModelRef("gemini", "models/gemini-2.5-pro")),
    ],
)
def test_a_name_says_its_provider_and_its_model(text: str, ref: ModelRef) -> None:
    assert parse_model(text) == ref == parse_model(str(ref))


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnsupportedError, match=", ".join(PROVIDERS)) as refused:
        parse_model("llama3:8b")
    assert "openai:llama3:8b" in refused.value.remedy


@pytest.mark.parametrize("text", ["", "openai:", "anthropic: "])
def test_a_name_without_a_model_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="no model is named"):
        parse_model(text)


@pytest.mark.parametrize("text", ["anthropic:m", "openai:m", "gemini:m"])
async def test_a_missing_key_is_refused_with_the_name_of_the_variable(text: str) -> None:
    ref = parse_model(text)
    async with Models(ProviderSettings({"anthropic": ProviderAccess(" ")})) as models:
        with pytest.raises(BadInputError) as refused:
            models.client(ref)
    assert f"{ref.provider.upper()}_API_KEY" in refused.value.remedy


async def test_a_server_of_ones_own_needs_no_openai_key() -> None:
    async with (
        serving() as server,
        Models(ProviderSettings({"openai": ProviderAccess(base_url=f"{server.url}/v1")})) as models,
    ):
        reply = await models.client(parse_model("openai:llama3:8b")).complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, Completion)


async def test_an_address_without_a_scheme_is_refused() -> None:
    async with Models(ProviderSettings({"openai": ProviderAccess(base_url="localhost:11434/v1")})) as models:
        with pytest.raises(BadInputError, match="OPENAI_BASE_URL"):
            models.client(parse_model("openai:m"))


async def test_a_provider_has_one_client_and_a_second_provider_another() -> None:
    settings = ProviderSettings({"anthropic": ProviderAccess("k"), "gemini": ProviderAccess("k")})
    async with Models(settings) as models:
        first = models.client(parse_model("anthropic:a"))
        assert models.client(parse_model("anthropic:b")) is first
        assert models.client(parse_model("gemini:a")).provider == "gemini"


def test_settings_do_not_show_their_keys() -> None:
    settings = ProviderSettings({name: ProviderAccess("sk-1") for name in PROVIDERS})
    assert "sk-" not in repr(settings)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_S)
    return done.stdout


def test_providers_and_prices_are_imported_at_first_use() -> None:
    code = (
        "import json, sys; import minions_evals_mcp.models.registry as registry; "
        "registry.Models(registry.ProviderSettings({'anthropic': registry.ProviderAccess('k')})); "
        "print(json.dumps([name for name in ('anthropic', 'openai', 'genai_prices', 'aiohttp', 'httpx2') "
        "if name in sys.modules]))"
    )
    assert json.loads(run_python(code)) == []


def test_a_missing_openai_package_is_named_with_the_command_that_brings_it() -> None:
    code = (
        "import sys; sys.modules['openai'] = None\n"
        "from minions_evals_mcp.errors import UnsupportedError\n"
        "from minions_evals_mcp.models.registry import ProviderAccess, Models, ProviderSettings, parse_model\n"
        "try:\n"
        "    Models(ProviderSettings({'gemini': ProviderAccess('k')})).client(parse_model('gemini:m'))\n"
        "except UnsupportedError as error:\n"
        "    print(error)"
    )
    said = run_python(code)
    assert "'gemini' needs the package openai" in said
    assert "pip install openai" in said


def test_a_known_price_is_that_of_the_list() -> None:
    assert prices.cost_usd("anthropic", "claude-opus-4-7", TokenUsage(1_000_000, 1000)) == pytest.approx(5 + 0.025)
    assert prices.cost_usd("gemini", "models/gemini-2.5-flash", TokenUsage(1000, 100)) == pytest.approx(0.00055)


def test_a_long_prompt_costs_what_its_tier_costs() -> None:
    below = prices.cost_usd("gemini", "gemini-2.5-pro", TokenUsage(200_000, 0))
    above = prices.cost_usd("gemini", "gemini-2.5-pro", TokenUsage(200_001, 0))
    assert below == pytest.approx(0.25)
    assert above == pytest.approx(0.50, abs=1e-4)


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "llama3:8b"), ("anthropic", "judge"), ("gemini", "gemma-3")]
)
def test_an_unknown_price_is_unknown_and_not_nothing(provider: str, model: str) -> None:
    assert not prices.price_known(provider, model)
    assert prices.cost_usd(provider, model, TokenUsage(1000, 1000)) is None
    assert prices.estimate_usd(provider, model, 1000, 1000) is None


def test_an_estimate_is_not_under_what_prose_and_code_cost() -> None:
    estimate = prices.estimate_usd("anthropic", "claude-opus-4-7", 30_000, 500)
    cost = prices.cost_usd("anthropic", "claude-opus-4-7", TokenUsage(30_000 // 3, 500))
    assert estimate is not None
    assert cost is not None
    assert cost < estimate < 3 * cost


def test_every_refusal_here_is_bad_input_to_a_caller() -> None:
    with pytest.raises(EvalsError) as refused:
        parse_model("oracle:large")
    assert (refused.value.code, refused.value.exit_code) == ("unsupported", 2)
