"""Models among the providers of a config: their names in our words, and what joins a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.providers import LIMITS, PROVIDERS, cloud_endpoint
from minions_evals_mcp.engine.config_eval.evaluation import ModelSpec
from minions_evals_mcp.interop.promptfoo_config.source import keys_there
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, named_file, read_node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.models.responses import OPTIONS, RESPONSES
from minions_evals_mcp.models.service_table import Service
from minions_evals_mcp.targets.live import MAX_TOKENS

CALLING = frozenset({"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"})
"""What only a model that is tested is offered, no judge."""
HARMLESS = {
    "maxRetries": "failed calls are tried again by limits of our own",
    "timeout": "a call's time limit is a setting of ours",
    "stream": "replies are read whole",
    "showThinking": "a model's thinking is no part of its output",
    "cost": "prices are read from a table",
    "inputCost": "prices are read from a table",
    "outputCost": "prices are read from a table",
}
"""What a provider's config may say that changes no output here."""
WAITING = {"use_cache": "calls are not cached there", "wait_for_model": "a model that is still loaded is asked again"}
"""What a service's config may say that changes no answer."""
GENERATION = {"maxOutputTokens": "max_tokens", "max_output_tokens": "max_tokens", "topP": "top_p", "temperature": "temperature",
              "stopSequences": "stop", "seed": "seed", "responseMimeType": ""}  # fmt: skip
"""Google's names for what a request may set, and what they are called at its OpenAI-compatible address."""
ACCESS = ("apiKey", "apiKeyEnvar", "apiBaseUrl", "apiHost")
FORM = "response_format"
USUAL = frozenset({"content-type", "accept"})
PASSING = "passthrough"
"""What joins a request whatever it is."""


def prefixes_known() -> dict[str, str]:
    """What the models of each provider begin with there, and here."""
    return {theirs: f"{row.name}:" for row in PROVIDERS.values() for theirs in row.known_as}


