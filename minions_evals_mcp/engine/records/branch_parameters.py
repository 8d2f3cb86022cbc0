"""The parameters that a branch of an A/B test sends to its provider: what it gives, else the documented defaults.

A defaulted one that the provider refuses by name is left out, and shown as not sent; one that a branch gives is never left out.
"""

from __future__ import annotations

from collections.abc import Collection

from minions_evals_mcp.domain.definitions import TEMPERATURE, TOP_P, Json, TestBranch
from minions_evals_mcp.errors import InvalidRecordError

DEFAULTS = {"temperature": TEMPERATURE, "top_p": TOP_P}
"""The other documented defaults, by their names at every provider."""
SHOWN = {"temperature": "temperature", "top_p": "topP"}
_OWN = {
    "model": "model", "messages": "the prompt version", "system": "the prompt version", "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens", "max_output_tokens": "maxTokens",
}  # fmt: skip
_FIXED = frozenset({"stream", "stream_options", "n"})
"""What an A/B test sets itself: one answer, streamed for the time of its first token."""


def vet_parameters(branch: TestBranch, *, record: str) -> None:
    """Raises `InvalidRecordError` naming a parameter that the branch's provider cannot take, or that is not its to set."""
    for name, instead in _OWN.items():
        if name in branch.other_params:
            raise InvalidRecordError(
                "is not set here", field=f"fields.otherParams.{name}", record=record, remedy=f"Use {instead}."
            )
    for name in _FIXED & branch.other_params.keys():
        raise InvalidRecordError("is set by the A/B test", field=f"fields.otherParams.{name}", record=record)
    for field, name, value in _sampling(branch):
        also = branch.other_params.get(name)
        if value is not None and also is not None and also != value:
            raise InvalidRecordError(
                f"is {value:g}, but otherParams.{name} is {also}", field=f"fields.{field}", record=record
            )


def sent_parameters(branch: TestBranch, dropped: Collection[str] = ()) -> Json:
    """The parameters that join the request's body beside model, prompt and limit, without those that were `dropped`."""
    given = _given(branch)
    defaulted = {name: value for name, value in DEFAULTS.items() if name not in given and name not in dropped}
    return {**defaulted, **given}


def defaulted_parameters(branch: TestBranch) -> tuple[str, ...]:
    """The parameters that the branch does not give, by their names at the provider; the one that matters least comes first."""
    given = _given(branch)
    return tuple(name for name in ("top_p", "temperature") if name not in given)


def not_sent(branch: TestBranch, sent: Json) -> tuple[str, ...]:
    """The documented defaults, in the document's words, that are not among the parameters that were sent."""
    given = _given(branch)
    return tuple(
        f"{SHOWN[name]} {value:g}" for name, value in DEFAULTS.items() if name not in given and name not in sent
    )


def _given(branch: TestBranch) -> Json:
    return {**{name: value for _, name, value in _sampling(branch) if value is not None}, **branch.other_params}


def _sampling(branch: TestBranch) -> tuple[tuple[str, str, float | None], ...]:
    """The sampling parameters: their field, their name at every provider, their value."""
    return ("temperature", "temperature", branch.temperature), ("topP", "top_p", branch.top_p)
