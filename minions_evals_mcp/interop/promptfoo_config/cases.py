"""The tests of a config as records whose ids follow from what they say: the same test twice is the same record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark, Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.config_eval.evaluation import Chooser, Written
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.interop.promptfoo_config.assertions import Assertions, TestChecks
from minions_evals_mcp.interop.promptfoo_config.graders import Graders, without_keys
from minions_evals_mcp.interop.promptfoo_config.options import EvaluateOptions
from minions_evals_mcp.interop.promptfoo_config.prompts import PromptText
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.interop.promptfoo_config.source.snippets import scoring_code
from minions_evals_mcp.interop.promptfoo_config.test_providers import ProviderReader, TestProviders
from minions_evals_mcp.interop.promptfoo_config.tests import SCORING, STORES_AS, Test
from minions_evals_mcp.interop.promptfoo_config.variables import combinations, computed, transformed
from minions_evals_mcp.scoring.assertions.kinds.code_context import code_reads
from minions_evals_mcp.scoring.max_score import NOTHING_TO_AGGREGATE, MaxScore
from minions_evals_mcp.scoring.prompt_texts.version_text import NUNJUCKS
from minions_evals_mcp.scoring.reserved_inputs import (
    COMPUTED,
    CONVERSATION,
    GIVEN,
    HIDDEN,
    PREFIX,
    STORES,
    SUFFIX,
    TEST,
)
from minions_evals_mcp.targets.memory import HISTORY, names_in

SHOWN = 60
BY_CODE = "python"
"""The tag of a version whose content is the code that writes the prompt."""


@dataclass(frozen=True, slots=True)
class ConfigTest:
    """One test with its variables spread and its checks read; `test` is its number before they were spread."""

    id: str
    node: Node
    fields: TestCase
    choosers: tuple[Chooser, ...]
    asks: TestProviders
    written: Written
    test: int
    filled: frozenset[str] = frozenset()
    """The variables that its assertions and other variables name in templates, where hooks may change some."""


def test_digest(test: Json) -> str:
    """Under what hooks and providers are told a test."""
    return digest(test)[:16]


def version_id(prompt: PromptText) -> str:
    """The id of the version that a prompt becomes: the same for the same text, or for the same code."""
    text = prompt.raw if prompt.writer is None else prompt.writer.model_dump(mode="json")
    return f"eval/prompt/{digest(text)[:16]}"


def read_cases(
    tests: Sequence[Test],
    root: Mapping[str, Node],
    asking: ProviderReader,
    graders: Graders,
    *,
    with_digests: bool = False,
) -> Iterator[ConfigTest]:
    """Every test with every combination of its variables; equal ones are numbered.

    `with_digests`: each has its digest, which code is told.
    """
    templates = root["assertionTemplates"].mapping() if "assertionTemplates" in root else {}
    refusals = graders.refusals
    prompts = [prompt.raw for prompt in asking.prompts]
    stored = frozenset(test.options[STORES_AS].text() for test in tests if STORES_AS in test.options)
    seen: dict[str, int] = {}
    for number, test in enumerate(tests):
        asks = asking.of(test)
        graders.vet(test.options)
        reader = Assertions(templates, refusals, graders, test.options, stored)
        scoring = scoring_code(test.asks[SCORING], trusted=refusals.trust_code) if SCORING in test.asks else None
        whole = test.options.get("disableVarExpansion")
        spread = asking.options.settings.spreads and (whole is None or not whole.yes())
        variable_nodes = transformed(test.variables, test.options.get("transformVars"), refusals)
        for variables in combinations(variable_nodes, prompts, refusals, spread=spread):
            checks, written = _checks(reader, test, variables)
            inputs = variables | _around(test, asks, prompts)
            if in_prompts := computed(
                variables, next(iter(variable_nodes.values()), None), asking.environment, refusals
            ):
                inputs[COMPUTED] = in_prompts
            filled = frozenset[str]()
            if with_digests:
                inputs[TEST] = test_digest(written.test)
                filled = frozenset(
                    names_in([written.test["assert"], *(node.value for node in test.variables.values())])
                )
            content = digest([inputs, [check.model_dump(mode="json") for check in checks.assertions], test.threshold,
                           asking.options.timeout_ms, [chooser.model_dump(mode="json") for chooser in checks.choosers],
                           *([] if scoring is None else [scoring.model_dump(mode="json")])])[:16]  # fmt: skip
            seen[content] = seen.get(content, 0) + 1
            ident = f"eval/test/{content}" + (f"-{seen[content]}" if seen[content] > 1 else "")
            fields = _fields(test, inputs, checks, asking.options).model_copy(
                update={"scoring": scoring, "written": _test_fields(checks, written)}
            )
            yield ConfigTest(ident, test.node, fields, checks.choosers, asks, written, number, filled)


def _checks(reader: Assertions, test: Test, variables: Json) -> tuple[TestChecks, Written]:
    """The checks of a test with those variables, and how the test and they stand in the config."""
    nodes = [reader.resolved(node) for node in test.assertions]
    before = len(reader.refusals)
    read = [(without_keys(node.value), reader.checks([node], variables)) for node in nodes]
    if len(reader.refusals) == before:
        _vet_selection(nodes, [checks for _, checks in read])
    checks = TestChecks(
        tuple(assertion for _, checks in read for assertion in checks.assertions),
        tuple(chooser for _, checks in read for chooser in checks.choosers),
    )
    assertions = tuple(value for value, checks in read if checks.assertions)
    choosers = tuple(value for value, checks in read if checks.choosers)
    return checks, Written(_as_written(test, variables, [value for value, _ in read]), assertions, choosers)


def _vet_selection(nodes: Sequence[Node], read: Sequence[TestChecks]) -> None:
    """Refuses a `max-score` that has nothing to add up: the test has no other assertion."""
    for node, checks in zip(nodes, read, strict=True):
        if any(isinstance(chooser, MaxScore) for chooser in checks.choosers) and not any(
            other.assertions for other in read
        ):
            raise node.wrong(NOTHING_TO_AGGREGATE)


def _as_written(test: Test, variables: Json, assertions: list[JsonValue]) -> Json:
    """The test as promptfoo tells it: what it says itself and what it took over, with its variables spread."""
    described: Json = {"description": test.description} if test.description else {}
    threshold: Json = {} if test.threshold is None else {"threshold": test.threshold}
    return {
        **described, "vars": variables, **_values(test.asks),
        "assert": assertions, "options": _values(test.options), **threshold,
        "metadata": _values(test.metadata),
    }  # fmt: skip


def _test_fields(checks: TestChecks, written: Written) -> Json:
    """The test as code is told it, where code may ask."""
    if not code_reads(checks.assertions, "test"):
        return {}
    return {name: value for name, value in written.test.items() if name != "vars"}


def _values(nodes: Mapping[str, Node]) -> Json:
    return {name: without_keys(node.value) for name, node in nodes.items()}


def _around(test: Test, asks: TestProviders, prompts: Sequence[str]) -> Json:
    """Returns what stands around the prompt in this test, which output it brings, under which name it stores its own, and which
    conversation it is part of, as inputs under names of their own.
    """
    names = (("prefix", PREFIX), ("suffix", SUFFIX), (STORES_AS, STORES))
    around: Json = {name: test.options[option].text() for option, name in names if option in test.options}
    if any(HISTORY in prompt for prompt in prompts):
        talk = test.metadata.get("conversationId")
        around[CONVERSATION] = "" if talk is None else value_text(talk.value)
    return around if asks.output_digest is None else {**around, GIVEN: asks.output_digest}


def _fields(test: Test, inputs: Json, checks: TestChecks, options: EvaluateOptions) -> TestCase:
    shown_fields = ((name, value) for name, value in inputs.items() if name not in HIDDEN - {PREFIX, SUFFIX})
    shown = ", ".join(f"{name}={value_text(value)}" for name, value in shown_fields)
    name = " ".join((test.description or shown or "the test").split())
    return TestCase(
        name=_cut(name),
        inputs=inputs,
        assertions=checks.assertions,
        threshold=test.threshold,
        timeout_ms=options.timeout_ms,
        tags=tuple(_tags(test.metadata)),
        group=_group(test),
    )


def _group(test: Test) -> str | None:
    """The group of the test: the conversation that it is part of, or what its metadata calls its group."""
    named = next((node for key in ("group", "conversationId") if (node := test.metadata.get(key)) is not None), None)
    return None if named is None else value_text(named.value).strip() or None


def _tags(metadata: Mapping[str, Node]) -> Iterator[str]:
    for name, node in metadata.items():
        values = node.value if isinstance(node.value, list) else [node.value]
        yield from (f"{name}:{value_text(value)}" for value in values)


def benchmark_id(case_ids: Sequence[str]) -> str:
    """The id of the benchmark that those tests make: the same for the same tests."""
    listed: list[JsonValue] = list(case_ids)
    return f"eval/{digest(listed)[:16]}"


def benchmark_of(
    root: Mapping[str, Node], path: Path, case_ids: tuple[str, ...], now: datetime, *, part: bool = False
) -> Record[Benchmark]:
    """Those tests of the config as a benchmark."""
    title = (root["description"].text() if "description" in root else path.name) or path.name
    tags = tuple(_tags(root["tags"].mapping())) if "tags" in root else ()
    description = "tests of a config that are asked alike" if part else "the tests of a config"
    name = f"{title} ({len(case_ids)} of its tests)" if part else title
    fields = Benchmark(name=name, description=description, test_case_ids=case_ids)
    return Record(benchmark_id(case_ids), fields, fields.name, now, now, tags)


def version_of(ident: str, prompt: PromptText, now: datetime) -> Arrival:
    """A prompt of a config as a version that says how it is rendered."""
    tags = (NUNJUCKS,) if prompt.writer is None else (BY_CODE,)
    fields = PromptVersion(content=prompt.raw, version_number=1, tags=tags)
    label = " ".join(prompt.label.split())
    return Arrival(Record(ident, fields, _cut(label) or ident, now, now))


def _cut(title: str) -> str:
    return title if len(title) <= SHOWN else title[: SHOWN - 1] + "…"


def arrival_of(case: ConfigTest, now: datetime) -> Arrival:
    """The test as a record that says where it came from."""
    record = Record(case.id, case.fields, case.fields.name, now, now)
    return Arrival(record, lambda: case.node.at, of_config=True)
