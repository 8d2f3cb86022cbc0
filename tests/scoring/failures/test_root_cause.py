"""The root cause of a failure, read from the log of tool calls."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failure_causes import suggestion
from minions_evals_mcp.scoring.failures.failed import OWN_CHECKS
from tests.scoring.failures.failed_outputs import QUIET, logged, lost, saying


def cause(*calls: ToolCall, text: str = "blue", inputs: Json | None = None, expected: Json | None = None) -> str:
    """The root cause of a failure with that log."""
    return classify(logged(*calls, text=text, inputs=inputs, expected=expected)).root_cause


SEARCH = ToolCall(tool="search", arguments={"q": "blue"}, result=["a blue thing"])
SILENT = ToolCall(tool="search", arguments={"q": "blue"}, result={"results": [], "total": 0})
BROKEN = ToolCall(tool="search", arguments={"q": "blue"}, error="504 gateway timeout")


def test_no_log_is_said_plainly() -> None:
    assert classify(QUIET).root_cause == "There is no tool-call log; the answer itself is wrong"


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ((SEARCH, BROKEN), "step 2 `search` failed: 504 gateway timeout; no later call of it succeeded"),
        ((ToolCall(tool="serch", error="Unknown tool: serch"),), "step 1 `serch` called a tool that does not exist"),
        (
            (ToolCall(tool="search", error="missing required argument: q"),),
            "step 1 `search` was called with bad arguments",
        ),
        ((ToolCall(tool="search", error=""),), "step 1 `search` failed: no message"),
        (
            (SEARCH, SEARCH, SEARCH),
            "`search` was called 3 times with the same arguments, first in step 1 (again in 2, 3): {",
        ),
        ((SILENT,), 'step 1 `search` gave an empty result ({"results":[],"total":0}), and the answer uses it'),
        (
            (ToolCall(tool="search", result="No results found."),),
            "step 1 `search` gave an empty result (No results found.)",
        ),
        (
            (ToolCall(tool="get", arguments={"ids": ["TODO"]}, result=1),),
            "step 1 `get` was called with a placeholder: ids = 'TODO'",
        ),
        ((BROKEN, SEARCH), "The log shows no fault in its 2 steps: step 2 `search` gave"),
        (
            (ToolCall(tool="get", result=None),),
            "Nothing wrong was found in the log, but what step 1 gave was not recorded: step 1 `get` gave null",
        ),
        ((), "The agent made no call; the answer itself is wrong"),
    ],
)
def test_the_log_is_read_for_its_first_fault(calls: tuple[ToolCall, ...], said: str) -> None:
    assert cause(*calls).startswith(said)


@pytest.mark.parametrize(
    ("kind", "reason"), [("state", "length(bills) is 2, wanted 1"), ("effect", "call 1, refund, came before any get")]
)
def test_a_failed_check_of_what_the_agent_did_is_the_cause_whatever_it_answered(kind: str, reason: str) -> None:
    rationale = f"failed {kind}: {reason}; passed contains: contains 'blue'"
    failed = replace(logged(SEARCH), criteria=(lost(OWN_CHECKS, 0.5, 1, rationale),))
    found = classify(failed)
    assert found.root_cause == f"What the agent did is not what was asked: {reason}"
    assert suggestion(found.root_cause, found.failure_type).startswith("Look at the calls of the costliest case.")


@pytest.mark.parametrize("result", [0, False, {"balance": 0}, "no"])
def test_a_figure_is_data_and_not_an_empty_result(result: JsonValue) -> None:
    assert "empty result" not in cause(ToolCall(tool="get", result=result))


def test_an_empty_result_is_no_fault_where_the_answer_says_so_or_another_call_filled_it() -> None:
    assert "empty result" not in cause(SILENT, text="I found nothing blue.")
    assert "empty result" not in cause(SILENT, SEARCH)
    assert "empty result" in cause(SILENT, text="It is not blue, see https://x.example.")


def test_an_argument_that_the_inputs_hold_is_no_placeholder() -> None:
    call = ToolCall(tool="find", arguments={"word": "example", "n": 3}, result=1)
    assert "placeholder" in cause(call)
    assert "placeholder" not in cause(call, inputs={"word": "example"})


def test_a_claim_without_its_call_is_quoted_beside_the_calls_that_there_were() -> None:
    said = cause(ToolCall(tool="get_order", result=1), text="I have refunded it.\nBye.")
    assert said == "The answer says “I have refunded it”, but the log has no call that did so; its calls: `get_order`"


def test_the_tools_that_the_inputs_offer_are_compared_with_those_that_were_called() -> None:
    offer: Json = {"tools": [{"name": "calculator", "description": "adds"}], "question": "Use the calculator."}
    assert cause(SEARCH, inputs=offer) == "step 1 `search` is not a tool that the inputs offer (calculator)"
    assert cause(inputs=offer) == "The agent made no call, though the inputs name `calculator`"
    assert cause(inputs={"tools": ["calculator"]}) == "The agent made no call, though the inputs offer `calculator`"
    assert "offer" not in cause(ToolCall(tool="calculator", result=4), text="5", inputs=offer)


def test_a_cut_off_reply_is_named_with_its_end() -> None:
    short = replace(logged(SEARCH), stop_reason="max_tokens")
    said = "the model stopped at its token limit (stop reason max_tokens), after “…blue”"
    assert classify(short).root_cause == said
    assert classify(replace(short, has_log=False)).root_cause == f"There is no tool-call log; {said}"


def test_a_right_result_that_the_answer_leaves_aside_is_quoted() -> None:
    call = ToolCall(tool="count", result={"units": 17})
    said = 'step 1 `count` gave the right result ({"units":17}), but the answer differs'
    assert cause(call, text="There are 240.", expected={"output": "17 units", "sure": True}) == said
    assert cause(call, text="17 units, I guess", expected={"output": "17 units"}) != said


def test_what_is_left_to_say_follows_the_class() -> None:
    slow = replace(logged(SEARCH.model_copy(update={"duration_ms": 900.0})), timed_out=True)
    assert classify(slow).root_cause.endswith("; the slowest call, step 1 `search`, took 900 ms")
    assert classify(replace(QUIET, agent_error="KeyError")).root_cause.endswith("the agent reported: KeyError")
    assert classify(replace(QUIET, output={}, text="{}")).root_cause.endswith("the agent gave no answer")
    assert "declined the task (refusal: " in classify(saying("I can't help with that.")).root_cause
    assert "form that was asked for (json: words" in classify(replace(QUIET, wants_json=True)).root_cause
    invented = saying("It costs $99.", replace(QUIET, inputs={"context": "Free."}))
    assert classify(invented).root_cause.endswith("the answer states what its material does not (number: $99)")
