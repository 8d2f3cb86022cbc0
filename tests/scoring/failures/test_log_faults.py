"""What is wrong in a log is found by its step, and a sound log is not accused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failure_causes import cause_key, suggestion, tells_cause
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.log import NAMED_FROM, Log, chance, most_likely, shape_of
from minions_evals_mcp.scoring.failures.log.chances import COUNTED, Shape
from tests.scoring.failures import planted_clinic
from tests.scoring.failures.planted import FAULTS, Planted, failed, sound

VARIATIONS = 20


def cause(run: Planted) -> str:
    """The root cause that the rules give."""
    return classify(run.failed).root_cause


def is_named(run: Planted) -> bool:
    """Whether the cause names the planted step, or the tool that was left out."""
    said = cause(run)
    return run.tool in said if run.tool else any(re.search(rf"step {step}\b", said) for step in run.steps)


@pytest.mark.parametrize("faults", [FAULTS, planted_clinic.FAULTS], ids=["office", "clinic"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_with_its_step_in_18_of_20_variations(
    fault: str, faults: Mapping[str, Callable[[int], Planted]]
) -> None:
    missed = [seed for seed in range(VARIATIONS) if not is_named(faults[fault](seed))]
    assert len(missed) <= VARIATIONS - 18, [cause(faults[fault](seed)) for seed in missed]


def no_accusation(run: FailedOutput) -> bool:
    """Whether the log of the run is called faultless."""
    return classify(run).root_cause.startswith("The log shows no fault")


def test_of_100_sound_logs_at_least_95_are_not_accused() -> None:
    accused = [cause(sound(seed)) for seed in range(100) if not no_accusation(sound(seed).failed)]
    assert len(accused) <= 5, accused
    clinic = map(planted_clinic.sound, range(100))
    assert sum(not no_accusation(run) for run in clinic) <= 5


@pytest.mark.parametrize(
    ("asked", "arguments"),
    [
        ("Plan a route of 100 km to Köln.", {"distance_miles": 62.1, "city": "Cologne"}),
        ("Réserve un hôtel à Londres.", {"city": "London"}),
        ("Order 2.5 kg of flour.", {"grams": 2500}),
        ("Pay 12.50 € to Ann.", {"amount": 1250}),
        ("Set the oven to 180 °C.", {"fahrenheit": 356}),
        ("Wait 2 hours.", {"seconds": 7200}),
    ],
)
def test_another_unit_and_a_translated_name_are_no_wrong_arguments(asked: str, arguments: Json) -> None:
    assert no_accusation(
        failed({"q": asked}, [ToolCall(tool="do_it", arguments=arguments, result={"ok": True}, error=None)], "Done.")
    )


def test_another_city_and_another_amount_are_wrong_arguments() -> None:
    assert not no_accusation(
        failed({"q": "Book a hotel in Wien."}, [call("do_it", {"ok": True}, city="Graz")], "Done.")
    )
    assert not no_accusation(failed({"q": "Pay 1250 euros."}, [call("do_it", {"ok": True}, amount=1350)], "Done."))


def test_a_fault_late_in_a_log_of_hundreds_of_steps_is_named() -> None:
    steps = [call("look", {"id": f"R-{n}", "next": f"R-{n + 1}"}, id=f"R-{n}") for n in range(480)]
    steps[450] = call("look", None, "no such record", id="R-450")
    steps = [step if place <= 450 else call("view", {"page": place}, page=place) for place, step in enumerate(steps)]
    said = cause(Planted(failed({"q": "Follow R-0 to its end."}, steps, "Done."), frozenset()))
    assert said.startswith("step 451 `look` failed: no such record")


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("wrong argument", "where that argument"),
        ("swapped entity", "where that argument"),
        ("stale id", "where that argument"),
        ("ignored result", "base its answer on"),
        ("loop", "when to stop calling"),
        ("swallowed error", "what to do when it fails"),
        ("wrong tool", "easier to tell apart"),
        ("missing step", "when it must call"),
    ],
)
def test_the_suggested_next_action_is_about_the_fault(fault: str, advice: str) -> None:
    analysis = classify(FAULTS[fault](4).failed)
    assert advice in suggestion(analysis.root_cause, analysis.failure_type)


def call(tool: str, result: object = None, error: str | None = None, **arguments: object) -> ToolCall:
    """One step."""
    return ToolCall.model_validate({"tool": tool, "arguments": arguments, "result": result, "error": error})


ROWS: list[tuple[Json, Sequence[ToolCall], str, str]] = [
    (
        {"q": "What will the weather be in Lyon tomorrow?"},
        [call("get_weather", {"temp": 21}, city="Paris")],
        "21 degrees in Lyon.",
        "step 1 `get_weather` was called with city = 'Paris', which nothing before it says: the input says 'Lyon'",
    ),
    (
        {"customerId": "C-1001", "question": "Cancel my plan"},
        [call("cancel_plan", {"ok": True}, customerId="C-1010")],
        "Cancelled.",
        "step 1 `cancel_plan` was called with customerId = 'C-1010'",
    ),
    (
        {"task": "Book a table for 4 at Osteria Mira on Friday."},
        [call("book_table", {"ok": True}, restaurant="Osteria Mira", guests=2, day="Friday")],
        "Booked.",
        "step 1 `book_table` was called with guests = '2', which nothing before it says: the input says '4'",
    ),
    (
        {"task": "A room in Porto from 12 May 2026 to 15 May 2026"},
        [call("search_rooms", [{"room": "R12"}], city="Porto", checkin="2026-05-12", checkout="2026-05-16")],
        "R12 is free.",
        "step 1 `search_rooms` was called with checkout = '2026-05-16', which nothing before it says: the input says '15 May 2026'",
    ),
    (
        {"task": "Send the report to lena.fischer@acme.example"},
        [call("send_email", {"sent": True}, to="lena.fisher@acme.example")],
        "Sent.",
        "step 1 `send_email` was called with to = 'lena.fisher@acme.example'",
    ),
    (
        {"question": "Is the invoice of Müller GmbH paid?"},
        [call("search", "Found: Müller GmbH (id 771), Müller KG (id 772)", q="Müller"), call("get_invoice", {"state": "paid"}, id=772)],
        "Yes, it is paid.",
        "step 2 `get_invoice` was called with id = '772' of another record (step 1 `search`)",
    ),
    (
        {"task": "Move 50 euros from account DE11 to account DE22"},
        [ToolCall(tool="transfer", arguments={"from": "DE22", "to": "DE11", "amount": 50}, result={"ok": True})],
        "Done",
        "step 1 `transfer` was called with from = 'DE22': the input has it the other way round",
    ),
    (
        {"task": "Open a ticket for the printer and assign it to Omar."},
        [
            call("list_tickets", [{"id": "T-17", "title": "scanner"}]),
            call("create_ticket", {"id": "T-31"}, title="printer"),
            call("assign_ticket", {"ok": True}, id="T-17", to="Omar"),
        ],
        "Assigned.",
        "step 3 `assign_ticket` was called with id = 'T-17', though step 2 `create_ticket` had given id = 'T-31' since",
    ),
    (
        {"q": "Who manages the Graz branch?"},
        [call("get_branch", {"manager": "Petra Lind", "staff": 14}, city="Graz")],
        "The Graz branch is managed by Karl Huber.",
        "step 1 `get_branch` gave 'Petra Lind'",
    ),
    (
        {"q": "Has parcel LX-778 arrived?"},
        [call("track", {"state": "in transit"}, parcel="LX-778")],
        "Yes, it has.",
        "step 1 `track` gave 'in transit'",
    ),
    (
        {"q": "pay invoice 88"},
        [call("pay", {"data": {"error": {"code": "E_FUNDS"}}}, invoice=88)],
        "Invoice 88 was paid.",
        "step 1 `pay` gave an error as its result",
    ),
    (
        {"frage": "Bitte storniere die Buchung B-77."},
        [call("get_booking", {"id": "B-77"}, id="B-77"), call("extend_booking", {"ok": True}, id="B-77")],
        "Die Buchung B-77 ist storniert.",
        "step 2 `extend_booking` does another thing than the input asks for (cancel)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "steps", "answer", "said"), ROWS, ids=lambda value: str(value)[:40])
def test_the_step_at_fault_is_quoted(inputs: Json, steps: Sequence[ToolCall], answer: str, said: str) -> None:
    assert classify(failed(inputs, [*steps], answer)).root_cause.startswith(said)


SOUND: list[tuple[Json, Sequence[ToolCall], str]] = [
    (
        {"q": "How many open tickets mention refunds?"},
        [call("search_tickets", {"count": 50}, q="refund", page=1), call("search_tickets", {"count": 12}, q="refund", page=2)],
        "62 tickets mention refunds.",
    ),
    ({"q": "3 lamps at 19.90 with 20 % VAT?"}, [call("multiply", 59.7, a=3, b=19.9), call("multiply", 71.64, a=59.7, b=1.2)], "71.64."),
    (
        {"q": "Run the export."},
        [call("get_job", {"state": state}, job="J-88") for state in ("running", "running", "done")],
        "The export is done, job J-88.",
    ),
    (
        {"q": "weather in Graz"},
        [call("get_weather", error="400 bad request", city="Graz, Austria"), call("get_weather", {"temp": 19}, city="Graz")],
        "19 degrees.",
    ),
    ({"frage": "Wie ist das Wetter in München?"}, [call("get_weather", {"temp": 12}, city="Munich", units="metric")], "12 Grad."),
    (
        {"q": "Refund the last order of Ida Holm."},
        [
            call("find_customer", {"id": 31}, name="Ida Holm"),
            call("list_orders", [{"order": 9001, "total": 20.5}, {"order": 9007, "total": 48.0}], customer_id=31, limit=5),
            call("refund", {"ok": True}, order=9007, amount=48.0),
        ],
        "I refunded 48.00 for order 9007.",
    ),
    (
        {"q": "Remind me tomorrow at 5 pm to call Dora."},
        [call("create_reminder", {"id": "rem-12"}, text="call Dora", at="2026-05-05T17:00:00")],
        "Done.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "steps", "answer"), SOUND, ids=lambda value: str(value)[:40])
def test_what_an_agent_may_work_out_translate_or_try_again_is_no_fault(
    inputs: Json, steps: Sequence[ToolCall], answer: str
) -> None:
    assert classify(failed(inputs, [*steps], answer)).root_cause.startswith("The log shows no fault")


@pytest.mark.parametrize(
    "result",
    [
        "Fehler: keine", "error: none", "Exception: none", "Order failed: false", "erreur : aucune",
        {"error": "no", "id": 3}, {"errors": "0", "id": 3}, {"error_message": "No error", "id": 3},
        {"fehler": "keine", "id": 3}, {"error": {"code": 0, "message": "OK"}, "id": 3},
    ],
)  # fmt: skip
def test_a_result_that_says_that_there_is_no_error_is_none(result: JsonValue) -> None:
    step = ToolCall(tool="lookup", arguments={"id": 3}, result=result)
    assert no_accusation(failed({"question": "Which one?"}, [step], "It is the blue one."))


@pytest.mark.parametrize("result", ["Fehler: keine Verbindung", "error: 0 of 3 replicas", {"error": {"code": 7}}])
def test_an_error_that_begins_like_none_is_one(result: JsonValue) -> None:
    step = ToolCall(tool="lookup", arguments={"id": 3}, result=result)
    assert (
        "gave an error as its result" in classify(failed({"question": "Which one?"}, [step], "It is blue.")).root_cause
    )


def test_the_step_that_the_expected_trajectory_names_and_nobody_made_is_named_with_its_place() -> None:
    wanted = Assertion(type="trajectory:tool-sequence", value=["verify", "look_up", "reset"])
    steps = [call("verify", {"ok": True}, user="u-19"), call("reset", {"ok": True}, user="u-19")]
    said = classify(failed({"q": "Reset the password of u-19"}, steps, "done", wanted)).root_cause
    assert said.startswith("The step `look_up` is missing after step 1 `verify`")


def test_arguments_are_held_against_those_of_the_expected_trajectory() -> None:
    wanted = Assertion(type="trajectory:tool-args-match", value={"name": "ship", "args": {"speed": "express"}})
    said = classify(failed({"q": "Ship it"}, [call("ship", {"ok": True}, speed="slow")], "done", wanted)).root_cause
    assert said.startswith("step 1 `ship` was called with speed = 'slow': 'express' was expected")


def test_a_fault_that_another_flows_from_comes_before_it() -> None:
    found = call("find_customer", {"customer": "C-92"}, name="Ivo Horn")
    failing = call("get_orders", error="404 no such customer", customer="C-92")
    said = classify(failed({"q": "The orders of Ida Holm"}, [found, failing], "There are none.")).root_cause
    assert said.startswith("step 1 `find_customer` was called with name = 'Ivo Horn'")


def test_a_log_whose_results_nobody_recorded_is_not_called_faultless() -> None:
    said = classify(failed({"q": "Is it open?"}, [call("look", place="here")], "Yes")).root_cause
    assert said.startswith("Nothing wrong was found in the log, but what step 1 gave was not recorded")


def said_by(agent: str, request: str, reply: str) -> ToolCall:
    """What an agent answered when another asked it for something."""
    return ToolCall(tool=agent, agent=agent, arguments={"request": request}, result=reply)


def test_among_agents_a_short_run_rests_on_its_last_answer() -> None:
    steps = [
        said_by("Searcher", "Find the street list", "Here it is"),
        said_by("Counter", "Count the streets", "There are 12"),
    ]
    said = classify(failed({"q": "How many streets?"}, steps, "12")).root_cause
    assert said.startswith("The answer rests on step 2 `Counter`, which nothing checked: There are 12")


def test_among_agents_a_long_run_names_no_step_for_what_stands_out_is_seldom_the_cause() -> None:
    other = [said_by("Searcher", f"Unrelated errand number{n} about topic{n}", "done") for n in range(9)]
    asked = [said_by("Searcher", "Find the opening hours of the library", f"page {n}") for n in range(3)]
    steps = [asked[0], *other, *asked[1:]]
    run = failed({"q": "When does the library open?"}, steps, "At 9")
    finding = most_likely(run, ())
    assert finding is not None
    assert finding.said.startswith("step 1 `Searcher` did not give what it was asked for, and was asked again later")
    said = classify(run).root_cause
    assert said.startswith("No step can be named (in long exchanges among agents, a repeated request is")
    assert cause_key("wrong-output", said, (), ()) == cause_key("wrong-output", said.partition("; ")[2], (), ())


def test_in_a_talk_with_a_user_no_step_is_named_and_a_hand_over_is_no_timeout() -> None:
    steps = [call("find_user", "mia_1", email="mia@mail.org"), call("cancel", {"ok": True}, order="W-9")]
    alone = failed({"q": "Cancel W-7."}, steps, "Cancelled.")
    assert classify(alone).root_cause.startswith("step 2 `cancel`")
    talk = replace(alone, inputs={"q": "Cancel W-7.", "conversation": ["Cancel W-7.", "Yes."]}, is_talk=True)
    said = classify(talk).root_cause
    assert said.startswith("No step can be named (in conversations with a user")
    assert not tells_cause(said.partition("; ")[2])
    heard = replace(talk, inputs={"q": "Cancel an order.", "conversation": ["W-9, please.", "mia@mail.org"]})
    assert most_likely(heard, ()) is None, "what the user said later is known, too"
    over = "It is beyond the 24-hour limit. I will transfer you to a human agent. Please hold on for a moment."
    assert classify(replace(talk, text=over, output={"output": over})).failure_type != "timeout"


def test_a_step_is_named_where_the_counted_share_is_at_least_one_half() -> None:
    relay = [said_by("Searcher", f"Find {n}", "12") for n in range(3)]
    shapes: dict[Shape, list[ToolCall]] = {"short relay": relay, "long relay": relay * 4, "request": [call("look", 1)]}
    shapes["crew"] = [call("look", 1).model_copy(update={"agent": "Coder"})]
    for shape, steps in shapes.items():
        log = Log(failed({"q": "How many?"}, steps, "12"))
        right, of = COUNTED[shape]
        assert (shape_of(log), chance(log)) == (shape, (right + 0.5) / (of + 1))
    assert [shape for shape, (right, of) in COUNTED.items() if right / of >= NAMED_FROM] == ["short relay", "request"]


def test_a_log_too_long_to_be_read_whole_is_not_called_faultless() -> None:
    steps = [call("look", {"place": f"P-{number}"}, at=f"P-{number}") for number in range(510)]
    inputs: Json = {"q": " ".join(f"P-{number}" for number in range(510))}
    said = classify(failed(inputs, steps, "Seen.")).root_cause
    assert said.startswith("Nothing wrong was found in the first 500 steps of the log; the other 10 were not read")
