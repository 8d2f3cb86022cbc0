"""Faults of tools as a command line writes them: `KIND[:TOOL][@NTH]`, or `@0.2` for a probability."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.worlds import Fault
from minions_evals_mcp.errors import BadInputError

_FORM = re.compile(r"(?P<kind>[a-z-]+)(?::(?P<tool>[^@]+))?(?:@(?P<when>[0-9.]+))?")
FORM = "Write it as tool-error:refund@1 for the first call of refund, or timeout@0.2 for a fifth of all calls."


def faults_of(written: Sequence[str]) -> tuple[Fault, ...]:
    """The faults that the options say; raises `BadInputError` for one that does not fit."""
    return tuple(map(_fault, written))


def _fault(text: str) -> Fault:
    found = _FORM.fullmatch(text)
    if found is None:
        raise BadInputError(f"--fault: {text!r} is not a fault.", remedy=FORM)
    when = found["when"] or "1"
    key: dict[str, JsonValue] = {"probability": float(when)} if "." in when else {"nth": int(when)}
    try:
        return Fault.model_validate({"kind": found["kind"], "tool": found["tool"] or "*", **key}, strict=False)
    except (ValidationError, ValueError) as error:
        first = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise BadInputError(f"--fault: {text!r}: {first}.", remedy=FORM) from None
