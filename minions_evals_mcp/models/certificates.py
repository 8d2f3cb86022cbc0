"""The certificates that connections trust, read once for the whole process: reading them takes 20 to 40 ms, twice for each client."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@cache
def trusted_certificates(*, trust_env: bool) -> ssl.SSLContext:
    """Returns what httpx2 trusts by itself; with `trust_env`, as `SSL_CERT_FILE` and `SSL_CERT_DIR` say."""
    import httpx2  # noqa: PLC0415 - 0.1 s; whoever connects imports it at first use

    return httpx2.create_ssl_context(trust_env=trust_env)
