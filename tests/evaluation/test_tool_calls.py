"""Tool calls of a task: handed over, in its messages, of marked functions, and out of its spans."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import anthropic
import openai
import pytest

from minions_evals_mcp import Case, EvaluationResult, Output, evaluate, evaluate_async, step, tool
from minions_evals_mcp.targets.function.tracing import BegunCall, Recorder, reaches_tools, recording
from tests.shared.fakes.llm_server import serving
from tests.workshop import place_store

USED = {"type": "trajectory:tool-used", "value": "search"}
UNUSED = {"type": "not-trajectory:tool-used", "value": "search"}
CASE = Case({"question": "who is Ada?"})
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def search(query: str) -> str:
    """A plain tool."""
    return f"found {query}"


marked = tool(name="search")(search)


def by_mark(question: str) -> str:
    """Calls a marked function."""
    return marked(query=question)


def by_step(question: str) -> str:
    """Says its steps."""
    with step("search", query=question) as taken:
        taken.result = search(question)
    return "done"


async def by_hand(question: str) -> Output:
    """Hands its calls over."""
    return Output("done", tool_calls=[{"tool": "search", "arguments": {"query": question}, "result": search(question)}])


@pytest.mark.parametrize("task", [by_mark, by_step, by_hand])
def test_a_trajectory_check_sees_the_calls(task: Callable[..., Any], tmp_path: Path) -> None:
    found: EvaluationResult = evaluate(task, [CASE], checks=[USED], store=place_store(tmp_path), progress=False)
    assert found.passed is True
    (case,) = found.cases
    assert case.tool_calls is not None
    (call,) = case.tool_calls
    assert (call.tool, call.arguments, call.result) == ("search", {"query": "who is Ada?"}, "found who is Ada?")


def without(question: str) -> str:
    """Nothing of it records a call."""
    return search(question)


def none_made(question: str) -> str:
    """Could call a marked function, and does not."""
    return marked(question) if question == "never" else "done"


def none_said(question: str) -> Output:
    """Says that it made no call."""
    return Output(question, tool_calls=[])


def unrecorded(question: str) -> Output:
    """Says nothing of calls."""
    return Output(question)


@pytest.mark.parametrize(
    ("task", "check", "passed"),
    [
        (without, USED, None),
        (without, UNUSED, None),
        (none_made, USED, False),
        (none_made, UNUSED, True),
        (none_said, UNUSED, True),
        (unrecorded, UNUSED, None),
    ],
)
def test_calls_that_nobody_recorded_are_not_judgeable_and_none_made_is_a_fact(
    task: Callable[..., Any], check: Any, passed: bool | None, tmp_path: Path
) -> None:
    found = evaluate(task, [CASE], checks=[check], store=place_store(tmp_path), progress=False)
    assert found.passed is passed
    assert ("the tool calls of this output were not recorded" in found.cases[0].reason) is (passed is None)


def test_what_a_step_raises_is_its_error_and_calls_keep_their_order(tmp_path: Path) -> None:
    @tool
    async def outer(n: int) -> int:
        with pytest.raises(ValueError, match="no"), step("inner", n=n):
            raise ValueError("no")
        return n

    async def agent(n: int) -> str:
        await outer(n)
        return "done"

    found = evaluate(agent, [Case({"n": 1})], store=place_store(tmp_path), checks=["not-is-refusal"], progress=False)
    calls = found.cases[0].tool_calls or ()
    assert [(call.tool, call.error) for call in calls] == [("outer", None), ("inner", "ValueError: no")]


def test_calls_that_begin_in_two_threads_at_once_are_both_kept() -> None:
    both = Barrier(2)

    class Together(list[BegunCall]):
        def append(self, begun: BegunCall, /) -> None:
            super().append(begun)
            both.wait()

    def called(name: str) -> None:
        with step(name):
            pass

    with recording(Recorder(Together())) as recorder, ThreadPoolExecutor(2) as threads:
        for name in ("search", "read"):
            threads.submit(copy_context().run, called, name)
    assert sorted(call.tool for call in recorder.recorded() or ()) == ["read", "search"]


def in_a_thread(question: str) -> str:
    """Calls a marked function where nobody knows for which output."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(marked, question).result()


async def in_a_thread_and_said(question: str) -> Output:
    """Does so, and hands the call over."""
    return Output(in_a_thread(question), tool_calls=[{"tool": "search"}])


@pytest.mark.parametrize(
    ("task", "check", "passed"),
    [(in_a_thread, UNUSED, None), (in_a_thread, USED, None), (in_a_thread_and_said, UNUSED, False)],
)
def test_a_call_in_a_thread_without_context_is_not_none_made(
    task: Callable[..., Any], check: Any, passed: bool | None, tmp_path: Path
) -> None:
    found = evaluate(task, [CASE], checks=[check], store=place_store(tmp_path), progress=False)
    assert found.passed is passed


