"""The parameters that a branch of an A/B test sends to its provider: only what it gives explicitly, and nothing that is dropped unseen."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Json, TestBranch
from minions_evals_mcp.errors import InvalidRecordError

MAX_TOKENS = 2048
"""The documented default. It is always sent: Anthropic's API demands a limit, and a cost cap is held by it."""
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


def sent_parameters(branch: TestBranch) -> Json:
    """Returns what joins the request's body beside model, prompt and limit."""
    return {**{name: value for _, name, value in _sampling(branch) if value is not None}, **branch.other_params}


def not_sent(branch: TestBranch) -> tuple[str, ...]:
    """The documented defaults (temperature 0.7, topP 1.0) that were not given, and so are left to the provider."""
    defaults = {"temperature": "temperature 0.7", "topP": "topP 1"}
    given = sent_parameters(branch)
    return tuple(defaults[field] for field, name, _ in _sampling(branch) if name not in given)


def _sampling(branch: TestBranch) -> tuple[tuple[str, str, float | None], ...]:
    """The sampling parameters: their field, their name at every provider, their value."""
    return ("temperature", "temperature", branch.temperature), ("topP", "top_p", branch.top_p)
