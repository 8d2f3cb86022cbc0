"""promptfoo's OpenAI-compatible vendors are asked at their own address with their own key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from minions_evals_mcp.domain import providers
from minions_evals_mcp.domain.providers import ModelProvider
from minions_evals_mcp.engine.config_eval.evaluation import ModelSpec
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.promptfoo_config.providers import models
from minions_evals_mcp.interop.promptfoo_config.providers.models import VENDORS


def spec(folder: Path, provider: str) -> ModelSpec:
    (folder / "c.yaml").write_text(f"prompts: [a]\nproviders: [{provider}]\n")
    evaluation = read_config(folder / "c.yaml", now=datetime(2026, 1, 1, tzinfo=UTC), overrides=ConfigOverrides())
    found = evaluation.columns[0].provider.spec
    assert isinstance(found, ModelSpec)
    return found


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    "form", ["{}:some/model", "{}:chat:some/model", "{}:completion:some/model", "{}:text-generation:some/model"]
)
def test_a_vendor_is_asked_at_its_address_with_its_key(tmp_path: Path, vendor: str, form: str) -> None:
    found = spec(tmp_path, f"'{form.format(vendor)}'")
    address, variable = VENDORS[vendor]
    assert (found.model, found.base_url) == ("openai:some/model", address)
    assert found.api_key == (f"{{{{env.{variable}}}}}" if variable else "none")


def test_a_config_names_another_address_and_key_for_a_vendor(tmp_path: Path) -> None:
    own = "{id: 'ollama:llama3:8b', config: {apiBaseUrl: 'http://box:1/v1', apiKeyEnvar: BOX, temperature: 0}}"
    found = spec(tmp_path, own)
    assert (found.model, found.base_url, found.api_key) == ("openai:llama3:8b", "http://box:1/v1", "{{env.BOX}}")
    assert found.params == {"temperature": 0}


def test_the_operators_key_does_not_go_where_a_config_says(tmp_path: Path) -> None:
    for vendor, (_, variable) in VENDORS.items():
        found = spec(tmp_path, f"{{id: '{vendor}:m', config: {{apiBaseUrl: 'http://elsewhere/v1'}}}}")
        assert found.base_url == "http://elsewhere/v1"
        assert found.api_key == (None if variable else "none"), vendor


CLOUDS: dict[str, tuple[str, str | None, str | None]] = {
    "'azure:chat:my-gpt'": ("azure:my-gpt", "https://{{env.AZURE_API_HOST}}", "{{env.AZURE_API_KEY}}"),
    "{id: 'azureopenai:chat:my-gpt', config: {apiHost: r.openai.azure.com}}": (
        "azure:my-gpt", "https://r.openai.azure.com", "{{env.AZURE_API_KEY}}",
    ),
    "{id: 'azure:my-gpt', config: {apiHost: azure.elsewhere.com, temperature: 0}}": ("azure:my-gpt", "https://azure.elsewhere.com", None),
    "{id: 'azure:my-gpt', config: {apiBaseUrl: 'https://x.com', apiKeyEnvar: BOX}}": ("azure:my-gpt", "https://x.com", "{{env.BOX}}"),
    "{id: 'azure:my-gpt', config: {apiVersion: v2}}": (
        "azure-v2:my-gpt", "https://{{env.AZURE_API_HOST}}", "{{env.AZURE_API_KEY}}",
    ),
    "'vertex:gemini-2.5-flash'": ("vertex-gemini:gemini-2.5-flash", None, None),
    "{id: 'vertex:gemini-2.5-flash', config: {region: europe-west1, projectId: p-1, generationConfig: {maxOutputTokens: 9}}}": (
        "vertex-gemini-europe-west1-p-1:gemini-2.5-flash", None, None,
    ),
    "{id: 'vertex:claude-sonnet-4@1', config: {region: us-east5}}": ("vertex:claude-sonnet-4@1", None, None),
    "'bedrock:us.anthropic.claude-sonnet-4-v1:0'": ("bedrock:us.anthropic.claude-sonnet-4-v1:0", None, None),
}  # fmt: skip


@pytest.fixture
def held() -> Iterator[Mapping[str, ModelProvider]]:
    """The providers, which are those of before when the test ends."""
    known = providers._BY_NAME  # pyright: ignore[reportPrivateUsage]  endpoints are only ever added
    before = dict(known)
    yield known
    known.clear()
    known.update(before)


def test_clouds_are_asked_in_the_place_that_a_config_names(tmp_path: Path, held: Mapping[str, ModelProvider]) -> None:
    for provider, wanted in CLOUDS.items():
        found = spec(tmp_path, provider)
        assert (found.model, found.base_url, found.api_key) == wanted, provider
    assert held["vertex-gemini-europe-west1-p-1"].place == {"region": "europe-west1", "project": "p-1"}
    assert held["azure"].place == {"api-version": models.AZURE_VERSION}
    assert held["vertex"].place == {"region": "us-east5"}


def test_a_model_of_others_at_bedrock_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"the provider bedrock:amazon\.nova"):
        spec(tmp_path, "'bedrock:amazon.nova-pro-v1:0'")


@pytest.mark.parametrize("provider", ["openai", "azure", "vertex:", "ollama:", "openai:realtime:gpt", "nobody:m"])
def test_what_names_no_model_is_refused_by_name(tmp_path: Path, provider: str) -> None:
    with pytest.raises(UnsupportedError, match=f"the provider {provider}"):
        spec(tmp_path, f"'{provider}'")