def test_only_outputs_that_are_being_made_miss_a_call_without_context() -> None:
    with recording(Recorder(complete=True)) as before:
        marked("known")
    with recording(Recorder(complete=True)) as meanwhile:
        in_a_thread("x")
    with recording(Recorder(complete=True)) as after:
        pass
    assert [call.tool for call in before.recorded() or ()] == ["search"]
    assert (meanwhile.recorded(), after.recorded()) == (None, ())


def test_a_tool_that_a_check_calls_is_no_call_of_an_output(tmp_path: Path) -> None:
    def looked_up(output: str, _: Case) -> bool:
        return marked(output) == f"found {output}"

    another, opened = copy_context(), recording(meanwhile := Recorder(complete=True))
    another.run(opened.__enter__)
    found = evaluate(without, [CASE], checks=[looked_up], store=place_store(tmp_path), progress=False)
    another.run(opened.__exit__, None, None, None)
    assert (found.passed, meanwhile.recorded()) == (True, ())


@tool(name="search")
def pages(query: str) -> Generator[str, str | None, int]:
    """A tool that yields what it finds."""
    again = yield f"found {query}"
    yield again or "more"
    return 2


@tool(name="search")
async def pages_async(query: str) -> AsyncGenerator[str, str | None]:
    """Does so, async."""
    again = yield f"found {query}"
    try:
        yield again or "more"
    except KeyError as thrown:
        yield repr(thrown)


def streaming(question: str) -> Iterator[str]:
    """A task that yields its output."""
    yield "done: "
    yield marked(question)


async def streaming_async(question: str) -> AsyncIterator[str]:
    """Does so, async."""
    yield "done: "
    yield marked(question)


def streaming_within(question: str) -> dict[str, Iterator[str]]:
    """Yields a part of its output."""
    return {"parts": streaming(question)}


async def reading_all(question: str) -> str:
    """Takes all items of both generators."""
    return " ".join([*pages(question), *[page async for page in pages_async(question)]])


def test_a_tool_that_is_a_generator_leaves_its_items_to_the_caller_and_they_are_its_result(tmp_path: Path) -> None:
    evaluation = evaluate(reading_all, [CASE], checks=[USED], store=place_store(tmp_path), progress=False)
    (case,) = evaluation.cases
    assert case.output == "found who is Ada? more found who is Ada? more"
    assert [call.result for call in case.tool_calls or ()] == [["found who is Ada?", "more"]] * 2


async def test_a_recorded_generator_does_as_the_tools_own_whoever_sends_throws_or_stops_early() -> None:
    with recording(Recorder()) as recorder:
        sent, stopped, sent_async = pages("a"), pages("b"), pages_async("c")
        assert (next(sent), sent.send("x"), next(sent, "end")) == ("found a", "x", "end")
        assert next(stopped) == "found b"
        stopped.close()
        pages("never read")
        thrown = pages("d")
        assert next(thrown) == "found d"
        with pytest.raises(KeyError):
            thrown.throw(KeyError("no"))
        assert [await anext(sent_async), await sent_async.asend("y")] == ["found c", "y"]
        assert await sent_async.athrow(KeyError("no")) == "KeyError('no')"
    assert [(call.result, call.error) for call in recorder.recorded() or ()] == [
        (["found a", "x"], None),
        (["found b"], None),
        (["found c", "y", "KeyError('no')"], None),
        ([], None),
        (["found d"], "KeyError: 'no'"),
    ]
    await sent_async.aclose()


@pytest.mark.parametrize(
    ("task", "output"),
    [
        (streaming, ["done: ", "found who is Ada?"]),
        (streaming_async, ["done: ", "found who is Ada?"]),
        (streaming_within, {"parts": ["done: ", "found who is Ada?"]}),
    ],
)
def test_calls_inside_a_task_that_is_a_generator_are_seen(
    task: Callable[..., Any], output: object, tmp_path: Path
) -> None:
    cases = [CASE, Case({"question": "who is Bob?"})]
    evaluation = evaluate(task, cases, checks=[USED], store=place_store(tmp_path), progress=False, concurrency=2)
    assert evaluation.passed is True
    case = next(case for case in evaluation.cases if "Ada" in str(case.output))
    assert (getattr(case.output, "value", case.output), len(case.tool_calls or ())) == (output, 1)


def test_what_a_generator_within_the_output_raises_is_the_targets_error(tmp_path: Path) -> None:
    def broken(question: str) -> dict[str, Iterator[str]]:
        return {"parts": ({}[part] for part in question)}

    evaluation = evaluate(broken, [CASE], checks=[USED], store=place_store(tmp_path), progress=False)
    assert (evaluation.cases[0].outcome, "raised KeyError: 'w'" in evaluation.cases[0].reason) == ("target-error", True)


