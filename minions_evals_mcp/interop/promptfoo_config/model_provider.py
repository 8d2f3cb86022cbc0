"""Models among the providers of a config: their names in our words, and what joins a request."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.providers import LIMITS, PROVIDERS
from minions_evals_mcp.engine.config_eval.evaluation import ModelSpec
from minions_evals_mcp.interop.promptfoo_config.reading import Node
from minions_evals_mcp.interop.promptfoo_config.refusal import Refusals
from minions_evals_mcp.targets.live import MAX_TOKENS

ACCESS = ("apiKey", "apiKeyEnvar", "apiBaseUrl", "apiHost")
PREFIXES = {theirs: f"{row.name}:" for row in PROVIDERS.values() for theirs in row.known_as}
FOREIGN = ("responses", "completion", "embedding", "embeddings", "realtime", "assistant", "image", "moderation", "agents",
           "transcription", "speech", "video", "live", "claude-agent-sdk", "codex", "codex-sdk", "chatkit")  # fmt: skip
"""Kinds of a model's interface that are not chat: `openai:responses:…`."""


def model_spec(node: Node, ident: str, config: Node, refusals: Refusals) -> ModelSpec | None:
    """The model of that id as the config sets it up; None where it is refused."""
    ours = next(
        (own + ident.removeprefix(theirs) for theirs, own in PREFIXES.items() if ident.startswith(theirs)), None
    )
    if ours is None or ident.split(":")[1] in FOREIGN:
        refusals.add(node, f"the provider {ident}")
        return None
    kind = ours.partition(":")[0]
    options = PROVIDERS[kind].options
    found = refusals.known(config, (*ACCESS, *options))
    params: Json = {name: found[name].value for name in options if name in found}
    limit = [found[name].whole(least=1) for name in LIMITS if params.pop(name, None) is not None]
    key = found["apiKey"].text() if "apiKey" in found else None
    if "apiKeyEnvar" in found:
        key = f"{{{{env.{found['apiKeyEnvar'].text()}}}}}"
    base = found["apiBaseUrl"].text() if "apiBaseUrl" in found else None
    if base is None and "apiHost" in found:
        base = f"https://{found['apiHost'].text()}/v1"
    return ModelSpec(
        model=ours, max_tokens=limit[0] if limit else MAX_TOKENS, params=params, base_url=base, api_key=key
    )
