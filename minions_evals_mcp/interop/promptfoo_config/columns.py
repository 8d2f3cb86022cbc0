"""The columns of a config: every prompt at every provider that is asked it, in parts for tests that ask otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, product

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.config_eval.evaluation import (
    Column,
    ColumnPart,
    GivenSpec,
    ModelSpec,
    ModuleSpec,
    Provider,
    SimulatedUserSpec,
    Spec,
)
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.cases import SHOWN, ConfigTest, benchmark_id, version_id
from minions_evals_mcp.interop.promptfoo_config.prompts import PromptText
from minions_evals_mcp.interop.promptfoo_config.providers.listed import ListedProvider
from minions_evals_mcp.interop.promptfoo_config.providers.models import options_of
from minions_evals_mcp.interop.promptfoo_config.source.references import allowed
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.test_providers import reads_config
from minions_evals_mcp.models.responses import RESPONSES
from minions_evals_mcp.scoring.nunjucks.templates import printed_names, prompt_text, templates_in, vet_template
from minions_evals_mcp.scoring.reserved_inputs import PREFIX, STORES, SUFFIX
from minions_evals_mcp.targets.conversation import takes_calls, turns

GIVEN = "providerOutput"
APART = {
    "g-eval": "g-eval is judged in one call; promptfoo asks in several, and has other scores",
    "answer-relevance": "answer-relevance is judged by a model; promptfoo measures between embeddings, and has other scores",
}
"""Types of which the user should know that promptfoo gives them another score."""
FINISHED = "finish-reason of openai:responses is the reply's; promptfoo knows none, and fails it"
SHARED = "storeOutputAs: each column keeps its own outputs; in promptfoo the last column's are named by all"


def read_columns(
    prompts: Sequence[PromptText],
    providers: Sequence[ListedProvider],
    cases: Sequence[ConfigTest],
    *,
    remembers: bool = False,
) -> Iterator[Column]:
    """Every prompt at every provider that is asked it; where tests remember those before them, in parts that keep their order."""
    for listed, prompt in product(providers, prompts):
        if not allowed(listed.prompts, (prompt.label, prompt.id)):
            continue
        wanting = [case for case in cases if case.asks.wants(listed, prompt)]
        parts = tuple(_in_order(listed.provider, wanting) if remembers else _parts(listed.provider, wanting))
        yield Column(version_id(prompt), prompt.label, listed.provider, parts, prompt.writer, prompt.config)


def _parts(provider: Provider, cases: Sequence[ConfigTest]) -> Iterator[ColumnPart]:
    """The tests in groups that are answered alike and equally often."""
    groups: dict[tuple[str, str, int], list[ConfigTest]] = {}
    answering: dict[tuple[str, str, int], Provider] = {}
    for case in cases:
        who = _answering(provider, case)
        key = (who.id, who.identity(), case.asks.trials)
        answering[key] = who
        groups.setdefault(key, []).append(case)
    for key, several in groups.items():
        ids = tuple(case.id for case in several)
        yield ColumnPart(_bringing(answering[key], several), benchmark_id(ids), ids, key[2])


def _in_order(provider: Provider, cases: Sequence[ConfigTest]) -> Iterator[ColumnPart]:
    """The tests in stretches that are answered alike; what one answers depends on all before it."""
    before: list[str] = []
    for _, stretch in groupby(cases, lambda case: _answering(provider, case).identity()):
        several = [*stretch]
        (part,) = _parts(provider, several)
        after = benchmark_id(before) if before else ""
        yield replace(part, provider=part.provider.model_copy(update={"after": after}))
        before += [case.id for case in several]


def _answering(provider: Provider, case: ConfigTest) -> Provider:
    """Returns who answers the test in that column; what its provider and the test transform is the same whoever answers."""
    own, transform = case.asks.provider, case.asks.transform
    if case.asks.output_digest is not None:
        provider = provider.model_copy(update={"id": GIVEN, "spec": GivenSpec()})
    elif own is not None:
        facts = own.told if provider.told and not isinstance(own.spec, ModuleSpec) else {}  # its class was not asked
        provider = provider.model_copy(update={"id": own.id, "spec": _talking(own.spec, provider), "told": facts})
    if transform is not None:
        provider = provider.model_copy(update={"transforms": (*provider.transforms, transform)})
    options = _options(provider.spec, case)
    return provider.model_copy(update={"options": options}) if options else provider


def _options(spec: Spec, case: ConfigTest) -> Json:
    """What the test's options ask of who answers it: of a model what it takes, code is told all of them."""
    if isinstance(spec, SimulatedUserSpec):
        return _options(spec.target, case)
    if isinstance(spec, ModelSpec):
        taken = options_of(spec.model)
        return {name: value for name, value in case.asks.options.items() if name in taken}
    whole = case.written.test["options"] if reads_config(spec) else None
    return {name: value for name, value in whole.items() if name != "repeat"} if isinstance(whole, dict) else {}


