"""The operator's names of a neighbour's MCP server: a program that speaks over its standard streams, or an address."""

from __future__ import annotations

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, model_validator

from minions_evals_mcp.domain.definitions import Texts
from minions_evals_mcp.domain.values import Text, Value

Word = Annotated[str, StringConstraints(min_length=1)]


class ServerSettings(Value):
    """A program (`run`, in `folder`, given the environment variables that `env` names, its stderr appended to `log`), or a
    `url`, with the headers whose values stand in the variables that `headersFrom` names."""

    run: Annotated[tuple[Word, ...], Field(min_length=1, strict=False)] | None = None
    folder: Text | None = None
    env: Texts = ()
    log: Text | None = None
    url: Text | None = None
    headers_from: dict[str, Text] = {}

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.run is None) == (self.url is None):
            raise ValueError("run: give run or url, not both")
        if self.url is not None and not _is_address(self.url):
            raise ValueError(
                f"url: {self.url!r} is not a web address, or contains a password; name its variable in headersFrom"
            )
        if self.url is not None and (self.env or self.folder or self.log):
            raise ValueError("url: env, folder and log need a program")
        if self.run is not None and self.headers_from:
            raise ValueError("run: headersFrom needs a url")
        return self

    def variables(self) -> tuple[str, ...]:
        """The environment variables that it needs."""
        return (*self.env, *self.headers_from.values())


def _is_address(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
