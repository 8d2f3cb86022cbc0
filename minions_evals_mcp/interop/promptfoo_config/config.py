"""From a config file to what the engine carries out: records with ids by content, columns, and who chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.engine.config_eval.evaluation import Column, Evaluation, SimulatedUserSpec, Spec, models_of
from minions_evals_mcp.engine.config_eval.providers import VARIABLE
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.errors import BadInputError, EvalsError, InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.cases import (
    ConfigTest,
    arrival_of,
    benchmark_of,
    read_cases,
    test_digest,
    version_id,
    version_of,
)
from minions_evals_mcp.interop.promptfoo_config.columns import differences, read_columns, unset_variables, vet_prompts
from minions_evals_mcp.interop.promptfoo_config.extensions import evaluation_hooks, hooked, read_hooks, told_suite
from minions_evals_mcp.interop.promptfoo_config.graders import read_graders
from minions_evals_mcp.interop.promptfoo_config.narrowing import WHOLE, Narrowed, narrowed_cases, narrowed_tests
from minions_evals_mcp.interop.promptfoo_config.options import read_options
from minions_evals_mcp.interop.promptfoo_config.prompts import PromptText, read_filters, read_prompts
from minions_evals_mcp.interop.promptfoo_config.providers.listed import (
    ListedProvider,
    as_its_class_says,
    read_providers,
)
from minions_evals_mcp.interop.promptfoo_config.source.environment import own_variables, with_environment
from minions_evals_mcp.interop.promptfoo_config.source.keys_there import ROOT
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, read_node, referred_parts, with_references
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.test_providers import ProviderReader, reads_test, rows_of
from minions_evals_mcp.interop.promptfoo_config.tests import read_tests
from minions_evals_mcp.interop.promptfoo_config.tracing import read_tracing, traced
from minions_evals_mcp.scoring.assertions.kinds.code_context import code_reads
from minions_evals_mcp.scoring.metrics import DerivedMetric, derived
from minions_evals_mcp.scoring.reserved_inputs import CONVERSATION, STORES, TEST
from minions_evals_mcp.targets.hooks import Hooks

HARMLESS = {
    "sharing": "nothing is shared",
    "metadata": "it bears on no verdict",
    "author": "it bears on no verdict",
    "version": "it bears on no verdict",
    "writeLatestResults": "results are kept in the store",
    "redteam": "it is read by red-teaming commands, not when a config is evaluated",
}
"""What changes no output and no verdict here."""
BESIDE = ("x-", "_", ".")
"""What the names of keys begin with that hold YAML for other places of the config."""
EMPTY = frozenset({"extensions", "nunjucksFilters", "tracing"})
"""What changes nothing where it is empty, or says that it is off."""
KEYS = ("$schema", "description", "tags", "prompts", "providers", "targets", "defaultTest", "tests", "scenarios",
        "derivedMetrics", "assertionTemplates", "evaluateOptions", "commandLineOptions", "outputPath", "env",
        "nunjucksFilters", "extensions", "tracing")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConfigOverrides:
    """The options beside the config: prompts, providers, judge and embedder in place of its own, and whether parts may be left out."""

    prompts: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    allow_unsupported: bool = False
    judge_model: str | None = None
    embedder: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    has_judge: bool = True
    """Whether a model judges where neither of both names one."""
    default_embedder: str | None = None
    """What measures likeness where nobody names it; None: what the engine is set up with."""
    trust_code: bool = False
    """Whether JavaScript that makes parts of the config may run with the real interpreter."""
    tests: tuple[str, ...] = ()
    """Files of tests, in place of the config's."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of every test that does not set them itself."""
    repeat: int | None = None
    narrowed: Narrowed = WHOLE


AS_IT_STANDS = ConfigOverrides()
UNCHANGED: Json = {}


def read_config(path: Path, *, now: datetime, overrides: ConfigOverrides = AS_IT_STANDS) -> Evaluation:
    """Returns what the config asks for.

    Raises `InvalidRecordError` with file and line for what does not fit, and `UnsupportedError` naming all that is not
    carried out, unless that is to be left out. What a hook changes of the config is read once all else was vetted.
    """
    evaluation, hooks, changes = _read(path, now, overrides)
    if hooks is None or not changes:
        return evaluation
    try:
        return _read(path, now, overrides, hooks, changes)[0]
    except EvalsError:
        hooks.close()
        raise


