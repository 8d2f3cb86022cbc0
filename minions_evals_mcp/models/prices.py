"""The prices of tokens, from the price table that `genai-prices` ships. An unknown price is None, never 0."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.replies import TokenUsage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

CHARS_PER_TOKEN = 2.0
"""Half of what prose in English has, so that code, tables and other tongues stay under the bound as well."""
OVERHEAD_TOKENS = 200
"""What a provider adds of its own: turns, the wanted schema."""


@frozen_type
class _Rates:
    """Dollars a token of each kind, for prompts up to `up_to` tokens; beyond that another tier's prices hold."""

    read: float
    written: float
    cache_read: float
    cache_write: float
    up_to: float


def load() -> None:
    """Read the price table now (0.2 s), so that no call's latency carries it."""
    _rates("anthropic", "")


def price_known(provider: str, model: str) -> bool:
    """Returns whether `cost_usd` can tell."""
    return _rates(provider, model) is not None


def cost_usd(provider: str, model: str, usage: TokenUsage) -> float | None:
    """US dollars for one call by today's list price; None where the price is unknown."""
    rates = _rates(provider, model)
    if rates is None:
        return None
    if usage.input_tokens > rates.up_to:
        calculated = _calculated(provider, model, usage)
        return None if calculated is None else float(calculated.total_price)
    fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    cached = usage.cache_read_tokens * rates.cache_read + usage.cache_write_tokens * rates.cache_write
    return fresh * rates.read + cached + usage.output_tokens * rates.written


def estimate_usd(provider: str, model: str, input_chars: int, max_tokens: int) -> float | None:
    """A bound on one attempt's cost, before it is made: a token for two characters, all of `max_tokens` written."""
    read = math.ceil(input_chars / CHARS_PER_TOKEN) + OVERHEAD_TOKENS
    return cost_usd(provider, model, TokenUsage(read, max_tokens))


@cache
def _rates(provider: str, model: str) -> _Rates | None:
    """The library takes 80 µs a call; below the first tier prices are linear, so one token of each kind tells all."""
    from genai_prices.types import TieredPrices  # noqa: PLC0415 - 0.16 s: imported at first use

    units = (
        TokenUsage(1, 0),
        TokenUsage(0, 1),
        TokenUsage(1, 0, cache_read_tokens=1),
        TokenUsage(1, 0, cache_write_tokens=1),
    )
    known = [price for price in (_calculated(provider, model, unit) for unit in units) if price is not None]
    listed = vars(known[0].model_price) if known else {}
    if "input_mtok" not in listed or "output_mtok" not in listed:
        return None  # the table has models that it names without a price: those come out as 0
    tiers = [tier.start for price in listed.values() if isinstance(price, TieredPrices) for tier in price.tiers]
    read, written, cache_read, cache_write = (float(price.total_price) for price in known)
    return _Rates(read, written, cache_read, cache_write, up_to=min(tiers, default=math.inf))


def _calculated(provider: str, model: str, usage: TokenUsage) -> PriceCalculation | None:
    import genai_prices  # noqa: PLC0415 - 0.16 s: imported at first use

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    row = PROVIDERS.get(provider)
    listed_as = (row and row.price_name) or provider
    try:
        return genai_prices.calc_price(
            tokens, model.removeprefix("models/").removeprefix("responses:"), provider_id=listed_as
        )
    except LookupError:
        return None
