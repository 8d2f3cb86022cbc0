"""Services that decide an assertion by themselves, a row each: they moderate or classify a text, and are told nothing else."""

from __future__ import annotations

from typing import Literal

from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.frozen_types import frozen_type

Decides = Literal["moderation", "classification"]


@frozen_type
class Service:
    """The way to reach a service. `prefix` begins the names of its models, here as in promptfoo's configs.

    `account` is whose key and address it is asked with; the first of `key_variables` that is set holds the key. An
    address in place of `url` is that of one model where it is `of_one_model`.
    """

    prefix: str
    decides: Decides
    account: str
    url: str
    key_variables: tuple[str, ...]
    options: tuple[str, ...] = ()
    """What a config may set of a request."""
    of_one_model: bool = False
    free: bool = False

    @property
    def url_variable(self) -> str:
        """The environment variable with another address."""
        return f"{self.account.upper()}_BASE_URL"


_HUB = ("https://router.huggingface.co/hf-inference", ("HF_TOKEN", "HF_API_TOKEN"))
SERVICES = (
    Service(
        "openai:moderation:", "moderation", "openai", PROVIDERS["openai"].url, (PROVIDERS["openai"].key_variable,), free=True
    ),
    Service(
        "replicate:moderation:", "moderation", "replicate", "https://api.replicate.com/v1",
        ("REPLICATE_API_TOKEN", "REPLICATE_API_KEY"),
    ),
    Service("huggingface:text-classification:", "classification", "huggingface", *_HUB, of_one_model=True),
    Service(
        "huggingface:token-classification:", "classification", "huggingface", *_HUB, ("aggregation_strategy",),
        of_one_model=True,
    ),
)  # fmt: skip
DEFAULT_MODERATION = {
    "openai": "openai:moderation:omni-moderation-latest",
    "replicate": "replicate:moderation:meta/llama-guard-4-12b",
}
"""What moderates where nobody is named, by the account whose key is there; the first comes first."""


def service_of(name: str) -> Service | None:
    """The service that a model of that name stands at."""
    return next((row for row in SERVICES if name.startswith(row.prefix)), None)
