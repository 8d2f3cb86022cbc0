"""Outputs made by an application behind an address: `http:URL`, named by the operator only."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import quote, urljoin, urlsplit

import anyio
from pydantic import AfterValidator, JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Text
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.targets.exchange import (
    MOST_BYTES,
    PLACE,
    Exchange,
    asking,
    looked_up,
    names_in,
    names_of,
    sent,
    vet_version,
)

if TYPE_CHECKING:
    import httpx2

MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPING = frozenset({307, 308})
"""Redirects under which method and body stay what they are."""
FATAL = frozenset({401, 403, 407})
"""No other question would be answered either."""
UNANSWERED = frozenset({408, 425, 429})
PORTS = {"http": 80, "https": 443}
CLOSING_S = 5.0
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

Method = Literal["GET", "POST", "PUT", "PATCH"]


def _address(url: str) -> str:
    parts = urlsplit(url)  # raises ValueError for a port or an IPv6 address that is none
    if parts.scheme not in PORTS or not parts.hostname or "{{" in f"{parts.scheme}{parts.netloc}":
        raise ValueError(f"{url!r} is no web address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a password in the address would be kept with every run; name its variable in headersFrom")
    assert parts.port is None or parts.port >= 0
    return url


def _header_names(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        if _HEADER.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no header's name")
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_header_names)]


class HttpSettings(Exchange):
    """An address and how it is asked. `headersFrom` names the environment variable that holds each header's value.

    `url` may hold `{{name}}` behind its host. A GET has no body; `input` is the body of the others.
    """

    url: Annotated[Text, AfterValidator(_address)]
    method: Method = "POST"
    headers: Headers = {}
    headers_from: Headers = {}

    @property
    def name(self) -> str:
        """The target as it stands in `producedBy`: the address without what comes after its path."""
        parts = urlsplit(self.url)
        return f"http:{parts.scheme}://{parts.netloc}{parts.path}"


def http_settings(target: str) -> HttpSettings:
    """The settings that `http:URL` (or the URL alone) stands for; what comes after # selects the output.

    Raises `BadInputError` for what is no address or no selector.
    """
    url, _, selector = (target if "://" in target.partition(":")[2][:8] or target.startswith(("http://", "https://")) else target).partition("#")
    try:
        return HttpSettings(url=url, output=selector or None)
    except ValueError as error:
        raise BadInputError(str(error)) from None
