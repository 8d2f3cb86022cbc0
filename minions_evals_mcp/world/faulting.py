"""Faults of tools: which call meets one, and what it makes of the answer."""

from __future__ import annotations

import random
from collections.abc import Sequence

from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.domain.worlds import LOST, Fault
from minions_evals_mcp.scoring.assertions.trajectories.steps import fits_pattern
from minions_evals_mcp.world.calls import CallAnswer, WorldCall, texts_in, tool_result

FAULT = "fault"
"""The note of an answer that says which fault it met."""


def due(faults: Sequence[Fault], call: WorldCall, number: int, seed: str) -> Fault | None:
    """The first fault that the tool's call of that number meets; the same seed gives the same faults."""
    for place, fault in enumerate(faults):
        if not fits_pattern(fault.tool, call.tool):
            continue
        if fault.nth == number or (
            fault.probability is not None and _draw(seed, place, call, number) < fault.probability
        ):
            return fault
    return None


def _draw(seed: str, place: int, call: WorldCall, number: int) -> float:
    """A number from 0 to 1 that depends on nothing but the seed, the fault and the call."""
    return random.Random(f"{seed}\n{place}\n{call.server}\n{call.tool}\n{number}").random()  # noqa: S311  no secret


def lost(fault: Fault) -> CallAnswer | None:
    """The answer of a fault that does not carry the call out; None where the fault lets it through."""
    if fault.kind not in LOST:
        return None
    notes: Json = {FAULT: fault.kind}
    if fault.kind == "tool-error":
        return CallAnswer(source="fault", result=tool_result(fault.text, is_error=True), notes=notes)
    error = "Request timed out" if fault.kind == "timeout" else "Internal error"
    return CallAnswer(source="fault", protocol_error=error, delay_ms=fault.delay_ms, notes=notes)


def spoilt(fault: Fault, answer: CallAnswer, older: Json | None) -> CallAnswer:
    """The answer as the fault leaves it; `older` is an earlier result of the tool. Where nothing changes, no fault is noted."""
    notes: Json = {**answer.notes, FAULT: fault.kind}
    if fault.kind in {"slow", "duplicate"}:
        return answer.model_copy(update={"delay_ms": answer.delay_ms + fault.delay_ms, "notes": notes})
    result = _spoilt(fault, answer.result, older)
    return answer if result is None else answer.model_copy(update={"result": result, "notes": notes})


def _spoilt(fault: Fault, result: Json | None, older: Json | None) -> Json | None:
    if result is None or result.get("isError"):
        return None
    if fault.kind == "empty":
        return {"content": [], "isError": False}
    if fault.kind == "stale":
        return None if older == result else older
    text = "\n".join(texts_in(result))
    return tool_result(text[: len(text) // 2]) if len(text) > 1 else None
