"""`moderation`, `classifier` and `webhook` in a config: services asked over real HTTP, and where they are refused."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Cell
from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from tests.hang import HANG_S
from tests.shared.targets.application import Application, application, reply
from tests.shared.targets.application import Asked as Heard
from tests.workshop import START, all_of, answer, case, config_in, opened, place_store, save, try_case

pytestmark = pytest.mark.anyio
LABELS: JsonValue = [[{"label": "nothate", "score": 0.75}, {"label": "hate", "score": 0.25}]]
GROUPS: JsonValue = [
    {"entity_group": "NAME", "score": 0.4, "word": "Ann"}, {"entity_group": "NAME", "score": 0.9, "word": "Bob"},
]  # fmt: skip
FLAGGED: JsonValue = {
    "results": [{"flagged": True, "categories": {"hate": True, "violence": False, "self-harm": None}}]
}  # fmt: skip
Answers = dict[str, Callable[[Heard], bytes]]


@pytest.fixture
async def services() -> AsyncGenerator[tuple[Application, Answers]]:
    """A server of services, and what it answers by the path that is asked; any other path is a 404."""
    answers: Answers = {}

    async def answering(heard: Heard) -> bytes:
        said = answers.get(heard.path)
        return reply({"error": "no such model"}, status="404 Not Found") if said is None else said(heard)

    async with application(answering) as running:
        yield running, answers


def reaching(folder: Path, url: str) -> EngineConfig:
    """The set-up of an engine whose services all stand at that address."""
    config = config_in(folder, model_url=url)
    providers = config.providers
    for account in ("openai", "replicate"):
        providers = providers.reached(account, ProviderAccess("key-of-a-service", url))
    return replace(config, providers=providers, webhooks=(f"{url}/hooks",))


async def first(config: EngineConfig, assertion: str, *, text: str = "a tweet", options: str = "{}") -> Cell:
    """The cell of a config with that one assertion, in a store of its own."""
    folder = config.db.parent / str(sum(1 for _ in config.db.parent.iterdir()))
    folder.mkdir()
    place_store(folder)
    config = replace(config, db=folder / "evals.db")
    path = folder / "c.yaml"
    path.write_text(
        f"prompts: ['{{{{text}}}}']\nproviders: [echo]\ntests:\n  - vars: {{text: '{text}'}}\n    options: {options}\n"
        f"    assert: [{assertion}]\n"
    )
    evaluation = read_config(path, now=START)
    async with opened(config) as engine:
        with anyio.fail_after(HANG_S):
            return (await evaluate(engine, evaluation, EvalOptions(), environment={})).rows[0].cells[0]


async def test_a_flagged_output_fails_unless_its_categories_are_not_asked_for(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, answers = services
    answers["/moderations"] = lambda _: reply(FLAGGED)
    config = reaching(tmp_path, server.url)
    cell = await first(config, "{type: moderation}")
    assert (cell.passed, cell.score) == (False, 0)
    assert cell.scores[0].reason == "flagged: hate"
    (asked,) = server.asked  # once, though each assertion's verdict is looked at again for the matrix
    assert asked.json() == {"model": "omni-moderation-latest", "input": "a tweet"}
    assert asked.headers["authorization"] == "Bearer key-of-a-service"
    assert (await first(config, "{type: moderation, value: [violence]}")).passed
    assert (await first(config, "{type: not-moderation, provider: 'openai:moderation:text-moderation-stable'}")).passed
    answers["/moderations"] = lambda _: reply({"results": [{"flagged": False, "categories": {"hate": False}}]})
    assert (await first(config, "{type: moderation}", text="another")).score == 1


async def test_an_output_that_is_empty_is_not_sent_to_be_moderated(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, _ = services
    config = reaching(tmp_path, server.url)
    assert (await first(config, "{type: moderation, transform: \"''\"}")).passed
    assert server.asked == []


@pytest.mark.parametrize(
    ("said", "flags"), [("safe", ""), ("unsafe\nS10,S99", "Hate, S99"), ("unsafe", "unsafe")]
)  # fmt: skip
async def test_llama_guard_is_waited_for_and_its_hazards_are_named(
    tmp_path: Path, services: tuple[Application, Answers], said: str, flags: str
) -> None:
    server, answers = services
    begun: JsonValue = {"status": "processing", "urls": {"get": f"{server.url}/predictions/1"}}
    answers["/models/meta/llama-guard-4-12b/predictions"] = lambda _: reply(begun, status="201 Created")
    answers["/predictions/1"] = lambda _: reply({"status": "succeeded", "output": ["", said]})
    answers["/predictions"] = lambda _: reply({"status": "failed", "error": "out of memory"})
    config = reaching(tmp_path, server.url)
    cell = await first(config, "{type: moderation, provider: 'replicate:moderation:meta/llama-guard-4-12b'}")
    assert cell.passed == (not flags)
    assert flags in cell.scores[0].reason
    assert server.asked[0].json() == {"input": {"prompt": "Human: a tweet\n\nAssistant: a tweet"}}
    broken = await first(config, "{type: moderation, provider: 'replicate:moderation:meta/guard:8'}")
    assert (broken.passed, broken.outcome) == (None, "judge-error")
    assert "out of memory" in broken.reason


@pytest.mark.parametrize(
    ("kind", "assertion", "passes", "score"),
    [
        ("text", "type: classifier, value: nothate, threshold: 0.5", True, 0.75),
        ("text", "type: classifier, value: nothate", False, 0.75),
        ("text", "type: classifier, threshold: 0.7", True, 0.75),
        ("text", "type: classifier, value: unheard-of, threshold: 0.5", False, 0),
        ("token", "type: not-classifier, threshold: 0.75", False, 0.1),
        ("token", "type: classifier, value: NAME, threshold: 0.75", True, 0.9),
    ],
)
async def test_a_classifier_gives_the_score_of_its_label(
    tmp_path: Path, services: tuple[Application, Answers], kind: str, assertion: str, passes: bool, score: float
) -> None:
    server, answers = services
    answers["/endpoint"] = lambda _: reply(LABELS if kind == "text" else GROUPS)
    provider = (
        f"{{id: 'huggingface:{kind}-classification:org/model', config: {{apiEndpoint: '{server.url}/endpoint'}}}}"
    )
    cell = await first(config_in(tmp_path), f"{{{assertion}}}", options=f"{{provider: {provider}}}")
    assert (cell.passed, cell.score) == (passes, pytest.approx(score))
    sent = server.asked[0].json()
    assert isinstance(sent, dict)
    assert sent["inputs"] == "a tweet"
    assert "authorization" not in server.asked[0].headers


async def test_an_answer_is_kept_for_other_runs_but_a_webhooks(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, answers = services
    answers["/moderations"] = lambda _: reply(FLAGGED)
    answers["/hooks/check"] = lambda _: reply({"pass": True})
    hook: JsonValue = {"type": "webhook", "value": f"{server.url}/hooks/check"}
    async with opened(reaching(tmp_path, server.url)) as engine:
        asked = case("c", assertions=[hook, {"type": "moderation", "value": ["violence"]}])
        await save(engine, asked, answer("a", "c", "x"))
        for _ in range(2):
            await try_case(engine, "c")
    assert [heard.path for heard in server.asked].count("/moderations") == 1
    assert [heard.path for heard in server.asked].count("/hooks/check") == 2


async def test_a_text_in_which_no_words_are_found_scores_nothing(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, answers = services
    answers["/endpoint"] = lambda _: reply([])
    provider = "{{id: 'hf:{}-classification:m', config: {{apiEndpoint: '{}/endpoint'}}}}"
    found = [
        await first(
            config_in(tmp_path), f"{{type: not-classifier, provider: {provider.format(kind, server.url)}}}", text=kind
        )
        for kind in ("token", "text")
    ]
    assert [(cell.passed, cell.score) for cell in found] == [(True, 1), (None, None)]
    assert "it returned no label" in found[1].reason


async def test_a_webhook_is_told_output_prompt_and_variables_and_its_verdict_counts(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, answers = services
    answers["/hooks/check"] = lambda _: reply({"pass": True, "score": 0.25, "reason": "well said"})
    config = reaching(tmp_path, server.url)
    cell = await first(config, f"{{type: webhook, value: '{server.url}/hooks/check'}}")
    assert (cell.passed, cell.score) == (True, 0.25)
    assert cell.scores[0].reason == "well said"
    context = {"prompt": "a tweet", "vars": {"text": "a tweet"}}
    (asked,) = server.asked
    assert asked.json() == {"output": "a tweet", "context": context}
    turned = await first(config, f"{{type: not-webhook, value: '{server.url}/hooks/check'}}")
    assert (turned.passed, turned.score) == (False, 0.75)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (reply({"pass": "yes"}), "no object with a `pass`"),
        (reply({"pass": True, "score": 7}), "no number from 0 to 1"),
        (reply(b"<html>"), "did not return JSON"),
        (reply({}, status="500 Oh"), "HTTP 500"),
        (reply({}, status="307 Go", location="http://elsewhere.example/x"), "redirects to another server"),
    ],
)
async def test_a_webhook_that_fails_is_no_verdict(
    tmp_path: Path, services: tuple[Application, Answers], said: bytes, why: str
) -> None:
    server, answers = services
    answers["/hooks/check"] = lambda _: said
    cell = await first(reaching(tmp_path, server.url), f"{{type: webhook, value: '{server.url}/hooks/check'}}")
    assert (cell.passed, cell.outcome) == (None, "judge-error")
    assert why in cell.reason


@pytest.mark.parametrize("path", ["/elsewhere", "/hooks/../elsewhere", "/hooks/%2e%2e/elsewhere", "/hooksmith"])
async def test_a_webhook_that_the_operator_did_not_allow_is_refused_before_anything_runs(
    tmp_path: Path, services: tuple[Application, Answers], path: str
) -> None:
    server, _ = services
    config = reaching(tmp_path, server.url)
    with pytest.raises(BadInputError, match="is not allowed") as refused:
        await first(config, f"{{type: webhook, value: '{server.url}{path}'}}")
    assert f"MINIONS_EVALS_WEBHOOKS={server.url}" in refused.value.remedy
    assert server.asked == []


async def test_a_webhook_of_a_saved_case_is_held_to_the_same_addresses(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, answers = services
    answers["/hooks/check"] = lambda _: reply({"pass": True})
    async with opened(reaching(tmp_path, server.url)) as engine:
        for number, path in enumerate(("/hooks/check", "/elsewhere")):
            hook: JsonValue = {"type": "webhook", "value": f"{server.url}{path}"}
            await save(engine, case(f"c{number}", assertions=[hook]), answer(f"a{number}", f"c{number}", "x"))
        await try_case(engine, "c0")
        with pytest.raises(BadInputError, match="is not allowed"):
            await try_case(engine, "c1")
        assert [run.fields.passed for run in await all_of(engine, TestRun)] == [True]


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        ("{type: classifier, value: hate}", "must name who classifies"),
        ("{type: classifier, provider: 'openai:gpt-5'}", "the provider openai:gpt-5; wanted is what classifies"),
        ("{type: moderation, value: hate}", "must be a list of categories"),
        ("{type: moderation, provider: 'azure:moderation:x'}", "the provider azure:moderation:x"),
        ("{type: webhook, value: 'ftp://x'}", "must be a web address"),
        ("{type: llm-rubric, value: x, provider: 'openai:moderation'}", "wanted is a model that is told what to do"),
        ("{type: moderation}", "moderation needs a key for openai, and none is set"),
        (
            "{type: moderation, provider: 'replicate:moderation:x'}",
            "moderation needs a key for replicate, and none is set",
        ),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_name(tmp_path: Path, assertion: str, why: str) -> None:
    with pytest.raises(EvalsError) as refused:
        await first(config_in(tmp_path), assertion)
    assert why in refused.value.message


async def test_a_cap_cannot_be_held_where_a_services_price_is_unknown(
    tmp_path: Path, services: tuple[Application, Answers]
) -> None:
    server, answers = services
    answers["/moderations"] = lambda _: reply(FLAGGED)
    config = replace(reaching(tmp_path, server.url), judge_model=None)
    path = tmp_path / "c.yaml"
    for model, priced in (("replicate:moderation:x", False), ("openai:moderation", True)):
        path.write_text(json.dumps({
            "prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [{"type": "moderation", "provider": model}]}],
        }))  # fmt: skip
        async with opened(config) as engine:
            asking = evaluate(engine, read_config(path, now=START), EvalOptions(max_cost_usd=1), environment={})
            if priced:
                assert (await asking).rows[0].cells[0].passed is False
            else:
                with pytest.raises(BadInputError, match=r"price of replicate:.* is unknown"):
                    await asking