def _read(
    path: Path, now: datetime, overrides: ConfigOverrides, hooks: Hooks | None = None, changes: Json = UNCHANGED
) -> tuple[Evaluation, Hooks | None, Json]:
    """Returns what the config asks for with those changes; without hooks its own are called, and what they change comes besides."""
    refusals = Refusals(trust_code=overrides.trust_code)
    node, root = _root(path, overrides, refusals, changes)
    called = hooks is not None
    hooks = hooks or read_hooks(root.get("extensions"), refusals)
    filters = read_filters(root.get("nunjucksFilters"), refusals)
    filling = {**overrides.environment, **own_variables(node)}
    options = read_options(root, refusals, filling)
    prompts = read_prompts(_required(root, node, "prompts"), refusals, filters, environment=filling)
    providers = read_providers(_one_of(root, node, "providers", "targets"), refusals)
    _vet_askable(providers)
    tests = narrowed_tests(read_tests(root, refusals), overrides.narrowed)
    traces = read_tracing(root.get("tracing"), tests, refusals)
    graders = read_graders(
        tests, refusals, judge_given=overrides.judge_model is not None, embedder_given=overrides.embedder is not None,
        has_judge=overrides.has_judge, embedder=overrides.default_embedder,
    )  # fmt: skip
    asking = ProviderReader(prompts, providers, options, refusals, filling)
    cases = narrowed_cases(
        read_cases(tests, root, asking, graders, with_digests=hooks is not None or any(map(reads_test, providers))),
        overrides.narrowed,
    )
    remembers = any({STORES, CONVERSATION} & case.fields.inputs.keys() for case in cases)
    _vet_order(cases, refusals, remembers=remembers)
    columns = traced(
        read_columns(
            prompts, _described(providers, prompts, cases, is_traced=traces is not None), cases, remembers=remembers
        ),
        traces,
    )
    metrics = tuple(_derived(root, refusals))
    vet_prompts(prompts, cases, columns, refusals)
    left_out = refusals.settled(allowed=overrides.allow_unsupported)
    if not any(column.parts for column in columns):
        raise BadInputError(f"{path}: nothing to run.", remedy="Name a prompt and a provider that are carried out.")
    benchmark = benchmark_of(root, path, tuple(case.id for case in cases), now)
    parts = {part.case_ids for column in columns for part in column.parts} - {benchmark.fields.test_case_ids}
    versions = {version_id(prompt): prompt for prompt in reversed(prompts)}
    suite, changed = told_suite(hooks, root, prompts, called=called)
    environment = (
        {key: value_text(variable.value) for key, variable in root["env"].mapping().items()} if "env" in root else {}
    )
    evaluation = Evaluation(
        title=benchmark.title,
        arrivals=(
            *(version_of(ident, version, now) for ident, version in versions.items()),
            *(arrival_of(case, now) for case in cases),
            Arrival(benchmark),
            *(Arrival(benchmark_of(root, path, ids, now, part=True)) for ids in sorted(parts)),
        ),
        benchmark_id=benchmark.id,
        case_ids=tuple(case.id for case in cases),
        columns=columns if hooks is None else hooked(columns, hooks),
        traces=traces,
        rows=tuple(rows_of([(case.id, case.test, case.asks.trials) for case in cases])),
        written={case.id: case.written for case in cases},
        told_tests={test_digest(case.written.test): case.written.test for case in cases if TEST in case.fields.inputs},
        choosers={case.id: case.choosers for case in cases if case.choosers},
        derived=metrics,
        delay_s=options.delay_s,
        concurrency=options.concurrency,
        remembers=remembers,
        stored=frozenset(str(case.fields.inputs[STORES]) for case in cases if STORES in case.fields.inputs),
        max_seconds=options.max_seconds,
        pass_rate=options.settings.pass_rate,
        failed_exit=options.settings.failed_exit,
        caches=options.settings.caches,
        judge_model=overrides.judge_model or graders.shared,
        graders=graders.specs,
        variables=frozenset(_variables(columns, graders.specs.values())) - environment.keys(),
        given_variables=environment,
        output_paths=options.output_paths,
        hooks=None if hooks is None else evaluation_hooks(hooks, suite, cases, now),
        left_out=left_out,
        notes=(
            *refusals.notes,
            *(unset_variables(prompts, cases) if hooks is None else ()),
            *differences(columns, cases),
        ),
    )
    return evaluation, hooks, changed


def _root(path: Path, overrides: ConfigOverrides, refusals: Refusals, changes: Json) -> tuple[Node, dict[str, Node]]:
    """The config whole, and its known parts with what was said beside it and those changes in their place."""
    read = read_node(path, path.resolve().parent)
    node = with_environment(with_references(read), overrides.environment, refusals)
    known = refusals.known(_without_empty(node, referred_parts(read), refusals), KEYS, harmless=HARMLESS, there=ROOT)
    root = _with(known, node, overrides)
    if "prompts" not in root:  # the variable `prompt` is the prompt then
        root["prompts"] = node.child("prompts", ["{{prompt}}"])
    return node, root | {name: node.child(name, value) for name, value in changes.items()}


