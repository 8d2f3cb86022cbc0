"""promptfoo's OpenAI-compatible vendors are asked at their own address with their own key."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from minions_evals_mcp.engine.config_eval.evaluation import ModelSpec
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.promptfoo_config.providers.models import VENDORS


def spec(folder: Path, provider: str) -> ModelSpec:
    (folder / "c.yaml").write_text(f"prompts: [a]\nproviders: [{provider}]\n")
    evaluation = read_config(folder / "c.yaml", now=datetime(2026, 1, 1, tzinfo=UTC), overrides=ConfigOverrides())
    found = evaluation.columns[0].provider.spec
    assert isinstance(found, ModelSpec)
    return found


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("form", ["{}:some/model", "{}:chat:some/model"])
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
