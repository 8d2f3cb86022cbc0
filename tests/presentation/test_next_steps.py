"""Every step that the code base advises, rendered at each interface, is accepted by that interface's own reader."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import cast

import pytest
from graphql import parse, validate
from pydantic import JsonValue

from minions_evals_mcp.cli.command_lines import build
from minions_evals_mcp.engine.asking_again import SETTINGS, resume_of
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.messages import payloads
from minions_evals_mcp.next_steps import SET_KEY, Next, Value, argument, is_rendered, next_in, parts, plain
from minions_evals_mcp.presentation.next_steps import (
    Messages,
    PythonCalls,
    Queries,
    Terminal,
    Terms,
    Tools,
    in_terms,
    to_operator,
    tool_arguments,
)
from minions_evals_mcp.presentation.operations_table import OPERATIONS
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.graphql.schema import graphql_schema
from tests.shared.presentation.sites import STAND_IN, sites
from tests.workshop import config_in, opened

STORE = Path("my evals.db")
CHOSEN: dict[str, Value] = {
    "draw": 10, "repeats": 3, "trials": 2, "max_cost_usd": 1.5, "share": 0.3, "role": "judge",
}  # fmt: skip
NEEDED: dict[str, dict[str, JsonValue]] = {
    "comparison": {"versionA": "a", "versionB": "b"},
    "trial": {"version": "v", "against": "w"},
}
KINDS = ("test-case", "benchmark", "comparison", "ab-test", "trial")
WHOLE: dict[str, JsonValue] = {
    "agentRunId": "r1", "promptVersionRef": "v", "versionA": "a", "versionB": "b", "target": "anthropic:m", "judge": "llm", "trials": 3,
    "fresh": True, "cache": True, "sequential": True, "tieThreshold": 0.1, "branchIds": ["x", "y"], "winnerCriteria": "fastest",
    "iterations": 4, "triggeredBy": "nightly", "version": "v", "against": "w", "sealed": True,
}  # fmt: skip
OF_KIND = {
    "test-case": ("agentRunId", "promptVersionRef", "target", "judge", "trials", "fresh", "triggeredBy"),
    "benchmark": ("promptVersionRef", "target", "judge", "trials", "fresh", "cache", "triggeredBy"),
    "comparison": ("versionA", "versionB", "target", "judge", "trials", "fresh", "sequential", "tieThreshold", "triggeredBy"),
    "ab-test": ("branchIds", "winnerCriteria", "iterations", "triggeredBy"),
    "trial": ("version", "against", "sealed", "target", "judge", "trials", "fresh", "triggeredBy"),
}  # fmt: skip


def _advised() -> list[Next]:
    """The steps of every site, computed arguments as a text that has to be quoted."""
    return [
        Next(
            site.operation, {name: CHOSEN.get(name, cast("Value", value)) for name, value in site.arguments}, "does it"
        )
        for site in sites()
        if site.operation != SET_KEY.operation
    ]


def _resumed() -> list[Next]:
    """What resumes a job of each kind: with nothing but its key, with each of its settings, with all of them."""
    return [
        resume_of(
            kind, "s", {"request": {**NEEDED.get(kind, {}), **request}, "judgeModel": model}, "k 1", max_cost_usd=cap
        )
        for kind in KINDS
        for request in (
            {},
            *({name: WHOLE[name]} for name in OF_KIND[kind]),
            {name: WHOLE[name] for name in OF_KIND[kind]},
        )
        for model, cap in ((None, None), ("anthropic:m", 0.5))
    ] + [resume_of("benchmark", "b", {"request": {"rejudgeRunId": "r", "judge": "llm"}, "judgeModel": None}, "k")]


STEPS = [*_advised(), *_resumed()]
TERMS: tuple[Terms, ...] = (Terminal(STORE), Tools(STORE), Messages(STORE), Queries(STORE), PythonCalls(STORE))
NAMES = [f"{number}-{step.operation}" for number, step in enumerate(STEPS)]


def _in_ids(step: Next) -> Next:
    """The step with an id for each computed argument: ids hold no spaces."""
    known = {"type": "test-case", "target": "anthropic:m"}
    filled = {
        name: known.get(name, f"x-{name}") if value == STAND_IN else value for name, value in step.arguments.items()
    }
    return Next(step.operation, filled, step.reason)


def _words_of(step: Next) -> list[str]:
    program, *words = shlex.split(Terminal(STORE).call(step))
    assert program == "minions-evals"
    return words


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_the_command_is_accepted_by_the_command_lines_own_parser(step: Next) -> None:
    words = _words_of(step)
    build(words).parse_args(words, exit_on_error=False, print_error=False)
    assert (["--db", str(STORE)] == words[-2:]) == OPERATIONS[step.operation].has_store


@pytest.mark.parametrize("step", [step for step in STEPS if OPERATIONS[step.operation].tool], ids=str)
def test_the_tool_call_is_accepted_by_the_tools_own_arguments(step: Next) -> None:
    named = _in_ids(step)
    tool, _, arguments = Tools(STORE).call(named).partition(" ")
    assert json.loads(arguments) == tool_arguments(named)
    CATALOGUE[tool].arguments.model_validate_json(arguments)


@pytest.mark.parametrize("step", [step for step in STEPS if OPERATIONS[step.operation].message], ids=str)
def test_the_message_is_accepted_by_its_payload(step: Next) -> None:
    kind, _, payload = Messages(STORE).call(_in_ids(step)).partition(" ")
    payloads.payload_as(payloads.kind_of(kind).payload, json.loads(payload), message="m")


@pytest.mark.parametrize("step", [step for step in STEPS if OPERATIONS[step.operation].graphql], ids=str)
def test_the_query_is_valid_in_the_schema(step: Next) -> None:
    query = parse(f"{{ {Queries(STORE).call(_in_ids(step))} {{ __typename }} }}")
    assert validate(graphql_schema()._schema, query) == []  # pyright: ignore[reportPrivateUsage]  strawberry shows it nowhere else


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: type(terms).__name__)
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_a_sentence_holds_the_call_and_whoever_has_to_run_it(step: Next, terms: Terms) -> None:
    sentence = in_terms(f"Do this. {step}.", terms)
    is_called = isinstance(terms, PythonCalls) and ("key" in step.arguments or step.operation == "run-benchmark")
    assert is_called or terms.call(step) in sentence
    assert not [character for character in sentence if "\ue000" <= character <= "\uf8ff"]
    if isinstance(terms, Tools) and OPERATIONS[step.operation].tool is None:
        assert "Ask the operator to run `" in sentence or "Ask a person to run `" in sentence


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_the_operator_is_not_told_to_ask_the_operator(step: Next) -> None:
    kept, typed = (in_terms(f"No. {step}. Or {step}.", terms) for terms in (Messages(STORE), Terminal(STORE)))
    assert "the operator" not in to_operator(kept)
    if "the operator" in kept:
        assert to_operator(kept) == typed.replace(". set ", ". Set ")


def test_a_resumed_run_is_given_every_setting_that_it_was_started_with() -> None:
    for kind in KINDS:
        step = resume_of(kind, "s", {"request": {name: WHOLE[name] for name in OF_KIND[kind]}}, "k")
        given = {argument for setting, argument in SETTINGS.items() if setting in OF_KIND[kind]}
        assert given | {"key"} < step.arguments.keys()


def test_every_row_is_advised_somewhere() -> None:
    used = {step.operation for step in STEPS} | {SET_KEY.operation, "run"}
    assert OPERATIONS.keys() == used


@pytest.mark.parametrize("text", ["", "plain", "a `b` {c}", "é\n'\"$ \\"])
def test_a_text_is_read_back_as_it_was_written(text: str) -> None:
    step, named = Next("show", {"id": text or "x"}, text), argument("judge", text)
    assert list(parts(f"{step}{named}")) == [step, named]
    assert next_in(f"before {step} between {named} after") == (step,)
    assert in_terms(text, Terminal()) == plain(text) == text


def test_arguments_are_called_what_each_interface_calls_them() -> None:
    said = f"Use another {argument('key')}, or {argument('judge', 'caller')} with {argument('trust_code')}. {SET_KEY}."
    assert in_terms(said, Terminal()) == (
        "Use another --key, or --judge caller with --trust-code. Set ANTHROPIC_API_KEY or OPENAI_API_KEY."
    )
    assert in_terms(said, Tools()) == (
        'Use another idempotencyKey, or "judge": "caller" with the operator\'s --trust-code.'
        " Ask the operator to set ANTHROPIC_API_KEY or OPENAI_API_KEY."
    )
    assert "Use another key, or judge caller at the command line" in in_terms(said, PythonCalls())


def test_a_command_under_way_is_repeated_under_its_key_and_its_new_cap() -> None:
    typed = ("run-benchmark", "b", "--max-cost-usd", "1", "--filter", "tag=a b", "--key=old")
    step = Next("run-benchmark", {"benchmark_id": "b", "max_cost_usd": 2.0, "key": "k"})
    told = Terminal(STORE, typed).call(step)
    assert told == "minions-evals run-benchmark b --filter 'tag=a b' --max-cost-usd 2 --key k"


async def test_an_error_of_the_python_api_is_in_words_that_no_interface_owns(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        with pytest.raises(NotFoundError) as caught:
            await get_job(engine, "nowhere")
    error = caught.value
    assert (error.message, error.remedy) == ("no run with the id 'nowhere'.", "runs lists them.")
    assert str(error) == f"{error.message} {error.remedy}"
    assert all(is_rendered(text) for text in (error.message, error.remedy, repr(error)))
    assert next_in(error.text) == (Next("runs", reason="lists them"),)