def test_outside_an_evaluation_marks_and_steps_do_nothing() -> None:
    assert marked("x") == "found x"
    assert by_step("x") == "done"


class Agent:
    """Holds its tools in an attribute."""

    def __init__(self, *tools: Any) -> None:
        self.tools = tools

    def __call__(self, question: str) -> str:
        return str(self.tools[0](question))


def test_only_a_task_that_can_reach_a_recorded_tool_is_said_to_have_made_no_call() -> None:
    assert reaches_tools(Agent(marked))
    assert reaches_tools(partial(by_mark, question="x"))
    assert reaches_tools(Agent(marked).__call__)
    assert not reaches_tools(Agent(search))
    assert not reaches_tools(len)


def anthropic_loop(url: str) -> Callable[..., list[Any]]:
    """An agent as Anthropic's documentation writes it."""
    client = anthropic.Anthropic(api_key="key", base_url=url)
    tools: Any = [{"name": "search", "description": "searches", "input_schema": SCHEMA}]

    def agent(question: str) -> list[Any]:
        messages: list[Any] = [{"role": "user", "content": question}]
        while True:
            reply = client.messages.create(model="fake", max_tokens=200, tools=tools, messages=messages)
            messages.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                return messages
            made: list[Any] = [block for block in reply.content if block.type == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": search(one.input["query"])} for one in made
            ]
            messages.append({"role": "user", "content": results})

    return agent


def openai_loop(url: str) -> Callable[..., list[Any]]:
    """An agent as OpenAI's documentation writes it."""
    client = openai.OpenAI(api_key="key", base_url=f"{url}/v1")
    tools: Any = [{"type": "function", "function": {"name": "search", "parameters": SCHEMA}}]

    def agent(question: str) -> list[Any]:
        messages: list[Any] = [{"role": "user", "content": question}]
        while True:
            reply = client.chat.completions.create(model="fake", tools=tools, messages=messages)
            message: Any = reply.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return messages
            for call in message.tool_calls:
                found = search(json.loads(call.function.arguments)["query"])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": found})

    return agent


@pytest.mark.parametrize("loop", [anthropic_loop, openai_loop])
async def test_the_messages_of_a_providers_loop_hold_the_calls(loop: Callable[[str], Any], tmp_path: Path) -> None:
    async with serving() as server:
        found = await evaluate_async(
            loop(server.url), [CASE, Case({"question": "no tools, Ada"})], checks=[USED], store=place_store(tmp_path), progress=False
        )  # fmt: skip
    asked, unasked = found.cases
    assert (asked.passed, unasked.passed) == (True, False)
    assert [(call.tool, call.arguments, call.result) for call in asked.tool_calls or ()] == [
        ("search", {"query": "who is Ada?"}, "found who is Ada?")
    ]
    assert unasked.tool_calls == ()
    assert isinstance(asked.output, str)


@asynccontextmanager
async def traced() -> AsyncGenerator[Any]:
    """A tracer of OpenTelemetry's SDK whose spans an evaluation listens to."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace  # noqa: PLC0415  where the SDK is

    provider = trace.get_tracer_provider()
    if not isinstance(provider, sdk.TracerProvider):
        provider = sdk.TracerProvider()
        trace.set_tracer_provider(provider)
    yield provider.get_tracer("test")


async def test_spans_of_genai_tools_are_calls(tmp_path: Path) -> None:
    async with traced() as tracer:

        def agent(question: str) -> str:
            with tracer.start_as_current_span(
                "invoke_agent desk", attributes={"gen_ai.operation.name": "invoke_agent"}
            ):
                if "no tools" in question:
                    return "done"
                named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
                with tracer.start_as_current_span("execute_tool search", attributes=named) as span:
                    span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"query": question}))
                    span.set_attribute("gen_ai.tool.call.result", search(question))
            return "done"

        cases = [CASE, Case({"question": "no tools"})]
        found = await evaluate_async(agent, cases, checks=[USED], store=place_store(tmp_path), progress=False)
    asked, unasked = found.cases
    assert (asked.passed, unasked.passed) == (True, False)
    assert [(call.tool, call.arguments, call.result) for call in asked.tool_calls or ()] == [
        ("search", {"query": "who is Ada?"}, "found who is Ada?")
    ]


@pytest.mark.parametrize(("reasons", "passed"), [(["stop"], False), (["tool_calls"], None)])
async def test_spans_of_a_model_alone_say_that_no_call_was_made_only_if_none_was_asked_for(
    reasons: list[str], passed: bool | None, tmp_path: Path
) -> None:
    async with traced() as tracer:

        def agent(question: str) -> str:
            told = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": reasons}
            with tracer.start_as_current_span("chat model", attributes=told):
                return question

        found = await evaluate_async(agent, [CASE], checks=[USED], store=place_store(tmp_path), progress=False)
    assert found.passed is passed
