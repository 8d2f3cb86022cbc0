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
from minions_evals_mcp.engine.evaluation import Chooser
from minions_evals_mcp.engine.save_records import Arrival
from minions_evals_mcp.interop.promptfoo_config.assertions import Assertions, Checks
from minions_evals_mcp.interop.promptfoo_config.options import Options
from minions_evals_mcp.interop.promptfoo_config.prompts import PromptText
from minions_evals_mcp.interop.promptfoo_config.reading import Node
from minions_evals_mcp.interop.promptfoo_config.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.tests import Test
from minions_evals_mcp.interop.promptfoo_config.variables import combinations
from minions_evals_mcp.scoring.nunjucks import PREFIX, SUFFIX
from minions_evals_mcp.scoring.version_text import NUNJUCKS

SHOWN = 60


@dataclass(frozen=True, slots=True)
class Case:
    """One test with its variables spread and its checks read."""

    id: str
    node: Node
    fields: TestCase
    choosers: tuple[Chooser, ...]


def version_id(prompt: PromptText) -> str:
    """The id of the version that a prompt becomes: the same for the same text."""
    return f"eval/prompt/{digest(prompt.raw)[:16]}"


def read_cases(tests: Sequence[Test], root: Mapping[str, Node], options: Options, refusals: Refusals) -> Iterator[Case]:
    """Every test with every combination of its variables; equal ones are numbered."""
    templates = root["assertionTemplates"].mapping() if "assertionTemplates" in root else {}
    reader = Assertions(templates, refusals)
    seen: dict[str, int] = {}
    for test in tests:
        whole = test.options.get("disableVarExpansion")
        for variables in combinations(test.variables, refusals, spread=whole is None or not whole.yes()):
            checks = reader.checks(list(test.assertions), variables)
            inputs = variables | _around(test)
            said = digest([inputs, [one.model_dump(mode="json") for one in checks.assertions], test.threshold, options.timeout_ms,
                           [one.model_dump(mode="json") for one in checks.choosers]])[:16]  # fmt: skip
            seen[said] = seen.get(said, 0) + 1
            ident = f"eval/test/{said}" + (f"-{seen[said]}" if seen[said] > 1 else "")
            yield Case(ident, test.node, _fields(test, inputs, checks, options), checks.choosers)


def _around(test: Test) -> Json:
    """What stands around the prompt in this test, as inputs under names of their own."""
    names = (("prefix", PREFIX), ("suffix", SUFFIX))
    return {name: test.options[option].text() for option, name in names if option in test.options}


def _fields(test: Test, inputs: Json, checks: Checks, options: Options) -> TestCase:
    shown = ", ".join(f"{name}={value_text(value)}" for name, value in inputs.items())
    name = " ".join((test.description or shown or "the test").split())
    return TestCase(
        name=name if len(name) <= SHOWN else name[: SHOWN - 1] + "…",
        inputs=inputs,
        assertions=checks.assertions,
        threshold=test.threshold,
        timeout_ms=options.timeout_ms,
        tags=tuple(_tags(test.metadata)),
    )


def _tags(metadata: Mapping[str, Node]) -> Iterator[str]:
    for name, node in metadata.items():
        values = node.value if isinstance(node.value, list) else [node.value]
        yield from (f"{name}:{value_text(value)}" for value in values)


def benchmark_of(root: Mapping[str, Node], path: Path, cases: Sequence[Case], now: datetime) -> Record[Benchmark]:
    """All tests of the config as a benchmark: the same for the same tests."""
    ids: tuple[str, ...] = tuple(case.id for case in cases)
    listed: list[JsonValue] = list(ids)
    title = root["description"].text() if "description" in root else path.name
    tags = tuple(_tags(root["tags"].mapping())) if "tags" in root else ()
    fields = Benchmark(name=title or path.name, description="the tests of a config", test_case_ids=ids)
    return Record(f"eval/{digest(listed)[:16]}", fields, fields.name, now, now, tags)


def version_of(ident: str, prompt: PromptText, now: datetime) -> Arrival:
    """A prompt of a config as a version that says how it is rendered."""
    fields = PromptVersion(content=prompt.raw, version_number=1, tags=(NUNJUCKS,))
    label = " ".join(prompt.label.split())
    return Arrival(Record(ident, fields, label[:SHOWN] or ident, now, now))


def arrival_of(case: Case, now: datetime) -> Arrival:
    """The test as a record that says where it came from."""
    return Arrival(Record(case.id, case.fields, case.fields.name, now, now), lambda: case.node.at)
