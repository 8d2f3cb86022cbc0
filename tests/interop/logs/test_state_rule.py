"""The state rule: successful calls that change something are those of the task, and the outputs that it asks for were said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.log_formats.state_rule import STATE_RULE, state_rule
from tests.shared.interop.log_parts import TAU, TAU2, tau2_simulation
from tests.shared.interop.makers import foreign, kept, written

GOLD: list[tuple[JsonValue, Json]] = [
    ("get_order", {"id": "A1"}),
    ("cancel_order", {"id": "A1"}),
    ("send_certificate", {"amount": 50, "user": "mia"}),
]


def called(number: int, name: str, result: str, **arguments: JsonValue) -> list[JsonValue]:
    """A call and its result."""
    call: Json = {"id": f"c{number}", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "name": name, "content": result},
    ]


CERTIFICATE = called(2, "send_certificate", "sent", user="mia", amount=50)
CANCELLED = called(1, "cancel_order", "cancelled", id="A1")
SAID: list[JsonValue] = [{"role": "assistant", "content": "You get 1,250 dollars back."}]


@pytest.mark.parametrize(
    ("messages", "passes", "why"),
    [
        ([*CANCELLED, *CERTIFICATE, *SAID], True, "are those of the task"),
        ([*CERTIFICATE, *CANCELLED, *SAID], True, "are those of the task"),
        ([*called(0, "get_user", "{}", id=1), *CANCELLED, *CERTIFICATE, *SAID], True, "are those of the task"),
        ([*called(0, "cancel_order", "Error: no", id="B"), *CANCELLED, *CERTIFICATE, *SAID], True, "are those"),
        ([*called(0, "cancel_order", "cancelled", id="B"), *CANCELLED, *CERTIFICATE, *SAID], False, "not asked for"),
        ([*called(0, "cancel_order", "cancelled", id="A1"), *CANCELLED, *CERTIFICATE, *SAID], False, "number of times"),
        ([*CANCELLED, *SAID], False, "missing: send_certificate"),
        ([*called(1, "cancel_order", "Error: no", id="A1"), *CERTIFICATE, *SAID], False, "missing: cancel_order"),
        ([*CANCELLED, *CERTIFICATE], False, "not said: 1250"),
        ([*CANCELLED, *CERTIFICATE, {"role": "user", "content": "1250?"}], False, "not said: 1250"),
    ],
)
def test_a_run_passes_by_what_it_changed_and_said(messages: list[JsonValue], passes: bool, why: str) -> None:
    reading = state_rule(messages, GOLD, ["1250"])
    assert (reading.name, reading.value, reading.about["passed"]) == (STATE_RULE, float(passes), passes)
    assert why in str(reading.about["explanation"])


def test_the_reading_stands_beside_the_reward_of_tau_bench_and_tau2(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / "m-airline.json", [{**TAU, "reward": 0.0}]),
        written(tmp_path / "results.json", {**TAU2, "simulations": [tau2_simulation(0.0)]}),
    ]
    for path in paths:
        (case,), (run,) = kept(path)
        assert [(one["name"], one["value"]) for one in foreign(run)] == [("reward", 0.0), (STATE_RULE, 1.0)]
        assert [check.weight for check in case.fields.assertions if check.metric == STATE_RULE] == [0]
