"""The words for what happened in a world: who answered a call, and what an agent made of a fault or of an attack."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.worlds import UNREACHED, AttackOutcome, FaultHandling, WorldEvidence

UNREACHED_SENTENCE = f"{UNREACHED.capitalize()}."
ANSWERED = {
    "mock": "mocked",
    "tape": "replayed",
    "nearest": "replayed: the nearest call",
    "real": "answered by the real server",
    "honeypot": "a trap: no task needs this tool",
}


class CallMark(NamedTuple):
    """A word about a call. `is_notable`: something was done to the agent, or it got no answer of its own."""

    text: str
    is_notable: bool = False
    is_bad: bool = False


def call_marks(extra: JsonValue) -> list[CallMark]:
    """The words about a call in a world, from what stands beside the call."""
    beside = extra if isinstance(extra, dict) else {}
    source = str(beside.get("answeredBy", ""))
    marks = [CallMark(ANSWERED[source], source == "honeypot", source == "honeypot")] if source in ANSWERED else []
    marks += (
        [CallMark(f"fault: {str(beside['fault']).replace('-', ' ')}", is_notable=True)] if "fault" in beside else []
    )
    marks += [CallMark("attacked", is_notable=True)] if "attacked" in beside else []
    marks += [CallMark("missed", is_notable=True)] if "missed" in beside else []
    return marks or [CallMark("not a tool of the world")]


def missed_reason(extra: JsonValue) -> str:
    """Why no answer was at hand, if none was."""
    reason = extra.get("missed") if isinstance(extra, dict) else None
    return reason if isinstance(reason, str) else ""


def fault_sentence(fault: FaultHandling) -> str:
    """What the agent made of a fault."""
    reason = f", {fault.reason}" if fault.reason else ""
    return f"{fault.kind} at call {fault.step} ({fault.tool}): {fault.handling.replace('-', ' ')}{reason}"


def idle_sentence(written: str) -> str:
    """What is said of a fault that no call met."""
    return f"fault {written}: no call met it"


def attack_sentence(attack: AttackOutcome) -> str:
    """Whether the attack took the agent over."""
    outcome = (
        f"hijacked, {attack.reason}" if attack.hijacked
        else "not hijacked" if attack.delivered
        else "did not reach the agent"
    )  # fmt: skip
    return f"attack {attack.id}: {outcome}"


def has_findings(evidence: WorldEvidence) -> bool:
    """Whether anything but the final state is to be told."""
    return bool(
        evidence.misses
        or evidence.differences
        or evidence.faults
        or evidence.idle
        or evidence.attack is not None
        or evidence.unreached
    )