def _vet_askable(providers: Sequence[ListedProvider]) -> None:
    """Raises where a column's provider can only be a test's."""
    for provider in providers:
        if isinstance(provider.provider.spec, SimulatedUserSpec):
            raise provider.node.wrong("a simulated user stands as the provider of a test, or of defaultTest")


def _vet_order(cases: Sequence[ConfigTest], refusals: Refusals, *, remembers: bool) -> None:
    """Refuses tests that are repeated where each depends on those before it."""
    for case in cases if remembers else ():
        if case.asks.trials > 1:
            refusals.add(case.node, "a test that is repeated, where tests depend on those before them")


def _described(
    providers: Sequence[ListedProvider], prompts: Sequence[PromptText], cases: Sequence[ConfigTest], *, is_traced: bool
) -> list[ListedProvider]:
    """The providers with what code is told of them, where code may ask; a trace tells their ids."""
    is_read = any(code_reads(case.fields.assertions, "provider") for case in cases)
    if is_read or is_traced or any(prompt.writer is not None and prompt.writer.path for prompt in prompts):
        providers = [as_its_class_says(listed) for listed in providers]
    if is_read:
        return [*providers]
    return [replace(provider, provider=provider.provider.model_copy(update={"told": {}})) for provider in providers]


def _without_empty(node: Node, referred: frozenset[str], refusals: Refusals) -> Node:
    """The config without what is empty or off, and what only references name, each noted."""
    members = node.mapping()
    beside = {name for name in members if name.startswith(BESIDE)} | (referred - {*KEYS})
    for name in [name for name in members if name in EMPTY | beside]:
        value = members[name].value
        if name in beside:
            refusals.note(members.pop(name), "it holds what other places name")
        elif not value or (isinstance(value, dict) and value.get("enabled") is False):
            refusals.note(members.pop(name), "it is empty, or off")
    return replace(node, value={name: node.value for name, node in members.items()})


def _with(root: dict[str, Node], node: Node, overrides: ConfigOverrides) -> dict[str, Node]:
    """The config's parts, with what was said beside it in their place."""
    if overrides.prompts:
        root["prompts"] = node.child("prompts", list(overrides.prompts))
    if overrides.providers:
        root.pop("targets", None)
        root["providers"] = node.child("providers", list(overrides.providers))
    if overrides.tests:
        root["tests"] = node.child("tests", list(overrides.tests))
    if overrides.repeat is not None:
        root["evaluateOptions"] = _beside(root, node, "evaluateOptions", {"repeat": overrides.repeat})
    if overrides.variables:
        default = root.get("defaultTest")
        own = default.mapping().get("vars") if default is not None and isinstance(default.value, dict) else None
        known = own.value if own is not None and isinstance(own.value, dict) else {}
        root["defaultTest"] = _beside(root, node, "defaultTest", {"vars": {**known, **overrides.variables}})
    return root


def _beside(root: Mapping[str, Node], node: Node, key: str, values: Json) -> Node:
    """That part of the config with those values over its own."""
    part = root.get(key)
    if part is not None and not isinstance(part.value, dict):
        raise part.wrong("is no mapping here, so that nothing can be set over it on the command line")
    own = part.value if part is not None and isinstance(part.value, dict) else {}
    return node.child(key, {**own, **values})


def _required(root: Mapping[str, Node], node: Node, key: str) -> Node:
    if key not in root:
        raise InvalidRecordError(
            "is missing", field=key, where=node.at, remedy=f"Name one there, or with --{key.removesuffix('s')}."
        )
    return root[key]


def _one_of(root: Mapping[str, Node], node: Node, key: str, other: str) -> Node:
    if key in root and other in root:
        raise root[other].wrong(f"{key} and {other} are the same: give one of them")
    return root[other] if other in root else _required(root, node, key)


def _derived(root: Mapping[str, Node], refusals: Refusals) -> Iterator[DerivedMetric]:
    for node in root["derivedMetrics"].elements() if "derivedMetrics" in root else ():
        members = node.mapping()
        if members.keys() != {"name", "value"}:
            raise node.wrong("must be {name, value}")
        try:
            yield derived(members["name"].text(), members["value"].text())
        except InvalidRecordError as error:
            refusals.add(node, error.reason)


def _variables(columns: Sequence[Column], graders: Iterable[Spec]) -> Iterator[str]:
    """The environment variables that providers and graders name."""
    for spec in (*(part.provider.spec for column in columns for part in column.parts), *graders):
        yield from VARIABLE.findall(canonical(spec.model_dump(mode="json")))
        yield from (name for model in models_of(spec) for name in VARIABLE.findall(model.api_key or ""))