def _talking(spec: Spec, provider: Provider) -> Spec:
    """The test's own provider; a user who is played talks with the column's."""
    return spec.model_copy(update={"target": provider.spec}) if isinstance(spec, SimulatedUserSpec) else spec


def _bringing(provider: Provider, cases: Sequence[ConfigTest]) -> Provider:
    """The provider with the outputs that those tests bring."""
    if not isinstance(provider.spec, GivenSpec):
        return provider
    outputs = {case.asks.output_digest: case.asks.output for case in cases if case.asks.output_digest is not None}
    return provider.model_copy(update={"spec": GivenSpec(outputs=outputs)})


def vet_prompts(
    prompts: Sequence[PromptText], cases: Sequence[ConfigTest], columns: Sequence[Column], refusals: Refusals
) -> None:
    """Refuses the tests in which a prompt that they ask for cannot be rendered, or holds what no model is sent."""
    for prompt in prompts:
        parts = [part for column in columns if column.version_id == version_id(prompt) for part in column.parts]
        if prompt.writer is not None:
            continue
        case_ids = {ident for part in parts for ident in part.case_ids}
        to_model: dict[str, bool] = {}
        for part in parts:
            if isinstance(part.provider.spec, ModelSpec):
                calls = takes_calls(*part.provider.spec.model.split(":", 1))
                to_model |= {ident: calls and to_model.get(ident, True) for ident in part.case_ids}
        for case in (case for case in cases if case.id in case_ids):
            rendered = _rendered(prompt, case, refusals)
            if rendered is not None and case.id in to_model and turns(rendered, calls=to_model[case.id]) is None:
                refusals.add(case.node, f"the prompt {prompt.label[:SHOWN]!r} with parts that are no text")


def differences(columns: Sequence[Column], cases: Sequence[ConfigTest]) -> Iterator[str]:
    """A note for each thing that is carried out otherwise than in promptfoo, and shows in an output or a score."""
    kinds = {assertion.base_type for case in cases for assertion in _every(case.fields.assertions)}
    yield from (what for kind, what in APART.items() if kind in kinds)
    specs = [part.provider.spec for column in columns for part in column.parts]
    if "finish-reason" in kinds and any(
        isinstance(spec, ModelSpec) and spec.model.startswith(f"openai:{RESPONSES}") for spec in specs
    ):
        yield FINISHED
    if len(columns) > 1 and any(STORES in case.fields.inputs for case in cases):
        yield SHARED


def _every(assertions: Sequence[Assertion]) -> Iterator[Assertion]:
    for assertion in assertions:
        yield assertion
        yield from _every(assertion.assertions)


def unset_variables(prompts: Sequence[PromptText], cases: Sequence[ConfigTest]) -> Iterator[str]:
    """A note for each variable that a prompt prints and no test sets or stores."""
    set_names = {name for case in cases for name in case.fields.inputs}
    set_names |= {str(case.fields.inputs[STORES]) for case in cases if STORES in case.fields.inputs}
    for number, prompt in enumerate(prompts):
        templates = templates_in(prompt.raw) if prompt.writer is None else []
        names = frozenset[str]().union(*map(printed_names, templates)) - set_names
        for name in sorted(name for name in names if not name.startswith("_")):
            yield f"{{{{{name}}}}} in prompt {number} ({prompt.label[:SHOWN]}) is set by no test and stays empty"


def _rendered(prompt: PromptText, case: ConfigTest, refusals: Refusals) -> str | None:
    """The prompt in that test; None, and a note, where it cannot be rendered: the test then ends in an error, as there."""
    inputs = case.fields.inputs
    try:
        vet_template("".join(str(inputs.get(name, "")) for name in (PREFIX, SUFFIX)))
        return prompt_text(prompt.raw, inputs)
    except BadInputError as error:
        refusals.note(case.node, f"the prompt {prompt.label[:SHOWN]!r}: {error.message_text}")
        return None
