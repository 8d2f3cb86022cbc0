"""The providers that a test is put to: the columns that it wants, a provider or an output of its own, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.engine.config_eval.evaluation import ModuleSpec, ProgramSpec, Provider, PythonSpec, Spec
from minions_evals_mcp.interop.promptfoo_config.options import EvaluateOptions
from minions_evals_mcp.interop.promptfoo_config.prompts import PromptText
from minions_evals_mcp.interop.promptfoo_config.providers.listed import ListedProvider, read_providers
from minions_evals_mcp.interop.promptfoo_config.providers.models import FORM, value_in
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, read_text
from minions_evals_mcp.interop.promptfoo_config.source.references import allowed, fits
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.source.snippets import transform_code
from minions_evals_mcp.interop.promptfoo_config.tests import OF_MODELS, Test
from minions_evals_mcp.targets.prompted import PythonTransform

_TEST, _CONFIG = re.compile(r"\btest\b"), re.compile(r"\bconfig\b")


@dataclass(frozen=True, slots=True)
class TestProviders:
    """A test's choice of providers; `providers` and `prompts` name columns, None: all of them."""

    trials: int = 1
    providers: tuple[str, ...] | None = None
    prompts: tuple[str, ...] | None = None
    provider: Provider | None = None
    output: JsonValue = None
    transform: str | PythonTransform | None = None
    options: Json = field(default_factory=dict[str, JsonValue])
    """What the test asks of a model."""

    @property
    def output_digest(self) -> str | None:
        """The digest of the output that the test brings; None where an answer is asked for."""
        return None if self.output is None else digest(self.output)[:16]

    def wants(self, listed: ListedProvider, prompt: PromptText) -> bool:
        """Returns whether that prompt is asked at that provider, both by the provider and by the test."""
        names = (prompt.label, prompt.id)
        provider = listed.provider
        return (
            allowed(listed.prompts, names)
            and allowed(self.providers, (provider.label, provider.id))
            and allowed(self.prompts, names)
        )


def reads_test(listed: ListedProvider) -> bool:
    """Returns whether the provider is a file of code that may read the test that it is told."""
    return _reads(listed.provider.spec, _TEST)


def reads_config(spec: Spec) -> bool:
    """Returns whether the provider is code, or a program in files, that may read the config of the prompt that it is told."""
    if not isinstance(spec, ProgramSpec):
        return _reads(spec, _CONFIG)
    files = (Path(spec.folder) / word for word in spec.command)
    return any(_CONFIG.search(_text_in(path)) is not None for path in files)


def _text_in(path: Path) -> str:
    """The text of a file; empty where that is no file, as most words of a command."""
    try:
        return bounded_files.read_text(path, errors="replace")
    except (OSError, ValueError):
        return ""


def _reads(spec: Spec, name: re.Pattern[str]) -> bool:
    return isinstance(spec, PythonSpec | ModuleSpec) and name.search(read_text(Path(spec.path))) is not None


@dataclass(slots=True)
class ProviderReader:
    """Reads who is asked the tests of one config, whose prompts and providers those are."""

    prompts: Sequence[PromptText]
    providers: Sequence[ListedProvider]
    options: EvaluateOptions
    refusals: Refusals
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    own: dict[str, Provider | None] = field(default_factory=dict[str, Provider | None])

    def of(self, test: Test) -> TestProviders:
        """Returns who is asked that test; a name that stands for nothing is refused."""
        prompts = [(prompt.label, prompt.id) for prompt in self.prompts]
        providers = [(provider.provider.label, provider.provider.id) for provider in self.providers]
        repeat, output = test.options.get("repeat"), test.asks.get("providerOutput")
        return TestProviders(
            trials=self.options.trials if repeat is None else repeat.whole(least=1),
            providers=self._named(test.asks, "providers", providers),
            prompts=self._named(test.asks, "prompts", prompts),
            provider=self._provider(test.asks.get("provider")),
            output=None if output is None else _brought(output.value),
            transform=self._transform(test.options.get("transform") or test.options.get("postprocess")),
            options={name: self._option(name, test.options[name]) for name in OF_MODELS if name in test.options},
        )

    def _option(self, name: str, node: Node) -> JsonValue:
        if name == FORM and node.file is not None:
            self.refusals.add(node, "a file: name it in the provider's config, or write the form out")
        return value_in(node)

    def _named(
        self, asks: Mapping[str, Node], key: str, known: Sequence[tuple[str | None, ...]]
    ) -> tuple[str, ...] | None:
        if key not in asks:
            return None
        for node in asks[key].elements():
            if not any(fits(node.text(), names) for names in known):
                self.refusals.add(node, f"{node.text()!r} names none of the {key}")
        return tuple(node.text() for node in asks[key].elements())

    def _provider(self, node: Node | None) -> Provider | None:
        """The test's own provider; tests that take it over from `defaultTest` share it."""
        if node is None:
            return None
        key = canonical(node.value)
        if key not in self.own:
            providers = read_providers(node, self.refusals)
            if len(providers) > 1:
                raise node.wrong("must be one provider")
            self.own[key] = providers[0].provider if providers else None
        return self.own[key]

    def _transform(self, node: Node | None) -> str | PythonTransform | None:
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, str):
            self.refusals.add(node, "anything but a text")
            return None
        return transform_code(node, self.refusals)


def _brought(value: JsonValue) -> JsonValue:
    """The output that a test brings: an empty text, 0 and false are none, as in promptfoo."""
    return value if value or isinstance(value, dict | list) else None


def rows_of(trials: Sequence[tuple[str, int, int]]) -> Iterator[tuple[str, int]]:
    """The cases with their trials as promptfoo orders them, of (case id, number of its test, trials): each repeat of a
    test goes through all its variables.
    """
    tests: dict[int, list[tuple[str, int]]] = {}
    for case_id, test, times in trials:
        tests.setdefault(test, []).append((case_id, times))
    for cases in tests.values():
        yield from ((case_id, trial) for trial in range(1, cases[0][1] + 1) for case_id, _ in cases)
