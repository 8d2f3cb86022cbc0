"""The environment: read in one place, and refused where it is not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.domain.providers import PROVIDERS, ProviderAccess
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.settings import KNOWN, PREFIX, Settings, read_settings


def refused(**environment: str) -> str:
    with pytest.raises(BadInputError) as found:
        read_settings(environment)
    assert found.value.remedy
    return str(found.value)


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read_settings({}) == Settings()
    assert (
        read_settings({"MINIONS_EVALS_DB": "", "ANTHROPIC_API_KEY": "", "MINIONS_EVALS_CONCURRENCY": ""}) == Settings()
    )


def test_every_variable_is_read() -> None:
    found = read_settings(
        {
            "MINIONS_EVALS_DB": "~/e.db", "MINIONS_EVALS_JUDGE_MODEL": "openai:m", "MINIONS_EVALS_JUDGE_CALLS": "per-run",
            "MINIONS_EVALS_SKILLS": "/s", "MINIONS_EVALS_CONCURRENCY": "7", "MINIONS_EVALS_CALL_TIMEOUT": "1.5",
            "ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": "http://a", "OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://o",
            "GEMINI_API_KEY": "g", "GEMINI_BASE_URL": "http://g", "PATH": "/bin",
            "MINIONS_EVALS_EMBEDDER": "semantic", "MINIONS_EVALS_HTTP_TOKEN": "t",
        }
    )  # fmt: skip
    assert found == Settings(
        Path.home() / "e.db",
        "openai:m",
        "per-run",
        Path("/s"),
        7,
        1.5,
        {
            "anthropic": ProviderAccess("a", "http://a"),
            "openai": ProviderAccess("o", "http://o"),
            "gemini": ProviderAccess("g", "http://g"),
        },
        "semantic",
        "t",
    )


@pytest.mark.parametrize("known", KNOWN)
def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant(known: str) -> None:
    said = refused(**{f"{PREFIX}{known}X": "1"})
    assert f"{PREFIX}{known}X is unknown" in said
    assert f"Did you mean {PREFIX}{known}?" in said


def test_a_variable_like_no_other_is_refused_with_the_nearest_and_where_all_are_listed() -> None:
    said = refused(MINIONS_EVALS_ZZZZ="1")
    assert sum(f"{PREFIX}{known}" in said for known in KNOWN) >= 3
    assert f"docs/reference/settings.md lists all {len(KNOWN)}" in said


@pytest.mark.parametrize("value", ["0", "-1", "1001", "many", "1.5", "²", "9" * 30])
def test_a_width_that_is_none_is_refused(value: str) -> None:
    assert "MINIONS_EVALS_CONCURRENCY" in refused(MINIONS_EVALS_CONCURRENCY=value)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "3601", "soon"])
def test_a_time_limit_that_is_none_is_refused(value: str) -> None:
    assert "MINIONS_EVALS_CALL_TIMEOUT" in refused(MINIONS_EVALS_CALL_TIMEOUT=value)


def test_an_unknown_way_of_asking_the_judge_is_refused() -> None:
    assert "per-criterion or per-run" in refused(MINIONS_EVALS_JUDGE_CALLS="twice")


def test_keys_never_show() -> None:
    shown = repr(Settings(providers={name: ProviderAccess("secret-1") for name in PROVIDERS}))
    assert "secret" not in shown


def test_a_command_that_an_agent_under_test_starts_knows_the_variables_of_its_world() -> None:
    assert read_settings({"MINIONS_EVALS_WORLD_MCP_CONFIG": "mcp.json"}) == read_settings({})
