"""Refusals in a caller's terms: what is wrong, what is allowed, and the next call."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from minions_evals_mcp.errors import EvalsError, NotFoundError, StoreError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.presentation.next_steps import Tools, in_terms
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.server.edge.argument_types import LISTED

LONGEST = 1_200


def refusal(error: EvalsError, store: Path | None = None) -> str:
    """The error for a model to read: its code, what is wrong, and what to do next."""
    message = printable(in_tools(error.message_text, store), LONGEST)
    return f"{error.code}: {message} {printable(_remedy(error, store), LONGEST)}".strip()


@contextmanager
def as_protocol_error(store: Path | None = None) -> Generator[None]:
    """A refusal of ours as the protocol's error."""
    try:
        yield
    except EvalsError as error:
        raise MCPError(INTERNAL_ERROR, refusal(error, store)) from None


def with_remedy(error: EvalsError, store: Path | None = None) -> str:
    """The error with its remedy in tools, for an answer that is no refusal itself."""
    return f"{in_tools(error.message_text, store)} {_remedy(error, store)}".strip()


def in_tools(text: str, store: Path | None = None) -> str:
    """The text with its next steps as tool calls; commands for the operator name the store that the server was given."""
    return in_terms(text, Tools(store))


def _remedy(error: EvalsError, store: Path | None) -> str:
    if isinstance(error, NotFoundError) and error.kind in LISTED:
        return in_tools(f"Next: {Next('list', {'type': error.kind}, 'shows ids')}.", store)
    if isinstance(error, StoreError) and error.remedy_text:
        return f"Tell the operator: {in_tools(error.remedy_text, store)}"
    return in_tools(error.remedy_text, store)