VENDORS = {
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "togetherai": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "perplexity": ("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepinfra": ("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "nvidia": ("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    "hyperbolic": ("https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY"),
    "nscale": ("https://inference.api.nscale.com/v1", "NSCALE_SERVICE_TOKEN"),
    "alibaba": ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "github": ("https://models.github.ai/inference", "GITHUB_TOKEN"),
    "huggingface": ("https://router.huggingface.co/v1", "HF_TOKEN"),
    "ollama": ("http://localhost:11434/v1", ""),
    "localai": ("http://localhost:8080/v1", ""),
    "llamafile": ("http://localhost:8080/v1", ""),
    "vllm": ("http://localhost:8000/v1", ""),
}
"""OpenAI-compatible vendors by promptfoo's prefixes: address and variable of the key; a local server asks for none."""
LOCAL_KEY = "none"
AZURE = frozenset({"azure", "azureopenai"})
AZURE_VERSION = "2024-12-01-preview"
"""The version of Azure's interface that promptfoo asks where none is named."""
AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
"""Azure's own hosts, to which the operator's key for Azure may go wherever the address stands."""
BEDROCK_REGION, VERTEX_REGION = "us-east-1", "global"
FOREIGN = ("completion", "embedding", "embeddings", "realtime", "assistant", "image", "moderation", "agents",
           "transcription", "speech", "video", "live", "claude-agent-sdk", "codex", "codex-sdk", "chatkit",
           "text-classification", "token-classification", "feature-extraction", "sentence-similarity", "text-to-image")  # fmt: skip
"""Kinds of a model's interface that are not reached: `openai:realtime:…`."""


def value_in(node: Node) -> JsonValue:
    """The value; where it names a file, what stands in that."""
    return node.value if node.file is None else read_node(named_file(node, node.file), node.source.base).value


def _plain(config: Node, kind: str, refusals: Refusals) -> Node:
    """The config of Google's models with its `generationConfig` and names in OpenAI's; any other as it is."""
    if kind != "gemini" or not isinstance(config.value, dict):
        return config
    plain: Json = {}
    inner = config.mapping().get("generationConfig")
    for name, node in (*config.mapping().items(), *(inner.mapping().items() if inner else ())):
        if name == "tools" and _in_google_form(node.value):
            refusals.add(node, "tools in Google's own form: write them as OpenAI's")
        elif name == "responseMimeType":
            plain["response_format"] = {"type": "json_object"} if node.value == "application/json" else {"type": "text"}
        elif name != "generationConfig":
            plain[GENERATION.get(name, name)] = node.value
    return replace(config, value=plain)


def _without_usual_headers(config: Node, refusals: Refusals) -> Node:
    """The config without headers that a request has anyway."""
    headers = config.mapping().get("headers") if isinstance(config.value, dict) else None
    if headers is None or not isinstance(headers.value, dict) or {name.lower() for name in headers.value} - USUAL:
        return config
    refusals.note(headers, "a request has them anyway")
    assert isinstance(config.value, dict)
    return replace(config, value={name: value for name, value in config.value.items() if name != "headers"})


def _in_google_form(tools: JsonValue) -> bool:
    return isinstance(tools, str) or (
        isinstance(tools, list) and any(isinstance(tool, dict) and "type" not in tool for tool in tools)
    )


_PLAIN = re.compile(r"^(?:completion|text-generation|chat):")
AS_CHAT = "the model is asked by the vendor's chat interface, so that its outputs can differ"


@dataclass(frozen=True, slots=True)
class _Named:
    """A model in our words; the address and key where the config gives none; and what of the config said where it is."""

    model: str
    address: str = ""
    key: str | None = None
    read: tuple[str, ...] = ()


def _named(ident: str, config: Node) -> _Named | None:
    """The model that promptfoo knows under that id; None for a provider that we do not call."""
    vendor, _, rest = ident.partition(":")
    if vendor in VENDORS:
        rest = _PLAIN.sub("", rest)  # what completes a text there answers a prompt as a chat
    if rest.partition(":")[0] in FOREIGN:
        return None
    given = config.mapping() if isinstance(config.value, dict) else {}
    kind, _, name = rest.partition(":")
    row = PROVIDERS.get(vendor)
    if row is not None and (row.url or row.key_env):
        return _Named(_ours(ident))  # the operator's own endpoint of that name
    if vendor in AZURE:
        deployment = name if kind == "chat" else rest
        place = {"api-version": given["apiVersion"].text() if "apiVersion" in given else AZURE_VERSION}
        return _Named(
            f"{cloud_endpoint('azure', place)}:{deployment}", "https://{{env.AZURE_API_HOST}}", _azure_key(given), ("apiVersion",)
        )  # fmt: skip
    if vendor == "bedrock":
        if "anthropic.claude" not in rest:
            return None
        place = {"region": given["region"].text() if "region" in given else BEDROCK_REGION}
        return _Named(f"{cloud_endpoint('bedrock', place)}:{rest}", read=("region",))
    if vendor == "vertex":
        api = "vertex" if rest.startswith("claude") else "vertex-gemini"
        place = {"region": given["region"].text() if "region" in given else VERTEX_REGION}
        place |= {"project": given["projectId"].text()} if "projectId" in given else {}
        return _Named(f"{cloud_endpoint(api, place)}:{rest}", read=("region", "projectId"))
    if vendor in VENDORS:
        address, variable = VENDORS[vendor]
        elsewhere = {"apiBaseUrl", "apiHost"} & given.keys()  # the operator's key does not go where a config says
        key = None if elsewhere and variable else f"{{{{env.{variable}}}}}" if variable else LOCAL_KEY
        return _Named(f"openai:{rest}", address, key)
    ours = _ours(ident)
    return _Named(ours) if ours else None


def _ours(ident: str) -> str:
    """The model of a provider that promptfoo knows by a prefix, in our words; empty for any other."""
    known = prefixes_known().items()
    return next((own + ident.removeprefix(theirs) for theirs, own in known if ident.startswith(theirs)), "")


def _azure_key(given: Mapping[str, Node]) -> str | None:
    """Where the key for Azure comes from: the operator's goes to Azure's own hosts and to the operator's, and nowhere else."""
    base = _base(given)
    is_azures = base is None or (urlsplit(base).hostname or "").endswith(AZURE_HOSTS)
    return "{{env.AZURE_API_KEY}}" if is_azures else None


def model_spec(node: Node, ident: str, config: Node, refusals: Refusals, *, grades: bool = False) -> ModelSpec | None:
    """The model of that id as the config sets it up; None where it is refused."""
    named = _named(ident, config)
    if named is None or not named.model.partition(":")[2]:
        refusals.add(node, f"the provider {ident}")
        return None
    if "text-generation" in ident.split(":")[1:2]:
        refusals.note(node, AS_CHAT)
    kind = named.model.partition(":")[0]
    client = PROVIDERS[kind].client
    options = tuple(name for name in options_of(named.model) if not (grades and name in CALLING))
    passing = (PASSING,) if kind == "openai" or client == "azure_client" else ()
    members = refusals.known(
        _without_usual_headers(_plain(config, "gemini" if client == "vertex_chat_client" else kind, refusals), refusals),
        (*ACCESS, *named.read, *passing, *options), harmless=HARMLESS, there=keys_there.MODEL,
    )  # fmt: skip
    params: Json = {name: value_in(members[name]) for name in options if name in members}
    passed = {name: option.value for name, option in members[PASSING].mapping().items()} if PASSING in members else {}
    limit = [
        members[name].whole(least=1) for name in (*LIMITS, "max_output_tokens") if params.pop(name, None) is not None
    ]
    return ModelSpec(
        model=named.model,
        max_tokens=limit[0] if limit else MAX_TOKENS,
        params=params | passed,
        as_text=FORM in members and members[FORM].file is not None,
        base_url=_base(members, path="" if client == "azure_client" else "/v1") or named.address or None,
        api_key=_api_key(members) or named.key,
    )


def options_of(model: str) -> tuple[str, ...]:
    """What a request to that model may set."""
    kind, _, name = model.partition(":")
    return OPTIONS if name.startswith(RESPONSES) else PROVIDERS[kind].options


def service_spec(ident: str, service: Service, config: Node, refusals: Refusals) -> ModelSpec:
    """The service of that id as the config sets it up."""
    members = refusals.known(config, (*ACCESS, "apiEndpoint", *service.options), harmless=HARMLESS | WAITING)
    params: Json = {name: members[name].value for name in service.options if name in members}
    base = members["apiEndpoint"].text() if "apiEndpoint" in members else _base(members)
    return ModelSpec(model=ident, max_tokens=MAX_TOKENS, params=params, base_url=base, api_key=_api_key(members))


def _api_key(members: Mapping[str, Node]) -> str | None:
    if "apiKeyEnvar" in members:
        return f"{{{{env.{members['apiKeyEnvar'].text()}}}}}"
    return members["apiKey"].text() if "apiKey" in members else None


def _base(members: Mapping[str, Node], path: str = "/v1") -> str | None:
    if "apiBaseUrl" in members:
        return members["apiBaseUrl"].text()
    return f"https://{members['apiHost'].text()}{path}" if "apiHost" in members else None
