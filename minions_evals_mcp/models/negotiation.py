"""What an endpoint accepts of a request: learned from the parameter that it refuses by name, and remembered per model.

A refused parameter costs nothing: the provider answers no question. The request is sent again without it, and so is every
later request of the same client to the same model.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from pydantic import JsonValue

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.faults import AttemptFault
from minions_evals_mcp.models.request import ModelRequest

_REFUSAL = (
    r"unsupported|not (?:\w+ )?support|n't support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|forbidden|"
    r"not (?:\w+ )?(?:available|implemented|enabled|accept|valid)|unavailable|invalid (?:parameter|argument|field|request)|"
    r"extra (?:inputs|fields)|deprecated|instead|cannot be (?:used|specified|set)|must not|only (?:the )?default|"
    r"does not exist|remove"
)
_REFUSES = re.compile(_REFUSAL, re.IGNORECASE)
_FORM = re.compile(
    r"response_?format|json[_ ]?schema|structured[_ ]outputs?|output_(?:config|format)|text\.format|additionalProperties|"
    r"guided|grammar|requested parameters",
    re.IGNORECASE,
)
"""The names of a reply's form in the messages of servers that take none."""
_SYSTEM = re.compile(
    r"\b(?:system|developer)\W+(?:role|message|instruction|prompt|text)|role\W+.{0,20}\b(?:system|developer)\b|^system\b|\bsystem\W*:",
    re.IGNORECASE,
)
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
OPTIONAL = ("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")
"""Parameters that a judge can do without."""
IN_WORDS = "Reply with one JSON object and nothing else. It must fit this JSON schema:\n"


@frozen_type
class RequestTerms:
    """What a model at an endpoint takes of a request. `limits` are the names of the longest reply that it may still accept."""

    limits: tuple[str, ...] = ()
    schema: bool = True
    system: bool = True
    dropped: frozenset[str] = frozenset()

    def adapted(self, request: ModelRequest) -> ModelRequest:
        """The request without what the endpoint refuses; a form and a system text travel in words."""
        user, system, schema = request.user, request.system, request.schema
        if schema is not None and not self.schema:
            user, schema = f"{user}\n\n{IN_WORDS}{json.dumps(schema)}", None
        if system is not None and not self.system:
            user, system = f"{system}\n\n{user}", None
        params = {name: value for name, value in request.params.items() if name not in self.dropped}
        return replace(request, user=user, system=system, schema=schema, params=params)

    def without(self, request: ModelRequest, refusal: str) -> RequestTerms | None:
        """The terms after that refusal; None where it names nothing that the request can do without."""
        refuses = _REFUSES.search(refusal) is not None
        if refuses and self.limits and _names(refusal, self.limits[0]):
            return replace(self, limits=self.limits[1:])
        left = [name for name in request.optional if name in request.params and name not in self.dropped]
        refused = next((name for name in left if _names(refusal, name)), None)
        if refused is not None:
            return replace(self, dropped=self.dropped | {refused})
        if request.schema is not None and self.schema and _FORM.search(refusal):
            return replace(self, schema=False)
        if request.system is not None and self.system and refuses and _SYSTEM.search(refusal):
            return replace(self, system=False)
        return None


class Negotiation:
    """The terms of one endpoint, by model; `limits` are the names of the longest reply, the likeliest first."""

    def __init__(self, limits: tuple[str, ...] = ()) -> None:
        self._first = RequestTerms(limits)
        self._terms: dict[str, RequestTerms] = {}

    def terms(self, model: str) -> RequestTerms:
        """What is known of that model so far."""
        return self._terms.get(model, self._first)

    def learns(self, request: ModelRequest, sent: RequestTerms, fault: AttemptFault) -> bool:
        """Learns from a refusal; true where the request is worth sending again under the terms that are known now."""
        if not fault.refusal:
            return False
        if self.terms(request.model) != sent:  # a request beside this one was refused first
            return True
        learned = sent.without(request, _refusal_text(fault.refusal))
        if learned is not None:
            self._terms[request.model] = learned
        return learned is not None


def _names(refusal: str, parameter: str) -> bool:
    return re.search(rf"\b{parameter}\b", refusal) is not None


def _refusal_text(body: str) -> str:
    """What an error says, without the parts of the request that some servers repeat in it."""
    try:
        said: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return body
    members = said if isinstance(said, dict) else {}
    error = members.get("error", members)
    if not isinstance(error, dict):
        return str(error)
    detail = error.get("detail")
    entries = detail if isinstance(detail, list) else [error, detail]
    texts = [_entry_text(entry) for entry in entries]
    return " ".join(text for text in texts if text) or body


def _entry_text(entry: JsonValue) -> str:
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, dict):
        return ""
    place = entry.get("loc")
    names = [str(part) for part in place] if isinstance(place, list) else []
    return " ".join(
        names + [str(entry[key]) for key in ("message", "msg", "param", "code", "reason") if entry.get(key)]
    )
