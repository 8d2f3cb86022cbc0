"""The models that judge, and that measure likeness in configs, where none is named: those of the provider whose key is there."""

from __future__ import annotations

from typing import NamedTuple

from minions_evals_mcp.domain.providers import NO_ACCESS, PROVIDERS
from minions_evals_mcp.engine.embedders import DEFAULT_EMBEDDER
from minions_evals_mcp.models.registry import ModelRef, ProviderSettings, parse_model
from minions_evals_mcp.next_steps import SET_KEY, argument

DEFAULT_MODEL = "anthropic:claude-sonnet-5-5"
OPENAI_MODEL = "openai:gpt-5.1"
OPENAI_EMBEDDER = "openai:text-embedding-3-large"
"""What promptfoo measures by where nothing is named."""


class DefaultJudge(NamedTuple):
    """The model, and why it is that one."""

    model: ModelRef
    why: str


def default_judge(providers: ProviderSettings) -> DefaultJudge | None:
    """Anthropic's model where its key is set, else OpenAI's where that is; None without either.

    A server of one's own behind OpenAI's interface has other models, so none is taken for it.
    """
    anthropic, openai = providers.has_key(DEFAULT_MODEL), providers.has_key(OPENAI_MODEL) and _is_openais(providers)
    if anthropic:
        why = "ANTHROPIC_API_KEY and OPENAI_API_KEY are set, and Anthropic comes first" if openai else _set("ANTHROPIC")
        return DefaultJudge(parse_model(DEFAULT_MODEL), why)
    return DefaultJudge(parse_model(OPENAI_MODEL), f"{_set('OPENAI')}, ANTHROPIC_API_KEY is not") if openai else None


def how_to_have_a_judge(providers: ProviderSettings) -> str:
    """What makes a model judge where none does, as the beginning of a sentence."""
    if providers.has_key(OPENAI_MODEL):
        return f"Name a model of your OPENAI_BASE_URL with {argument('judge_model', 'openai:MODEL')}: it has no default"
    return f"{SET_KEY}, or name a model with {argument('judge_model', 'provider:model')}"


def default_embedder(providers: ProviderSettings) -> str:
    """Returns what measures likeness in a promptfoo config that names nothing: its own default where OpenAI's key is set."""
    return OPENAI_EMBEDDER if providers.has_key(OPENAI_MODEL) and _is_openais(providers) else DEFAULT_EMBEDDER


def _set(provider: str) -> str:
    return f"{provider}_API_KEY is set"


def _is_openais(providers: ProviderSettings) -> bool:
    address = providers.access.get("openai", NO_ACCESS).base_url
    return address is None or address.rstrip("/") == PROVIDERS["openai"].url
